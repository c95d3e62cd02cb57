"""`Policy`: what a policy says, and every report on it. Only this module uses both the model and the reports.

`policy.settings` holds the data; the modules of `policy` read, change and plan it, those of `reports` explain it, and
none of them imports this one. A report's module loads on first use: most processes need none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal

from safeexec.engine.policy import places, plans, profiles
from safeexec.engine.policy.settings import Limits, PolicyData
from safeexec.errors import PolicyError

if TYPE_CHECKING:
    import os
    from pathlib import Path
    from typing import Unpack

    from safeexec.engine.policy.diff import Difference
    from safeexec.engine.policy.keywords import PolicyChanges
    from safeexec.protocol.plan import LanguagePlan, LimitsPlan
    from safeexec.reports.learn import Learnt
    from safeexec.reports.needs import Needs
    from safeexec.reports.review import PolicyFinding
    from safeexec.reports.why import Answer

__all__ = ["Limits", "Policy"]


class Policy(PolicyData, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """One policy, resolved and frozen. Equality, hash and `digest` look at what it says, not at where it says it."""

    # Reading and writing

    @classmethod
    def load(cls, name: str | os.PathLike[str] | Policy, *, since: str = "") -> Policy:
        """Return the policy of a shipped profile, of one in `SAFEEXEC_POLICY_PATH`, or of a YAML file. With `since`, a
        version of this package, what it says with the shipped profiles as they were then.

        Raises `PolicyError`, which lists every mistake with file, line, column and dotted path.
        """
        if since:
            from safeexec.engine.policy.extends import as_of  # with YAML, as below

            return as_of(name, cls, since) if not isinstance(name, Policy) else name
        if isinstance(name, Policy):
            return name
        return profiles.load(name, cls)

    @classmethod
    def from_yaml(cls, text: str, *, name: str = "policy", filename: str = "<policy>") -> Policy:
        """Return a policy from YAML text; `extends` may name any profile, but no path. Raises `PolicyError`."""
        from safeexec.engine.policy.extends import from_text  # with YAML, which no shipped profile needs

        return from_text(text, name=name, filename=filename, make=cls)

    def replace(self, **changes: Unpack[PolicyChanges]) -> Policy:
        """Return a copy with `changes` laid over it, by the rules of a file that extends this policy.

        ``replace(limits={"memory_mb": 512})`` or shorter ``replace(memory_mb=512)``, ``replace(checkpoints="off")``,
        ``replace(imports={"random": "none"}, builtins={"remove": ["print"]})``. Sections may also be structs.
        Raises `PolicyError` for unknown names and impossible values.
        """
        from safeexec.engine.policy.edit import replaced  # with the loader of YAML, whose checks these are

        return replaced(self, dict(changes))

    def to_yaml(self) -> str:
        """Return the whole policy as YAML that `from_yaml` reads back to an equal one (no `extends`)."""
        from safeexec.engine.policy.edit import document, written  # as above

        return written(document(self))

    @classmethod
    def learn(cls, recordings: Iterable[str | os.PathLike[str]], extends: str | Policy = "calculator") -> Learnt:
        """Return what the steps of some recordings need beyond a profile: a policy for a person to read, as `yaml`,
        too, and what it leaves out. Raises `RecordingError`.
        """
        from safeexec.reports.learn import learn

        return learn(cls.load(extends), recordings)

    def diff(self, other: Policy) -> list[Difference]:
        """Return what `other` says differently, setting by setting."""
        from safeexec.engine.policy.diff import differences  # as above

        return differences(self, self.load(other))

    @classmethod
    def profiles(cls, *, shipped: bool = False) -> dict[str, Path]:
        """Return every profile that can be loaded by name → its file: `SAFEEXEC_POLICY_PATH` first, then the shipped
        ones; or the `shipped` ones alone.
        """
        from pathlib import Path

        return {name: Path(file) for name, file in places.names(shipped=shipped).items()}

    def check(self) -> list[PolicyFinding]:
        """Return what only a closer look finds: modules that are not installed, names that they do not have."""
        from safeexec.reports.review import review

        return review(self)

    @classmethod
    def examine(cls, name: str | os.PathLike[str] | Policy) -> list[PolicyFinding]:
        """Return all that is wrong with a policy, in one round: the mistakes for which `load` refuses it, and what
        `check` finds in the rest. Raises `PolicyError` where there is no such policy.
        """
        try:
            return cls.load(name).check()
        except PolicyError as error:
            if error.draft is None:
                raise
            from safeexec.reports.review import examined

            return examined(error.mistakes, error.draft)

    # What enforces it

    def language_plan(self, tools: Collection[str] = ()) -> LanguagePlan:
        """Return the language layer as data, for the compiler, the builtins and the importer of a child."""
        return plans.language_plan(self, tools)

    def limits_plan(self) -> LimitsPlan:
        """Return the numbers that a child is held to, in bytes and seconds."""
        return plans.limits_plan(self.limits)

    # What people and models read

    def why(self, name: str) -> Answer:
        """Return whether a module, attribute, builtin, construct or system call is allowed, by which line."""
        from safeexec.reports.why import why

        return why(self, name)

    def needs(self, source: str) -> Needs:
        """Return what a whole program would need: every name it uses, and the smallest policy that grants it."""
        from safeexec.reports.needs import needs

        return needs(self, source)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from safeexec.results.mimebundle import of_text  # for notebooks

        return of_text(self.card())

    def card(self, format: Literal["text", "markdown", "json"] = "text", tools: Any = ()) -> str:
        """Return what guest code may use, short enough for a prompt. `tools`: functions, or names → functions."""
        from safeexec.reports.card import card

        return card(self, format=format, tools=tools)
