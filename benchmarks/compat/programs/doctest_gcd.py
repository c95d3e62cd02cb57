"""Gcd."""

def gcd(a, b):
    """
    >>> [gcd(a, b) for a, b in ((24, 40), (1, 1), (0, 5), (-6, 4))]
    [8, 1, 5, 2]
    >>> gcd(3, 5.5)  # doctest: +ELLIPSIS
    0.5
    """
    while b:
        a, b = b, a % b
    return abs(a)


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
