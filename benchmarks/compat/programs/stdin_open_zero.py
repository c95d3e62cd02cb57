values = {}
for line in open(0):
    line = line.strip()
    if line and not line.startswith("#"):
        key, _, value = line.partition("=")
        values[key.strip()] = int(value)
print(values)
