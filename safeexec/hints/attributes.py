# ruff: noqa: E501 (one sentence, one line)
"""Hints for attributes that an object does not have."""

from __future__ import annotations

import ast
import re
from types import BuiltinFunctionType, CoroutineType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from safeexec.hints.failure import (
    MISSING,
    attribute_names,
    attribute_of,
    is_builtin_kind,
    library_kind,
    module_name,
    type_name,
)
from safeexec.hints.matching import nearest, quoted, same_name
from safeexec.hints.refusals import hint_for, missing_in_module
from safeexec.hints.values import none_or_coroutine

if TYPE_CHECKING:
    from safeexec.hints.failure import Failure

_MESSAGE = re.compile(
    r"(?:'(?P<kind>[\w.]+)' object|type object '(?P<class>\w+)'|module '(?P<module>[\w.]+)') has no attribute '(?P<name>\w+)'"
)


MAX_LISTED = 16
_REFUSED = re.compile(r"([\w.]+) is refused by ")
_PROPERTY = re.compile(r"\.set\(\) got an unexpected keyword argument '(\w+)'")
"""What matplotlib says of an argument that its artists do not have."""
_ELSEWHERE = "The policy refuses this name: use another function of the module, or compute it in plain Python."


def hint(failure: Failure) -> str | None:
    """For an AttributeError: the right name, the right way, or why the object is not what it was taken for."""
    if members := _enum_members(failure):
        return members
    if refused := _REFUSED.match(failure.message):
        return hint_for("attribute", refused[1], failure.plan) or _ELSEWHERE
    if match := _PROPERTY.search(failure.message):
        from safeexec.hints.calls import unexpected_property

        return unexpected_property(failure, match[1])
    name, owner = _missing(failure)
    if keys := _of_keys(failure):
        return keys
    if "has no attribute" not in failure.message and not issubclass(type(owner), ModuleType):
        return None
    if not name:
        return None
    if own := failure.plan.hints.get(name):
        return own
    tree = failure.expression
    value = tree.value if isinstance(tree, ast.Attribute) else None
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr == name:
        value = tree.func.value
    if issubclass(type(owner), ModuleType):
        return _of_module(failure, owner, name)
    if owner is None or type(owner) is CoroutineType:
        return none_or_coroutine(failure)
    if owner is MISSING:
        return None
    text = failure.text_of(value)
    return (
        shadowed_module(failure, value, owner)
        or _of_file(failure, name)
        or _from_tables(owner, name, text)
        or _of_callable(owner, name, text)
        or _of_dict(failure, owner, name, text)
        or (_synonym(owner, name, text) if not _is_of_guest(owner) else None)
        or _nearest(failure, owner, name, text)
        or _synonym(owner, name, text)
        or _wrapped(owner, name, text)
        or _of_base(owner, name)
        or _never_set(owner, name)
        or _of_instance(owner, name)
        or _listing(failure, owner, text)
    )


def _missing(failure: Failure) -> tuple[str, Any]:
    """The name that is missing and the object; the object is `MISSING` if it is not known."""
    name = AttributeError.__dict__["name"].__get__(failure.exc)
    owner = AttributeError.__dict__["obj"].__get__(failure.exc)
    match = _MESSAGE.search(failure.message)
    if type(name) is str:
        if owner is None and match is not None and match["kind"] != "NoneType":
            owner = MISSING
        return name, owner
    if match is None:
        return "", MISSING
    tree = failure.expression
    found = failure.resolve(tree.value) if isinstance(tree, ast.Attribute) and tree.attr == match["name"] else MISSING
    return match["name"], None if match["kind"] == "NoneType" else found


def _of_file(failure: Failure, name: str) -> str | None:
    """`json.load` and its kind take an open file, `loads` takes the text."""
    call = failure.call
    if name not in ("read", "write") or call is None or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == "load" and name == "read":
        return f"`load` reads an open file: use `{failure.text_of(call.func.value, 'json')}.loads(text)` for a text."
    if call.func.attr == "dump" and name == "write":
        return (
            f"`dump` writes to an open file: use `{failure.text_of(call.func.value, 'json')}.dumps(value)` for a text."
        )
    return None


