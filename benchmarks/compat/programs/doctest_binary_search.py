"""Binary search."""

def binary_search(items, target):
    """
    >>> binary_search([1, 3, 5, 7], 5)
    2
    >>> binary_search([1, 3, 5, 7], 4) is None
    True
    >>> binary_search([], 1)
    """
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        if items[middle] == target:
            return middle
        if items[middle] < target:
            low = middle + 1
        else:
            high = middle - 1
    return None


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
