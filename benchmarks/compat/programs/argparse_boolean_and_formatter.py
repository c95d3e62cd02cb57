# argv: --no-color
import argparse
parser = argparse.ArgumentParser(prog="x", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--color", action=argparse.BooleanOptionalAction, default=True, help="colours")
parser.add_argument("--width", type=int, default=80, help="columns")
args = parser.parse_args()
print(args.color, args.width)
print(parser.format_help())
