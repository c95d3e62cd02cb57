# layer: kernel
# proves: a module of the workspace becomes the backend of a library
# oracle: drop
# then: reach
# needs: pandas, matplotlib

open('evil_mod.py','w').write('import os, builtins\ndef plot(*a, **k): return os, builtins.eval\n')
import pandas as pd
try: print(pd.DataFrame({'a':[1]}).plot(backend='evil_mod'))
except BaseException as e: print(type(e), e)
import matplotlib
try: matplotlib.use('module://evil_mod', force=True); print(matplotlib.get_backend())
except BaseException as e: print(type(e), e)
import matplotlib.pyplot as plt
try: plt.switch_backend('module://evil_mod')
except BaseException as e: print(type(e), e)
