# argv: --level 2 other --flag
import argparse
parser = argparse.ArgumentParser(prog="x")
parser.add_argument("--level", type=int)
args, rest = parser.parse_known_args()
print(args.level, rest)
