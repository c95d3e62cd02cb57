"""Roman."""

def roman(number):
    """
    >>> tests = {3: "III", 154: "CLIV", 1009: "MIX", 2500: "MMD", 3999: "MMMCMXCIX"}
    >>> all(roman(key) == value for key, value in tests.items())
    True
    """
    pairs = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL", 10: "X", 9: "IX",
             5: "V", 4: "IV", 1: "I"}
    text = []
    for value, letters in pairs.items():
        count, number = divmod(number, value)
        text.append(letters * count)
    return "".join(text)


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
