# argv: add 3 4
import argparse
parser = argparse.ArgumentParser(prog="calc")
commands = parser.add_subparsers(dest="command", required=True)
for name, run in {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}.items():
    command = commands.add_parser(name)
    command.add_argument("a", type=float)
    command.add_argument("b", type=float)
    command.set_defaults(run=run)
args = parser.parse_args()
print(args.command, args.run(args.a, args.b))
