from bisect import bisect_left
n = int(input())
tails = []
for x in map(int, input().split()):
    i = bisect_left(tails, x)
    tails[i:i + 1] = [x]
print(len(tails))
