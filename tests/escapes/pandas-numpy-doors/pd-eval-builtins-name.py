# id: pd-eval-builtins-name
# class: pandas-numpy-doors
# expect: blocked
# layer: language
# proves: prints ESCAPED; pandas.eval gives the dict of the guards, which can be written to
# severity: escape
# oracle: marker
# needs: pandas

import pandas as pd
for name in ("__builtins__", "@__builtins__"):
    for frame in (None, pd.DataFrame({"a": [1]})):
        try:
            found = pd.eval(name) if frame is None else frame.eval(name)
            print("ESCAPED", sorted(found)[:5])
        except Exception:
            pass
