# ruff: noqa: E501 (one sentence, one line)
"""Rules for attributes that an object, a class or a module does not have."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from types import BuiltinFunctionType, CoroutineType, FunctionType, MethodType
from typing import Any

from safeexec.common.identity import class_name, module_of, object_of
from safeexec.common.matching import did_you_mean, nearest, quoted, same_name, synonyms
from safeexec.hints.columns import applied, column_hint, columns_of, label_hint, table_of
from safeexec.hints.failure import Failure
from safeexec.hints.objects import (
    MISSING,
    attribute_names,
    attribute_of,
    bases_of,
    class_of,
    enum_members,
    is_module,
    is_of_guest,
    is_of_python,
    library_class,
    library_kind,
    members_of,
    module_name,
    public_names,
)
from safeexec.hints.remedies import MOST_LISTED, OF_VALUES, builtin_for, hint_for_missing_member
from safeexec.hints.rules import HintRule
from safeexec.hints.tables.foreign import ATTRIBUTES, CLASSES
from safeexec.hints.tables.libraries import METHODS
from safeexec.hints.tables.messages import TAKE_ONE_LIST
from safeexec.hints.tables.modules import ALIASES

_MESSAGE = re.compile(
    r"(?:'(?P<kind>[\w.]+)' object|type object '\w+'|module '[\w.]+') has no attribute '(?P<name>\w+)'"
)
_OnObject = Callable[[Failure, str, Any, str], "Iterable[str | None]"]
"""The arguments of a rule here: the failure, the name that is missing, the object and its source text."""


def _rule(find: _OnObject, pattern: str = "has no attribute") -> HintRule:
    """Return a rule for a name that a known object does not have."""

    @wraps(find)
    def look(failure: Failure, match: re.Match[str]) -> Iterable[str | None]:
        name, owner = _missing(failure)
        if not name or owner is MISSING or owner is None or type(owner) is CoroutineType:
            return ()
        tree = _owner_tree(failure, name)  # with the parentheses that it needs: (x ** 2).derivative
        text = failure.text_of(tree and ast.Attribute(value=tree, attr="a")).removesuffix(".a").rstrip()
        return find(failure, name, owner, text)

    return HintRule("AttributeError", pattern, look)


def _missing(failure: Failure) -> tuple[str, Any]:
    """Return the name that is missing and the object; the object is `MISSING` if it is not known."""
    name = failure.said_by_exception("name")
    owner = object_of(failure.exc) if issubclass(failure.kind, AttributeError) else None
    match = _MESSAGE.search(failure.message)
    if type(name) is str:
        return name, MISSING if owner is None and match and match["kind"] != "NoneType" else owner
    tree = failure.expression
    known = match and isinstance(tree, ast.Attribute) and tree.attr == match["name"]
    found = failure.resolve(tree.value) if known and isinstance(tree, ast.Attribute) else MISSING
    return match["name"] if match else "", found


def _owner_tree(failure: Failure, name: str) -> ast.expr | None:
    match failure.expression:
        case ast.Attribute(value=value, attr=attr) | ast.Call(func=ast.Attribute(value=value, attr=attr)) if (
            attr == name
        ):
            return value
    return None


def _own_names(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Yield hints for a class or an object with names of its own, whose message may be the missing name alone: an
    Enum, and a dict whose keys are attributes (scikit-learn's Bunch).
    """
    tree = failure.expression
    owner = failure.resolve(tree.value) if isinstance(tree, ast.Attribute) else MISSING
    if not isinstance(tree, ast.Attribute) or owner is MISSING or "reassign" in failure.message:
        return
    what, names = "", list[str]()
    if issubclass(type(owner), type):
        what, names = "the members ", enum_members(owner)
    elif issubclass(type(owner), dict) and failure.message == tree.attr:
        names = [key for key in dict.keys(owner) if type(key) is str]
    text = failure.text_of(tree.value)
    yield from (f"Did you mean `{text}.{found}`?" for found in nearest(tree.attr, names))
    if names:
        yield f"`{text}` has {what}{quoted(names, 10)}."


def _in_module(failure: Failure, name: str, owner: Any, text: str) -> Iterator[str | None]:
    yield failure.plan.hints.get(name)
    if is_module(owner):
        full = module_name(owner)
        if "is a module that has not been imported" in failure.message:  # xml.dom.minidom
            yield f"Import it first: `import {full}.{name}`."
        found = hint_for_missing_member(full, name, attribute_names(owner), failure.builtins, failure.plan)
        if isinstance(_owner_tree(failure, name), ast.Name):
            for before in ("Did you mean `", " or `"):
                found = found.replace(f"{before}{full}.", f"{before}{text}.")
        yield found


