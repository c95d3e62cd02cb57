# argv: --n -1
import argparse
parser = argparse.ArgumentParser(prog="x")
parser.add_argument("--n", type=int)
args = parser.parse_args()
if args.n < 0:
    parser.error("n must not be negative")
