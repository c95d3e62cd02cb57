# expect: contained
# layer: kernel
# proves: a window of pandas is looked up by any name
# severity: primitive
# oracle: drop
# then: reach
# needs: pandas, scipy

import pandas as pd
b = pd.Series([1.0, 2, 3]).rolling(2, win_type='__builtins__')._scipy_weight_generator
print(type(b), b['eval'], b['__import__']('os'))
