# domain: types
"""Names that a class body binds through vars() and locals()."""


class A:
    x = 1
    vars()["y"] = 2
    locals()["z"] = 3
    for n in ("p", "q"):
        locals()[n] = n * 2
    vars().update(r=1, s=2)
    print(sorted(k for k in locals() if not k.startswith("__")))
    del locals()["p"]


print(sorted(k for k in vars(A) if not k.startswith("__")))
print(A.y, A.z, A.q, A.r)
l = locals()
l["new_global"] = 5
print(new_global)
vars()["g2"] = 6
print(g2)


class C:
    def method(self):
        pass

    d = {k: v for k, v in locals().items() if not k.startswith("__")}
    print(sorted(d))


class Meta(type):
    @classmethod
    def __prepare__(m, n, b):
        class D(dict):
            pass

        return D()


class E_(metaclass=Meta):
    locals()["u"] = 4
    vars()["v"] = 5


print(E_.u, E_.v)
