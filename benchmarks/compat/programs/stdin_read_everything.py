import sys
from collections import Counter
words = sys.stdin.read().split()
for word, count in sorted(Counter(words).items(), key=lambda pair: (-pair[1], pair[0])):
    print(f"{word}: {count}")
