import argparse
parser = argparse.ArgumentParser(prog="x")
parser.add_argument("source")
parser.add_argument("target")
parser.parse_args()
