"""Collatz."""

def collatz(n):
    """
    >>> collatz(6)
    [6, 3, 10, 5, 16, 8, 4, 2, 1]
    >>> len(collatz(27))
    112
    """
    steps = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps.append(n)
    return steps


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
