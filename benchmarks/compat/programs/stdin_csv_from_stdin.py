import csv
import sys
total = 0.0
for row in csv.DictReader(sys.stdin):
    line = int(row["qty"]) * float(row["price"])
    total += line
    print(f"{row['name']:<12}{line:>8.2f}")
print(f"{'total':<12}{total:>8.2f}")
