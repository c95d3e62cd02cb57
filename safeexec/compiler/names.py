"""The tables of the restricted language: constructs, attribute names, identifiers.

An attribute name is one of three things:

plain     it may be written anywhere; the compiled code is CPython's own
guarded   it is harmless on some objects only: the compiler puts a run-time guard around the access
refused   it leads to frames, code, globals or the interpreter's own objects: a diagnostic at compile time

Names without a double underscore are plain unless they are listed, names with one are refused unless they are listed:
a list of forbidden names has always missed some type of object (CVE-2023-37271; `ag_frame`: RestrictedPython 8.5).
"""

from __future__ import annotations

import sys
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

_FRAME = (
    "f_back f_builtins f_code f_generator f_globals f_lasti f_lineno f_locals f_trace f_trace_lines f_trace_opcodes"
)
_TRACEBACK = "tb_frame tb_lasti"  # tb_lineno and tb_next lead nowhere: `sys.exc_info` gives tracebacks anyway
_GENERATORS = (
    "gi_frame gi_code gi_yieldfrom gi_running gi_suspended cr_frame cr_code cr_await cr_origin cr_running cr_suspended "
    "ag_frame ag_code ag_await ag_running ag_suspended"
)
_CODE = (
    "co_argcount co_cellvars co_code co_consts co_exceptiontable co_filename co_firstlineno co_flags co_freevars "
    "co_kwonlyargcount co_lines co_linetable co_lnotab co_name co_names co_nlocals co_positions co_posonlyargcount "
    "co_qualname co_stacksize co_varnames _co_code_adaptive _varname_from_oparg"
)
_OTHER = (
    "func_code func_globals func_closure func_defaults im_func im_self im_class "  # spelled like this by old tutorials
    "cell_contents ctypes _ctypes cffi _getframe _current_frames _current_exceptions _getframemodulename "
    "_import_from_c _import_from_c_capsule _import_from_c_device _import_from_c_device_capsule "  # pyarrow: addresses
    "_export_to_c _export_to_c_device"
)
REFUSED_PLAIN_NAMES: Final = frozenset(" ".join((_FRAME, _TRACEBACK, _GENERATORS, _CODE, _OTHER)).split())
"""Refused attribute names without a double underscore: what `inspect` documents on frames, code and generators."""

