"""The names by which a step is judged: which modules only compute, and which names lead out of them.

Data, and no code that runs with a step. A name that stands nowhere here counts as one that computes; by induction that
is safe, as every way out begins with one of these names (see `repeatable`).
"""

from __future__ import annotations

from opcode import opmap
from typing import Final

from safeexec.engine.policy.names import GUARD_FORMAT, UNGUARDED

GUARDS: Final = UNGUARDED | {"format": GUARD_FORMAT}
"""Builtin or method → the guard that the language layer writes instead. The other guards stand for nothing that a
program has written.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _or_guards(names: frozenset[str]) -> frozenset[str]:
    return names | {guard for name, guard in GUARDS.items() if name in names}


MODULES: Final = _words(
    """
    __future__ abc array base64 binascii bisect calendar cmath collections contextlib copy csv dataclasses
    datetime decimal difflib enum fractions functools graphlib hashlib heapq html io itertools json math mpmath
    numbers numpy operator random re statistics string struct sympy textwrap types typing unicodedata zlib
    """
)
"""Modules that only compute, and their submodules."""
NOT_BELOW: Final = _words(
    """
    _random numpy.ctypeslib numpy.distutils numpy.f2py numpy.lib numpy.ma numpy.testing sympy.external sympy.interactive
    sympy.plotting sympy.stats sympy.testing sympy.utilities
    """
)
"""Submodules of these that do not."""
IMPURE: Final = _or_guards(
    _words(
        """
    __import__ breakpoint compile copyright credits dir eval exec exit getattr globals hash help id input license
    locals memoryview open quit setattr vars
    """
    )
)
"""Builtins that show addresses, take names as strings, or reach objects that no name in the code gives away."""
HIDING: Final = _words(
    """
    gi_frame cr_frame ag_frame tb_frame f_back f_globals f_builtins f_locals attrgetter methodcaller get_field
    get_type_hints make_dataclass new_class update_wrapper buffer_info ctypes
    """
)
"""Attributes that lead to the frames of our own code, take names as strings, or show addresses."""
OUTWARD: Final = {
    "datetime": _words("now today utcnow"),
    "io": _words("open open_code FileIO"),
    "numpy": _words("memmap empty empty_like datetime64"),
}
"""Attributes of modules that compute, and of their objects, that lead to a clock, files or old memory. Entropy is seen
where it is taken (`process.determinism`).
"""
OUTWARD_WORDS: Final = {"functools": _words("assigned updated"), "numpy": _words("where now today")}
"""Keywords and strings that do, given to functions of the module: a part of the result is old memory, or the time, or
what has a name that a string gives.
"""
UNTIMELY: Final = _words("__del__ __deepcopy__")
"""Methods that run at a time that no step decides, or are given addresses: `copy` gives those of what it has copied."""
LASTING: Final = _words("gc weakref signal atexit")
"""Modules that run code of the program later, at a time that no step decides."""
SET_NAMES: Final = _words("set frozenset union symmetric_difference")
VIEW_NAMES: Final = _words("keys items")
"""Methods that give a view of a dict; an operator makes a set of it."""
VIEW_USERS: Final = _words("list tuple dict set frozenset sorted len sum min max any all zip map filter enumerate iter")
"""Builtins that take what is in a view, and make no set of it that is not seen."""
FILLING: Final = _words("add update symmetric_difference_update")
"""Methods that put objects into a set."""
CLASS_NAMES: Final = _words("type __class__")
"""Names that give the class of a set, which makes another set."""
HASHING: Final = _words("hash tuple frozenset sorted list int float round len sum min max abs bool")
"""Builtins that a `__hash__` may call for it to be computed from values."""
SETTERS: Final = SET_NAMES | VIEW_NAMES | FILLING | CLASS_NAMES
SET_CODES: Final = frozenset(opmap[name] for name in ("BUILD_SET", "SET_ADD", "SET_UPDATE") if name in opmap)
TEXTS: Final = _or_guards(_words("str repr format format_map ascii __str__ __repr__ __format__ pformat dumps"))
TEXT_CODES: Final = frozenset(code for name, code in opmap.items() if name.startswith(("FORMAT_", "CONVERT_")))
"""Instructions that make a string of an object; the string may show its address."""
SORTS: Final = _words("sort sorted min max nsmallest nlargest")
"""Functions that, named beside one that makes strings, may sort objects by strings that show addresses."""
DIGESTS: Final = _words("encode hexdigest digest crc32 adler32")
"""Names of what makes numbers of strings, in which no address can be seen any more."""
TELLING: Final = SETTERS | TEXTS | SORTS | DIGESTS
"""Names that say something of the step even where they compute, which is found by the code around them."""
_PLAIN_KINDS: tuple[type, ...] = (int, float, complex, str, list, dict, set, type(iter([])))
DUNDERS: Final = (
    frozenset(name for kind in _PLAIN_KINDS for name in vars(kind))
    | _words(
        """
    __name__ __qualname__ __module__ __doc__ __class__ __annotations__ __slots__ __mro__ __bases__
    __enter__ __exit__ __call__ __post_init__ __set_name__ __get__ __set__ __missing__ __getattr__
    __setattr__ __repr__ __str__ __eq__ __ne__ __init__ __new__ __format__ __fspath__ __matmul__ __imatmul__
    __iadd__ __isub__ __imul__ __itruediv__ __truediv__ __cause__ __context__ __notes__ __args__ __wrapped__
    __init_subclass__ __class_getitem__ __instancecheck__ __complex__ __bytes__ __static_attributes__
    __firstlineno__ __type_params__ __classcell__ __classdictcell__ __conditional_annotations__ __debug__ __all__
    __version__ __build_class__ __annotate__ __annotate_func__ __classdict__ __total__
    """
    )
) - _words(
    """
    __hash__ __sizeof__ __reduce__ __reduce_ex__ __getstate__ __getattribute__ __dir__
    """
)
INWARD: Final = _words(
    """
    compile exec code.__new__ function.__new__ object.__getattr__ object.__setattr__ object.__delattr__
    marshal.dumps marshal.loads sys._getframe sys._getframemodulename sys._current_frames array.__new__
    builtins.id gc.get_objects gc.get_referents gc.get_referrers setopencodehook sys.excepthook
    """
)
"""Audit events of operations that stay in the interpreter."""
