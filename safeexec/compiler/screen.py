"""A first look at compiled code: is there any name or instruction in it that the rules have something to say about?

Most steps use nothing but plain names. For them the look at the syntax tree, which costs about as much as the compiler
itself, is not needed: the code object lists every identifier, attribute, keyword and module of its program. What this
screen lets pass, `StepTransformer` would have let pass unchanged: a test compares the two for thousands of programs of
a grammar. The one difference is what CPython leaves out because it can never run: ``if 0: import os``.
"""

from __future__ import annotations

import opcode
import sys
from types import CodeType
from typing import Final

from safeexec.compiler.rules import Rules

SUPPORTED: Final = (3, 11) <= sys.version_info < (3, 14)
"""Later versions may have node kinds and instructions that nobody has judged: there the tree is always visited."""

_IMPORT: Final = opcode.opmap["IMPORT_NAME"]
_EXTENDED: Final = opcode.opmap["EXTENDED_ARG"]
_TELLTALES: Final = bytes({opcode.opmap["MATCH_CLASS"], opcode.opmap["CHECK_EG_MATCH"]})
_STORES: Final = (opcode.opmap["STORE_ATTR"], opcode.opmap["DELETE_ATTR"])
_SHARED_LOADS: Final = bytes({opcode.opmap[name] for name in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR")})


def is_clean(code: CodeType, rules: Rules) -> bool:
    """Tell whether nothing in `code` needs a look: no suspicious name, class pattern, `except*` or refused import."""
    if not SUPPORTED or rules.constructs or not (rules.decorators and rules.star_imports):
        return False
    pending = [code]
    while pending:
        current = pending.pop()
        if not _names_are_plain(current, rules):
            return False
        instructions = current.co_code
        operations = instructions[::2]
        if _TELLTALES[0] in operations or _TELLTALES[1] in operations:
            return False
        if _may_assign_to_library(operations):
            return False
        if _IMPORT in operations and not _imports_are_allowed(current, instructions, rules):
            return False
        for constant in current.co_consts:
            kind = type(constant)
            if kind is CodeType:
                pending.append(constant)
            elif kind is tuple and not all(type(item) is not str or rules.is_plain(item) for item in constant):
                return False  # names of keyword arguments; also ordinary tuples of strings, which the visit then clears
    return True


def _names_are_plain(code: CodeType, rules: Rules) -> bool:
    known = rules.plain
    for group in (code.co_names, code.co_varnames, code.co_cellvars):
        if group and not known.issuperset(group):
            for name in group:
                if not rules.is_plain(name):
                    return False
    return True


def _imports_are_allowed(code: CodeType, instructions: bytes, rules: Rules) -> bool:
    previous = -1
    for position in range(0, len(instructions), 2):
        operation = instructions[position]
        if operation == _IMPORT:
            if previous == _EXTENDED:
                return False
            module = code.co_names[instructions[position + 1]]
            if not rules.is_open(module) or not rules.members_refused(module).isdisjoint(code.co_names):
                return False
        previous = operation
    return True


def _may_assign_to_library(operations: bytes) -> bool:
    """Tell whether an attribute is set or deleted on what may be imported: ``module.x = …``, ``module.Class.x = …``."""
    local_imports = _IMPORT in operations
    for store in _STORES:
        at = operations.find(store)
        while at > 0:
            before = at - 1
            while operations[before] in (0, _EXTENDED):  # inline caches
                before -= 1
            if local_imports or operations[before] in _SHARED_LOADS:
                return True
            at = operations.find(store, at + 1)
    return False
