"""Transpose."""

def transpose(matrix):
    """
    >>> transpose([[1, 2], [3, 4], [5, 6]])
    [[1, 3, 5], [2, 4, 6]]
    >>> transpose([])
    []
    """
    return [list(row) for row in zip(*matrix)]


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
