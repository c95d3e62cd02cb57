import sys
def main():
    data = iter(sys.stdin.read().split())
    n, m = int(next(data)), int(next(data))
    parent = list(range(n + 1))
    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x
    for _ in range(m):
        parent[find(int(next(data)))] = find(int(next(data)))
    print(len({find(i) for i in range(1, n + 1)}))
main()
