"""Rotate."""

def rotate(matrix, times=1):
    """
    >>> rotate([[1, 2], [3, 4]])
    [[3, 1], [4, 2]]
    >>> rotate([[1, 2], [3, 4]], times=5) == rotate([[1, 2], [3, 4]])
    True
    """
    for _ in range(times % 4):
        matrix = [list(row) for row in zip(*matrix[::-1])]
    return matrix


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
