"""A plan's language rules, made ready to be asked once per name: built once per plan, shared by every step."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Final, NamedTuple

from safeexec.compiler import names
from safeexec.facades.access import module_access, name_access
from safeexec.facades.tables import refusals, table
from safeexec.identity import identity
from safeexec.protocol.plan import LanguagePlan

PLAIN: Final = 0
GUARDED: Final = 1
REFUSED: Final = 2

KNOWN_BUILTINS: Final = frozenset(dir(builtins)) | names.SITE_BUILTINS
_CACHED_NAMES: Final = 20_000


class Finding(NamedTuple):
    """One thing that a program may not do: `kind` is module, builtin, attribute or construct; `node` is where."""

    kind: str
    name: str
    node: ast.AST
    message: str = ""
    """What to say where the usual message of the kind would mislead."""
    construct: str = ""
    """The construct whose hint is given, where the one for `name` would mislead."""


class Rules:
    """What a `LanguagePlan` says about attribute names, identifiers, modules and constructs."""

    __slots__ = (
        "constructs",
        "decorators",
        "denied_builtins",
        "may_have",
        "open_modules",
        "plain",
        "plan",
        "refused",
        "refused_members",
        "shadowed",
        "star_imports",
        "step_flags",
        "watched",
    )

    def __init__(self, plan: LanguagePlan) -> None:
        self.plan = plan
        self.denied_builtins = KNOWN_BUILTINS - plan.builtins - {"__debug__", "__name__", "__doc__"}
        """Builtins that exist in Python and not in this policy."""
        self.open_modules: set[str] = {"__future__"}  # a statement of the language rather than a module
        """Modules asked for before, which may be imported and whose names the policy does not choose; see `is_open`."""
        self.constructs = {
            kind: construct
            for construct in plan.refused_constructs
            for label in names.CONSTRUCTS.get(construct, ())
            if (kind := getattr(ast, label, None)) is not None
        }
        """Refused node kind → the construct it is."""
        self.decorators = "decorator" not in plan.refused_constructs
        self.may_have: Callable[[str], bool] | None = None
        """Asked whether a module that no library has may be one of the program's own; see `is_own`."""
        self.shadowed: Callable[[str], str | None] | None = None
        """The hint for a library's module whose name a file of the program has, too."""
        self.star_imports = "star-import" not in plan.refused_constructs
        awaits = plan.mode == "python" or "asyncio" in plan.imports
        self.step_flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if awaits else 0
        """Flags of `compile` for a step: it may await at its top level where programs have an event loop."""
        self.refused = frozenset(name for name in plan.refused_attributes if "." not in name)
        self.watched = _watched(plan)
        """``module.name`` that this policy takes away from a module it allows."""
        self.refused_members: dict[str, frozenset[str]] = {}
        """Open module asked for before → its names that an import is refused for."""
        self.plain: set[str] = set()
        """Names seen before that need no second look, whatever they are used for; see `is_plain`."""

    def attribute(self, name: str) -> int:
        """Judge an attribute name: `PLAIN`, `GUARDED` or `REFUSED`."""
        if name in self.plain:
            return PLAIN
        if name in self.refused:
            return REFUSED
        if name in self.plan.allowed_attributes:
            return PLAIN
        if name in names.GUARDED:
            return GUARDED
        if name in names.REFUSED_PLAIN_NAMES or name in names.RESERVED:
            return REFUSED
        if names.is_dunder(name) and name not in names.PLAIN_DUNDERS:
            return REFUSED
        return PLAIN

    def is_plain(self, name: str) -> bool:
        """Tell whether `name` is harmless in every role: attribute, identifier, keyword, imported name. (The screen
        checks `names.CLASS_CELL` itself.)
        """
        if name in self.plain:
            return True
        if self.attribute(name) or name in self.denied_builtins or name in names.RESERVED:
            return False
        if any(watched.endswith("." + name) for watched in self.watched):
            return False
        if len(self.plain) >= _CACHED_NAMES:
            self.plain.clear()
        self.plain.add(name)
        return True

    def importable(self, module: str) -> bool:
        """Tell whether an import statement may name `module` (dotted): in the policy, or covered by an entry of it; or
        written by the program itself.
        """
        return module in self.open_modules or module_access(module, self.plan).allowed or self.is_own(module)

    def is_own(self, module: str) -> bool:
        """Tell whether `module` is the program itself, or may be a file of the workspace: whether it is one turns out
        when it is imported.
        """
        return module == "__main__" or (self.may_have is not None and self.may_have(module))

    def is_open(self, module: str) -> bool:
        """Tell whether an import from `module` needs no look at the names."""
        if module in self.open_modules or self.is_own(module):
            return True
        chosen = any(self.plan.imports[name].names is not None for name in _covering(module, self.plan))
        if chosen or not self.importable(module):
            return False
        self.open_modules.add(module)
        return True

    def members_refused(self, module: str) -> frozenset[str]:
        """The documented names of an open module that a program may not import: those of the review, and of files."""
        found = self.refused_members.get(module)
        if found is None:
            found = refusals(module)
            if self.plan.stdin and module == "sys":
                found -= {"stdin"}
            reviewed = table(module)
            if reviewed is not None and self.plan.workspace == "none":
                found |= {name for name, tag in reviewed.allowed.items() if tag == "files"}
            self.refused_members[module] = found
        return found

    def rule(self, kind: str, name: str) -> str:
        """Where the policy says no to `name`: ``standard.yaml:12``, or its name when it says so nowhere."""
        plan = self.plan
        if kind == "construct":
            return plan.refused_constructs.get(name) or self._origin("language.constructs")
        if kind == "module":
            return module_access(name, plan).rule or self._origin(f"imports.{name}")
        if kind == "builtin":
            return self._origin(f"builtins.{name}")
        module, _, leaf = name.rpartition(".")
        if name in plan.refused_attributes:
            return plan.refused_attributes[name]
        if module:
            return (
                plan.rules.get(f"imports.{name}")
                or name_access(module, leaf, plan).rule
                or self._origin(f"imports.{module}")
            )
        return self._origin("language.mode")

    def _origin(self, path: str) -> str:
        rules = self.plan.rules
        while path:
            if path in rules:
                return rules[path]
            path = path.rpartition(".")[0]
        return self.plan.profile


def _covering(module: str, plan: LanguagePlan) -> list[str]:
    """The entries of the policy for `module` and the packages above it."""
    parts = module.split(".")
    return [name for depth in range(1, len(parts) + 1) if (name := ".".join(parts[:depth])) in plan.imports]


def _watched(plan: LanguagePlan) -> frozenset[str]:
    refused = {f"{module}.{name}" for module, allowed in plan.imports.items() for name in allowed.refused}
    return frozenset(refused | {name for name in plan.refused_attributes if "." in name})


_rules: dict[int, Rules] = {}


def rules_of(plan: LanguagePlan) -> Rules:
    """The rules of `plan`, built at its first use."""
    found = _rules.get(identity(plan))
    if found is None:
        if len(_rules) >= 16:
            _rules.clear()
        found = _rules[identity(plan)] = Rules(plan)  # keeps the plan alive, so that its id stays its own
    return found
