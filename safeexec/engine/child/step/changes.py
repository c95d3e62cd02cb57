"""Finds what a step did to the variables: which names it created, changed and deleted; and what each of them is.

How we know, cheaply (2 to 5 us for ``x = x + 1``):

- *Created, deleted, rebound*: the identities of all values before and after. Only the numbers are kept, never the
  objects, so that ``df = df.dropna()`` frees the old frame at once, and ``__del__`` runs when it should. In a namespace
  of more than 64 names only those count that the step's code mentions, directly or in the functions of the session that
  it mentions.
- *Mutated in place*: a fingerprint before and after, of the names that the step's code mentions. A number is its own;
  a container gives its length and the identities of its items and looks two levels deep; an array or a DataFrame gives
  shape, dtype and a checksum of its bytes (up to 256 KiB, then of 4096 elements spread over the whole); an object gives
  its ``__dict__``. Of more than 64 items some count: of a list 48 spread over the whole, of a dict 16 at each end, of a
  set 16, of a deque the first 64.

So a change is missed where one item in the middle of a large container is replaced, where it lies deeper, and where a
function that was stored in a container changes a name that no code of the step mentions. Nothing is reported that did
not happen.
"""

from __future__ import annotations

import sys
from itertools import compress, islice
from operator import ne
from types import CodeType, FunctionType, ModuleType
from typing import Any
from zlib import crc32

from safeexec.common.identity import class_name, identity, instance_dict, module_of
from safeexec.common.text import short_repr, type_name
from safeexec.engine.child.repeat.code import all_names
from safeexec.engine.policy.names import GUARD_NAMES
from safeexec.protocol.messages import DESCRIPTION_CHARACTERS, FEW, NAME_CHARACTERS, ChangesReport, VariableData

_ALL_NAMES = 64
"""Names of a namespace up to which all of them are watched."""
_ITEMS = 64
"""Items of a container up to which all of them are looked at."""
_SPREAD = 16
"""How many items of a larger list are looked at: so many at its start, at its end, and between."""
_BYTES = 256 << 10
"""Bytes of an array up to which all of them are in its checksum."""
_ELEMENTS = 4096
"""About how many elements of a larger array are looked at, spread over the whole."""
_LEVELS = 3
"""How deep a fingerprint looks."""
_DESCRIBED = 200
"""Variables that a report describes. It names more of them."""
_VARIABLES = 1000
"""Variables that are described when the host asks."""
_TEXT = 80
"""Characters of the text of a variable then."""


_NUMBERS = (int, float, bool, complex)
_LONG = 10**39
"""A whole number that a description does not hold."""
_SEQUENCES = (list, tuple)


Before = tuple[list[str], list[int], dict[str, Any], int, bool]
"""A namespace before a step: names, identities of their values, fingerprints of those that the step mentions, how many
names there are, and whether the names are only those of many that are watched."""


def before_step(namespace: dict[str, Any], body: CodeType | None, tail: CodeType | None) -> Before:
    """Remember what the step that consists of `body` and `tail` finds; without either, which a query of SQL is, all
    names. Runs no guest code.
    """
    mentioned: set[str] = set()
    parts: list[Any] = [body, tail]
    for part in parts:  # as `all_names`, without its calls: this is the way of each step
        if type(part) is CodeType:
            mentioned.update(part.co_names)
            parts += part.co_consts
    size = len(namespace)
    watched = size > _ALL_NAMES and not (body is None and tail is None)
    if not watched:
        names, identities = list(namespace), list(map(identity, namespace.values()))
    else:
        _mention_functions(namespace, mentioned)
        names = [name for name in mentioned if name in namespace]
        identities = [identity(namespace[name]) for name in names]
    fingerprints = {}
    for name in mentioned:
        if name in namespace:
            found = fingerprint(namespace[name])
            if found is not None:
                fingerprints[name] = found
    return names, identities, fingerprints, size, watched


