"""`Policy`: what a policy says, and all that can be asked of it. The one place above the model *and* the reports on it.

`policy.settings` holds the data; the modules of `policy` read, change and plan it, those of `reports` explain it, and
none of them imports this one. Each method loads what it needs when it is called: most processes need one or two.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal

from safeexec.policy.settings import Limits, PolicyData

if TYPE_CHECKING:
    import os
    from pathlib import Path
    from typing import Unpack

    from safeexec.policy.keywords import PolicyChanges
    from safeexec.protocol.plan import LanguagePlan, LimitsPlan
    from safeexec.reports.diff import Difference
    from safeexec.reports.needs import Needs
    from safeexec.reports.review import PolicyFinding
    from safeexec.reports.why import Answer

__all__ = ["Limits", "Policy"]


class Policy(PolicyData, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """One policy, resolved and frozen. Equality, hash and `digest` look at what it says, not at where it says it."""

    # Reading and writing

    @classmethod
    def load(cls, name: str | os.PathLike[str] | Policy) -> Policy:
        """The policy of a shipped profile, of one in `SAFEEXEC_POLICY_PATH`, or of a YAML file.

        Raises `PolicyError`, which lists every mistake with file, line, column and dotted path.
        """
        if isinstance(name, Policy):
            return name
        from safeexec.policy.profiles import load

        return load(name, cls)

    @classmethod
    def from_yaml(cls, text: str, *, name: str = "policy", filename: str = "<policy>") -> Policy:
        """A policy from YAML text; `extends` may name any profile, but no path. Raises `PolicyError`."""
        from safeexec.policy.profiles import from_text

        return from_text(text, name=name, filename=filename, make=cls)

    def replace(self, **changes: Unpack[PolicyChanges]) -> Policy:
        """A copy with `changes` laid over it, by the rules of a file that extends this policy.

        ``replace(limits={"memory_mb": 512})`` or shorter ``replace(memory_mb=512)``, ``replace(checkpoints="off")``,
        ``replace(imports={"random": "none"}, builtins={"remove": ["print"]})``. Sections may also be structs.
        Raises `PolicyError` for unknown names and impossible values.
        """
        from safeexec.policy.edit import replaced

        return replaced(self, dict(changes))

    def to_yaml(self) -> str:
        """The whole policy as YAML that `from_yaml` reads back to an equal one (no `extends`)."""
        from safeexec.policy.edit import to_yaml

        return to_yaml(self)

    def diff(self, other: Policy) -> list[Difference]:
        """What `other` says differently, setting by setting."""
        from safeexec.reports.diff import differences

        return differences(self, other)

    @classmethod
    def profiles(cls, *, shipped: bool = False) -> dict[str, Path]:
        """Every profile that can be loaded by name → its file: `SAFEEXEC_POLICY_PATH` first, then the shipped ones; or
        the `shipped` ones alone.
        """
        from pathlib import Path

        from safeexec.policy.profiles import names

        return {name: Path(file) for name, file in names(shipped=shipped).items()}

    def check(self) -> list[PolicyFinding]:
        """What only a closer look finds: modules that are not installed, names that nobody has reviewed."""
        from safeexec.reports.review import review

        return review(self)

    # What enforces it

    def language_plan(self, tools: Collection[str] = ()) -> LanguagePlan:
        """Layer 1 as data, for the compiler, the builtins and the facades of a child."""
        from safeexec.policy.plans import language_plan

        return language_plan(self, tools)

    def limits_plan(self) -> LimitsPlan:
        """The numbers a child is held to, in bytes and seconds."""
        from safeexec.policy.plans import limits_plan

        return limits_plan(self.limits)

    # What people and models read

    def why(self, name: str) -> Answer:
        """Whether a module, attribute, builtin, construct or system call is allowed, by which line."""
        from safeexec.reports.why import why

        return why(self, name)

    def needs(self, source: str) -> Needs:
        """What a whole program would need: every name it uses, and the smallest policy that grants it."""
        from safeexec.reports.needs import needs

        return needs(self, source)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from safeexec.mimebundle import of_text

        return of_text(self.card())

    def card(self, format: Literal["text", "markdown", "json"] = "text", tools: Any = ()) -> str:
        """What guest code may use, short enough for a system prompt. `tools`: functions, or names → functions."""
        from safeexec.reports.card import card

        return card(self, format=format, tools=tools)
