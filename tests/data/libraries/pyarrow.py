import io
import os

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.json as json
import pyarrow.parquet as pq

numbers = pa.array([1, 2, None, 4])
table = pa.table({"city": ["Rome", "Oslo", "Rome", None], "n": [3, 1, 2, 5], "t": [21.5, -3.0, None, 8.25]})
print(table.sort_by([("n", "descending")])["n"].to_pylist(), table.filter(pc.field("n") > 2).num_rows)
print(table.join(pa.table({"city": ["Rome"], "land": ["IT"]}), "city").sort_by("n")["land"].to_pylist())
days = pc.strptime(pa.array(["2024-02-29", "2023-01-01"]), format="%Y-%m-%d", unit="s")
print(pc.year(days).to_pylist(), pc.day_of_week(days).to_pylist(), pc.strftime(days, format="%d.%m.").to_pylist())
pq.write_table(table, "table.parquet", compression="zstd", row_group_size=2)
print(pq.read_table("table.parquet").equals(table), pq.read_table("table.parquet", columns=["n"], filters=[("n", ">", 2)]))
pq.write_to_dataset(table, "set", partition_cols=["city"])
print(sorted(os.listdir("set")), pq.read_table("set").num_rows, pq.read_table("set", filters=[("city", "=", "Oslo")])["n"])
frame = pd.DataFrame({"d": pd.date_range("2024-01-01", periods=3), "c": pd.Categorical(["a", "b", "a"]), "x": [1, 2, 3]})
frame.set_index("d").to_parquet("frame.parquet")
back = pd.read_parquet("frame.parquet")
print(back, back.dtypes.astype(str).to_dict(), pd.read_parquet("frame.parquet", columns=["x"]).shape)
print(pd.read_csv(io.StringIO("a,b\n1,x\n2,\n"), engine="pyarrow", dtype_backend="pyarrow"))
csv.write_csv(table, "table.csv")
print(csv.read_csv("table.csv").schema.types, csv.read_csv("table.csv", csv.ReadOptions(skip_rows=1)).num_rows)
feather.write_feather(table, "table.feather")
print(feather.read_table("table.feather").num_rows, pd.read_feather("table.feather").shape)
with open("rows.json", "w") as out:
    out.write('{"a": 1}\n{"a": 2}\n')
print(json.read_json("rows.json")["a"].to_pylist())
frame[["x"]].to_orc("frame.orc")
print(pd.read_orc("frame.orc")["x"].tolist())
try:
    pa.array([1, "x"])
except pa.ArrowInvalid as error:
    print(error)
table["missing"]
