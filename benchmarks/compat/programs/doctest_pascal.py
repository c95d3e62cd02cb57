"""Pascal."""

def pascal(rows):
    """
    >>> pascal(4)
    [[1], [1, 1], [1, 2, 1], [1, 3, 3, 1]]
    >>> pascal(0)
    []
    """
    triangle = [[1]]
    while len(triangle) < rows:
        last = triangle[-1]
        triangle.append([1, *(a + b for a, b in zip(last, last[1:])), 1])
    return triangle[:rows]


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
