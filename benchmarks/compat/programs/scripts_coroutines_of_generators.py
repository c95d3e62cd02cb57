import types
@types.coroutine
def pause(n):
    got = yield n
    return got
async def work():
    return [await pause(i) for i in range(3)]
coroutine = work()
print(coroutine.send(None), coroutine.send("a"), coroutine.send("b"))
try:
    coroutine.send("c")
except StopIteration as end:
    print(end.value)
