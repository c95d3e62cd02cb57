"""Compound interest."""
from decimal import Decimal, getcontext

def compound_interest(principal, rate, years):
    """
    >>> compound_interest(1000, 0.05, 10)
    Decimal('1628.89')
    >>> compound_interest(1, -1, 1)
    Traceback (most recent call last):
        ...
    ValueError: rate must not be negative
    """
    getcontext().prec = 28
    if rate < 0:
        raise ValueError("rate must not be negative")
    return (Decimal(principal) * (1 + Decimal(str(rate))) ** years).quantize(Decimal("0.01"))


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
