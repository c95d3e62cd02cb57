# id: aw-attributeerror-obj-descriptor
# class: attribute-walk
# expect: blocked-at-run
# layer: language
# proves: prints ESCAPED pid; argparse reads the attribute, its error carries it, the descriptor of AttributeError shows it
# severity: escape
# oracle: marker

import argparse, json
p = argparse.ArgumentParser()
p.add_argument("-x", dest="__globals__", action="append")
try:
    p.parse_args(["-x", "1"], namespace=json.dumps)
except AttributeError as e:
    g = AttributeError.obj.__get__(e)
    print("ESCAPED", g["__builtins__"]["__import__"]("os").getpid())
