"""Newton root."""

def newton_root(function, derivative, start, precision=1e-10):
    """
    >>> round(newton_root(lambda x: x**2 - 2, lambda x: 2 * x, 1.0), 9)
    1.414213562
    >>> newton_root(lambda x: x**2 + 1, lambda x: 2 * x, 0.3)
    Traceback (most recent call last):
        ...
    ArithmeticError: no convergence
    >>> newton_root(lambda x: x, lambda x: 0, 1)
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    """
    x = start
    for _ in range(100):
        step = function(x) / derivative(x)
        x -= step
        if abs(step) < precision:
            return x
    raise ArithmeticError("no convergence")


if __name__ == "__main__":
    import doctest

    doctest.testmod(verbose=True)
