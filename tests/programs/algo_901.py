# domain: algorithms
import argparse

parser = argparse.ArgumentParser(prog="tool", description="Counts words.")
parser.add_argument("words", nargs="*")
parser.add_argument("-n", "--number", type=int, default=1, help="how many times")
group = parser.add_mutually_exclusive_group()
group.add_argument("--quiet", action="store_true")
group.add_argument("--loud", action="count", default=0)
print(parser.parse_args(["-n", "3", "a", "b", "--loud"]))
print(parser.format_help())
commands = argparse.ArgumentParser(prog="git").add_subparsers(dest="command")
commands.add_parser("add").add_argument("path")
print(sorted(commands.choices), commands.choices["add"].parse_args(["x"]))
try:
    parser.parse_args(["-n", "x"])
except SystemExit as error:
    print("exit", error.code)
