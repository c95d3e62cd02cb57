# ruff: noqa: E501 (one sentence, one line)
"""Rules for attributes that an object, a class or a module does not have."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from functools import wraps
from types import BuiltinFunctionType, CoroutineType, FunctionType, MethodType
from typing import Any

from safeexec.common.identity import class_name, module_of, object_of
from safeexec.common.matching import did_you_mean, nearest, quoted, same_name, synonyms
from safeexec.hints.columns import APPLIED, column_hint, columns_of, is_applied_to_columns
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
from safeexec.hints.refusals import MOST_LISTED, OF_VALUES, builtin_for, missing_name
from safeexec.hints.rules import Finder, HintRule, HintRules
from safeexec.hints.tables.foreign import ATTRIBUTES, CLASSES
from safeexec.hints.tables.libraries import METHODS
from safeexec.hints.tables.modules import ALIASES

RULES = HintRules([HintRule("AttributeError", "removed in [^`]*[Uu]se `([^`]+)`", "Use `{1}`.")])
_MESSAGE = re.compile(
    r"(?:'(?P<kind>[\w.]+)' object|type object '\w+'|module '[\w.]+') has no attribute '(?P<name>\w+)'"
)
_OnObject = Callable[[Failure, str, Any, str], "str | None"]
"""The arguments of a rule here: the failure, the name that is missing, the object and its source text."""


def _when(pattern: str = "has no attribute") -> Callable[[_OnObject], _OnObject]:
    """Return a rule for a name that a known object does not have."""

    def keep(find: _OnObject) -> _OnObject:
        @wraps(find)
        def look(failure: Failure, match: re.Match[str]) -> str | None:
            name, owner = _missing(failure)
            if not name or owner is MISSING or owner is None or type(owner) is CoroutineType:
                return None
            return find(failure, name, owner, failure.text_of(_owner_tree(failure, name)))

        rule: Finder = look
        RULES.when("AttributeError", pattern)(rule)
        return find

    return keep


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


@RULES.when("AttributeError")  # C.red; iris = load_iris(); iris.targets
def _own_names(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a class or an object with names of its own, whose message may be the missing name alone: an Enum, and a dict
    whose keys are attributes (scikit-learn's Bunch).
    """
    tree = failure.expression
    owner = failure.resolve(tree.value) if isinstance(tree, ast.Attribute) else MISSING
    if not isinstance(tree, ast.Attribute) or owner is MISSING or "reassign" in failure.message:
        return None
    if issubclass(type(owner), type):
        what, names = "the members ", enum_members(owner)
    elif issubclass(type(owner), dict) and failure.message == tree.attr:
        what, names = "", [key for key in dict.keys(owner) if type(key) is str]
    else:
        return None
    text, found = failure.text_of(tree.value), nearest(tree.attr, names)
    known = f"`{text}` has {what}{quoted(names, 10)}." if names else None
    return f"Did you mean `{text}.{found[0]}`?" if found else known


