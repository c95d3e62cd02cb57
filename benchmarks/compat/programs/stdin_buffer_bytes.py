import sys
data = sys.stdin.buffer.read().split()
sys.stdout.write("%d\n" % sum(map(int, data)))
