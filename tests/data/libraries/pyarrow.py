import io
import os

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.json as json
import pyarrow.parquet as pq
from pyarrow import types

# 1: arrays, types, nulls
numbers = pa.array([1, 2, None, 4])
print(numbers.type, numbers.null_count, numbers.to_pylist(), numbers[0].as_py(), numbers.slice(1, 2).to_pylist())
print(types.is_integer(numbers.type), pa.list_(pa.int32()), pa.decimal128(10, 2), pa.timestamp("ms", tz="UTC"))
nested = pa.array([{"a": 1, "b": ["x"]}, {"a": None, "b": []}])
print(nested.type, nested.field("a").to_pylist(), pa.array(["u", "v", "u"]).dictionary_encode().dictionary.to_pylist())
# 2: tables
table = pa.table({"city": ["Rome", "Oslo", "Rome", None], "n": [3, 1, 2, 5], "t": [21.5, -3.0, None, 8.25]})
print(table.shape, table.column_names, table.schema.field("n").type, table.select(["n"]).to_pydict())
print(table.sort_by([("n", "descending")])["n"].to_pylist(), table.filter(pc.field("n") > 2).num_rows)
print(table.group_by("city").aggregate([("n", "sum"), ("t", "mean")]).sort_by("n_sum").to_pylist())
print(table.join(pa.table({"city": ["Rome"], "land": ["IT"]}), "city").sort_by("n")["land"].to_pylist())
print(pa.concat_tables([table, table]).num_rows, table.append_column("m", pc.multiply(table["n"], 2))["m"].to_pylist())
# 3: compute
print(pc.sum(table["n"]).as_py(), pc.mean(table["t"]).as_py(), pc.utf8_upper(table["city"]).to_pylist())
print(pc.value_counts(table["city"]).to_pylist(), pc.min_max(table["n"]).as_py(), pc.is_null(table["t"]).to_pylist())
days = pc.strptime(pa.array(["2024-02-29", "2023-01-01"]), format="%Y-%m-%d", unit="s")
print(pc.year(days).to_pylist(), pc.day_of_week(days).to_pylist(), pc.strftime(days, format="%d.%m.").to_pylist())
# 4: Parquet
pq.write_table(table, "table.parquet", compression="zstd", row_group_size=2)
print(pq.read_table("table.parquet").equals(table), pq.read_table("table.parquet", columns=["n"], filters=[("n", ">", 2)]))
file = pq.ParquetFile("table.parquet")
print(file.num_row_groups, file.schema_arrow.names, file.read_row_group(1).num_rows, file.metadata.num_rows)
print([batch.num_rows for batch in file.iter_batches(batch_size=3)], file.metadata.row_group(0).column(1).statistics.max)
with pq.ParquetWriter("parts.parquet", table.schema) as writer:
    for _ in range(3):
        writer.write_table(table)
print(pq.read_metadata("parts.parquet").num_row_groups, pq.read_schema("parts.parquet").names)
pq.write_to_dataset(table, "set", partition_cols=["city"])
print(sorted(os.listdir("set")), pq.read_table("set").num_rows, pq.read_table("set", filters=[("city", "=", "Oslo")])["n"])
buffer = io.BytesIO()
pq.write_table(table, buffer)
print(pq.read_table(io.BytesIO(buffer.getvalue())).num_rows)
# 5: with pandas
frame = pd.DataFrame({"d": pd.date_range("2024-01-01", periods=3), "c": pd.Categorical(["a", "b", "a"]), "x": [1, 2, 3]})
frame.set_index("d").to_parquet("frame.parquet")
back = pd.read_parquet("frame.parquet")
print(back, back.dtypes.astype(str).to_dict(), pd.read_parquet("frame.parquet", columns=["x"]).shape)
print(pa.Table.from_pandas(frame).schema.names, table.to_pandas().to_dict("list"), pa.Schema.from_pandas(frame))
arrow = pd.read_csv(io.StringIO("a,b\n1,x\n2,\n"), engine="pyarrow", dtype_backend="pyarrow")
print(arrow.dtypes.astype(str).to_dict(), arrow["a"].sum(), arrow["b"].isna().tolist())
print(frame.astype({"x": "int64[pyarrow]"})["x"].mean(), pa.deserialize_pandas(pa.serialize_pandas(frame)).equals(frame))
# 6: other files
csv.write_csv(table, "table.csv")
print(csv.read_csv("table.csv").schema.types, csv.read_csv("table.csv", csv.ReadOptions(skip_rows=1)).num_rows)
feather.write_feather(table, "table.feather")
print(feather.read_table("table.feather").num_rows, pd.read_feather("table.feather").shape)
with open("rows.json", "w") as out:
    out.write('{"a": 1}\n{"a": 2}\n')
print(json.read_json("rows.json")["a"].to_pylist())
frame[["x"]].to_orc("frame.orc")
print(pd.read_orc("frame.orc")["x"].tolist())
# 7: a stream of batches, numpy, bytes
batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))
print([batch.num_rows for batch in batches], numbers.drop_null().to_numpy().sum(), pa.decompress(pa.compress(b"ab" * 9, asbytes=True), 18, asbytes=True))
print(pa.chunked_array([[1], [2, 3]]).num_chunks, pa.unify_schemas([table.schema, pa.schema([("z", pa.bool_())])]).names)
try:
    pa.array([1, "x"])
except pa.ArrowInvalid as error:
    print(error)
table["missing"]
