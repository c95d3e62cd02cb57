"""Decorated functions, generators and lambdas.

>>> cached(3), cached(3), calls
(9, 9, [3])
"""
import functools
import contextlib

calls = []


def logged(function):
    """
    >>> @logged
    ... def f(x):
    ...     return x
    >>> f(1)
    f(1)
    1
    """

    @functools.wraps(function)
    def inner(*args):
        print(f"{function.__name__}({', '.join(map(repr, args))})")
        return function(*args)

    return inner


@functools.lru_cache
def cached(x):
    """
    >>> cached(2)
    4
    """
    calls.append(x)
    return x * x


@logged
def visible(x):
    """
    >>> visible("a")
    visible('a')
    'a'
    """
    return x


@contextlib.contextmanager
def tag(name):
    """
    >>> with tag("b"):
    ...     print("text")
    <b>
    text
    </b>
    """
    print(f"<{name}>")
    yield
    print(f"</{name}>")


if __name__ == "__main__":
    import doctest

    failures, tests = doctest.testmod()
    print(failures, tests)
