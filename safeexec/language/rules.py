"""A plan's language rules, made ready to be asked once per name: built once per plan, shared by every step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from string import Formatter
from typing import Final, NamedTuple

import msgspec

from safeexec.common.identity import identity
from safeexec.common.own import ast
from safeexec.engine.policy import names, refusals
from safeexec.engine.policy.access import WORDS, is_passage, module_access, name_access, parents, refused_names, taken
from safeexec.protocol.plan import LanguagePlan

_CACHED_NAMES: Final = 20_000
_LOOKED_AT: Final = names.FORMAT | names.UNGUARDED.keys() | {"open", "input", "import_module"}
"""Names of which the tree shows more than the code: with which text they are called."""

_LOOKUP: Final = re.compile(r"\{[^{}]*\.[^\W\d]")
"""The beginning of a replacement field that looks up an attribute; ``{:.2f}`` looks up none."""
_DEPTH: Final = 3  # CPython itself expands a specification of a format once
_READ_INPUT: Final = frozenset({"input", "open"})
"""Builtins of a step that has a standard input. `open` opens that alone where the policy gives no files."""


class Finding(NamedTuple):
    """One thing that a program may not do: `kind` is module, builtin, attribute or construct; `node` is where."""

    kind: str
    name: str
    node: ast.AST
    message: str = ""
    """Said where the usual message of the kind would mislead."""


class Rules:
    """Answer what a `LanguagePlan` says about attribute names, identifiers, modules and constructs."""

    def __init__(self, plan: LanguagePlan) -> None:
        self.plan = plan
        self.denied_builtins = (
            names.KNOWN_BUILTINS - plan.builtins - {"__debug__", "__name__", "__doc__", "__import__", "input"}
        )
        """Builtins that exist in Python and not in this policy. (`__import__` judges what it is asked for; `input` is
        there, and says when it is called that there is none.)"""
        self.constructs = {
            kind: construct
            for construct in plan.refused_constructs
            for label in names.CONSTRUCTS.get(construct, ())
            if (kind := getattr(ast, label, None)) is not None
        }
        """Refused node kind → the construct it is."""
        self.decorators = "decorator" not in plan.refused_constructs
        self.star_imports = "star-import" not in plan.refused_constructs
        awaits = plan.mode == "python" or module_access("asyncio", plan).allowed
        self.step_flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if awaits else 0
        """Flags of `compile` for a step: it may await at its top level where programs have an event loop."""
        self.is_own: Callable[[str], bool] = lambda module: False
        """Returns whether a module may be the program's own: a file of its workspace, a part of its plugin."""
        self.is_closed_path: Callable[[str], bool] = lambda path: False
        """Returns whether the kernel will refuse to open a path that the program spells."""
        self.input_only = False
        """Return whether `open` is there for the standard input of a step alone."""
        own = frozenset(name for name in plan.refused_attributes if "." not in name)
        self.refused = (names.REFUSED_ATTRIBUTES - plan.allowed_attributes) | own
        """Attribute names that no program writes."""
        self.members = refused_names(plan)
        """Open module → its names that some row or line refuses."""
        if module_access("builtins", plan).allowed:
            self.members["builtins"] = self.denied_builtins - {"input"}
        self.leaves = frozenset().union(*self.members.values())
        """All of these names: where one stands, the module is looked for."""
        self.choosing = frozenset(_choosing(plan))
        """Modules of which the policy says which names may be written."""
        self.closed = frozenset(
            name for name in (*refusals.MODULES, *taken(plan)) if "." in name and not module_access(name, plan).allowed
        )
        """Modules that are refused below others: ``urllib.request``."""
        self.plain: set[str] = set()
        """Names seen before that need no second look, whatever they are used for; see `is_plain`."""
        self._open_modules: dict[str, bool] = {}

    @cached_property
    def with_input(self) -> Rules:
        """The rules of a step that has a standard input, and of text that is run in any: where there is no input,
        `input` and `open` say so themselves.
        """
        builtins = self.plan.builtins | _READ_INPUT
        rules = rules_of(msgspec.structs.replace(self.plan, builtins=builtins, stdin=True))
        rules.is_own = lambda module: self.is_own(module)  # as it is then: a plugin's modules come later
        rules.is_closed_path = lambda path: self.is_closed_path(path)
        rules.input_only = "open" not in self.plan.builtins
        return rules

    def refuses(self, name: str) -> bool:
        """Return whether this attribute name is refused, whatever the object."""
        return name in self.refused

    def is_plain(self, name: str) -> bool:
        """Return whether `name` is harmless in every role: attribute, identifier, keyword."""
        if name in self.plain:
            return True
        if name in self.refused or name in self.denied_builtins or name in names.RESERVED or name in _LOOKED_AT:
            return False
        if len(self.plain) >= _CACHED_NAMES:
            self.plain.clear()
        self.plain.add(name)
        return True

    def importable(self, module: str) -> bool:
        """Return whether an import statement may name `module` (dotted): the policy opens it, or the program has it."""
        found = self._open_modules.get(module)
        if found is None:
            if len(self._open_modules) >= _CACHED_NAMES:
                self._open_modules.clear()
            found = self._open_modules[module] = module_access(module, self.plan).allowed
        return found or self.is_own(module)

    def refused_field(self, template: str, depth: int = 0) -> str | None:
        """Return the first attribute name in a template of `str.format` that a replacement field may not look up, or
        None. Linear.

        A template that is not well formed has none: formatting it raises ValueError before anything is looked up there.
        """
        if not depth and _LOOKUP.search(template) is None:
            return None
        try:
            for _, field, spec, _ in Formatter().parse(template):
                for part in re.findall(r"\.(\w+)", field or ""):
                    if self.refuses(part):
                        return str(part)
                nested = spec is not None and "{" in spec and depth < _DEPTH
                if nested and (found := self.refused_field(spec or "", depth + 1)) is not None:
                    return found
        except ValueError:
            pass
        return None

    def refuses_member(self, module: str, name: str) -> bool:
        """Return whether a name of an open module is refused where it is written. What a module does not have is not:
        CPython's own error says so.
        """
        if self.plan.stdin and (module, name) in (("sys", "stdin"), ("os", "read"), ("io", "open")):
            return False
        if module in self.choosing:
            return name[:2] != "__" and not name_access(module, name, self.plan).allowed
        return name in self.members.get(module, ())

    def rule(self, kind: str, name: str) -> str:
        """Return where the policy says no to `name`: ``standard.yaml:12``, or its name when it says so nowhere."""
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
            rule = plan.rules.get(f"imports.{name}") or name_access(module, leaf, plan).rule
            return rule or self._origin(f"imports.{module}")
        return self._origin("language.mode")

    def _origin(self, path: str) -> str:
        rules = self.plan.rules
        while path:
            if path in rules:
                return rules[path]
            path = path.rpartition(".")[0]
        return self.plan.profile


def _choosing(plan: LanguagePlan) -> Iterator[str]:
    """Yield modules of which the policy lists names, and packages that are open only as the way to a module below."""
    for module, entry in plan.imports.items():
        if entry.names is not None and module not in WORDS:
            yield module
        yield from (above for above in parents(module) if above != module and is_passage(above, plan))


_rules: dict[int, Rules] = {}


def rules_of(plan: LanguagePlan) -> Rules:
    """Return the rules of `plan`, built at its first use."""
    found = _rules.get(identity(plan))
    if found is None:
        if len(_rules) >= 16:
            _rules.clear()
        found = _rules[identity(plan)] = Rules(plan)  # keeps the plan alive, so that its id stays its own
    return found
