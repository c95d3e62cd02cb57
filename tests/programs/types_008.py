# domain: types
"""Classes within classes, methods and iterators as pickles; hints of what is unpacked; names and messages."""

import copy
import dataclasses
import pickle
import types
from typing import Any, List, get_type_hints


class Outer:
    class Inner:
        class Deepest:
            value = 3

        def method(self):
            return 7


for protocol in range(pickle.HIGHEST_PROTOCOL + 1):

    def again(thing):
        return pickle.loads(pickle.dumps(thing, protocol))

    print(again(Outer.Inner()).method(), again(Outer.Inner().method)(), again(Outer.Inner.Deepest).value)
    print(list(again(iter([1, 2]))), list(again(iter({"a": 1}))), list(again(reversed([1, 2]))), again(Outer.Inner.method).__qualname__)


def several(*args: *tuple[int, str]): ...


def several_as_text(*args: "*tuple[int, str]"): ...


print(get_type_hints(several), get_type_hints(several_as_text), get_type_hints(several)["args"].__class__)
print(get_type_hints(int), copy.deepcopy(List["X"]), copy.copy(List["X"].__args__[0]), copy.deepcopy([Any]))


class Shadowed: ...


class Around:
    Shadowed = int
    of_module: "Shadowed"


print(get_type_hints(Around), get_type_hints(Around, localns={}), get_type_hints(Around, globalns=globals()))


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int


print([pickle.loads(pickle.dumps(Frozen(7), protocol)) for protocol in range(6)])
print(Frozen.__setattr__.__qualname__, Frozen.__delattr__.__name__, object.__setattr__.__qualname__)
for fields in [(1, 2, 3, 4)], [()], ["a b"], [("x",)], [(1, int)], [1]:
    try:
        dataclasses.make_dataclass("C", fields)
    except TypeError as error:
        print(error)
for thing in 1, None:
    try:
        types.coroutine(thing)
    except TypeError as error:
        print(error)


async def answered():
    return await types.coroutine(lambda: (yield 5))()


print(answered().send(None), types.coroutine(len).__name__, types.coroutine(len)([1]))
