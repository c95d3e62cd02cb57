# argv: --help
import argparse
parser = argparse.ArgumentParser(prog="tool", description="A tool.", epilog="Read the manual.")
parser.add_argument("files", nargs="+", metavar="FILE")
parser.add_argument("-n", "--number", type=int, default=3, help="how many (default: %(default)s)")
parser.add_argument("--mode", choices=["fast", "slow"], default="fast")
parser.parse_args()
