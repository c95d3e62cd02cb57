"""A stack.

>>> stack = Stack(2)
>>> stack.push(1); stack.push(2)
>>> str(stack)
'[1, 2]'
"""
from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class StackOverflowError(BaseException):
    pass


class Stack(Generic[T]):
    """
    >>> len(Stack())
    0
    """

    def __init__(self, limit: int = 10) -> None:
        self.items: list[T] = []
        self.limit = limit

    def __len__(self) -> int:
        return len(self.items)

    def __str__(self) -> str:
        return str(self.items)

    def push(self, data: T) -> None:
        """
        >>> s = Stack(1)
        >>> s.push(10)
        >>> s.push(11)
        Traceback (most recent call last):
            ...
        StackOverflowError
        """
        if len(self.items) >= self.limit:
            raise StackOverflowError
        self.items.append(data)

    def pop(self) -> T:
        """
        >>> s = Stack(); s.push(3); s.pop()
        3
        >>> Stack().pop()
        Traceback (most recent call last):
        IndexError: pop from empty list
        """
        return self.items.pop()


if __name__ == "__main__":
    from doctest import testmod

    print(testmod())
