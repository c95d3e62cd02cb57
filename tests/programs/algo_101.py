# domain: algorithms
# Optional dependencies: a program goes on with what there is
try:
    import nonexistent_fast_json as json_module
except ModuleNotFoundError as exc:
    print("fallback:", exc, exc.name)
    import json as json_module

try:
    from math import nonexistent_root
except ImportError as exc:
    print(type(exc).__name__, exc.name)
    nonexistent_root = None

print(json_module.dumps({"root": nonexistent_root}))
for name in ("sqrt", "nonexistent_root"):
    try:
        import math

        print(name, getattr(math, name)(9.0))
    except AttributeError as exc:
        print(exc, "|", exc.name)
