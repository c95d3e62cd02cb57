"""Unpickling that goes on where one object cannot be made, so that a saved state loses that variable and no other.

The unpickler in Python: what it does for each opcode can fail, and what then stands in the object's place is `Inert`.
The pickles of a state share one memo. What a failed variable has made and put into it is inert for the others, too: a
variable that is made of it fails as well. Text and what names stand for are kept.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, ClassVar, Final

_IN_PYTHON: Final[Any] = vars(pickle)["_Unpickler"]
_TEXT: Final = (str, bytes)
"""Types of objects that are whole however their variable ends: names of attributes and columns, which others share."""
_RECALLED: Final = (pickle.GET, pickle.BINGET, pickle.LONG_BINGET)
_MADE: Final = (pickle.NEWOBJ, pickle.NEWOBJ_EX, pickle.FROZENSET, pickle.DICT, *_RECALLED)
"""Opcodes that put something onto the stack, after they have taken its parts from there."""
_CALLED: Final = (pickle.REDUCE,)
"""Opcodes that call what stands where the result will be."""
_FILLED: Final = (pickle.BUILD, pickle.APPEND, pickle.APPENDS, pickle.SETITEM, pickle.SETITEMS, pickle.ADDITEMS)
"""The object that is filled stays where it is."""


class _InertType(type):
    """The type of `Inert`, with what a pickle does to the objects that it makes."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        return cls

    def __setitem__(cls, key: object, value: object) -> None: ...

    def __getattr__(cls, name: str) -> Any:
        return cls  # `append`, `extend`, `add` and `__setstate__`, which are called


class Inert(metaclass=_InertType):
    """Stands for what could not be made, and for all that is made of it."""

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        return cls


def variables(names: Any) -> list[str]:
    """Return the names of the variables that the next pickles are, as the first one says. Raises UnpicklingError."""
    if type(names) is not list or not all(type(name) is str for name in names):
        raise pickle.UnpicklingError("the saved state holds no variables")
    return names


class Salvager(_IN_PYTHON):  # type: ignore[misc]
    """Loads one pickle after the other; `errors` say why the last one has no value."""

    dispatch: ClassVar[dict[int, Any]] = dict(_IN_PYTHON.dispatch)

    def __init__(self, file: Any, find: Callable[[str, str], Any]) -> None:
        super().__init__(file)
        self._find = find
        self._found: dict[int, Any] = {}
        """The objects that names stand for, by identity: whole, whatever is made of them."""
        self.errors: list[Exception] = []

    def load(self) -> Any:
        """Return the next value, which is nothing to use if there are `errors`."""
        self.errors.clear()
        before = len(self.memo)
        value = super().load()
        if self.errors:
            for place in range(before, len(self.memo)):
                kept = self.memo.get(place)
                if type(kept) not in _TEXT and id(kept) not in self._found:
                    self.memo[place] = Inert
        return value

    def find_class(self, module: str, name: str) -> Any:
        """Return what the state means by this name."""
        try:
            found = self._find(module, name)
            self._found[id(found)] = found
            return found
        except Exception as error:
            self.errors.append(error)
            return Inert


def _going_on(code: bytes) -> Callable[[Salvager], None]:
    real = _IN_PYTHON.dispatch[code[0]]

    def opcode(self: Salvager) -> None:
        try:
            real(self)
        except Exception as error:
            self.errors.append(error)
            if code in _MADE:
                self.append(Inert)
            elif code in _CALLED:
                self.stack[-1] = Inert
        if code in _RECALLED and self.stack[-1] is Inert:
            self.errors.append(pickle.UnpicklingError("it is made of a variable that could not be restored"))

    return opcode


Salvager.dispatch.update({code[0]: _going_on(code) for code in (*_MADE, *_CALLED, *_FILLED)})
