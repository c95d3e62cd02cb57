import io
import sqlite3

import numpy as np
import pandas as pd

text = (
    "day,city,sales,units\n2024-01-01,Oslo,10.5,3\n2024-01-02,Rome,20,\n2024-01-03,Oslo,7.25,1\n2024-02-01,Rome,1,9\n"
)
frame = pd.read_csv(io.StringIO(text), parse_dates=["day"])
print(frame, frame.dtypes, frame.describe(), frame.isna().sum(), sep="\n")
frame["units"] = frame["units"].fillna(0).astype(int)
frame["month"] = frame["day"].dt.strftime("%b")
frame = frame.assign(price=lambda f: f.sales / f.units.replace(0, np.nan))
print(
    frame.groupby("city").agg(total=("sales", "sum"), most=("units", "max")),
    frame.pivot_table(index="city", columns="month", values="sales", aggfunc="sum", fill_value=0),
)
print(
    frame.query("sales > 5 and city == 'Oslo'"),
    frame.loc[frame.units > 1, ["city", "units"]],
    frame.sort_values("sales", ascending=False).head(2),
)
other = pd.DataFrame({"city": ["Oslo", "Rome"], "country": ["NO", "IT"]})
print(
    frame.merge(other, on="city", how="left")[["city", "country"]],
    pd.concat([other, other], ignore_index=True),
    other.set_index("city").T,
)
series = pd.Series(range(6), index=pd.date_range("2024-01-01", periods=6, freq="D"))
print(
    series.resample("2D").sum(),
    series.rolling(3).mean(),
    series.shift(1).diff(),
    series.pct_change().round(3),
    sep="\n",
)
print(
    frame["city"].str.lower().str.replace("o", "0"),
    frame["city"].value_counts(),
    pd.cut(frame.sales, [0, 5, 15, 30], labels=list("abc")),
)
print(
    frame.apply(lambda row: f"{row.city}:{row.units}", axis=1).tolist(),
    frame.melt("city", ["sales", "units"]).shape,
    frame["sales"].quantile([0.1, 0.9]),
)
frame.to_csv("out.csv", index=False)
frame.to_json("out.json", orient="records", date_format="iso")
print(
    pd.read_csv("out.csv").equals(pd.read_csv("out.csv")),
    len(pd.read_json("out.json")),
    frame.to_dict("records")[0]["city"],
    frame.to_string(max_rows=2),
)
print(
    pd.to_datetime(["01/02/2024"], dayfirst=True),
    pd.Timestamp("2024-03-31") + pd.DateOffset(months=1),
    pd.Timedelta("2h30m"),
    pd.Categorical(["b", "a"]).codes,
)
with sqlite3.connect(":memory:") as connection:
    frame.drop(columns="day").to_sql("sales", connection, index=False)
    print(pd.read_sql("select city, sum(sales) as total from sales group by city", connection, index_col="city"))
    print([len(part) for part in pd.read_sql_query("select * from sales where units > ?", connection, params=(0,), chunksize=2)])
frame["nope"]
