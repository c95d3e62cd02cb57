# id: pd-eval-attribute-globals
# class: pandas-numpy-doors
# expect: blocked
# layer: language
# proves: prints ESCAPED pid; an expression of DataFrame.eval reads any attribute
# severity: escape
# oracle: marker
# needs: pandas

import pandas as pd
df = pd.DataFrame({"a": [1]})
f = df.agg
for text in ("a.apply.__globals__", "a.apply.__func__.__globals__", "@f.__globals__", "@f.__func__.__globals__"):
    try:
        found = df.eval(text)
        print("ESCAPED", found["sys"].modules["os"].getpid())
    except Exception:
        pass