def after_step(namespace: dict[str, Any], before: Before) -> ChangesReport | None:
    """Return what is different now, or None where nothing is."""
    old_names, old_identities, fingerprints, size, watched = before
    if watched:
        names, identities = _watched(namespace, old_names, size)
    else:
        names, identities = list(namespace), list(map(identity, namespace.values()))
    created: list[str] = []
    deleted: list[str] = []
    if names == old_names:
        changed = list(compress(names, map(ne, old_identities, identities)))
    else:
        was = dict(zip(old_names, old_identities, strict=True))
        now = dict(zip(names, identities, strict=True))
        # Not what Python itself adds (``__warningregistry__``), nor a key that is no name.
        created = [n for n in names if n not in was and type(n) is str and not (n[:2] == "__" and n[-2:] == "__")]
        deleted = [name for name in old_names if name not in now]
        changed = [name for name in names if was.get(name, now[name]) != now[name]]
    for name, found in fingerprints.items():
        if name in namespace and name not in changed and fingerprint(namespace[name]) != found:
            changed.append(name)
    return _report(namespace, created, changed, deleted) if created or changed or deleted else None


def _mention_functions(namespace: dict[str, Any], names: set[str]) -> None:
    """Add what the session's own functions mention, for those functions that are mentioned themselves."""
    waiting = list(names)
    while waiting and len(names) < 10_000:
        value = namespace.get(waiting.pop())
        if type(value) is FunctionType and value.__globals__ is namespace:
            found = all_names(value.__code__)
            waiting += found - names
            names |= found


def _watched(namespace: dict[str, Any], watched: list[str], size: int) -> tuple[list[str], list[int]]:
    """Return names and identities in a large namespace: those watched, and those that were added at its end."""
    names = [name for name in watched if name in namespace]
    added = len(namespace) - size + len(watched) - len(names)
    if added > 0:
        known = set(names)
        names += [name for name in islice(reversed(namespace), added) if name not in known][::-1]
    return names, [identity(namespace[name]) for name in names]


def _report(
    namespace: dict[str, Any], created: list[str], changed: list[str], deleted: list[str]
) -> ChangesReport | None:
    """Return the names that a program could have bound, the living ones with a description; None where none is."""
    report = ChangesReport()
    descriptions, gone = report.descriptions, report.deleted
    for names, listed in ((created, report.created), (changed, report.changed), (deleted, gone)):
        for name in names:
            if type(name) is not str or name in GUARD_NAMES or len(listed) >= FEW:
                continue
            plain = _plain(name) if name[NAME_CHARACTERS:] or not name.isascii() else name
            listed.append(plain)
            if listed is not gone and len(descriptions) < _DESCRIBED:
                descriptions[plain] = describe(namespace[name])[:DESCRIPTION_CHARACTERS]
    return report if report.created or report.changed or gone else None


def _plain(name: str) -> str:
    """Return a name as messages can carry it: `globals()["\\ud800"] = 1` makes one that UTF-8 cannot, and one of a
    million characters is cut.
    """
    plain = name.encode("utf-8", "replace").decode()
    return plain if len(plain) <= NAME_CHARACTERS else plain[: NAME_CHARACTERS - 1] + "…"


# Fingerprints


