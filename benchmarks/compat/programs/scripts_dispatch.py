from functools import singledispatch, singledispatchmethod
@singledispatch
def show(value):
    return f"other {value!r}"
@show.register
def _(value: int | float):
    return f"number {value}"
@show.register(list)
def _(value):
    return "list of " + ", ".join(map(show, value))
print(show(1), show(2.5), show("a"), show([1, "b"]))
class Printer:
    @singledispatchmethod
    def show(self, value):
        raise NotImplementedError(type(value).__name__)
    @show.register
    def _(self, value: str):
        return value.upper()
print(Printer().show("x"))
for attempt in (lambda: Printer().show(1), lambda: show(), lambda: show.register(5)):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__, error)
