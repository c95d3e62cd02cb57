pairs = {")": "(", "]": "[", "}": "{"}
while True:
    try:
        text = input()
    except EOFError:
        break
    stack = []
    for c in text:
        if c in pairs.values():
            stack.append(c)
        elif not stack or stack.pop() != pairs[c]:
            print("no")
            break
    else:
        print("yes" if not stack else "open")
