"""A data analyst: it looks at a CSV file, cleans it in stages, answers a question, draws a plot and writes a report.

The file has missing values and outliers. `DataAnalyst` shows the model a survey of the file first; the model works
under the policy `data-analysis` on a copy of the file. With MISTRAL_API_KEY set a real model is asked.

Needs: pandas, matplotlib

Prints:

    1 ok {'day': 0, 'region': 0, 'amount': 40}
    2 ok 40
    3 ok 4
    4 ok north
    5 ok a picture
    North sells most: 120 a day. 40 missing values became the median of their region, 4 outliers were dropped.
    report.html
"""

import os
import tempfile

from safeexec.agent import DataAnalyst, MistralModel, ScriptedModel

QUESTION = "Which region sells most a day?"
STAGES = [
    "import pandas as pd\nsales = pd.read_csv('sales.csv')\nsales.isna().sum().to_dict()",
    "missing = int(sales['amount'].isna().sum())\n"
    "medians = sales.groupby('region')['amount'].transform('median')\n"
    "sales['amount'] = sales['amount'].fillna(medians)\nmissing",
    "low, high = sales['amount'].quantile([0.25, 0.75])\n"
    "usual = sales['amount'] <= high + 3 * (high - low)\n"
    "sales = sales[usual]\nint((~usual).sum())",
    "means = sales.groupby('region')['amount'].mean().round(1)\nmeans.idxmax()",
    "import matplotlib.pyplot as plt\nplt.figure()\nmeans.plot.bar(title='Sales a day', ylabel='pieces', rot=0)\nNone",
]
ANSWER = "North sells most: 120 a day. 40 missing values became the median of their region, 4 outliers were dropped."


def sales() -> bytes:
    """Return a table of 400 rows: every tenth amount is missing, and four are a hundred times too large."""
    rows = ["day,region,amount"]
    for day in range(100):
        for region, usual in (("north", 120), ("south", 80), ("east", 95), ("west", 70)):
            row = 4 * day + len(region)
            amount = "" if row % 20 == 5 else str(usual * (100 if day % 30 == 7 and region == "east" else 1))
            rows.append(f"{day},{region},{amount}")
    return "\n".join(rows).encode()


def main() -> None:
    replies = [f"<execute_python>\n{source}\n</execute_python>" for source in STAGES]
    model = MistralModel() if os.environ.get("MISTRAL_API_KEY") else ScriptedModel([*replies, ANSWER])
    analysis = DataAnalyst(model, {"sales.csv": sales()}).run(QUESTION)
    for step in analysis.run.steps:
        picture = any(display.png for display in step.result.displays)
        print(step.number, step.result.outcome, "a picture" if picture else step.result.value)
    print(analysis.text)
    with tempfile.TemporaryDirectory() as directory:
        print(*sorted(path.name for path in analysis.write(directory)))


if __name__ == "__main__":
    main()
