# argv: --size big
import argparse
parser = argparse.ArgumentParser(prog="x")
parser.add_argument("--size", type=int, required=True)
parser.parse_args()
