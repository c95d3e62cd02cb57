# id: lp-da
# class: language-passed
# expect: contained
# layer: kernel
# proves: sixty ways of data libraries to read a name, import or compile
# severity: primitive
# oracle: drop
# then: reach
# needs: numpy, pandas, sympy, scipy, matplotlib, sklearn

import numpy as np, pandas as pd, sympy, scipy, matplotlib, io
import matplotlib.pyplot as plt
def T(l, f):
    try: print(l, '->', repr(f())[:160].replace('\n',' '))
    except BaseException as e: print(l, 'x', type(e).__name__, str(e)[:100].replace('\n',' '))
lib = pd.concat
s = pd.Series([lib]); df = pd.DataFrame({'a':[1,2],'b':[3,4]})
T('ewm/rolling agg', lambda: pd.Series([1.,2]).rolling(2).agg('__class__'))
T('rolling apply str', lambda: pd.Series([1.,2]).rolling(2).aggregate('__reduce__'))
T('s.str.format', lambda: pd.Series([('{0.__glo'+'bals__}')]).map(str.format))
T('s.agg globals', lambda: df.agg('__globals__'))
T('transform', lambda: df.transform('__reduce_ex__'))
T('query @', lambda: df.query('@lib.__globals__'))
T('eval attr', lambda: pd.eval('lib.__globals__'))
T('styler tmpl', lambda: df.style.template_html)
T('styler env', lambda: df.style.env)
T('styler env globals', lambda: df.style.env.from_string('{{ x.__globals__ }}').render(x=lib)[:80])
T('styler loader', lambda: df.style.loader)
T('to_html formatters', lambda: df.style.format('{0.__class__}').to_html()[:80])
T('to_string float_format', lambda: df.to_string(float_format='{0.__class__}'.format)[:50])
T('options display', lambda: pd.set_option('display.float_format', ('{0.__glo'+'bals__}').format))
T('accessor', lambda: pd.api.extensions.register_dataframe_accessor('z')(lambda d: 1))
T('np vectorize getattr', lambda: np.vectorize(getattr)([lib], '__globals__'))
T('np frompyfunc', lambda: np.frompyfunc(getattr, 2, 1)(lib, '__globals__'))
T('np piecewise', lambda: np.piecewise(np.array([1.]), [True], [lambda x: x]))
T('np.rec', lambda: np.rec.array([(1,)], dtype=[('__globals__', 'i4')]).__class__)
T('np array func', lambda: np.sum._implementation)
T('np func module', lambda: np.mean.__wrapped__)
T('np.ufunc', lambda: np.add.reduce.__self__)
T('np.core', lambda: np.core)
T('dtype metadata', lambda: np.dtype('i4', metadata={'a': lib}).metadata)
T('setp', lambda: plt.getp(plt.gcf(), 'figwidth'))
T('mpl rc', lambda: matplotlib.rcParams['backend'])
T('mpl fmt', lambda: plt.gca().xaxis.set_major_formatter('{x.__class__}'))
T('mpl StrMethod', lambda: matplotlib.ticker.StrMethodFormatter('{x.__class__}')(lib))
T('mpl anim', lambda: matplotlib.animation.writers.list())
T('mpl figure canvas', lambda: plt.gcf().canvas.manager)
T('mpl canvas print', lambda: plt.gcf().canvas._get_output_canvas('evil', 'png'))
T('mpl savefig backend', lambda: plt.gcf().savefig(io.BytesIO(), backend='module://os'))
T('sympify', lambda: sympy.sympify("().__class__.__base__.__subclasses__()"))
T('lambdify', lambda: sympy.lambdify([], "__import__('os')")())
T('lambdify modules', lambda: sympy.lambdify([], "f()", modules=[{'f': lambda: 1}, 'os'])())
T('lambdify printer', lambda: sympy.lambdify(sympy.Symbol('x'), sympy.Symbol("x if (y:=print.__self__) else 0"))(1))
T('Function name', lambda: sympy.lambdify([], sympy.Function("().__class__.mro")())())
T('nsimplify', lambda: sympy.nsimplify("__import__('os')"))
T('solve str', lambda: sympy.solve("__import__('os')"))
T('Matrix str', lambda: sympy.Matrix(["print"]))
from sklearn.preprocessing import FunctionTransformer
T('ft', lambda: FunctionTransformer(getattr, kw_args={}).transform([[1]]))
from sklearn.pipeline import make_pipeline
T('set_params', lambda: FunctionTransformer().set_params(func__x=1))
import scipy.signal, scipy.optimize, scipy.integrate
T('get_window', lambda: scipy.signal.get_window('__builtins__', 3))
T('windows get', lambda: scipy.signal.windows.get_window(('__builtins__',), 3))
T('scipy minimize method', lambda: scipy.optimize.minimize(lambda x: x, 0, method='__x__'))
T('resample agg', lambda: pd.Series([1.], index=pd.date_range('2020',periods=1)).resample('D').agg('__globals__'))
T('groupby attr', lambda: getattr(df.groupby('a'), '__dict__'))
T('pipe', lambda: df.pipe((getattr, '__x')))
T('plot backend', lambda: df.plot(backend='os.path'))
T('plot kind', lambda: df.plot(kind='__class__'))
T('interp', lambda: pd.Series([1.,None,2]).interpolate(method='__builtins__'))
T('dateutil', lambda: pd.to_datetime('2020').tz_localize)
T('cumulative', lambda: df.groupby('a').agg({'b': '__class__'}))
T('pivot', lambda: df.pivot_table(values='b', index='a', aggfunc='__reduce__'))
T('expanding', lambda: df.expanding().agg('__class__'))
T('ewm', lambda: df.ewm(1).agg('_selected_obj'))
T('crosstab', lambda: pd.crosstab(df.a, df.b, values=df.a, aggfunc='__class__'))
T('read_csv engine', lambda: pd.read_csv(io.StringIO('a'), engine='os'))
T('to_excel', lambda: df.to_excel(io.BytesIO(), engine='os'))
T('read_xml', lambda: pd.read_xml(io.StringIO('<a/>'), parser='os'))
T('holiday', lambda: pd.tseries.holiday)
T('offsets', lambda: pd.tseries.frequencies.to_offset('D'))
