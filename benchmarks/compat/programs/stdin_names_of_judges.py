import heapq
import io
import operator
import sys
from heapq import _heapify_max, _heappop_max
from sys import stdin, stdout

template = "{}: {}"
first, second = stdin.readline().split()
stdout.write(template.format("differ", sum(map(operator.__ne__, first, second))) + "\n")
print(operator.__lt__(first, second), operator.__add__(first, second), operator.__eq__ is operator.eq)

largest = [int(word) for word in stdin.readline().split()]
_heapify_max(largest)
print(_heappop_max(largest), heapq._heapreplace_max(largest, 0), largest)

sys.stdout = kept = io.StringIO()
print("kept")
sys.stdout = sys.__stdout__
print(repr(kept.getvalue()))
print("told", file=sys.__stderr__)
