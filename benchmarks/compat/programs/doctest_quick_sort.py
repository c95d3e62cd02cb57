"""Quick sort."""

def quick_sort(collection):
    """
    >>> quick_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> quick_sort([-2, -45, -5])
    [-45, -5, -2]
    """
    if len(collection) < 2:
        return collection
    pivot, *rest = collection
    return quick_sort([x for x in rest if x <= pivot]) + [pivot] + quick_sort([x for x in rest if x > pivot])


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
