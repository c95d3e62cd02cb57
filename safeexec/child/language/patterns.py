"""The guards of `match` and of `except*`, where the interpreter itself asks a class of the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from safeexec.compiler.rules import PLAIN, Rules
from safeexec.identity import class_name, dict_of, flags_of, identity, instance_dict, mro_of


def match_guard(rules: Rules, refuse: Callable[[str], AttributeError]) -> Callable[[Any], Any]:
    """What a match statement matches with in place of a class: the interpreter looks `__match_args__` up in it."""
    known: dict[int, tuple[type, Any, type]] = {}
    """Identity of a class → itself, the `__match_args__` that it had, and what stands for it."""

    def guarded_class(cls: Any, /) -> Any:
        kind = type(cls)
        if (kind is type and cls in _MATCHED_WHOLE) or not issubclass(kind, type):  # CPython has a TypeError for these
            return cls
        arguments = getattr(cls, "__match_args__", None)
        found = known.get(identity(cls))
        if found is not None and found[1] is arguments:
            return found[2]
        if arguments is not None and type(arguments) is not tuple:
            got = type(arguments).__name__
            raise TypeError(f"{class_name(cls)}.__match_args__ must be a tuple (got {got})")
        for name in arguments or ():
            if type(name) is str and rules.attribute(name) != PLAIN:
                raise refuse(name)
        made = _stand_in(cls, arguments)
        if len(known) >= _KNOWN_TYPES:
            known.clear()
        known[identity(cls)] = cls, arguments, made
        return made

    return guarded_class


_KNOWN_TYPES: Final = 512
_MATCHED_WHOLE: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional part is the object itself; these never change."""
_MATCH_SELF: Final = 1 << 22
"""The flag (`_Py_TPFLAGS_MATCH_SELF`) that says so, also of classes derived from them."""


def _stand_in(cls: type, arguments: tuple[Any, ...] | None) -> type:
    """A class that has the instances of `cls` and these `__match_args__`, whatever becomes of `cls`."""

    class Meta(type):
        def __instancecheck__(self, instance: object) -> bool:
            return isinstance(instance, cls)

    bases = (list,) if flags_of(cls) & _MATCH_SELF else ()
    names = {} if arguments is None else {"__match_args__": arguments}
    return Meta(class_name(cls), bases, {"__slots__": (), **names})


def group_guard(types: Any, several: bool) -> Any:
    """`types`, with which a handler of `except*` matches the exception in flight. Refuses a group that would split
    itself: CPython does not check what its `split` returns (crashes of 3.11.7, 3.12.1, 3.13.0 reproduced). Of `several`
    handlers the second is given a group that `derive` has made.

    What a class says of itself is its own word: this looks into its dict. Stands around the types, so that nothing runs
    between the look and the match but another thread.
    """
    error = sys.exception()
    kind = type(error)
    if issubclass(kind, BaseExceptionGroup):
        own = {"split", "__getattribute__", "derive"} if several else {"split", "__getattribute__"}
        spaces = [dict_of(klass) for klass in mro_of(kind) if not any(klass is known for known in _GROUPS)]
        for space in (*spaces, instance_dict(error)):
            if any(type(key) is not str or key in own for key in space):
                raise TypeError(f"{class_name(kind)} splits or derives groups itself, which is refused in except*")
    return types


_GROUPS: Final = (BaseExceptionGroup, ExceptionGroup, Exception, BaseException, object)
