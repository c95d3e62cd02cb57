# domain: algorithms
# Every way to look into attribute access: a logging object, a proxy, a frozen record
class Logged:
    log = []

    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattribute__(self, name):
        if not name.startswith("__"):
            Logged.log.append(name)
        return super().__getattribute__(name)

    def as_dict(self):
        return dict(self.__dict__)


class Proxy:
    def __init__(self, target):
        object.__setattr__(self, "_target", target)

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "_target"), name)

    def __setattr__(self, name, value):
        print(f"set {name} = {value!r}")
        setattr(object.__getattribute__(self, "_target"), name, value)

    def __delattr__(self, name):
        delattr(object.__getattribute__(self, "_target"), name)


class Frozen:
    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")


point = Logged(x=1, y=2)
print(point.x + point.y, point.as_dict(), Logged.log)
print(object.__getattribute__(point, "__dict__"), vars(point))
proxy = Proxy(point)
proxy.z = 3
del proxy.x
print(proxy.as_dict(), hasattr(proxy, "x"), proxy.__class__.__name__)
try:
    Frozen(1).x = 2
except AttributeError as exc:
    print(exc)
print(Frozen(5).x, Frozen(5).__dict__, sorted(set(Logged.log)))
proxy.nothing
