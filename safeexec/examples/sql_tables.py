"""SQL as a second language: queries join DataFrames with CSV files, what they create stays, and all of it is undone.

`sql("…")` is there for guest code under `data-analysis`, `<execute_sql>` blocks for a model, `session.sql` for the
host. A table that a query creates is a DataFrame of the session. Nothing else is in reach of a query.

Needs: pandas

Prints:

    1 ok prices has 3 rows and 2 columns
    2 error Did you mean price?
    3 ok {'product': ['pear', 'plum'], 'revenue': [30.0, 40.0]}
    pear and plum earn most, 70 together.
    the host asks: {'total': [77.5]}
    deleted: 3 rows changed; revenue has 0 rows and 2 columns
    after the rollback: 77.5
    files of the machine: SqlError
"""

from safeexec import Sandbox
from safeexec.agent import CodeAgent, ScriptedModel

ORDERS = b"product,pieces\napple,4\npear,10\nplum,20\napple,1\n"
PRICES = """
create table prices as
  select 'apple' as product, 1.5 as price union all select 'pear', 3 union all select 'plum', 2"""
REVENUE = """
create table revenue as
  select product, sum(pieces * price) as revenue from 'orders.csv' join prices using (product)
  group by product order by revenue;
select * from revenue where revenue > 10"""
REPLIES = [
    f"<execute_sql>{PRICES}\n</execute_sql>",
    "<execute_sql>\nselect prise from prices\n</execute_sql>",
    f"<execute_sql>{REVENUE}\n</execute_sql>",
    "pear and plum earn most, 70 together.",
]


def main() -> None:
    with Sandbox("data-analysis", files={"orders.csv": ORDERS}) as sandbox, sandbox.session() as session:
        run = CodeAgent(ScriptedModel(REPLIES), session).run("What earns most?")
        for step in run.steps:
            result = step.result
            shown = result.error.hint if result.error else result.value or result.stdout.strip()
            print(step.number, result.outcome, shown)
        print(run.text)
        print("the host asks:", session.sql("select sum(revenue) as total from revenue").value)
        session.checkpoint("computed")
        print("deleted:", session.sql("delete from revenue").stdout.strip())
        session.rollback("computed")
        print("after the rollback:", session.run("float(revenue['revenue'].sum())").value)
        refused = session.run("sql(\"select * from read_csv('/etc/passwd')\")")
        print("files of the machine:", refused.error.type if refused.error else "read")


if __name__ == "__main__":
    main()
