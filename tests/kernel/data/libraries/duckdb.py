import os

os.environ |= {"SLURM_CPUS_ON_NODE": "1", "SLURM_MEM_PER_NODE": "256"}  # as a zygote does
import duckdb, pandas as pd

df = pd.DataFrame({"a": range(100), "b": range(100)})
print(duckdb.sql("select sum(a) from df").fetchall())
c = duckdb.connect("x.duckdb")
c.execute("create table t as select * from range(1000)")
print(c.execute("select count(*) from t").fetchall())
c.close()
duckdb.sql("copy (select 1 a) to 'o.parquet'")
print(duckdb.sql("select * from 'o.parquet'").fetchall())
print("done")
