"""The guard of `str.format` and `format_map`: a field of a template reads attributes by their names."""

from __future__ import annotations

from collections import UserString
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final

from safeexec.compiler.rules import Rules
from safeexec.compiler.templates import refused_field
from safeexec.identity import exact

_KNOWN_TEMPLATES: Final = 4096
"""Templates, and characters of one, that are remembered as harmless."""
_USER_STRING: Final[tuple[Any, ...]] = (UserString.format, UserString.format_map)
_METHOD_OF_TYPE: Final = type(str.format)
_METHOD_OF_VALUE: Final = type("".format)


def format_guards(
    rules: Rules, refuse: Callable[[str], AttributeError]
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The `format` to call of a template that is not a literal, and a guard for `format` and `format_map` as values.

    Each template is read once. What counts is the method that was found, not what the object or its class claims.
    """
    harmless: dict[str, Callable[..., str]] = {}
    """Template read before → its own `format`."""
    unbound = (str.format, str.format_map)

    def learn(template: str) -> None:
        field = refused_field(template, rules)
        if field is not None:
            raise refuse(field)
        if len(harmless) >= _KNOWN_TEMPLATES:
            harmless.clear()
        if len(template) <= _KNOWN_TEMPLATES:
            harmless[template] = template.format

    def formatter(found: Any) -> Any:
        """The method `found`, which reads its template first if it is one of `str`."""
        kind = type(found)
        if kind is _METHOD_OF_TYPE and found in unbound:

            def unbound_format(*args: Any, **kwargs: Any) -> Any:
                if args and isinstance(args[0], str):
                    args = (exact(args[0]), *args[1:])
                    learn(args[0])
                return found(*args, **kwargs)

            return unbound_format
        if kind is MethodType and found.__func__ in _USER_STRING:
            return formatter(getattr(exact(found.__self__.data), found.__func__.__name__))
        if kind is FunctionType and found in _USER_STRING:
            return lambda self, *args, **kwargs: formatter(getattr(self, found.__name__))(*args, **kwargs)
        if kind is not _METHOD_OF_VALUE or not isinstance(found.__self__, str):
            return found
        template = exact(found.__self__)
        by_template = getattr(template, found.__name__)

        def bound_format(*args: Any, **kwargs: Any) -> Any:
            learn(template)
            return by_template(*args, **kwargs)

        return bound_format

    def guarded_format(value: Any, /) -> Any:
        if type(value) is not str:  # a subclass may have a `format` or a hash of its own
            return formatter(value.format)
        try:
            return harmless[value]
        except KeyError:
            pass  # its error would be the context of what is raised in here
        learn(value)
        return value.format

    return guarded_format, formatter