_METHODS = (
    # life of an object and of a class
    "__new__ __init__ __del__ __repr__ __str__ __bytes__ __format__ __hash__ __bool__ __dir__ __sizeof__ "
    "__init_subclass__ __set_name__ __class_getitem__ __prepare__ __instancecheck__ __subclasscheck__ "
    "__subclasshook__ __call__ __post_init__ __copy__ __deepcopy__ __replace__ __setstate__ "
    "__getnewargs__ __getnewargs_ex__ "
    # comparison and containers
    "__lt__ __le__ __eq__ __ne__ __gt__ __ge__ __len__ __length_hint__ __getitem__ __setitem__ __delitem__ __missing__ "
    "__iter__ __next__ __reversed__ __contains__ "
    # numbers
    "__add__ __sub__ __mul__ __matmul__ __truediv__ __floordiv__ __mod__ __divmod__ __pow__ __lshift__ __rshift__ "
    "__and__ __xor__ __or__ __radd__ __rsub__ __rmul__ __rmatmul__ __rtruediv__ __rfloordiv__ __rmod__ __rdivmod__ "
    "__rpow__ __rlshift__ __rrshift__ __rand__ __rxor__ __ror__ __iadd__ __isub__ __imul__ __imatmul__ __itruediv__ "
    "__ifloordiv__ __imod__ __ipow__ __ilshift__ __irshift__ __iand__ __ixor__ __ior__ __neg__ __pos__ __abs__ "
    "__invert__ __complex__ __int__ __float__ __index__ __round__ __trunc__ __floor__ __ceil__ "
    # descriptors, context managers, coroutines, buffers
    "__get__ __set__ __delete__ __enter__ __exit__ __aenter__ __aexit__ __await__ __aiter__ __anext__ __buffer__ "
    "__release_buffer__ __fspath__ "
    # protocols of libraries
    "__array__ __array_ufunc__ __array_function__ __array_wrap__ __array_finalize__ __array_priority__ __rich_repr__ "
    "__html__ __dataframe__"
)
_DATA = (
    "__class__ __name__ __qualname__ __module__ __doc__ __annotations__ __annotate__ __type_params__ __value__ "
    "__mro__ __bases__ __base__ __slots__ __match_args__ __weakref__ __static_attributes__ __firstlineno__ "
    "__abstractmethods__ __isabstractmethod__ __orig_bases__ __orig_class__ __args__ __origin__ __parameters__ "
    "__metadata__ __bound__ __constraints__ __covariant__ __contravariant__ __infer_variance__ __default__ "
    "__forward_arg__ __required_keys__ __optional_keys__ __total__ __protocol_attrs__ __final__ __override__ "
    "__no_type_check__ __dataclass_transform__ "
    "__dataclass_fields__ __dataclass_params__ __members__ __objclass__ __text_signature__ __signature__ "
    "__cause__ __context__ __suppress_context__ __notes__ __traceback__ __version__ __author__ __all__ __date__ "
    "__license__ __email__ __copyright__ __status__ __maintainer__ __credits__ __supertype__ __unpacked__ "
    "__file__ __stdout__ __stderr__ __unittest_skip__ __unittest_skip_why__ __unittest_expecting_failure__ "
    "__itemsize__ __basicsize__ __flags__ __debug__ __test__ __order__ __classcell__"
)
PLAIN_DUNDERS: Final = frozenset(f"{_METHODS} {_DATA}".split())
"""Double-underscore names that any program may read, call, assign and define."""

OWN_ONLY: Final = frozenset(
    {
        "_evaluate",  # typing.ForwardRef: evaluates its text
        "from_callable",  # inspect.Signature: eval_str=True evaluates annotations
        "_convert_",  # enum: writes into the namespace of any loaded module
        "_convert",
        "_module",  # warnings.catch_warnings: the real module
        "_ssock",  # asyncio event loops: their sockets and selector
        "_csock",
        "_selector",
        "get_stack",  # asyncio tasks: their frames
        "print_stack",
        "_source_traceback",  # of what asyncio debugs: objects that were made of frames
        "_globber",  # pathlib (3.13): functions of the real `os`
        "_abc_impl",  # abstract classes: what all of them share
        "_abc_caches_clear",
        "_abc_registry_clear",
        "enable_load_extension",  # sqlite3: machine code of any file
        "load_extension",
        "setconfig",
    }
)
"""Guarded names that programs use for themselves, and that are refused where a class of a library defines them."""

BY_VALUE: Final = frozenset(
    {"_code", "_flavour", "parser", "pathmod", "zlib", "np", "mpl", "matplotlib", "plt", "cm", "implementation", "_PIL"}
)
"""Guarded names that are refused only where they give what leads away: `pathlib.PurePath` has the real `os.path`, a
stream of `tarfile` the real `zlib`, a plot of sympy the real `matplotlib`."""

GUARDED: Final = (
    OWN_ONLY
    | BY_VALUE
    | frozenset(
        {
            "__dict__",  # a class's holds descriptors of refused names, a module's is a copy of nothing good
            "_member_map_",  # enum: which members a class has, for all who use it
            "_value2member_map_",
            "__mro_entries__",  # says what the classes of others are made of, where it is put into `typing.NamedTuple`
            "__getattribute__",  # getattr by another name; frozen dataclasses and proxies need them
            "__getattr__",
            "__setattr__",
            "__delattr__",
            "__getstate__",  # that of `object` shows what `__dict__` hides
            "__subclasses__",  # plugin registries; only classes of the program itself are shown
            "__wrapped__",  # memoised functions; not the wrapped originals of library code
            "__defaults__",  # functions of the program itself
            "__kwdefaults__",
            "__self__",  # methods of the program's own objects; print.__self__ is the module builtins
            "__func__",
            "format",  # resolves attribute names inside a string (CVE-2023-41039)
            "format_map",
            "obj",  # AttributeError.obj carries what library code was looking at (CVE-2024-47532)
        }
    )
)
"""Attribute names that are judged by the object at run time."""

