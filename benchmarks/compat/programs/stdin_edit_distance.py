import functools
a, b = input(), input()
@functools.lru_cache(maxsize=None)
def distance(i, j):
    if not i or not j:
        return i + j
    return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
print(distance(len(a), len(b)))
