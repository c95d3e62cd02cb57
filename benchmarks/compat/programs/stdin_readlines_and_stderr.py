import sys
lines = [line.strip() for line in sys.stdin.readlines()]
print(f"{len(lines)} lines", file=sys.stderr)
print(*sorted(lines, reverse=True), sep=",")
