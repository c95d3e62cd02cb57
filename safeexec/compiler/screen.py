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

from safeexec.compiler import names
from safeexec.compiler.rules import Rules

SUPPORTED: Final = (3, 11) <= sys.version_info < (3, 14)
"""Later versions may have node kinds and instructions that nobody has judged: there the tree is always visited."""

_IMPORT: Final = opcode.opmap["IMPORT_NAME"]
_EXTENDED: Final = opcode.opmap["EXTENDED_ARG"]
_TELLTALES: Final = bytes({opcode.opmap["MATCH_CLASS"], opcode.opmap["CHECK_EG_MATCH"]})
_STORES: Final = (opcode.opmap["STORE_ATTR"], opcode.opmap["DELETE_ATTR"])
_SWAP: Final = opcode.opmap["SWAP"]
_COPY: Final = opcode.opmap["COPY"]
_NEVER_LIBRARY: Final = bytes(
    code
    for name, code in opcode.opmap.items()
    if name.startswith("LOAD_FAST") or name in ("STORE_FAST_LOAD_FAST", "CALL", "BINARY_SUBSCR", "SWAP")
)
"""What puts an object on the stack that the visit does not take for a library's: a local variable, a result, an item;
or puts it there again, see `_may_augment_library`."""
_READS: Final = bytes({opcode.opmap["LOAD_ATTR"], _EXTENDED})


def is_clean(code: CodeType, rules: Rules, source: str) -> bool:
    """Tell whether nothing in `code`, which `source` was compiled to, needs a look: no suspicious name, class pattern,
    `except*` or refused import.
    """
    if not SUPPORTED or rules.constructs or not (rules.decorators and rules.star_imports):
        return False
    cell = names.CLASS_CELL if _may_read_cell(source) else ""
    pending = [code]
    while pending:
        current = pending.pop()
        if not _names_are_plain(current, rules) or (cell and _has_name(current, cell)):
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


def _has_name(code: CodeType, name: str) -> bool:
    return name in code.co_names or name in code.co_varnames or name in code.co_cellvars


def _may_read_cell(source: str) -> bool:
    """Tell whether the text may have `CLASS_CELL` otherwise than as an attribute. The code object does not tell: a call
    of `super` reads the cell, too, and looks the same. (Letters beyond ASCII may spell the name in other ways.)
    """
    text = names.CLASS_CELL
    return bool(text) and not (source.isascii() and source.count(text) == source.count(f".{text}"))


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
    augmented = False
    for store in _STORES:
        at = operations.find(store)
        while at > 0:
            before = _before(operations, at)
            if local_imports or before not in _NEVER_LIBRARY:
                return True
            augmented |= before == _SWAP
            at = operations.find(store, at + 1)
    return augmented and _may_augment_library(operations)


def _may_augment_library(operations: bytes) -> bool:
    """The same of ``x.n += 1``, where the object was loaded further up: ``COPY, LOAD_ATTR … SWAP, STORE_ATTR``."""
    at = operations.find(_COPY)
    while at > 0:
        if operations[at + 1] in _READS and _before(operations, at) not in _NEVER_LIBRARY:
            return True
        at = operations.find(_COPY, at + 1)
    return False


def _before(operations: bytes, at: int) -> int:
    """The instruction before this one, without the inline caches."""
    at -= 1
    while at > 0 and operations[at] in (0, _EXTENDED):
        at -= 1
    return operations[at]
