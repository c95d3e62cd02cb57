"""`yaml` for plain data: no tag makes an object, and none of a program's objects is written as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from safeexec.facades.replacements.checked import Lazy

_made: dict[str, Any] = {}


def _versions() -> dict[str, Any]:
    """The replacements, made when yaml is first asked for."""
    if _made:
        return _made
    import yaml

    loaders = (yaml.SafeLoader, yaml.BaseLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader))

    class Dumper(yaml.SafeDumper):
        """`yaml.Dumper` of plain data."""

    Dumper.add_representer(
        tuple, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:python/tuple", data)
    )
    Dumper.__module__ = "yaml.dumper"

    def checked(kind: Any, usual: tuple[Any, ...], safe: str) -> Any:
        if not (isinstance(kind, type) and issubclass(kind, usual)):
            name = getattr(kind, "__name__", repr(kind))
            raise PermissionError(f"yaml with {name} is refused: it makes any object that the text names; use {safe}")
        return kind

    def load(stream: Any, Loader: Any) -> Any:
        return yaml.load(stream, checked(Loader, loaders, "yaml.safe_load"))

    def load_all(stream: Any, Loader: Any) -> Any:
        return yaml.load_all(stream, checked(Loader, loaders, "yaml.safe_load_all"))

    def dump_all(documents: Any, stream: Any = None, Dumper: Any = Dumper, **options: Any) -> Any:
        return yaml.dump_all(documents, stream, checked(Dumper, (yaml.SafeDumper,), "yaml.safe_dump_all"), **options)

    def dump(data: Any, stream: Any = None, Dumper: Any = Dumper, **options: Any) -> Any:
        return dump_all([data], stream, Dumper=Dumper, **options)

    def full_load(stream: Any) -> Any:
        return yaml.safe_load(stream)

    def add_representer(data_type: Any, representer: Any, Dumper: Any = Dumper) -> None:
        checked(Dumper, (yaml.SafeDumper,), "yaml.SafeDumper").add_representer(data_type, representer)

    def add_constructor(tag: str, constructor: Any, Loader: Any = yaml.SafeLoader) -> None:
        checked(Loader, loaders, "yaml.SafeLoader").add_constructor(tag, constructor)

    functions = (load, load_all, dump, dump_all, full_load, add_representer, add_constructor)
    _made.update({function.__name__: function for function in functions})
    _made.update(Dumper=Dumper, FullLoader=yaml.SafeLoader)
    return _made


def _lazy(name: str) -> Callable[[], Any]:
    return Lazy(lambda: _versions()[name])


_NAMES = "load load_all dump dump_all full_load add_representer add_constructor Dumper FullLoader"

REPLACEMENTS: dict[str, Any] = {f"yaml.{name}": _lazy(name) for name in _NAMES.split()}
