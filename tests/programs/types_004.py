# domain: types
"""Type hints that name themselves."""

import typing, functools

X = list["X"]


def f(a: X) -> "X":
    pass


print(typing.get_type_hints(f))


class Node:
    next: "Node | None"
    kids: "list['Node']"
    m: typing.Dict["str", typing.List["Node"]]


print(typing.get_type_hints(Node))
Json = typing.Union[int, str, typing.List["Json"], typing.Dict[str, "Json"]]


def g(x: Json):
    pass


print(typing.get_type_hints(g))


def h(x: typing.Optional["int"] = None, *a: "str", **k: "dict[str, int]") -> None:
    pass


print(typing.get_type_hints(h))
