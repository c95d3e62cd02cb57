# argv: -e error --count
import argparse
import re
import sys
def main(argv=None):
    parser = argparse.ArgumentParser(prog="grep")
    parser.add_argument("-e", "--regexp", required=True)
    parser.add_argument("-i", "--ignore-case", action="store_true")
    parser.add_argument("--count", action="store_true")
    args = parser.parse_args(argv)
    pattern = re.compile(args.regexp, re.IGNORECASE if args.ignore_case else 0)
    found = [line for line in sys.stdin if pattern.search(line)]
    if args.count:
        print(len(found))
    else:
        sys.stdout.writelines(found)
    return 0 if found else 1
if __name__ == "__main__":
    sys.exit(main())
