# argv: -i 1 2 3 --ratio 0.5 --define a=1 --define b=2 -vv
import argparse
def pair(text):
    key, _, value = text.partition("=")
    if not value:
        raise argparse.ArgumentTypeError(f"not KEY=VALUE: {text!r}")
    return key, int(value)
parser = argparse.ArgumentParser(prog="x")
parser.add_argument("-i", type=int, nargs="*", default=[])
parser.add_argument("--ratio", type=float)
parser.add_argument("--define", type=pair, action="append")
parser.add_argument("-v", action="count", default=0)
args = parser.parse_args()
print(sum(args.i), args.ratio, dict(args.define), args.v)
print(vars(args))
