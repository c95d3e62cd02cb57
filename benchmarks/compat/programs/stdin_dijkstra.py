import heapq
import sys
read = sys.stdin.readline
n, m = map(int, read().split())
graph = [[] for _ in range(n + 1)]
for _ in range(m):
    a, b, c = map(int, read().split())
    graph[a].append((b, c))
    graph[b].append((a, c))
best, heap = {}, [(0, 1)]
while heap:
    d, node = heapq.heappop(heap)
    if node in best:
        continue
    best[node] = d
    for other, cost in graph[node]:
        heapq.heappush(heap, (d + cost, other))
print(" ".join(str(best.get(i, -1)) for i in range(1, n + 1)))