def _of_keys(failure: Failure) -> str | None:
    """A dict whose keys are attributes (scikit-learn's Bunch) says nothing but the name that is missing."""
    tree = failure.expression
    if not isinstance(tree, ast.Attribute) or failure.message != tree.attr:
        return None
    owner = failure.resolve(tree.value)
    if not issubclass(type(owner), dict):
        return None
    text, names = failure.text_of(tree.value), [key for key in dict.keys(owner) if type(key) is str]
    found = nearest(tree.attr, names)
    return f"Did you mean `{text}.{found[0]}`?" if found else f"`{text}` has {quoted(names, 10)}."


def _of_base(owner: Any, name: str) -> str | None:
    """An attribute that the `__init__` of a base class sets, which the `__init__` of the class never called."""
    kind = type(owner)
    own, *bases = [_init_of(base) for base in type.__dict__["__mro__"].__get__(kind)]
    if own is None or "super" in own.__code__.co_names:
        return None
    for base, init in zip(type.__dict__["__mro__"].__get__(kind)[1:], bases, strict=True):
        if init is not None and name in init.__code__.co_names:
            return (
                f"`{name}` is set in `{type_name(base)}.__init__`, which was not called: begin"
                f" `{type_name(kind)}.__init__` with `super().__init__(...)`."
            )
    return None


def _never_set(owner: Any, name: str) -> str | None:
    """An attribute that `__init__` gives to a local variable, or that a misspelt `__init__` would have set."""
    for member, value in type.__dict__["__dict__"].__get__(type(owner)).items():
        if type(value) is not FunctionType or type(member) is not str:
            continue
        if member == "__init__" and name in value.__code__.co_varnames[value.__code__.co_argcount :]:
            return f"`{name}` is only a local variable of `__init__`: write `self.{name} = ...` there."
        if (
            member != "__init__"
            and member.strip("_") in ("init", "int", "inti", "initialize", "constructor")
            and name in value.__code__.co_names
        ):
            return f"`{member}` is not called when an object is made: the constructor is called `__init__`, with two underscores on each side."
    return None


def _init_of(kind: type) -> FunctionType | None:
    """The `__init__` that a class of the guest defines itself."""
    found = type.__dict__["__dict__"].__get__(kind).get("__init__")
    return found if type(found) is FunctionType else None


def _enum_members(failure: Failure) -> str | None:
    """The member of an Enum that was meant; CPython 3.11 gives nothing but the name as message."""
    tree = failure.expression
    if not isinstance(tree, ast.Attribute):
        return None
    owner = failure.resolve(tree.value)
    if not issubclass(type(owner), type):
        return None
    names = type.__dict__["__dict__"].__get__(owner).get("_member_names_")
    if type(names) is not list or not names:
        return None
    text = failure.text_of(tree.value)
    found = nearest(tree.attr, names)
    if found:
        return f"Did you mean `{text}.{found[0]}`?"
    return f"`{text}` has the members {quoted(names, 10)}."


def _of_module(failure: Failure, module: ModuleType, name: str) -> str | None:
    full = module_name(module)
    candidates = attribute_names(module)
    if text := missing_in_module(full, name, failure.plan, candidates):
        return text
    for other in failure.plan.imports:
        if other.rpartition(".")[0] == full and nearest(name, [other.rpartition(".")[2]]):
            return f"Import the submodule first: `import {other}`."
    from safeexec.hints.needs import provides
    from safeexec.hints.tables.origins import ORIGINS

    home = ORIGINS.get(name)
    if home and home != full and provides(f"{home}.{name}", failure.plan):
        return f"It is in another module: `from {home} import {name}`."
    if name in failure.builtins:
        return f"It is a builtin: use `{name}(...)` without the module."
    return no_such_name(full, name, candidates, failure)


def no_such_name(module: str, name: str, candidates: list[str], failure: Failure) -> str:
    """For a name that nothing in the module resembles: its submodule, or what there is, if that is little."""
    from safeexec.facades.access import allowed_names
    from safeexec.hints.needs import provided

    if failure.plan.mode == "restricted":
        for other in failure.plan.imports:
            if other.startswith(f"{module}.") and name in allowed_names(other, failure.plan):
                return f"It is in a submodule: `from {other} import {name}`."
    public = sorted(other for other in provided(module, candidates, failure.plan) if not other.startswith("_"))
    if 0 < len(public) <= MAX_LISTED:
        return f"`{module}` has no `{name}`: write it as a function of your own; the module has {quoted(public, MAX_LISTED)}."
    return f"`{module}` has no `{name}`: use another name of the module, or write it as a function of your own."


