"""A logging module of the guest's own.

Its loggers are not the libraries', styles read no refused attributes, and messages go to the guest's stderr. The real
module is loaded a second time, under its own name but not in `sys.modules`, and some of its names are changed.
"""

from __future__ import annotations

import sys
from collections import UserString
from types import ModuleType
from typing import Any

from safeexec.facades.replacements.attributes import Formatter, load_again
from safeexec.facades.replacements.guards import Lazy, checked_getattr, checked_vars
from safeexec.facades.replacements.streams import current_stream
from safeexec.facades.tables import table


class _Sys:
    """What the second logging module takes for sys: stderr is the guest's."""

    @property
    def stderr(self) -> Any:
        return current_stream("stderr")

    def __repr__(self) -> str:
        return "<module 'sys'>"

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


_Sys.__name__ = _Sys.__qualname__ = "module"  # as errors name it


_MODULES: list[ModuleType] = []


def _logging() -> ModuleType:
    if not _MODULES:
        module = load_again("logging")
        _restrict(module)
        _MODULES.append(module)
    return _MODULES[0]


def _restrict(module: ModuleType) -> None:
    import atexit

    atexit.unregister(module.shutdown)
    names = vars(module)
    formatter: Any = Formatter()

    def values(style: Any, record: Any) -> dict[str, Any]:
        return {**(style._defaults or {}), **checked_vars(record)}

    def formatted(formatter: Any, record: Any) -> Any:
        if isinstance(formatter, str | UserString):  # the program has stored it: its fields walk over the record
            return checked_getattr(formatter, "format")(record)
        return formatter.format(record)

    def lines(formatter: Any, records: Any) -> str:
        if not records:
            return ""
        text = "".join(formatted(formatter.linefmt, record) for record in records)
        return formatter.formatHeader(records) + text + formatter.formatFooter(records)  # type: ignore[no-any-return]

    names["sys"] = _Sys()
    module.Handler.format = lambda handler, record: formatted(handler.formatter or module._defaultFormatter, record)
    module.Formatter.formatMessage = lambda formatter, record: formatted(formatter._style, record)
    module.BufferingFormatter.format = lines
    module.PercentStyle._format = lambda style, record: style._fmt % values(style, record)
    module.StrFormatStyle._format = lambda style, record: formatter.vformat(style._fmt, (), values(style, record))
    module.StringTemplateStyle._format = lambda style, record: style._tpl.substitute(**values(style, record))


def _names() -> dict[str, Any]:
    reviewed = table("logging")
    assert reviewed is not None
    return {
        f"logging.{name}": Lazy(lambda name=name: getattr(_logging(), name, None))  # type: ignore[misc]
        for name in reviewed.replaced
    }


REPLACEMENTS: dict[str, Any] = _names()
