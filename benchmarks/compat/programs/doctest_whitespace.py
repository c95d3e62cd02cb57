"""Whitespace."""

def whitespace(n):
    """
    >>> whitespace(3)
    '   x'
    >>> print([1,
    ...        2])  # doctest: +NORMALIZE_WHITESPACE
    [1,  2]
    >>> print('a\\n\\nb')
    a
    <BLANKLINE>
    b
    >>> object()  # doctest: +ELLIPSIS
    <object object at 0x...>
    >>> 1 / 0  # doctest: +SKIP
    >>> raise KeyError('k')  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    KeyError: other
    """
    return ' ' * n + 'x'


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
