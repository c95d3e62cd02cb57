import timeit
print(timeit.timeit("sum(range(10))", number=100) > 0)
print(len(timeit.repeat(lambda: None, number=10, repeat=4)))
def f():
    return 1
print(timeit.timeit("f()", globals=globals(), number=3) > 0, timeit.timeit("x + 1", "x = 1", number=2) >= 0)
try:
    timeit.timeit("1 +")
except SyntaxError as error:
    print(error.msg)
