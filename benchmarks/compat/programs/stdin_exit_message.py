value = int(input())
if value == 0:
    raise SystemExit("the value must not be zero")
