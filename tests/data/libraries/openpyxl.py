import datetime as dt

import pandas as pd
from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font, PatternFill
from openpyxl.utils.dataframe import dataframe_to_rows

book = Workbook()
sheet = book.active
sheet.title = "Sales"
sheet.append(["region", "amount", "day"])
for row in (("north", 10.5, dt.date(2024, 1, 2)), ("south", 20, dt.date(2024, 1, 3))):
    sheet.append(row)
sheet["B5"] = "=SUM(B2:B3)"
sheet["B5"].number_format = "0.00"
for cell in sheet[1]:
    cell.font = Font(bold=True, color="FFFFFF")
    cell.fill = PatternFill("solid", fgColor="4472C4")
second = book.create_sheet("Frame")
for row in dataframe_to_rows(pd.DataFrame({"a": [1, 2], "b": ["x", None]}), index=False):
    second.append(row)
book.save("book.xlsx")

read = load_workbook("book.xlsx")
print(list(load_workbook("book.xlsx", read_only=True)["Frame"].values))
print(pd.read_excel("book.xlsx", sheet_name="Frame"))
with pd.ExcelWriter("two.xlsx") as writer:
    pd.DataFrame({"c": [1]}).to_excel(writer, sheet_name="one")
read["Absent"]
