"""Set operations."""

def set_operations(a, b):
    """
    >>> set_operations({1, 2, 3}, {2, 3, 4})
    ([2, 3], [1], [1, 4])
    """
    return sorted(a & b), sorted(a - b), sorted(a ^ b)


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