def _shadowed(failure: Failure, tree: ast.expr | None, owner: Any) -> str | None:
    """Return a hint for a variable that took the name of a module."""
    name = tree.id if isinstance(tree, ast.Name) else ""
    module = ALIASES.get(name, name)
    if not name or owner is MISSING or module not in failure.plan.imports or is_of_guest(owner) or is_module(owner):
        return None
    if type(owner) is type or not (is_of_python(type(owner)) or (name in ALIASES and library_kind(owner))):
        return None
    imported = re.compile(rf"^\s*(?:from\s+[\w.]+\s+)?import\b.*\b{re.escape(name)}\b", re.MULTILINE)
    if not any(imported.search(source) for source in failure.sources.values()):
        return None
    again = f"import {module}{' as ' + name if module != name else ''}"
    return f"`{name}` is no longer the module: it was reassigned to a value of type `{class_name(type(owner))}`; rename that variable and `{again}` again."


def _shadowed_and_called(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    tree = failure.function.value if isinstance(failure.function, ast.Attribute) else None
    if isinstance(tree, ast.Name) and tree.id in ALIASES:
        yield _shadowed(failure, tree, failure.resolve(tree))


def _of_python(failure: Failure, name: str, owner: Any, text: str) -> Iterator[str | None]:
    """Yield hints for a name that objects of another language, or other objects of Python, have."""
    yield _shadowed(failure, _owner_tree(failure, name), owner)
    module = failure.text_of(failure.function.value, "json") if isinstance(failure.function, ast.Attribute) else "json"
    if (failure.called, name) == ("load", "read"):
        yield f"`load` reads an open file: use `{module}.loads(text)` for a text."
    if (failure.called, name) == ("dump", "write"):
        yield f"`dump` writes to an open file, `with open(name, 'w') as file: {module}.dump(value, file)`; a text is `{module}.dumps(value)`."
    yield METHODS.get(library_kind(owner), {}).get(name)
    is_value = is_of_python(type(owner)) and not is_module(owner) and type(owner) not in _CALLED
    for said, its in failure.visible_modules() if is_value else ():  # [1].deepcopy()
        known = module_name(its) in sys.stdlib_module_names and name in public_names(its)
        if known and callable(attribute_of(its, name)):
            yield f"It is a function of the module: `{said}.{name}({text})`."
    if not issubclass(type(owner), type):  # [].isEmpty()
        kinds = [class_name(base) for base in bases_of(owner) if is_of_python(base)]
        if not kinds[:-1] and members_of(type(owner)).get("__next__") is not None:
            kinds = ["generator"]
        yield from (ATTRIBUTES[kind][name].replace("{obj}", text) for kind in kinds if name in ATTRIBUTES.get(kind, ()))
    elif is_of_python(owner):  # written of a class, meant of its module or an object: datetime.timedelta of the class
        here, home = class_name(owner), module_of(owner)
        if attribute_of(sys.modules.get(home), name) is MISSING:
            yield CLASSES.get(f"{here}.{name}")
        else:
            again = f"use `{name}(...)` itself" if name == here else f"use `from {home} import {name}`"
            yield f"`{here}` is the class here: {again}."
    if type(owner) in _CALLED:
        yield f"`{text}` is a function: call it first, `{text}(...).{name}`."
    if type(owner) is dict and (name in owner or not (_is_called(failure) or nearest(name, attribute_names(owner)))):
        yield f"The keys of a dict are taken with brackets: `{text}[{name!r}]`."


_CALLED = (FunctionType, MethodType, BuiltinFunctionType)


def _is_called(failure: Failure) -> bool:
    return failure.call is not None or failure.rest_of_line.startswith("(")


_FUNCTIONS = {"numpy.ndarray": ("numpy", "numpy.linalg"), "pandas.DataFrame": ("pandas",), "pandas.Series": ("pandas",)}
_FUNCTIONS |= {**dict.fromkeys(("int", "float", "Fraction", "Decimal"), ("math",)), "complex": ("cmath",)}


def _of_library(failure: Failure, name: str, owner: Any, text: str) -> Iterator[str | None]:
    """Yield hints for what numpy and pandas have elsewhere: behind `.str` or `.dt`, on a column, on the whole frame,
    as a function; or under another name.
    """
    kind = library_kind(owner)
    for accessor in ("str", "dt") if kind in ("pandas.Series", "pandas.Index") else ():
        if attribute_of(getattr(library_class("Series"), accessor, MISSING), name) is not MISSING:
            yield f"Use `{text}.{accessor}.{name}`."
    if kind == "pandas.DataFrame" and attribute_of(library_class("Series"), name) is not MISSING:
        yield f"Use it on a column: `{text}['column'].{name}`."
    if kind == "pandas.Series" and attribute_of(library_class("DataFrame"), name) is not MISSING:
        yield f"Use it on the DataFrame: `df.{name}`; a column as a frame is `df[['column']]`."
    for path in _FUNCTIONS.get(kind or class_name(type(owner)), ()):  # np.array([3, 1]).append(2); (2.5).floor()
        if callable(attribute_of(sys.modules.get(path), name)):
            more = "" if failure.rest_of_line.startswith("()") else ", ..."
            given = f"[{text}, ...]" if name in TAKE_ONE_LIST else text + more
            with_it = "" if kind else f" (with `import {path}`)"
            yield f"Use `{path.replace('numpy', 'np').replace('pandas', 'pd')}.{name}({given})`{with_it}."
    tree = _owner_tree(failure, name)
    same = synonyms(name, public_names(owner)) if kind or tree is not None else []
    for other in same:  # in quotes where it was given as a text: agg('stdev')
        found = attribute_of(type(owner), other)
        called = "(...)" if _is_called(failure) and (found is MISSING or callable(found)) else ""
        yield f"Use `{repr(other) if tree is None else f'{text}.{other}{called}'}`."
    if kind == "pandas.GroupBy" and tree is not None and callable(attribute_of(library_class("Series"), name)):
        yield f"A group has it as a Series: `{text}.apply(lambda part: part.{name}(...))`, of one column."
    if kind == "numpy.ndarray" and not nearest(name, public_names(owner)):
        yield from _of_array(name, owner, text)
    if kind == "pandas.Series" and not _is_called(failure):
        yield label_hint(name, owner)
    if kind in ("pandas.Series", "pandas.DataFrame"):
        yield applied(failure, name)
    columns = columns_of(table_of(owner))
    if same := same_name(name, columns):
        yield column_hint(name, same, text)
    if nearest(name, columns) and not nearest(name, public_names(owner)):
        yield column_hint(name, columns, text)


def _of_array(name: str, owner: Any, text: str) -> Iterator[str]:
    """Yield hints for what a list or a column has, and an array lacks."""
    if name in members_of(list):
        yield f"An array has a fixed size and no `{name}`: make a list of it first, `values = {text}.tolist()`, or join arrays, `np.concatenate([a, b])`."
    is_table = type(owner) is library_class("ndarray", "numpy") and owner.ndim in (1, 2)
    if is_table and callable(attribute_of(library_class("Series"), name)):
        made = "pd.Series" if owner.ndim == 1 else "pd.DataFrame"
        yield f"Make a table of it first: `{made}({text}).{name}(...)` (with `import pandas as pd`)."


def _of_values(failure: Failure, name: str, owner: Any, text: str) -> Iterator[str | None]:
    """Yield hints for a builtin or a method of text that is written as an attribute of a value, and for a slip."""
    builtin = builtin_for(name, failure.builtins)
    needed = OF_VALUES.get(builtin)
    fits = not needed or attribute_of(type(owner), needed) is not MISSING
    if builtin and fits and (builtin == "len" or is_of_python(type(owner))):  # [1, 2].sum()
        more = ", ..." if re.match(r"\((?!\))", failure.rest_of_line) else ""
        yield f"Use `{builtin}({text}{more})`."
    of_text = name in members_of(str)
    if failure.called and _owner_tree(failure, name) is None and is_of_python(type(owner)):  # textwrap.wrap(['a'])
        wanted = (
            "a text, `str(value)` of a number, `' '.join(values)` of a list"
            if of_text
            else f"an object that has `{name}`"
        )
        yield f"`{failure.called}` takes {wanted}, and was given one of type `{class_name(type(owner))}`."
    if of_text and type(owner) in (list, tuple, set):
        yield f"`{name}` is a method of a string: use it on each item, `[s.{name}(...) for s in {text}]`."
    if of_text and type(owner) in (int, float):
        yield f"It is a number: use `str({text}).{name}(...)`."
    for stem in (name, name.partition("_")[2]):  # ax.xlabel('x'); ax.add_title('x')
        for prefix in ("set_", "get_", "is_", "to_", "as_") if stem else ():
            if attribute_of(owner, prefix + stem) is not MISSING:
                yield f"Use `{text}.{prefix}{stem}`."
    pyplot = sys.modules.get("matplotlib.pyplot")
    if library_kind(owner).startswith("matplotlib.") and callable(attribute_of(pyplot, name)):
        yield f"It is a function of pyplot: `plt.{name}(...)` (with `import matplotlib.pyplot as plt`)."
    names = attribute_names(owner) if name.startswith("_") else public_names(owner)
    allowed = [other for other in names if other not in failure.plan.refused_attributes]
    yield did_you_mean([f"{text}.{other}" for other in nearest(name, allowed, 2)])


def _of_guest(failure: Failure, name: str, owner: Any, text: str) -> Iterator[str | None]:
    """Yield hints for an attribute that a class of the guest lacks: which method sets it, or was meant to."""
    kind, *bases = bases_of(owner)
    written = class_name(kind)
    own = _code_of(kind, "__init__")
    for base in bases if own is not None and "super" not in own.co_names else ():
        if (code := _code_of(base, "__init__")) is not None and name in code.co_names:
            yield f"`{name}` is set in `{class_name(base)}.__init__`, which was not called: begin `{written}.__init__` with `super().__init__(...)`."
    if owner is not kind and own is not None and name in own.co_varnames[1:]:
        yield f"`{name}` is only a variable inside of `__init__`: write `self.{name} = ...` there."
    plain = {"to_dict": "asdict", "dict": "asdict", "as_dict": "asdict", "to_tuple": "astuple"}.get(name, name)
    if plain in ("asdict", "astuple", "replace") and attribute_of(kind, "__dataclass_fields__") is not MISSING:
        yield f"It is a function of the module: `dataclasses.{plain}({text})` (with `import dataclasses`)."
    if f"_{written.lstrip('_')}{name}" in attribute_names(owner):
        yield f"Two underscores hide `{name}` from what is outside of `{written}`: begin its name with one, `self.{name[1:]}`, or let a method return it."
    using = [member for member in members_of(kind) if (code := _code_of(kind, member)) and name in code.co_names]
    for member in using if owner is not kind else ():
        if member != "__init__" and member.strip("_") in ("init", "int", "inti", "initialize", "constructor"):
            yield f"`{member}` is not called when an object is made: the constructor is called `__init__`, with two underscores on each side."
    if owner is kind and is_of_guest(owner) and using:
        yield f"`{name}` belongs to the instances of `{written}`: make one first, `{written}(...)`."
    if text == "self" and owner is not kind and not failure.rest_of_line.startswith("("):
        yield f"Nothing has set `self.{name}`: begin it in `{written}.__init__`, `self.{name} = ...`."


def _code_of(kind: type, name: str) -> Any:
    found = members_of(kind).get(name)
    return found.__code__ if type(found) is FunctionType else None


def _listing(failure: Failure, name: str, owner: Any, text: str) -> Iterator[str | None]:
    """List what an object of Python or of a guest's class has, or a table, if that is little."""
    if not _is_called(failure):
        yield column_hint(name, columns_of(table_of(owner)), text)
    kind, names = class_of(owner), sorted(public_names(owner))
    fields = [one for one in names if not callable(attribute_of(owner, one))]
    if (
        not is_of_guest(kind)
        and not is_of_python(kind)
        and not library_kind(owner)
        and 0 < len(", ".join(fields)) <= 2 * MOST_LISTED
        and owner is not kind
    ):
        yield f"A `{class_name(kind)}` has the values {quoted(fields, len(fields))}."
    same = [one for one in names if one.startswith(name.partition("_")[0] + "_")]
    if "_" in name and 0 < len(same) <= 12 and not is_of_guest(kind):
        yield f"A `{class_name(kind)}` has no `{name}`; it has {quoted(same, 12)}."
    if is_of_guest(kind) or (is_of_python(kind) and names and not failure.libraries):
        if not names:
            yield f"The class `{class_name(kind)}` has no attributes or methods of that kind: define them in it."
        elif len(", ".join(names)) <= MOST_LISTED:
            what = f"`{class_name(kind)}`" if is_of_guest(kind) else f"A value of type `{class_name(kind)}`"
            yield f"{what} has {quoted(names, len(names))}."


RULES = (
    HintRule("AttributeError", "removed in [^`]*[Uu]se `([^`]+)`", "Use `{1}`."),
    HintRule(
        "AttributeError",
        r"^ResultSet object has no attribute",
        "It is a list of elements: go through it, `[e.text for e in elements]`, or take the first with `.find(...)`.",
    ),
    HintRule("AttributeError", "", _own_names),
    _rule(_in_module, ""),
    HintRule("TypeError", "", _shadowed_and_called),
    *map(_rule, (_of_python, _of_library, _of_values, _of_guest, _listing)),
)