def shadowed_module(failure: Failure, value: ast.expr | None, owner: Any) -> str | None:
    """A variable that took the name of a module: ``math = math.sqrt(16)``."""
    from safeexec.hints.tables.modules import ALIASES

    if not isinstance(value, ast.Name) or type(owner) is type or issubclass(type(owner), ModuleType):
        return None
    name = value.id
    module = ALIASES.get(name, name)
    if module not in failure.plan.imports or type.__dict__["__module__"].__get__(type(owner)) == "__main__":
        return None
    if not is_builtin_kind(type(owner)) and not (name in ALIASES and library_kind(owner)):
        return None
    imported = re.compile(rf"^\s*(?:from\s+[\w.]+\s+)?import\b.*\b{re.escape(name)}\b", re.MULTILINE)
    if not any(imported.search(source) for source in failure.sources.values()):
        return None
    return (
        f"`{name}` is no longer the module: it was reassigned to a value of type `{type_name(type(owner))}`;"
        f" rename that variable and `import {module}{' as ' + name if module != name else ''}` again."
    )


def _from_tables(owner: Any, name: str, text: str) -> str | None:
    kind = library_kind(owner)
    if kind:
        from safeexec.hints.tables.libraries import METHODS

        if found := METHODS[kind].get(name):
            return found
    if issubclass(type(owner), type):
        if _is_module_like(owner, name):
            return _CLASSES[f"{type_name(owner)}.{name}"]
        return None
    from safeexec.hints.tables.foreign import ATTRIBUTES

    for base in type.__dict__["__mro__"].__get__(type(owner)):
        if is_builtin_kind(base) and (found := ATTRIBUTES.get(type_name(base), {}).get(name)):
            return found.replace("{obj}", text)
    if type.__dict__["__module__"].__get__(type(owner)) == "itertools" and name in ATTRIBUTES["generator"]:
        return ATTRIBUTES["generator"][name].replace("{obj}", text)
    return None


def _is_module_like(owner: Any, name: str) -> bool:
    return is_builtin_kind(owner) and f"{type_name(owner)}.{name}" in _CLASSES


_CLASSES = {
    "datetime.datetime": "`datetime` is the class here: use `datetime(2024, 1, 31)` itself.",
    "datetime.timedelta": "`datetime` is the class here: use `from datetime import timedelta`.",
    "datetime.date": "`datetime` is the class here: use `from datetime import date`.",
    "datetime.timezone": "`datetime` is the class here: use `from datetime import timezone`.",
    "datetime.parse": "Use `datetime.strptime(text, '%Y-%m-%d')`, or `datetime.fromisoformat(text)`.",
    "datetime.from_string": "Use `datetime.strptime(text, '%Y-%m-%d')`, or `datetime.fromisoformat(text)`.",
    "datetime.sleep": "Use `time.sleep(seconds)` (with `import time`).",
    "date.parse": "Use `date.fromisoformat(text)`.",
    "date.strptime": "Use `datetime.datetime.strptime(text, '%Y-%m-%d').date()`, or `date.fromisoformat(text)`.",
    "date.from_string": "Use `date.fromisoformat(text)`.",
    "int.parse": "Use `int(text)`.",
    "int.Parse": "Use `int(text)`.",
    "float.parse": "Use `float(text)`.",
    "str.valueOf": "Use `str(value)`.",
    "str.from_int": "Use `str(value)`.",
    "date.now": "Use `date.today()`.",
    "str.format_map": "Use an f-string.",
    "dict.fromlist": "Use `dict(pairs)`.",
}


def _of_callable(owner: Any, name: str, text: str) -> str | None:
    if type(owner) in (FunctionType, MethodType, BuiltinFunctionType):
        return f"`{text}` is a function: call it first, `{text}(...).{name}`."
    return None


