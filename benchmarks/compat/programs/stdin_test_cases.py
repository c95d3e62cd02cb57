for case in range(1, int(input()) + 1):
    n, *numbers = map(int, input().split())
    assert n == len(numbers)
    print(f"Case #{case}: {max(numbers)}")
