# argv: --json --csv
import argparse
parser = argparse.ArgumentParser(prog="export")
group = parser.add_mutually_exclusive_group()
group.add_argument("--json", action="store_true")
group.add_argument("--csv", action="store_true")
print(parser.parse_args())
