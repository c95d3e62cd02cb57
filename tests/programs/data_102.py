# domain: data-analysis
# needs: numpy, pandas
import codecs
import io

import numpy as np
import pandas as pd

for name in ("float", "NaN", "in1d", "no_such_function"):
    try:
        getattr(np, name)
    except AttributeError as exc:
        print(str(exc).splitlines()[0])

with io.open("table.csv", "w", encoding="utf-8") as f:
    f.write("città,valore\nForlì,3\nSanta Cruz,4\n")
with codecs.open("table.csv", "r", "utf-8") as f:
    print(f.readline().strip())
df = pd.read_csv("table.csv", index_col="città")
print(df.loc["Forlì", "valore"], df["valore"].sum())
for missing in (lambda: df.dropna(subset=["valor"]), lambda: df["Valore"], lambda: df.query("valor > 1")):
    try:
        missing()
    except Exception as exc:
        print(type(exc).__name__, exc)
