"""Permutations of."""

def permutations_of(items):
    """
    >>> list(permutations_of([1, 2, 3]))
    [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]]
    >>> from itertools import permutations
    >>> [tuple(p) for p in permutations_of("abc")] == list(permutations("abc"))
    True
    >>> next(permutations_of(""))
    []
    """
    if not items:
        yield []
    for i, item in enumerate(items):
        for rest in permutations_of(items[:i] + items[i + 1 :]):
            yield [item, *rest]


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
