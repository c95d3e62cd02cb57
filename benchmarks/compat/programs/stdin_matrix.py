rows, columns = (int(x) for x in input().split())
matrix = [list(map(int, input().split())) for _ in range(rows)]
for row in zip(*matrix):
    print(*row)