JUDGED_STORES: Final = frozenset({"__module__", "__mro_entries__", "__dict__"})
"""Attributes whose assignment a guard judges by the object, whatever expression gives that object: `__module__` tells
classes of the program from those of libraries, the others may say what the classes of others are made of.
"""

UNASSIGNABLE: Final = frozenset({"__defaults__", "__kwdefaults__", "__self__", "__func__", "__subclasses__"})
"""Guarded names that no program assigns or deletes."""

FORMAT_FIELD_DUNDERS: Final = frozenset({"__class__", "__name__", "__qualname__"})
"""Double-underscore names that a replacement field of `str.format` may look up."""

DEFINABLE: Final = frozenset({"__reduce__", "__reduce_ex__"})
"""Refused as attributes, but a class may define them: what `copy` and `pickle` then call is the program's own."""

# Run-time guards, spelt as RestrictedPython spells its own; those that it does not have are spelt in the same way.
GUARD_ATTRIBUTE: Final = "_getattr_"
GUARD_TARGET: Final = "_write_"
GUARD_FORMAT: Final = "_format_"
GUARD_MATCH: Final = "_match_class_"
GUARD_GROUP: Final = "_except_group_"
GUARD_NAMES: Final = frozenset({GUARD_ATTRIBUTE, GUARD_TARGET, GUARD_FORMAT, GUARD_MATCH, GUARD_GROUP})

RESERVED: Final = GUARD_NAMES | {
    "__builtins__",
    "__import__",
    "__build_class__",
    "__loader__",
    "__spec__",
    "__globals__",
    "__code__",
    "__lazy_import__",
    "__classdict__",  # the very dict of a class, in scopes within it: written past the class, it frees what is in use
    # the guards of RestrictedPython that none of ours stands for
    "_getitem_",
    "_getiter_",
    "_print_",
    "_inplacevar_",
    "_unpack_sequence_",
    "_iter_unpack_sequence_",
    "_apply_",
}
"""Identifiers that no program reads or binds: the interpreter's own, and the guards."""

CLASS_CELL: Final = "__class__" if sys.version_info >= (3, 12) else ""
"""A name that no program reads alone (``x.__class__`` is allowed). A metaclass can give a class the cell of this name
as its ``__classdictcell__``; CPython then puts the real dict of the class into that cell.
"""

TEMPORARY: Final = "<class {}>"
"""A name that stands for a class of a match statement; no source can spell it."""


def is_internal(name: str) -> bool:
    """Tell whether only compiled code may look this name up: a guard, or what a match statement matches with.

    Guards are looked up as builtins are: whoever puts a name into a namespace for a program asks this first.
    """
    return name in GUARD_NAMES or name[:1] == "<"


SITE_BUILTINS: Final = frozenset({"copyright", "credits", "exit", "help", "license", "quit"})
"""What `site` adds to the builtins of an ordinary interpreter."""

ENVIRONMENTS: Final = frozenset(
    {
        "TYPE_CHECKING",
        "builtin_module_names",
        "implementation",
        "platform",
        "python_implementation",
        "version",
        "version_info",
    }
)
"""Names by which a condition asks about the interpreter or the system, besides ``os.name``. An import below such a
condition is refused when it runs, and not before: it may never run.
"""

IMPORT_FALLBACKS: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
"""An import in a `try` with one of these handlers is refused when it runs, so that its fallback can run."""


def is_dunder(name: str) -> bool:
    """Tell whether `name` is written with two underscores on both sides."""
    return name[:2] == "__" and name[-2:] == "__" and len(name) > 4
