# domain: types
"""Fields that postponed annotations name through their modules."""

from __future__ import annotations
import typing, dataclasses
import typing as t
import dataclasses as dc
from dataclasses import dataclass, fields, field, InitVar, KW_ONLY
from typing import ClassVar


@dataclasses.dataclass
class A:
    x: int
    c: typing.ClassVar[int] = 3
    d: ClassVar[int] = 4
    e: t.ClassVar = 5
    i: dataclasses.InitVar[int] = 7
    j: InitVar[int] = 8
    k: dc.InitVar[int] = 9
    _: dataclasses.KW_ONLY
    y: int = 0

    def __post_init__(self, i, j, k):
        print("post", i, j, k)


print([f.name for f in fields(A)], [f.kw_only for f in fields(A)])
print(A(1, 2, 3, 4, y=5))
try:
    A(1, 2, 3, 4, 5)
except TypeError as e:
    print(e)


@dataclass
class B:
    _: dc.KW_ONLY
    a: int
    b: t.ClassVar[typing.List[int]] = []


print([(f.name, f.kw_only) for f in fields(B)], B(a=1))
try:
    B(1)
except TypeError as e:
    print(e)
