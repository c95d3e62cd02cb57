"""Is palindrome."""

def is_palindrome(text):
    """
    >>> is_palindrome("A man, a plan, a canal: Panama!")
    True
    >>> is_palindrome("palindrome")
    False
    """
    letters = [c.lower() for c in text if c.isalnum()]
    return letters == letters[::-1]


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