def _of_dict(failure: Failure, owner: Any, name: str, text: str) -> str | None:
    called = failure.call is not None or failure.rest_of_line.startswith("(")
    if type(owner) is dict and (name in owner or not (called or nearest(name, attribute_names(owner)))):
        return f"The keys of a dict are taken with brackets: `{text}[{name!r}]`."
    return None


def _nearest(failure: Failure, owner: Any, name: str, text: str) -> str | None:
    if library_kind(owner) == "pandas.Series":
        from safeexec.hints.keys import APPLIED, is_applied_to_columns

        if is_applied_to_columns(failure, name):
            return APPLIED
    if failure.libraries and is_builtin_kind(type(owner)) and name in str.__dict__ and type(owner) is not str:
        return f"It needs a text here and was given a `{type_name(type(owner))}`: give `str(value)`, or join a list with `' '.join(values)`."
    private = name.startswith("_")
    names = [other for other in attribute_names(owner) if private or not other.startswith("_")]
    kind = library_kind(owner)
    if kind == "pandas.DataFrame":
        from safeexec.hints.keys import column_hint, columns_of

        columns = columns_of(owner)
        if same := same_name(name, columns):
            return column_hint(name, same, text)
        if (found := nearest(name, columns)) and not nearest(name, names):
            return column_hint(name, columns, text)
    for prefix in ("set_", "get_", "is_", "to_", "as_"):
        if prefix + name in names:
            return f"Use `{text}.{prefix}{name}`."
    refused = failure.plan.refused_attributes
    found = nearest(name, [other for other in names if other not in refused], 2)
    return f"Did you mean {' or '.join(f'`{text}.{other}`' for other in found)}?" if found else None


def _is_of_guest(owner: Any) -> bool:
    kind = owner if issubclass(type(owner), type) else type(owner)
    return bool(type.__dict__["__module__"].__get__(kind) == "__main__")


def _synonym(owner: Any, name: str, text: str) -> str | None:
    """The method that does what is asked for under another name, if the object has it."""
    from safeexec.hints.tables.foreign import SYNONYMS

    for other in SYNONYMS.get(name, ()):
        if attribute_of(owner, other) is not MISSING:
            return f"Use `{text}.{other}(...)`."
    return None


def _of_instance(owner: Any, name: str) -> str | None:
    """An attribute or method of instances that is asked of the class itself."""
    if not issubclass(type(owner), type) or type.__dict__["__module__"].__get__(owner) != "__main__":
        return None
    for member in type.__dict__["__dict__"].__get__(owner).values():
        if type(member) is FunctionType and name in member.__code__.co_names:
            return (
                f"`{name}` belongs to the instances of `{type_name(owner)}`: make one first, `{type_name(owner)}(...)`."
            )
    return None


_WRAPPED = (
    "head",
    "groupby",
    "iloc",
    "loc",
    "columns",
    "iterrows",
    "describe",
    "merge",
    "to_csv",
    "sort_values",
    "dropna",
    "fillna",
    "value_counts",
)


def _wrapped(owner: Any, name: str, text: str) -> str | None:
    """Methods of pandas or numpy on plain Python values, and the other way round."""
    if type(owner) in (list, dict, tuple) and name in _WRAPPED:
        return f"It is a `{type_name(type(owner))}`: make a DataFrame of it first, `pd.DataFrame({text})`."
    return None


def _listing(failure: Failure, owner: Any, text: str) -> str | None:
    """What an object of a guest's class does have, if that is little."""
    kind = owner if issubclass(type(owner), type) else type(owner)
    if is_builtin_kind(kind) and failure.libraries:
        return None
    if is_builtin_kind(kind):
        names = [name for name in attribute_names(owner) if not name.startswith("_")]
        return f"A value of type `{type_name(kind)}` has {quoted(sorted(names), 20)}." if 0 < len(names) <= 20 else None
    if type.__dict__["__module__"].__get__(kind) != "__main__":
        return None
    names = [name for name in attribute_names(owner) if not name.startswith("_")]
    if not names:
        return f"The class `{type_name(kind)}` has no attributes or methods of that kind: define them in it."
    return f"`{type_name(kind)}` has {quoted(sorted(names), 10)}." if len(names) <= 25 else None
