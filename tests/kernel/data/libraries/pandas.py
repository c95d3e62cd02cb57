import pandas as pd, numpy as np, io

df = pd.DataFrame(
    {
        "a": range(1000),
        "b": np.random.rand(1000),
        "c": list("xy") * 500,
        "d": pd.date_range("2020-01-01", periods=1000, tz="Europe/Paris"),
    }
)
df.groupby("c").b.mean()
df.describe()
df.merge(df, on="a")
df.to_csv("x.csv")
pd.read_csv("x.csv", parse_dates=["d"])
df.pivot_table(index="c", values="b")
df.to_json("x.json")
df.rolling(3, on="a").b.mean()
print(df.head())
df.to_string()
df.eval("a+b")
df.query("a>5")
df.to_pickle("x.pkl")
pd.read_pickle("x.pkl")
df.set_index("d").b.resample("D").mean().tz_convert("Asia/Tokyo")
df.to_html()
print("done")
