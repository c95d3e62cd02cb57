"""N queens."""

def n_queens(size):
    """
    >>> [n_queens(n) for n in range(1, 7)]
    [1, 0, 0, 2, 10, 4]
    """
    def place(row, columns, left, right):
        if row == size:
            return 1
        return sum(
            place(row + 1, columns | {c}, left | {c - row}, right | {c + row})
            for c in range(size)
            if c not in columns and c - row not in left and c + row not in right
        )
    return place(0, frozenset(), frozenset(), frozenset())


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
