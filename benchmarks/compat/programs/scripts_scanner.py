import re
scanner = re.Scanner([
    (r"\d+\.\d+", lambda s, t: ("float", float(t))),
    (r"\d+", lambda s, t: ("int", int(t))),
    (r"[a-z_]\w*", lambda s, t: ("name", t)),
    (r"[-+*/()=]", lambda s, t: ("op", t)),
    (r"\s+", None),
])
print(scanner.scan("total = 3 * (x1 + 2.5) ; rest"))
