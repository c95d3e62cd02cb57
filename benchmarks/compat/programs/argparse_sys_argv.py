# argv: 3 1 2
import sys
if len(sys.argv) < 2:
    sys.exit("usage: sort NUMBER...")
print(*sorted(map(int, sys.argv[1:])))
