import sys
for line in sys.stdin:
    line = line.rstrip("\n")
    print(len(line), line.upper(), line[::-1], line.encode())
