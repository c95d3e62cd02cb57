class Settings:
    for name, value in {"width": 3, "height": 4}.items():
        locals()[name] = value
    vars()["area"] = width * height
    del name, value
print(sorted(n for n in vars(Settings) if n[0] != "_"), Settings.area)
g = globals()
later = 5
print(g["later"], "later" in g, sorted(set(g) & {"Settings", "later", "g"}))
