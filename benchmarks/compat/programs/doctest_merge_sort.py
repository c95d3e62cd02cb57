"""Merge sort."""

def merge_sort(items):
    """
    >>> merge_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> merge_sort(list("merge"))
    ['e', 'e', 'g', 'm', 'r']
    """
    if len(items) <= 1:
        return items
    middle = len(items) // 2
    left, right = merge_sort(items[:middle]), merge_sort(items[middle:])
    merged = []
    while left and right:
        merged.append((left if left[0] <= right[0] else right).pop(0))
    return merged + left + right


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
