# layer: kernel
# proves: a module is written to through another name
# oracle: drop
# then: reach

# facades and library classes are writable through any non-imported name
import json, random
def put(o, n, v): o.__class__; return None
for o in [json]:
    o.dumps = lambda *a, **k: 'patched'
print(json.dumps(1))
