import copy
import datetime as dt
import io

import pandas as pd
from openpyxl import Workbook, load_workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font, NamedStyle, PatternFill
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.utils.dataframe import dataframe_to_rows
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table, TableStyleInfo

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
bigger = copy.copy(sheet["A1"].font)
sheet["A2"].style = NamedStyle(name="note", font=Font(italic=True))
sheet["A1"].comment = Comment("the region", "me")
sheet.merge_cells("A7:C7")
sheet.conditional_formatting.add("B2:B3", CellIsRule(operator="greaterThan", formula=["15"], font=Font(bold=True)))
rule = DataValidation(type="list", formula1='"north,south"')
rule.add("A2:A3")
sheet.add_data_validation(rule)
chart = BarChart()
chart.title = "Sales"
chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=3))
sheet.add_chart(chart, "E2")
second = book.create_sheet("Frame")
for row in dataframe_to_rows(pd.DataFrame({"a": [1, 2], "b": ["x", None]}), index=False):
    second.append(row)
second.add_table(Table(displayName="T", ref="A1:B3", tableStyleInfo=TableStyleInfo(name="TableStyleMedium9")))
book.save("book.xlsx")
buffer = io.BytesIO()
book.save(buffer)
print(bigger.size, bigger.b, buffer.getvalue()[:2], get_column_letter(28), column_index_from_string("AB"))

read = load_workbook("book.xlsx")
print(read.sheetnames, read["Sales"].max_row, read["Sales"]["B5"].value, read["Sales"]["A1"].font.b)
print([[cell.value for cell in row] for row in read["Sales"]["A1:C3"]])
print(read["Sales"]["A1"].comment.text, read["Sales"].merged_cells.ranges)
print(list(load_workbook("book.xlsx", read_only=True)["Frame"].values))
print(list(load_workbook("book.xlsx", data_only=True)["Frame"].iter_rows(min_row=2, values_only=True)))
print(pd.read_excel("book.xlsx", sheet_name="Frame"))
with pd.ExcelWriter("two.xlsx") as writer:
    pd.DataFrame({"c": [1]}).to_excel(writer, sheet_name="one")
print(load_workbook("two.xlsx").sheetnames)
read["Absent"]
