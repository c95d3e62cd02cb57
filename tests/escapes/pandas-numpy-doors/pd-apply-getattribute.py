# id: pd-apply-getattribute
# class: pandas-numpy-doors
# expect: blocked
# layer: language
# proves: prints ESCAPED pid; Series.apply and agg call methods by name, unbound ones with any object
# severity: escape
# oracle: marker
# needs: pandas

import enum
import pandas as pd
class Sized(enum.Enum):
    A = 1
for act in (
    lambda: pd.Series.apply(Sized, "__getattribute__", args=(pd.Series.apply, "__globals__")),
    lambda: pd.DataFrame({"a": [1]}).agg("__reduce__")[0],
    lambda: pd.Series([1]).groupby([1]).agg("__reduce_ex__", 4),
):
    try:
        found = act()
        print("ESCAPED", found)
    except Exception:
        pass