def fingerprint(value: Any, levels: int = _LEVELS) -> Any:
    """Return something small that differs when `value` was changed in place; None for what has no inside.

    Holds no reference to `value` nor to its items, and runs no code of the guest.
    """
    kind = type(value)
    if kind in _NUMBERS:
        return (value,)  # in a tuple, because a NaN equals itself only there
    if kind is str or kind is bytes or value is None or levels == 0:
        return None
    if kind in _SEQUENCES:
        return _of_items(value, len(value), levels)
    if kind is dict:
        return _of_dict(value, levels)
    if kind is set or kind is frozenset:
        size = len(value)
        return (size, sum(map(identity, value))) if size <= _ITEMS else (size, *map(identity, islice(value, _SPREAD)))
    if kind is bytearray:
        return (len(value), crc32(value if len(value) <= _BYTES else value[:: len(value) // _ELEMENTS]))
    if kind in (FunctionType, type) or issubclass(kind, ModuleType):
        return None
    return _of_object(value, kind, levels)


def _of_items(value: Any, size: int, levels: int) -> tuple[Any, ...]:
    if size <= _ITEMS:
        items = value
    else:
        step = size // _SPREAD
        items = (*value[:_SPREAD], *value[_SPREAD:-_SPREAD:step][:_SPREAD], *value[-_SPREAD:])
    inside = [fingerprint(item, levels - 1) for item in items if type(item) not in _FLAT] if levels > 1 else ()
    return (size, *map(identity, items), *inside)


_LIBRARIES = frozenset({"array", "collections", "numpy", "pandas", "scipy", "sympy"})
_FLAT = frozenset({int, float, bool, complex, str, bytes, type(None)})


def _of_dict(value: dict[Any, Any], levels: int) -> tuple[Any, ...]:
    size = len(value)
    if size <= _ITEMS:
        keys, values = list(value), list(value.values())
    else:
        keys = [*islice(value, _SPREAD), *islice(reversed(value), _SPREAD)]
        values = [*islice(value.values(), _SPREAD), *islice(reversed(value.values()), _SPREAD)]
    return (size, *map(identity, keys), *_of_items(values, len(values), levels))


def _of_object(value: Any, kind: type, levels: int) -> Any:
    """Return the fingerprint of an array, a frame, another container or an object; None if it has no inside."""
    package, name = library_of(kind), class_name(kind)
    try:
        if package == "numpy":
            return _checksum(value) if name == "ndarray" else None
        if package == "pandas":
            return _of_frame(value) if name in ("DataFrame", "Series") else None
        if package == "collections" and name == "deque":
            return (len(value), *map(identity, islice(value, _ITEMS)))
        if package == "collections" and isinstance(value, dict):
            return _of_dict(dict(islice(dict.items(value), 4 * _ITEMS)), 2), len(value)
        if package in ("collections", "array"):
            view = memoryview(value).cast("B")
            return len(view), crc32(view[:_BYTES])
        return _of_dict(instance_dict(value), levels - 1)
    except Exception:
        return None


def _checksum(array: Any) -> tuple[Any, ...]:
    """Return shape, dtype, address and a checksum of the bytes of an array, or of a sample: addresses, of objects."""
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
    elif array.flags.f_contiguous:
        flat = array.T.reshape(-1)
    else:
        flat = array.flat
    size = array.size
    sample = flat[:: max(size // _ELEMENTS, 1)] if array.nbytes > _BYTES else flat[:]
    return array.shape, array.dtype.str, array.ctypes.data if size else 0, crc32(sample.tobytes())


def _of_frame(value: Any) -> Any:
    """Return the blocks of a DataFrame or Series, and the identities of its axes."""
    arrays = [block.values for block in value._mgr.blocks[:_ITEMS]]
    blocks = [_checksum(data) if type(data).__module__ == "numpy" else _of_extension(data) for data in arrays]
    labels = value.columns if value.ndim == 2 else value.name
    return (value.shape, identity(value.index), identity(labels), *blocks)


def _of_extension(data: Any) -> Any:
    """Return an extension array by the arrays it is made of. An Arrow table is immutable, so its identity is enough."""
    for name in ("_data", "_ndarray", "_codes"):
        inside = getattr(data, name, None)
        if type(inside).__module__ == "numpy":
            mask = getattr(data, "_mask", None)
            return _checksum(inside), None if mask is None else _checksum(mask)
    return identity(getattr(data, "_pa_array", data))


# Descriptions


def describe(value: Any) -> str:
    """Return a value in a few words: ``DataFrame 891x12``, ``list of 3``, ``int 42``, ``function area(width)``."""
    kind = type(value)
    if kind is float or kind is bool or (kind is int and -_LONG < value < _LONG):
        return f"{kind.__name__} {value!r}"
    if kind in _NUMBERS or value is None:
        return f"{kind.__name__} {short_repr(value, 40)}" if value is not None else "None"
    if kind is str:
        return f"str {short_repr(value, 40)}" if len(value) <= 38 else f"str of {len(value)} characters"
    try:
        return _describe_other(value, kind)
    except BaseException:  # code of the guest's
        return type_name(kind)


def _describe_other(value: Any, kind: type) -> str:
    if kind is FunctionType:
        code = value.__code__
        arguments = ", ".join(code.co_varnames[: min(code.co_argcount + code.co_kwonlyargcount, 8)])
        return f"function {_plain(code.co_name)}({_plain(arguments)})"
    if issubclass(kind, type):
        return f"class {_plain(type_name(value))}"
    if issubclass(kind, ModuleType):
        return "module"
    size = shape_of(value)
    name = _plain(type_name(kind).rpartition(".")[2])
    if not size:
        return name
    return f"{name} {size}" if "x" in size or name in ("Series", "Index", "ndarray") else f"{name} of {size}"


def shape_of(value: Any) -> str:
    """Return ``891x12`` for arrays and frames, the number of items for builtin containers, else nothing."""
    kind = type(value)
    if kind in (list, tuple, dict, set, frozenset, str, bytes, bytearray):
        return str(len(value))
    package = library_of(kind)
    if package == "collections":
        return str(len(value))
    shape = getattr(value, "shape", None) if package else None
    if type(shape) is tuple and shape and all(type(size) is int for size in shape):
        return "x".join(map(str, shape))
    return ""


def library_of(kind: type) -> str:
    """Return the package that really defines `kind`, if its objects may be asked; none for one that only claims so."""
    module = module_of(kind)
    if type(module) is not str or module.partition(".")[0] not in _LIBRARIES:
        return ""
    found = getattr(sys.modules.get(module), class_name(kind), None)
    return module.partition(".")[0] if found is kind else ""


def variables(namespace: dict[str, Any]) -> list[VariableData]:
    """Return each name of `namespace` with type, shape, size in bytes and a short repr; at most 1000 names.

    The `repr` of guest objects is the guest's own: call this where the guest's limits hold.
    """
    return [
        VariableData(
            _plain(name), _plain(type_name(type(value))), _plain(shape_of(value)), size_of(value), _text(value)
        )
        for name, value in islice(namespace.items(), _VARIABLES)
        if type(name) is str
    ]


def _text(value: Any) -> bytes:
    kind = type(value)
    try:
        if kind is getattr(sys.modules.get("pandas"), "DataFrame", None):
            text = "columns: " + ", ".join(map(str, value.columns[:20]))
        else:
            text = " ".join(short_repr(value, 4 * _TEXT).split())
    except BaseException:  # names of columns, and `__repr__`, of the guest's
        text = type_name(kind)
    return (text if len(text) <= _TEXT else text[: _TEXT - 3] + "...").encode("utf-8", "surrogatepass")


def size_of(value: Any) -> int | None:
    """Return the bytes that a value takes: the buffers of arrays and frames, a container with its direct items."""
    kind = type(value)
    try:
        package = library_of(kind)
        if package == "pandas":
            used = value.memory_usage(deep=False)
            return int(used.sum()) if hasattr(used, "sum") else int(used)
        if package == "numpy":
            return int(value.nbytes)
        total = sys.getsizeof(value)
        if kind in (list, tuple, set, frozenset):
            total += _size_of_items(value, len(value))
        elif kind is dict:
            total += _size_of_items(value, len(value)) + _size_of_items(value.values(), len(value))
        return total
    except BaseException:  # `__sizeof__` of the guest's
        return None


def _size_of_items(items: Any, count: int) -> int:
    """Return the size of all items, reckoned from the first thousand."""
    sampled = [sys.getsizeof(item) for item in islice(items, 1000)]
    return sum(sampled) * count // len(sampled) if sampled else 0
