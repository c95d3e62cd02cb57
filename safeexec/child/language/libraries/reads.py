"""The `getattr`, `setattr` and `delattr` of modules of libraries that are told a name by the program.

``rolling(win_type="__builtins__")``, ``BaseEstimator.get_params`` of a function with parameter names of the program's
choice: a library asks with a name that the compiler has never seen. In the modules that do so (`sites.READERS`, found
from their source) these three are guarded. A name that the library itself spells, in the function that asks or in its
callers, is read as ever. Any other name is judged as in the program's own `getattr`, and so is the value that comes
back. Where another library's module is asked, its facade answers: ``agg("load")`` is the `load` of the facade of numpy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any, Final

from safeexec.child.language.guards import makes_bases, refusal, wraps
from safeexec.child.language.libraries.patching import put
from safeexec.child.language.libraries.sites import READERS
from safeexec.child.language.program import frames_of_library, is_of_program, leads_away
from safeexec.child.language.spelling import spells
from safeexec.compiler import names
from safeexec.compiler.rules import PLAIN, REFUSED, Rules
from safeexec.facades.build import facade
from safeexec.facades.replacements.checked import checked_getattr, checked_setattr, checked_vars
from safeexec.identity import exact

_getattr, _setattr, _delattr, _type = getattr, setattr, delattr, type


def guard(rules: Rules) -> None:
    known: set[str] = set()
    setter, deleter = library_setters(rules)
    for module in READERS:
        put(module, "getattr", partial(library_getattr, module, rules, known))
        put(module, "setattr", lambda: setter)
        put(module, "delattr", lambda: deleter)
    for module in ("argparse", "matplotlib.colors", "sklearn.utils._array_api"):
        put(module, "vars", lambda: checked_vars)


_METHODS: Final = (FunctionType, MethodDescriptorType)
_ASKS_IF_CALLABLE: Final = ("runtime_checkable", "_ProtocolMeta.__init__.<locals>.<genexpr>")
"""Of `typing`, about the members of a protocol: the one from 3.12.2 on, the other before."""


def _is_asked_if_callable(frame: FrameType) -> bool:
    return frame.f_code.co_qualname in _ASKS_IF_CALLABLE and not is_of_program(frame)


def library_getattr(module: str, rules: Rules, known: set[str]) -> Callable[..., Any]:
    """The `getattr` of a library's module. `known` holds plain names that were read before."""
    own = module.partition(".")[0]

    def getattr(value: Any, name: Any, *default: Any) -> Any:
        if _type(name) is not str or not (name in known or is_plain(name)):
            # The ``__dict__`` of a class has what `type` itself would not give.
            if name != "__dict__" and _is_spelled(name, getattr):
                found = _getattr(value, name, *default)
                # An enum compares its methods with those of `object`: a method of the program would be given those.
                return found if own != "enum" or name != "__reduce_ex__" or _type(found) in _METHODS else object()
            if module == "typing" and _is_asked_if_callable(sys._getframe(1)):
                return _getattr(value, name, *default)  # 3.12: it asks whether a member can be called, and drops it
            if name == "__dict__" and _is_open(value, found := _getattr(value, name, *default)):
                return found  # what every `wraps` asks for
            if name == "__dict__" and default and _type(value) is ModuleType:
                return default[0]  # `inspect.get_annotations` asks it of each class's module (3.12), for text to be run
            if _type(name) is str and rules.attribute(name) == REFUSED:
                raise refusal(rules, "attribute", name, AttributeError)  # a default of the library's would hide why
            return checked_getattr(value, name, *default)
        if _type(value) is ModuleType and not _is_spelled(name, getattr):
            value = as_given(value)
        found = _getattr(value, name, *default)
        if leads_away(found) and not _is_spelled(name, getattr):
            raise refusal(rules, "attribute", name, AttributeError)
        return found

    def as_given(read: ModuleType) -> Any:
        """The facade of a module of another library; the module where the program has none."""
        name = read.__name__
        if name.partition(".")[0] == own:  # it may be half imported
            return read
        try:
            return facade(name, rules.plan)
        except ImportError:
            return read

    def is_plain(name: str) -> bool:
        if rules.attribute(name) != PLAIN:
            return False
        known.add(name)
        return True

    return getattr


def library_setters(rules: Rules) -> tuple[Callable[[Any, Any, Any], None], Callable[[Any, Any], None]]:
    """`setattr` and `delattr` of a library, which may have been told the name, and of what."""

    def is_told(target: Any, name: Any, asked: Callable[..., None]) -> bool:
        """Whether the rules have something to say. Of a class they have it where it is stored (`facades.judged`), but
        for ``__module__``, which tells a class of the program from those of libraries.
        """
        is_class = issubclass(_type(target), type)
        if _type(name) is not str or (is_class and name == "__module__"):
            return True
        verdict = rules.attribute(name)
        return not (verdict == PLAIN or (is_class and verdict != REFUSED) or _is_spelled(name, asked, 3))

    def setattr(target: Any, name: Any, value: Any) -> None:
        if is_told(target, name, setattr):
            checked_setattr(target, name, value)
        else:
            _setattr(target, name, value)

    def delattr(target: Any, name: Any) -> None:
        if is_told(target, name, delattr):
            raise refusal(rules, "attribute", exact(name), AttributeError)
        _delattr(target, name)

    return setattr, delattr


def _is_open(value: Any, found: Any) -> bool:
    """Whether a ``__dict__`` has nothing that the program may not read."""
    return (
        _type(found) is dict
        and not makes_bases(found)
        and not wraps(value, found)
        and names.OWN_ONLY.isdisjoint(found)
        and not any(map(leads_away, (found, *found.values())))
    )


def _is_spelled(name: Any, asked: Callable[..., Any], depth: int = 2) -> bool:
    """Whether the function of a library that asks for this name spells it, or one of the same library that has called
    it: of another function's names the program chooses. It also says what its own module is called. `asked` is what it
    has called; where its module has another one, code in C calls this one for the program.
    """
    frame = sys._getframe(depth)
    if frame.f_globals.get(asked.__name__) is not asked:
        return False
    return any(spells(calling, name) for calling in frames_of_library(frame))
