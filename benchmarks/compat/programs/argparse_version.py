# argv: --version
import argparse
parser = argparse.ArgumentParser(prog="x")
parser.add_argument("--version", action="version", version="%(prog)s 1.2")
parser.parse_args()
