"""Failing example."""

def failing_example(x):
    """
    >>> failing_example(1)
    3
    >>> failing_example(2)
    3
    >>> failing_example()  # the message is not this
    Traceback (most recent call last):
    TypeError: other words
    """
    return x + 1


if __name__ == "__main__":
    import doctest

    results = doctest.testmod(report=False, optionflags=doctest.REPORT_ONLY_FIRST_FAILURE, verbose=False)
    print(results)
