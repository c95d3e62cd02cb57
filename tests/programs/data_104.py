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
band = pd.cut(df["age"], bins=[0, 30, 40, 100], labels=["young", "mid", "senior"])
print(band.value_counts().sort_index().to_dict(), band.cat.categories.tolist(), df.notna().all().to_dict())


# Features, by functions
def capped(df, *, cap):
    out = df.assign(capped=df["age"].clip(upper=cap))
    out["bucket"] = pd.qcut(out["age"].rank(method="first"), 2, labels=["low", "high"])
    return out


def one_hot(df, col):
    return pd.concat([df.drop(columns=col), pd.get_dummies(df[col], prefix=col, dtype=int)], axis=1)


print(df.pipe(capped, cap=35).pipe(one_hot, "bucket").to_string())

# Cohorts
dates = ["2024-01-05", "2024-02-10", "2024-01-20", "2024-02-01", "2024-03-03", "2024-02-14"]
events = pd.DataFrame({"user": [1, 1, 2, 2, 2, 3], "date": pd.to_datetime(dates)})
events["month"] = events["date"].dt.to_period("M")
events["cohort"] = events.groupby("user")["month"].transform("min")
events["offset"] = (events["month"] - events["cohort"]).apply(lambda d: d.n)
table = events.groupby(["cohort", "offset"])["user"].nunique().unstack(fill_value=0)
print(table, table.div(table[0], axis=0).round(2), events["date"].dt.quarter.unique().tolist())
print(events.sort_values(["user", "date"]).groupby("user")["date"].diff().dt.days.dropna().mean())
counts = pd.crosstab(events["user"], events["month"].astype(str), normalize="index").round(2)
print(counts, counts.columns.tolist(), events.nlargest(2, "offset").reset_index(drop=True))
multi = events.groupby(["cohort", "user"])["offset"].max()
print(multi.index.get_level_values("user").unique().tolist(), multi.idxmax()[1], multi.iloc[0])

# Times
td = pd.to_timedelta(pd.Series([80, 45, 120]), unit="min")
print(td.sum(), td.max().components.hours, (pd.Timestamp("2024-05-01 22:30") + td.cumsum()).dt.normalize().nunique())
days = pd.date_range("2024-04-01", "2024-04-14")
visits = pd.Series([30 + (i * 7) % 13 + (10 if d.dayofweek < 5 else 0) for i, d in enumerate(days)], index=days)
print(visits.groupby(visits.index.isocalendar().week).sum().to_dict(), visits.asfreq("7D").tolist())
print(visits.between_time("00:00", "00:00").shape, visits.truncate(after="2024-04-03").tolist(), pd.isna(None))

# Nested
people = [{"id": 7, "user": {"name": "kim"}, "scores": [{"t": "a", "v": 3}]}, {"id": 9, "user": {"name": "lou"}}]
print(pd.json_normalize(people, sep="_").drop(columns="scores"), df["age"].astype(int).dtype.kind)
