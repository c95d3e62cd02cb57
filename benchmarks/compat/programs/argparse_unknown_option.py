# argv: --nope
import argparse
parser = argparse.ArgumentParser(prog="tool")
parser.add_argument("--yes", action="store_true")
print(parser.parse_args())
