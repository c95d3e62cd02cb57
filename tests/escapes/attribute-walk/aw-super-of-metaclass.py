# id: aw-super-of-metaclass
# class: attribute-walk
# expect: blocked-at-run
# layer: language
# proves: prints ESCAPED pid; super() of a metaclass gives the unbound type.__subclasses__
# severity: escape
# oracle: marker

import json
class M(type):
    pass
s = super(M, M)
subclasses = s.__subclasses__(object)
attrgetter = [c for c in subclasses if c.__name__ == "attrgetter" and c.__module__ == "operator"][0]
g = attrgetter("__globals__")(json.dumps)
print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
