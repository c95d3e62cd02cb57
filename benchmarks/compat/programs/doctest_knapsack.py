"""Knapsack."""

def knapsack(capacity, weights, values):
    """
    >>> knapsack(50, [10, 20, 30], [60, 100, 120])
    220
    >>> knapsack(5, [1], [1, 2])
    Traceback (most recent call last):
        ...
    ValueError: zip() argument 2 is longer than argument 1
    """
    best = [0] * (capacity + 1)
    for weight, value in zip(weights, values, strict=True):
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
