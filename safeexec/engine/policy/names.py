"""The tables of the restricted language: constructs, attribute names, identifiers.

An attribute name is plain or refused. Refused are the few names that lead to the interpreter's insides: frames, code
objects, the namespaces of functions, all classes there are. An honest program has no use for them, and a program that
means to get around this table can: what holds it is the kernel. Every other name is plain, whoever invents it tomorrow.
"""

from __future__ import annotations

import builtins
from typing import Final

CONSTRUCTS: Final[dict[str, tuple[str, ...]]] = {
    "annotation": ("AnnAssign",),
    "assert": ("Assert",),
    "assignment": ("Assign", "AnnAssign", "AugAssign"),
    "async": ("AsyncFunctionDef", "AsyncFor", "AsyncWith", "Await"),
    "attribute": ("Attribute",),
    "class": ("ClassDef",),
    "comprehension": ("ListComp", "SetComp", "DictComp", "GeneratorExp"),
    "decorator": (),
    "delete": ("Delete",),
    "f-string": ("JoinedStr", "TemplateStr"),
    "for": ("For", "AsyncFor"),
    "function": ("FunctionDef", "AsyncFunctionDef"),
    "global": ("Global",),
    "if": ("If",),
    "import": ("Import", "ImportFrom"),
    "lambda": ("Lambda",),
    "match": ("Match",),
    "nonlocal": ("Nonlocal",),
    "raise": ("Raise",),
    "star-import": (),
    "try": ("Try", "TryStar"),
    "type-alias": ("TypeAlias",),
    "walrus": ("NamedExpr",),
    "while": ("While",),
    "with": ("With", "AsyncWith"),
    "yield": ("Yield", "YieldFrom"),
}
"""Language construct, as a policy names it → the syntax nodes that are it (two are recognised inside other nodes)."""

_INSIDES = """
    __globals__ __code__ __closure__ __builtins__ __subclasses__ __base__ __import__ __loader__ __spec__
    cell_contents func_globals func_code func_closure

    f_back f_builtins f_code f_globals f_lasti f_locals f_trace tb_frame tb_lasti
    gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin ag_frame ag_code ag_await
    _getframe _getframemodulename _current_frames _current_exceptions

    co_code co_consts co_names co_varnames co_freevars co_cellvars co_filename
"""
"""Attributes of functions, methods and classes; of frames, tracebacks and what is running; of code objects."""
REFUSED_ATTRIBUTES: Final = frozenset(_INSIDES.split())
"""Attribute names that are refused where they are written, and where `getattr` and its kind compute them."""

FORMAT: Final = frozenset({"format", "format_map"})
"""Methods of text whose template may name attributes: ``"{0.__globals__}".format(f)``."""

# Guards that the compiler puts in, spelt as RestrictedPython spells its own.
GUARD_FORMAT: Final = "_format_"
GUARD_REFUSED: Final = "_refused_"
GUARD_ATTRIBUTE: Final = "_attribute_"
GUARD_SET: Final = "_made_set_"
UNGUARDED: Final = {name: f"_{name}_" for name in ("getattr", "setattr", "delattr", "hasattr")}
"""Builtins that compute an attribute name → the name of the real one, which is called once the name is judged."""
GUARD_NAMES: Final = frozenset({GUARD_FORMAT, GUARD_REFUSED, GUARD_ATTRIBUTE, GUARD_SET, *UNGUARDED.values()})
"""Names that only compiled code looks up."""

RESERVED: Final = GUARD_NAMES | {"__builtins__", "__import__", "__build_class__", "__loader__", "__spec__"}
"""Identifiers that no program binds: the interpreter's own, and the guards."""

INPUT_FILE: Final = "/dev/stdin"
"""The standard input by its name as a file: `open` takes it also where there are no files."""

SITE_BUILTINS: Final = frozenset({"copyright", "credits", "exit", "help", "license", "quit"})
"""The names that `site` adds to the builtins of an ordinary interpreter."""
KNOWN_BUILTINS: Final = frozenset(dir(builtins)) | SITE_BUILTINS

ENVIRONMENTS: Final = frozenset({
    "TYPE_CHECKING", "builtin_module_names", "implementation", "platform", "python_implementation", "version",
    "version_info",
})  # fmt: skip
"""Names by which a condition tests the interpreter or the system, besides ``os.name``. An import below such a
condition is refused when it runs, and not before: it may never run.
"""

IMPORT_FALLBACKS: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
"""An import in a `try` with one of these handlers is refused when it runs, so that its fallback can run."""
