import json
import sys
for number, line in enumerate(sys.stdin, 1):
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        print(f"line {number}: {error}")
    else:
        print(number, json.dumps(record, sort_keys=True))
