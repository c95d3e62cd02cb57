"""Small pure Python loads, one per kind of work. Each defines `k()`, which computes for about a millisecond."""

KERNELS = {
    "calls": """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def k():
    return fib(18)
""",
    "objects": """
class Account:
    def __init__(self, name, balance):
        self.name = name
        self._balance = balance
        self.moves = 0
    def deposit(self, amount):
        self._balance += amount
        self.moves += 1
    def withdraw(self, amount):
        if self._balance >= amount:
            self._balance -= amount
        self.moves += 1
def k():
    accounts = [Account(str(i), 100) for i in range(20)]
    for day in range(100):
        for account in accounts:
            account.deposit(day % 7)
            account.withdraw(day % 5)
    return sum(account._balance + account.moves for account in accounts)
""",
    "subscripts": """
def k():
    n = 10_000
    prime = [True] * (n + 1)
    prime[0] = prime[1] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
        i += 1
    by_digit = {}
    for i, p in enumerate(prime):
        by_digit[i % 10] = by_digit.get(i % 10, 0) + p
    return sum(by_digit.values())
""",
    "strings": """
def k():
    text = "the quick brown fox jumps over the lazy dog and runs far away from the quick red fox " * 80
    counts = {}
    for word in text.split():
        word = word.lower().strip(".,")
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{word}={n}" for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
""",
    "comprehensions": """
def k():
    squares = [i * i for i in range(8000) if i % 3]
    names = {i: str(i) for i in range(2000)}
    return sum(x + 1 for x in (y // 2 for y in squares) if x % 2 == 0) + len(names) + len({v % 97 for v in squares})
""",
    "unpacking": """
def k():
    rows = [(i, (i + 1, [i + 2, i + 3])) for i in range(3000)]
    total = 0
    for a, (b, (c, *rest)) in rows:
        total += a + b - c + rest[0]
    return total
""",
    "format": """
def k():
    return len("".join("{}:{:>8.2f};".format(i, i / 3) for i in range(2000)))
""",
    "format, computed template": """
def k():
    template = "{}:" + "{:>8.2f};"
    return len("".join(template.format(i, i / 3) for i in range(2000)))
""",
    "getattr, computed name": """
class Point:
    def __init__(self):
        self.x, self.y, self.z = 1, 2, 3
def k():
    point, total = Point(), 0
    for i in range(3000):
        total += getattr(point, "xyz"[i % 3])
        setattr(point, "xyz"[i % 3], i)
    return total
""",
}

NUMPY = """
import numpy as np
def k():
    a = np.arange(200_000, dtype=float)
    b = np.sin(a) * 2.0 + a ** 0.5
    return float(b[1:-1].sum())
"""

BEST = """
import time
def best(rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        k()
        times.append(time.perf_counter() - start)
    return min(times)
"""
"""Timed where it runs: what remains is the speed of the code, without messages."""
