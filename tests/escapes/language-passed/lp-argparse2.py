# layer: kernel
# proves: an action of argparse is derived from
# oracle: drop
# then: reach

# argparse reads getattr(namespace, dest) by a computed name; AppendAction copies and calls items.append
import argparse, copy, dataclasses
got = []
class A(argparse._AppendAction if hasattr(argparse, '_AppendAction') else argparse.Action): pass
