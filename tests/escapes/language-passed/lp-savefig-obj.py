# layer: kernel
# proves: a backend that is any module
# oracle: drop
# then: reach
# needs: matplotlib

import io, typing
import matplotlib.pyplot as plt
try: plt.figure().savefig(io.BytesIO(), backend='module://os')   # imports any module; AttributeError.obj is the real one
except AttributeError as e:
    t = typing.List[int]; t.__origin__ = e                       # proxy: type(value) is not AttributeError
    print(t.obj)
