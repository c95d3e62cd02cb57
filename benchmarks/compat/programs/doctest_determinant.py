"""Determinant."""

def determinant(matrix):
    """
    >>> determinant([[1, 2], [3, 4]])
    -2
    >>> determinant([[2, 0, 1], [1, 3, 2], [1, 1, 1]])
    0
    """
    if len(matrix) == 1:
        return matrix[0][0]
    return sum(
        (-1) ** i * value * determinant([row[:i] + row[i + 1 :] for row in matrix[1:]])
        for i, value in enumerate(matrix[0])
    )


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
