"""Fibonacci."""

def fibonacci(n):
    """
    >>> fibonacci(10)
    55
    >>> fibonacci(100)
    354224848179261915075
    >>> fibonacci("x")
    Traceback (most recent call last):
        ...
    ValueError: n must be a whole number, not 'x'
    >>> for n in range(5):
    ...     print(n, fibonacci(n))
    0 0
    1 1
    2 1
    3 2
    4 3
    """
    if not isinstance(n, int) or n < 0:
        raise ValueError(f"n must be a whole number, not {n!r}")
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
