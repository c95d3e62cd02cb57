from collections import deque
h, w = map(int, input().split())
grid = [input() for _ in range(h)]
start = next((r, c) for r in range(h) for c in range(w) if grid[r][c] == "S")
seen, queue = {start: 0}, deque([start])
while queue:
    r, c = queue.popleft()
    if grid[r][c] == "E":
        print(seen[r, c])
        break
    for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        n = r + dr, c + dc
        if 0 <= n[0] < h and 0 <= n[1] < w and grid[n[0]][n[1]] != "#" and n not in seen:
            seen[n] = seen[r, c] + 1
            queue.append(n)
else:
    print(-1)
