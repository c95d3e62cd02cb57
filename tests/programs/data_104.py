# domain: data-analysis
# needs: pandas, numpy
import numpy as np
import pandas as pd

# Clean a messy table
df = pd.DataFrame(
    {"name": [" Alice ", "BOB", None, "dave"], "age": ["34", "n/a", "41", "-1"], "score": [88.5, np.nan, 75.5, 92.0]}
)
df["name"] = df["name"].str.strip().str.title().fillna("Unknown")
df["age"] = pd.to_numeric(df["age"], errors="coerce")
df.loc[(df["age"] < 0) | df["age"].isna(), "age"] = 30
print(df, df.dtypes.map(str).to_dict(), df.select_dtypes("number").mean().to_dict())


# Features, by functions
def capped(df, *, cap):
    out = df.assign(capped=df["age"].clip(upper=cap))
    out["bucket"] = pd.qcut(out["age"].rank(method="first"), 2, labels=["low", "high"])
    return out


print(df.pipe(capped, cap=35).to_string())

days = pd.date_range("2024-04-01", "2024-04-14")
visits = pd.Series([30 + (i * 7) % 13 + (10 if d.dayofweek < 5 else 0) for i, d in enumerate(days)], index=days)
print(visits.groupby(visits.index.isocalendar().week).sum().to_dict(), visits.asfreq("7D").tolist())
