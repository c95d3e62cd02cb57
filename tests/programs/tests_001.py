# domain: tests
"""Examples in docstrings.

>>> add(1, 2)
3
"""

from __future__ import annotations


def add(a, b):
    """
    >>> add(1, 2)
    3
    >>> add('a', 'b')
    'ab'
    >>> add(1, 'b')
    Traceback (most recent call last):
        ...
    TypeError: unsupported operand type(s) for +: 'int' and 'str'
    >>> x = 5
    >>> def g(): return x
    >>> x = 6
    >>> g()
    6
    """
    return a + b


class Stack:
    def __init__(self):
        self.items = []

    @property
    def top(self):
        """
        >>> Stack().top
        Traceback (most recent call last):
        IndexError: list index out of range
        """
        return self.items[-1]

    @staticmethod
    def make():
        """
        >>> Stack.make().items
        []
        """
        return Stack()


def bad():
    """
    >>> bad()
    1
    """
    return 1


if __name__ == "__main__":
    import doctest

    print(doctest.testmod(verbose=False))
    doctest.run_docstring_examples(add, globals(), name="add")
    print(doctest.testmod(optionflags=doctest.ELLIPSIS, verbose=True).failed)
