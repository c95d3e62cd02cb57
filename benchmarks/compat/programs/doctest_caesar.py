"""Caesar."""
import string

def caesar(text, key, alphabet=string.ascii_letters):
    """
    >>> caesar("The quick brown fox", 8)
    'bpm yCqks jzwEv nwF'
    >>> caesar(caesar("round trip", 11), -11)
    'round trip'
    >>> print(caesar('a"b\\n', 1))
    b"c\\o
    """
    shift = {c: alphabet[(i + key) % len(alphabet)] for i, c in enumerate(alphabet)}
    return "".join(shift.get(c, c) for c in text)


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
