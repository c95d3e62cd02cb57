"""Word frequency."""
import collections
import re

def word_frequency(text):
    """
    >>> word_frequency("The cat and the hat. And THE bat!")
    [('the', 3), ('and', 2), ('bat', 1), ('cat', 1), ('hat', 1)]
    >>> word_frequency("...")
    []
    """
    counts = collections.Counter(re.findall(r"[a-z']+", text.lower()))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
