import sys
print(sum(int(x) for line in sys.stdin for x in line.split()))
