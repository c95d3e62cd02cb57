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
print(frame.groupby("city").agg(total=("sales", "sum"), most=("units", "max")))
print(frame.pivot_table(index="city", columns="month", values="sales", aggfunc="sum", fill_value=0))
series = pd.Series(range(6), index=pd.date_range("2024-01-01", periods=6, freq="D"))
print(series.resample("2D").sum(), series.rolling(3).mean(), series.shift(1).diff())
print(frame["city"].str.lower().str.replace("o", "0"), frame["city"].value_counts())
frame.to_csv("out.csv", index=False)
frame.to_json("out.json", orient="records", date_format="iso")
print(pd.read_csv("out.csv").equals(pd.read_csv("out.csv")), len(pd.read_json("out.json")))
with sqlite3.connect(":memory:") as connection:
    frame.drop(columns="day").to_sql("sales", connection, index=False)
    print(pd.read_sql("select city, sum(sales) as total from sales group by city", connection, index_col="city"))
    parts = pd.read_sql_query("select * from sales where units > ?", connection, params=(0,), chunksize=2)
    print([len(part) for part in parts])
frame["nope"]
