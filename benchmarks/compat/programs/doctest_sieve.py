"""Sieve."""

def sieve(limit):
    """
    >>> sieve(30)
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    >>> sieve(1)
    Traceback (most recent call last):
        ...
    ValueError: limit must be at least 2
    """
    if limit < 2:
        raise ValueError("limit must be at least 2")
    prime = bytearray([1]) * (limit + 1)
    prime[:2] = b"\0\0"
    for n in range(2, int(limit**0.5) + 1):
        if prime[n]:
            prime[n * n :: n] = bytes(len(range(n * n, limit + 1, n)))
    return [n for n, flag in enumerate(prime) if flag]


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
