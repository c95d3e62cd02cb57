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
from safeexec.facades.replacements.checked import Lazy, checked_getattr, checked_setattr, checked_vars
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

    def makeRecord(
        logger: Any,
        name: Any,
        level: Any,
        fn: Any,
        lno: Any,
        msg: Any,
        args: Any,
        exc_info: Any,
        func: Any = None,
        extra: Any = None,
        sinfo: Any = None,
    ) -> Any:
        record = module._logRecordFactory(name, level, fn, lno, msg, args, exc_info, func, sinfo)
        for key in () if extra is None else extra:
            if key in ("message", "asctime") or key in checked_vars(record):
                raise KeyError(f"Attempt to overwrite {key!r} in LogRecord")
            checked_setattr(record, key, extra[key])
        return record

    def makeLogRecord(dict: Any) -> Any:
        record = module._logRecordFactory(None, None, "", 0, "", (), None, None)
        for key, value in dict.items():
            checked_setattr(record, key, value)
        return record

    names["sys"] = _Sys()
    names["makeLogRecord"] = makeLogRecord  # what the program's factory gives is stored into as the program could
    module.Logger.makeRecord = makeRecord
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
