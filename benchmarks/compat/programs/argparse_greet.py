# argv: --shout Ada
import argparse
parser = argparse.ArgumentParser(prog="greet", description="Greet somebody.")
parser.add_argument("name")
parser.add_argument("--shout", action="store_true", help="in capitals")
args = parser.parse_args()
text = f"Hello, {args.name}!"
print(text.upper() if args.shout else text)
