"""A first look at compiled code: is there any name in it that the rules have something to say about?

Most steps use nothing but plain names. For them the look at the syntax tree, which costs as much as the compiler
itself, is not needed: a code object lists every identifier, attribute and keyword of its program, on every CPython,
and the text shows what it imports. What this screen lets pass, `StepTransformer` would have let pass unchanged: a
test compares the two for thousands of programs of a grammar. The one difference is what CPython leaves out because
it can never run: ``if 0: import os``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from types import CodeType, ModuleType
from typing import Final

from safeexec.engine.policy.access import parents
from safeexec.engine.policy.refusals import CALLS, canonical
from safeexec.language.rules import Rules

_WORD: Final = re.compile(r"\bimport\b")
_DOTTED: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_AS: Final = r"(?:[ \t]+as[ \t]+\w+)?"
_STATEMENT: Final = re.compile(
    rf"(?m)(?:^|;)[ \t]*(?:import[ \t]+({_DOTTED}{_AS}(?:,[ \t]*{_DOTTED}{_AS})*)"
    rf"|from[ \t]+({_DOTTED})[ \t]+import[ \t]+(\w+{_AS}(?:,[ \t]*\w+{_AS})*))[ \t]*(?=$|;|#)"
)
"""An import on a line of its own, as nearly all are written."""

_NOTHING: Final[frozenset[str]] = frozenset()


def is_clean(codes: tuple[CodeType, ...], rules: Rules, source: str, known_names: Container[str]) -> bool:
    """Tell whether nothing in `codes`, which `source` was compiled to, needs a look: no suspicious name, no refused
    import. `known_names` is the namespace of the session, or its names.
    """
    if rules.constructs or not (rules.decorators and rules.star_imports):
        return False
    imported = _imported(source) if "import" in source else ()
    if imported is None or not all(map(rules.importable, imported)):
        return False
    every = [*codes]
    read: set[str] = set()
    bound: set[str] = set()
    for code in every:
        read.update(code.co_names)
        bound.update(code.co_varnames, code.co_cellvars)
        for constant in code.co_consts:
            if type(constant) is CodeType:
                every.append(constant)
            elif type(constant) is tuple:  # of keyword arguments; or an ordinary one, which the visit then clears
                bound.update(item for item in constant if type(item) is str)
    known = rules.plain
    for names in read, bound:
        if not known.issuperset(names) and not all(name in known or rules.is_plain(name) for name in names):
            return False
    return not _reads_refused(read, imported, rules, known_names)


def _imported(source: str) -> set[str] | None:
    """The modules that the text imports. None where an import is written in another way, or the word stands
    elsewhere.
    """
    statements = _STATEMENT.findall(source)
    if len(statements) != len(_WORD.findall(source)):
        return None
    return {part.split()[0] for plain, module, _ in statements for part in (plain or module).split(",")}


def _reads_refused(names: set[str], imported: Iterable[str], rules: Rules, known_names: Container[str]) -> bool:
    """Tell whether a module is at hand, by an import of this text or of an earlier step, and a name of it that is
    refused is among `names`.
    """
    modules = {canonical(above) for module in imported for above in parents(module)} if imported else set()
    if type(known_names) is dict:
        for name in names:
            if type(found := known_names.get(name)) is ModuleType:
                modules.add(canonical(found.__name__))
    for module in modules:
        if module in CALLS and not names.isdisjoint(CALLS[module].split()):
            return True
        if module in rules.choosing or not rules.members.get(module, _NOTHING).isdisjoint(names):
            return True
        if any(f"{module}.{name}" in rules.closed for name in names):
            return True
    return False
