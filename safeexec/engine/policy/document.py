"""The shape of a policy file: what a person may write, before `extends` is applied.

It follows from the table of settings (`settings.PolicyData`): the same keys, each of which may be left out, and lists
that can be edited. A plain list replaces what a parent says; ``{add: […], remove: […]}`` changes it. Sections and
mappings merge key by key. Each file is validated against these types; the JSON Schema is generated from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin

from msgspec import UNSET, Struct, UnsetType, defstruct, field
from msgspec.structs import fields

from safeexec.engine.policy.settings import PolicyData, Selection

T = TypeVar("T")
Maybe: TypeAlias = T | UnsetType
"""A key that may be left out."""


class Edit(Struct, forbid_unknown_fields=True):
    """Changes an inherited list; a plain list replaces it."""

    add: Maybe[list[str]] = UNSET
    """Names that come on top of the inherited ones."""
    remove: Maybe[list[str]] = UNSET
    """Names that are taken from the inherited ones."""

    def __post_init__(self) -> None:
        _one_meaning(self.add, self.remove)


class Choice(Struct, forbid_unknown_fields=True):
    """Some names of a set: everything but (`except`), or changes to the inherited choice (`add`, `remove`)."""

    except_: Maybe[list[str]] = field(default=UNSET, name="except")
    """Everything but these names."""
    add: Maybe[list[str]] = UNSET
    """Names that come on top of the inherited ones."""
    remove: Maybe[list[str]] = UNSET
    """Names that are taken from the inherited ones."""

    def __post_init__(self) -> None:
        if self.except_ is UNSET:
            _one_meaning(self.add, self.remove)
        elif self.add is not UNSET or self.remove is not UNSET:
            raise ValueError("except replaces what is inherited, add and remove change it: write one or the other")


def _one_meaning(add: Maybe[list[str]], remove: Maybe[list[str]]) -> None:
    if add is UNSET and remove is UNSET:
        raise ValueError("expected names to add or to remove; a plain list replaces what is inherited")
    if both := {*(add or ())} & {*(remove or ())}:
        raise ValueError(f"{', '.join(sorted(both))} cannot be both added and removed")


Names: TypeAlias = list[str] | Edit
Chosen: TypeAlias = Literal["all", "none"] | list[str] | Choice


class FileKeys(Struct):
    """The keys of a file that no policy keeps: where its settings come from, and keys of older versions."""

    extends: str = ""
    """The profile this one changes: a name, or a path relative to this file."""
    only_narrower: bool = False
    """Whatever this file allows beyond what it extends is a mistake."""
    danger_allow_modules: tuple[str, ...] = ()
    """The spelling in files of before 0.10 for lines of `imports`: `[humanize]` is `imports: {humanize: all}`."""


def _as_written(kind: Any) -> Any:
    """Return the type of what a file may say for a setting of type `kind`."""
    if kind is Selection:
        return Chosen
    if get_origin(kind) is tuple:
        return Names
    if get_origin(kind) is Mapping:
        return dict[str, _as_written(get_args(kind)[1])]  # type: ignore[misc]
    if isinstance(kind, UnionType):
        return reduce(or_, map(_as_written, get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _section(kind.__name__, kind.__doc__, kind)
    return kind


def _section(name: str, doc: str | None, *kinds: type[Struct], without: tuple[str, ...] = ()) -> type[Struct]:
    """Return the shape of a section: the settings of `kinds`, each of which may be left out."""
    keys = [(one.name, _as_written(one.type) | UnsetType, UNSET) for kind in kinds for one in fields(kind)]
    shape = [key for key in keys if key[0] not in without]
    return defstruct(name, shape, namespace={"__doc__": doc}, module=__name__, forbid_unknown_fields=True)


Document = _section("Document", "A policy of safeexec.", FileKeys, PolicyData, without=("name", "origins", "files"))