@_when()  # x = 3; x.price
def _of_policy(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    return failure.plan.hints.get(name)


# modules


@_when(pattern=r"is a module that has not been imported")  # xml.dom.minidom
def _not_imported(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    return f"Import it first: `import {module_name(owner)}.{name}`." if is_module(owner) else None


@_when(pattern="")  # math.squrt(2)
def _in_module(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    if not is_module(owner):
        return None
    full = module_name(owner)
    found = missing_name(full, name, attribute_names(owner), failure.builtins, failure.plan)
    if isinstance(_owner_tree(failure, name), ast.Name):
        found = found.replace(f"Did you mean `{full}.", f"Did you mean `{text}.").replace(
            f" or `{full}.", f" or `{text}."
        )
    return found


def _shadowed(failure: Failure, tree: ast.expr | None, owner: Any) -> str | None:
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


@_when()  # math.floor(2.5)
def _module_reassigned(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """Answer for a variable that took the name of a module."""
    return _shadowed(failure, _owner_tree(failure, name), owner)


@RULES.when("TypeError")  # np.mean([1, 2])
def _module_reassigned_and_called(failure: Failure, match: re.Match[str]) -> str | None:
    tree = failure.function.value if isinstance(failure.function, ast.Attribute) else None
    if not isinstance(tree, ast.Name) or tree.id not in ALIASES:
        return None
    return _shadowed(failure, tree, failure.resolve(tree))


# objects of Python and of libraries


@_when()  # json.load('[1]')
def _text_for_file(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """`json.load` and its kind take an open file, `loads` takes the text."""
    module = failure.text_of(failure.function.value, "json") if isinstance(failure.function, ast.Attribute) else "json"
    if (failure.called, name) == ("load", "read"):
        return f"`load` reads an open file: use `{module}.loads(text)` for a text."
    if (failure.called, name) == ("dump", "write"):
        return f"`dump` writes to an open file: use `{module}.dumps(value)` for a text."
    return None


@_when()  # [].isEmpty()
def _of_tables(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    if found := METHODS.get(library_kind(owner), {}).get(name):
        return found
    if issubclass(type(owner), type):
        return _of_class(owner, name) if is_of_python(owner) else None
    kinds = [class_name(base) for base in bases_of(owner) if is_of_python(base)]
    if not kinds[:-1] and members_of(type(owner)).get("__next__") is not None:
        kinds = ["generator"]
    return next(
        (ATTRIBUTES[kind][name].replace("{obj}", text) for kind in kinds if name in ATTRIBUTES.get(kind, ())), None
    )


def _of_class(kind: type, name: str) -> str | None:
    """Answer for a name that is asked of a class instead of its module or an object."""
    here, home = class_name(kind), module_of(kind)
    if attribute_of(sys.modules.get(home), name) is MISSING:
        return CLASSES.get(f"{here}.{name}")
    again = f"use `{name}(...)` itself" if name == here else f"use `from {home} import {name}`"
    return f"`{here}` is the class here: {again}."


@_when()  # f.upper()
def _of_function(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    functions = (FunctionType, MethodType, BuiltinFunctionType)
    return f"`{text}` is a function: call it first, `{text}(...).{name}`." if type(owner) in functions else None


@_when()  # d = {'name': 1}; d.name
def _key_of_dict(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    called = failure.call is not None or failure.rest_of_line.startswith("(")
    if type(owner) is not dict or not (name in owner or not (called or nearest(name, attribute_names(owner)))):
        return None
    return f"The keys of a dict are taken with brackets: `{text}[{name!r}]`."


@_when()  # df['region'].upper()
def _of_accessor(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """Answer for a method that pandas has elsewhere: behind `.str` or `.dt`, on a column, or on the whole frame."""
    kind = library_kind(owner)
    for accessor in ("str", "dt") if kind in ("pandas.Series", "pandas.Index") else ():
        if attribute_of(getattr(library_class("Series"), accessor, MISSING), name) is not MISSING:
            return f"Use `{text}.{accessor}.{name}`."
    if kind == "pandas.DataFrame" and attribute_of(library_class("Series"), name) is not MISSING:
        return f"Use it on a column: `{text}['column'].{name}`."
    if kind == "pandas.Series" and attribute_of(library_class("DataFrame"), name) is not MISSING:
        return f"Use it on the DataFrame: `df.{name}`; a column as a frame is `df[['column']]`."
    return None


_FUNCTIONS = {"numpy.ndarray": ("numpy", "numpy.linalg"), "pandas.DataFrame": ("pandas",), "pandas.Series": ("pandas",)}


@_when()  # np.array([3, 1]).append(2)
def _function_of_library(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """Answer for a function of numpy or pandas that is called as a method."""
    for path in _FUNCTIONS.get(library_kind(owner), ()):
        if callable(attribute_of(sys.modules[path], name)):
            return f"Use `{path.replace('numpy', 'np').replace('pandas', 'pd')}.{name}({text})`."
    return None


@_when()  # LinearRegression().train([[1]], [1])
def _synonym(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """Name the attribute that means the same; in quotes where it was given as a text: ``agg('stdev')``."""
    other = next(iter(synonyms(name, public_names(owner))), "")
    written = f"{text}.{other}(...)" if _owner_tree(failure, name) is not None else repr(other)
    return f"Use `{written}`." if other else None


@_when()  # df.apply(lambda row: row.n + 1)
def _applied_to_columns(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    return APPLIED if library_kind(owner) == "pandas.Series" and is_applied_to_columns(failure, name) else None


@_when()  # df.amount
def _column(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    columns = columns_of(owner)
    if same := same_name(name, columns):
        return column_hint(name, same, text)
    return (
        column_hint(name, columns, text) if nearest(name, columns) and not nearest(name, public_names(owner)) else None
    )


@_when()  # [1, 2].sum()
def _as_function(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """Answer for a builtin that is called as a method."""
    builtin = builtin_for(name, failure.builtins)
    needed = OF_VALUES.get(builtin)
    fits = not needed or attribute_of(type(owner), needed) is not MISSING
    known = builtin == "len" or is_of_python(type(owner))
    return f"Use `{builtin}({text})`." if builtin and fits and known else None


@_when()  # ['a', 'b'].upper()
def _of_items(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """Answer for a method of a text, asked of what holds texts, or of a number."""
    if name not in members_of(str):
        return None
    if type(owner) in (list, tuple, set):
        return f"`{name}` is a method of a string: use it on each item, `[s.{name}(...) for s in {text}]`."
    return f"It is a number: use `str({text}).{name}(...)`." if type(owner) in (int, float) else None


@_when()  # ax.xlabel('x')
def _with_prefix(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    found = (
        prefix + name
        for prefix in ("set_", "get_", "is_", "to_", "as_")
        if attribute_of(owner, prefix + name) is not MISSING
    )
    return next((f"Use `{text}.{other}`." for other in found), None)


@_when()  # 'a'.uper()
def _near(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    names = attribute_names(owner) if name.startswith("_") else public_names(owner)
    allowed = [other for other in names if other not in failure.plan.refused_attributes]
    return did_you_mean([f"{text}.{other}" for other in nearest(name, allowed, 2)])


# classes of the guest


@_when()  # B().size
def _set_by_base(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """Answer for an attribute that the `__init__` of a base class sets, which the `__init__` of the class never called."""
    kind, *bases = bases_of(owner)
    own = _code_of(kind, "__init__")
    if own is None or "super" in own.co_names:
        return None
    for base in bases:
        if (code := _code_of(base, "__init__")) is not None and name in code.co_names:
            return f"`{name}` is set in `{class_name(base)}.__init__`, which was not called: begin `{class_name(kind)}.__init__` with `super().__init__(...)`."
    return None


def _code_of(kind: type, name: str) -> Any:
    found = members_of(kind).get(name)
    return found.__code__ if type(found) is FunctionType else None


@_when()  # A().size
def _local_of_constructor(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    code = _code_of(type(owner), "__init__")
    if code is None or name not in code.co_varnames[1:]:
        return None
    return f"`{name}` is only a variable inside of `__init__`: write `self.{name} = ...` there."


@_when()  # A().size
def _misspelt_constructor(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    for member in members_of(type(owner)):
        code = _code_of(type(owner), member)
        meant = member != "__init__" and member.strip("_") in ("init", "int", "inti", "initialize", "constructor")
        if meant and code is not None and name in code.co_names:
            return f"`{member}` is not called when an object is made: the constructor is called `__init__`, with two underscores on each side."
    return None


@_when()  # A.size
def _of_instance(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """Answer for an attribute of instances that is asked of the class itself."""
    if owner is not class_of(owner) or not is_of_guest(owner):
        return None
    if not any((code := _code_of(owner, member)) is not None and name in code.co_names for member in members_of(owner)):
        return None
    return f"`{name}` belongs to the instances of `{class_name(owner)}`: make one first, `{class_name(owner)}(...)`."


@_when()  # A().explode()
def _listing(failure: Failure, name: str, owner: Any, text: str) -> str | None:
    """List what an object of Python or of a guest's class has, if that is little."""
    kind, names = class_of(owner), sorted(public_names(owner))
    if not (is_of_guest(kind) or (is_of_python(kind) and names and not failure.libraries)):
        return None
    if not names:
        return f"The class `{class_name(kind)}` has no attributes or methods of that kind: define them in it."
    if len(", ".join(names)) > MOST_LISTED:
        return None
    what = f"`{class_name(kind)}`" if is_of_guest(kind) else f"A value of type `{class_name(kind)}`"
    return f"{what} has {quoted(names, len(names))}."
