"""Bubble sort."""

def bubble_sort(items):
    """
    >>> bubble_sort([0, 5, 2, 3, 2])
    [0, 2, 2, 3, 5]
    >>> bubble_sort([])
    []
    >>> import random
    >>> data = random.sample(range(-50, 50), 100)
    >>> bubble_sort(data) == sorted(data)
    True
    >>> bubble_sort(['b', 1])
    Traceback (most recent call last):
        ...
    TypeError: '>' not supported between instances of 'str' and 'int'
    """
    items = list(items)
    for end in range(len(items) - 1, 0, -1):
        swapped = False
        for i in range(end):
            if items[i] > items[i + 1]:
                items[i], items[i + 1] = items[i + 1], items[i]
                swapped = True
        if not swapped:
            break
    return items


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
