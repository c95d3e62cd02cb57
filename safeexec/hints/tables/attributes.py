# ruff: noqa: E501 (a table of sentences)
"""What to do instead of an attribute that the policy refuses, or that does not exist in a module.

`ATTRIBUTES` are names refused on any object; `MODULE_ATTRIBUTES` are ``module.name`` that people write and that are
missing or refused. See `advice` for the form of an entry.
"""

from __future__ import annotations

from safeexec.hints.needs import Advice

_CODE: Advice = (
    (
        "import:inspect",
        "Use `inspect.signature(function).parameters` for the parameters of a function; its code is out of reach.",
    ),
    (
        "",
        "What you need to know of a function's parameters, write it directly into the program, or keep it in a variable beside the function.",
    ),
)
_CLOSURE: Advice = (
    (
        "",
        "Let the function return the value, or keep it in an instance attribute of a class, instead of reading the closure.",
    ),
)
_MODULE_GLOBALS: Advice = (
    (
        "",
        "Assign the module-level variable directly (`NAME = value`), or pass the value to the function as an argument.",
    ),
)
_CLASS_TREE: Advice = (
    ("", "Use `isinstance(obj, Kind)` or `type(obj).__name__`; keep a list of the classes you need yourself."),
)
_INSTANCE: Advice = (
    (
        "import:dataclasses",
        "Read and assign the attributes by their names (`obj.name`), or use a dataclass and `dataclasses.asdict(obj)`.",
    ),
    ("", "Read and assign the attributes by their names: `obj.name`."),
)
_STACK: Advice = (
    (
        "",
        "The call stack is out of reach: write the name directly, or pass it to the function as an argument.",
    ),
)
_FRAME: Advice = (
    (
        "",
        "Frames and tracebacks are out of reach; pass values as arguments, and print an exception with `print(type(e).__name__, e)`.",
    ),
)
_FORMAT: Advice = (("", "Use an f-string: `f'{value:.2f}'`."),)
_PICKLE: Advice = (("", "Keep the object in a variable: it stays alive from step to step; as text use JSON."),)
_BUILTINS: Advice = (("", "Call the builtin directly by its name."),)

ATTRIBUTES: dict[str, Advice] = {
    **dict.fromkeys(("__code__", "func_code", "co_code", "co_consts", "co_varnames", "co_names", "co_argcount"), _CODE),
    **dict.fromkeys(("__closure__", "cell_contents", "func_closure", "co_freevars"), _CLOSURE),
    **dict.fromkeys(("__globals__", "func_globals", "__self__", "__func__", "f_globals"), _MODULE_GLOBALS),
    **dict.fromkeys(
        ("__subclasses__", "__bases__", "__base__", "__mro__", "mro", "__class__", "__instancecheck__"), _CLASS_TREE
    ),
    **dict.fromkeys(
        ("__dict__", "__slots__", "__getattribute__", "__setattr__", "__delattr__", "__weakref__"), _INSTANCE
    ),
    **dict.fromkeys(
        (
            "__traceback__",
            "tb_frame",
            "tb_next",
            "gi_frame",
            "gi_code",
            "cr_frame",
            "cr_code",
            "ag_frame",
            "ag_code",
            "f_back",
            "f_locals",
            "f_builtins",
            "f_code",
            "with_traceback",
            "__context__",
            "__cause__",
        ),
        _FRAME,
    ),
    **dict.fromkeys(("format", "format_map"), _FORMAT),
    **dict.fromkeys(
        ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "to_pickle", "read_pickle"), _PICKLE
    ),
    **dict.fromkeys(("__builtins__", "__import__"), _BUILTINS),
    **dict.fromkeys(("_getframe", "_current_frames", "_getframemodulename"), _STACK),
    "__defaults__": (
        ("import:inspect", "Use `inspect.signature(function).parameters['name'].default`."),
        ("", "Pass the value as an argument instead of changing the default."),
    ),
    "__kwdefaults__": (
        ("import:inspect", "Use `inspect.signature(function).parameters['name'].default`."),
        ("", "Pass the value as an argument instead of changing the default."),
    ),
    "__module__": (("", "Use `type(obj).__name__` for the name of the class."),),
    "__wrapped__": (("", "Keep the undecorated function under a name of its own."),),
    "__loader__": (("", "Import the module with a plain import statement."),),
    "__spec__": (("", "Import the module with a plain import statement."),),
    "__file__": (("", "A step has no file of its own; use names directly."),),
    "__path__": (("", "Import the submodule with a plain import statement."),),
    "__annotations__": (
        ("import:dataclasses", "Use `dataclasses.fields(Kind)`, or keep a list of the names you need."),
        ("", "Keep a list of the names you need."),
    ),
    "__init_subclass__": (
        ("", "Register the classes directly after their definition, in a dict or with a decorator."),
    ),
    "__class_getitem__": (("", "Write a plain class method with a name of its own."),),
}

_MEAN: Advice = (
    ("import:statistics", "Use `statistics.mean(values)` (with `import statistics`), or `sum(values) / len(values)`."),
    ("", "Use `sum(values) / len(values)`."),
)


def _stat(call: str) -> Advice:
    return (
        ("import:statistics", f"Use `statistics.{call}` (with `import statistics`)."),
        ("", "Compute it from the sorted values with plain Python."),
    )


def _use(text: str) -> Advice:
    return (("", text),)


MODULE_ATTRIBUTES: dict[str, Advice] = {
    # pages and figures
    **dict.fromkeys(
        ("plotly.io.to_image", "plotly.io.write_image", "plotly.io.write_images"),
        _use(
            "No browser draws here: show the figure (`fig.show()`), or write it with `fig.write_html('figure.html')`."
        ),
    ),
    **dict.fromkeys(
        ("plotly.io.renderers", "plotly.graph_objects.FigureWidget", "plotly.offline.plot", "plotly.offline.iplot"),
        _use("Make a `go.Figure` and show it with `fig.show()`: it is a display of the step. No renderer is needed."),
    ),
    **dict.fromkeys(
        ("lxml.html.submit_form", "lxml.html.open_http_urllib"),
        _use("There is no network: read the fields with `form.form_values()` and the page from a file or a text."),
    ),
    "lxml.html.open_in_browser": _use("Show the page with `display(lxml.html.tostring(page, encoding='unicode'))`."),
    # math and numbers
    "math.mean": _MEAN,
    "math.average": _MEAN,
    "math.avg": _MEAN,
    "math.median": _stat("median(values)"),
    "math.mode": _stat("mode(values)"),
    "math.std": _stat("stdev(values)"),
    "math.stdev": _stat("stdev(values)"),
    "math.variance": _stat("variance(values)"),
    "math.var": _stat("variance(values)"),
    "math.sum": _use("Use the builtin `sum(values)`, or `math.fsum(values)` for floats."),
    "math.max": _use("Use the builtin `max(...)`."),
    "math.min": _use("Use the builtin `min(...)`."),
    "math.abs": _use("Use the builtin `abs(x)`, or `math.fabs(x)`."),
    "math.round": _use("Use the builtin `round(x, digits)`, or `math.floor` and `math.ceil`."),
    "math.random": (
        ("import:random", "Use `random.random()` (with `import random`)."),
        ("", "There are no random numbers here; use fixed values."),
    ),
    "math.randint": (
        ("import:random", "Use `random.randint(a, b)` (with `import random`)."),
        ("", "There are no random numbers here; use fixed values."),
    ),
    "math.PI": _use("Use `math.pi`, in small letters."),
    "math.E": _use("Use `math.e`, in small letters."),
    "math.infinity": _use("Use `math.inf`."),
    "math.Infinity": _use("Use `math.inf`."),
    "math.NaN": _use("Use `math.nan`."),
    "math.ln": _use("Use `math.log(x)`, which is the natural logarithm."),
    "math.lg": _use("Use `math.log10(x)`, or `math.log2(x)`."),
    "math.power": _use("Use `math.pow(x, y)`, or `x ** y`."),
    "math.square": _use("Use `x ** 2`."),
    "math.root": _use("Use `math.sqrt(x)`, or `x ** (1 / n)`."),
    "math.nthroot": _use("Use `x ** (1 / n)`."),
    "math.sign": _use("Use `math.copysign(1, x)`, or `(x > 0) - (x < 0)`."),
    "math.sgn": _use("Use `math.copysign(1, x)`, or `(x > 0) - (x < 0)`."),
    "math.clamp": _use("Use `max(low, min(x, high))`."),
    "math.clip": _use("Use `max(low, min(x, high))`."),
    "math.nCr": _use("Use `math.comb(n, k)`."),
    "math.ncr": _use("Use `math.comb(n, k)`."),
    "math.choose": _use("Use `math.comb(n, k)`."),
    "math.binomial": _use("Use `math.comb(n, k)`."),
    "math.combinations": _use(
        "Use `math.comb(n, k)` for their number, `itertools.combinations(values, k)` for the combinations themselves."
    ),
    "math.nPr": _use("Use `math.perm(n, k)`."),
    "math.permutations": _use(
        "Use `math.perm(n, k)` for their number, `itertools.permutations(values)` for the permutations themselves."
    ),
    "math.fact": _use("Use `math.factorial(n)`."),
    "math.isprime": _use("Write it: `all(n % d for d in range(2, math.isqrt(n) + 1))` for n > 1."),
    "math.is_prime": _use("Write it: `all(n % d for d in range(2, math.isqrt(n) + 1))` for n > 1."),
    "math.primes": _use(
        "Write a sieve: `[n for n in range(2, limit) if all(n % d for d in range(2, math.isqrt(n) + 1))]`."
    ),
    "math.deg2rad": _use("Use `math.radians(x)`."),
    "math.rad2deg": _use("Use `math.degrees(x)`."),
    "math.toRadians": _use("Use `math.radians(x)`."),
    "math.product": _use("Use `math.prod(values)`."),
    "math.mod": _use("Use `x % y`, or `math.fmod(x, y)`."),
    "math.arcsin": _use("Use `math.asin(x)`."),
    "math.arccos": _use("Use `math.acos(x)`."),
    "math.arctan": _use("Use `math.atan(x)`."),
    "math.arctan2": _use("Use `math.atan2(y, x)`."),
    "math.sec": _use("Use `1 / math.cos(x)`."),
    "math.csc": _use("Use `1 / math.sin(x)`."),
    "math.cot": _use("Use `1 / math.tan(x)`."),
    "math.truncate": _use("Use `math.trunc(x)`."),
    "math.int": _use("Use the builtin `int(x)`."),
    "math.xor": _use("Use `a ^ b`."),
    "math.log1": _use("Use `math.log(x)`, or `math.log10(x)` and `math.log2(x)`."),
    "math.hypotenuse": _use("Use `math.hypot(x, y)`."),
    "math.distance": _use("Use `math.dist(p, q)` of two points, or `math.hypot(x, y)`."),
    "math.norm": _use("Use `math.hypot(*vector)`, or `math.dist(p, q)` of two points."),
    "math.magnitude": _use("Use `math.hypot(*vector)`."),
    **dict.fromkeys(
        ("math.factors", "math.divisors", "math.factorize", "math.prime_factors"),
        _use("Write it: `[d for d in range(1, n + 1) if n % d == 0]` are the divisors."),
    ),
    **dict.fromkeys(
        ("math.is_integer", "math.isinteger", "math.is_int", "math.isint"),
        _use("Use `float(x).is_integer()`, or `x == int(x)`."),
    ),
    **dict.fromkeys(
        ("math.fibonacci", "math.fib"), _use("Write it as a function: `a, b = 0, 1`, then `a, b = b, a + b` in a loop.")
    ),
    **dict.fromkeys(("math.exponential", "math.exponent", "math.e_pow"), _use("Use `math.exp(x)`.")),
    **dict.fromkeys(
        ("math.greatest_common_divisor", "math.hcf", "math.gcf", "math.GCD"), _use("Use `math.gcd(a, b)`.")
    ),
    **dict.fromkeys(("math.least_common_multiple", "math.LCM"), _use("Use `math.lcm(a, b)`.")),
    **dict.fromkeys(("math.sigmoid", "math.logistic"), _use("Write it: `1 / (1 + math.exp(-x))`.")),
    **dict.fromkeys(
        ("math.dot", "math.dot_product", "math.sumproduct"), _use("Use `sum(a * b for a, b in zip(x, y))`.")
    ),
    **dict.fromkeys(("math.epsilon", "math.eps"), _use("Use `sys.float_info.epsilon`, or `math.ulp(1.0)`.")),
    **dict.fromkeys(("math.golden_ratio", "math.phi", "math.golden"), _use("Write it: `(1 + math.sqrt(5)) / 2`.")),
    **dict.fromkeys(("math.squareroot", "math.square_root", "math.sqroot"), _use("Use `math.sqrt(x)`.")),
    **dict.fromkeys(("math.cubert", "math.cube_root", "math.cuberoot"), _use("Use `math.cbrt(x)`, or `x ** (1 / 3)`.")),
    **dict.fromkeys(("math.multiply", "math.times", "math.mul"), _use("Use `a * b`, or `math.prod(values)`.")),
    **dict.fromkeys(("math.divide", "math.div"), _use("Use `a / b`, or `a // b` for whole numbers.")),
    **dict.fromkeys(("math.add", "math.plus"), _use("Use `a + b`, or `sum(values)`.")),
    **dict.fromkeys(("math.subtract", "math.minus"), _use("Use `a - b`.")),
    **dict.fromkeys(("math.lerp", "math.interpolate"), _use("Write it: `a + (b - a) * t`.")),
    **dict.fromkeys(("math.percent", "math.percentage"), _use("Write it: `part / whole * 100`.")),
    **dict.fromkeys(
        ("math.is_even", "math.is_odd", "math.even", "math.odd"), _use("Use `n % 2 == 0`, or `n % 2 == 1`.")
    ),
    **dict.fromkeys(
        ("math.is_perfect_square", "math.is_square", "math.issquare"), _use("Use `math.isqrt(n) ** 2 == n`.")
    ),
    **dict.fromkeys(
        ("math.isclosed", "math.is_close", "math.approx", "math.almost_equal"), _use("Use `math.isclose(a, b)`.")
    ),
    **dict.fromkeys(("math.log_e", "math.natural_log", "math.loge"), _use("Use `math.log(x)`.")),
    **dict.fromkeys(("math.to_degrees", "math.deg", "math.radtodeg"), _use("Use `math.degrees(x)`.")),
    **dict.fromkeys(("math.to_radians", "math.rad", "math.degtorad"), _use("Use `math.radians(x)`.")),
    **dict.fromkeys(
        ("math.derivative", "math.diff", "math.integrate", "math.integral", "math.solve", "math.limit"),
        (
            (
                "import:sympy",
                "Use `sympy` for formulas: `sympy.diff(f, x)`, `sympy.integrate(f, x)`, `sympy.solve(f, x)`.",
            ),
            (
                "",
                "Compute it numerically: a difference quotient, `(f(x + h) - f(x - h)) / (2 * h)`, or a sum over small steps.",
            ),
        ),
    ),
    **dict.fromkeys(("math.Decimal",), _use("It is in another module: `from decimal import Decimal`.")),
    **dict.fromkeys(("math.Fraction",), _use("It is in another module: `from fractions import Fraction`.")),
    **dict.fromkeys(("math.count", "math.len", "math.length"), _use("Use the builtin `len(values)`.")),
    **dict.fromkeys(("math.range",), _use("Use the builtin `range(...)`.")),
    **dict.fromkeys(("math.sqr", "math.squared", "math.sq"), _use("Use `x ** 2`.")),
    **dict.fromkeys(("cmath.angle", "cmath.arg", "cmath.argument"), _use("Use `cmath.phase(z)`.")),
    **dict.fromkeys(("cmath.abs", "cmath.magnitude", "cmath.modulus"), _use("Use the builtin `abs(z)`.")),
    **dict.fromkeys(("cmath.conjugate", "cmath.conj"), _use("Use the method `z.conjugate()`.")),
    **dict.fromkeys(("cmath.real", "cmath.imag"), _use("Use the attributes `z.real` and `z.imag`.")),
    **dict.fromkeys(("cmath.complex",), _use("Use the builtin `complex(re, im)`.")),
    **dict.fromkeys(("cmath.pow", "cmath.power"), _use("Use `z ** n`.")),
    "math.divmod": _use("Use the builtin `divmod(a, b)`."),
    "statistics.average": _use("Use `statistics.mean(values)`."),
    "statistics.avg": _use("Use `statistics.mean(values)`."),
    "statistics.std": _use(
        "Use `statistics.stdev(values)` of a sample, or `statistics.pstdev(values)` of a population."
    ),
    "statistics.stddev": _use(
        "Use `statistics.stdev(values)` of a sample, or `statistics.pstdev(values)` of a population."
    ),
    "statistics.standard_deviation": _use(
        "Use `statistics.stdev(values)` of a sample, or `statistics.pstdev(values)` of a population."
    ),
    "statistics.var": _use(
        "Use `statistics.variance(values)` of a sample, or `statistics.pvariance(values)` of a population."
    ),
    **dict.fromkeys(
        ("statistics.weighted_mean", "statistics.wmean", "statistics.weighted_average"),
        _use("Use `statistics.fmean(values, weights=weights)`."),
    ),
    **dict.fromkeys(("statistics.geomean", "statistics.gmean"), _use("Use `statistics.geometric_mean(values)`.")),
    **dict.fromkeys(("statistics.hmean",), _use("Use `statistics.harmonic_mean(values)`.")),
    **dict.fromkeys(
        ("statistics.sem", "statistics.standard_error"),
        _use("Write it: `statistics.stdev(values) / len(values) ** 0.5`."),
    ),
    **dict.fromkeys(
        ("statistics.describe", "statistics.summary"),
        _use(
            "Print what you need: `statistics.mean(values)`, `statistics.median(values)`, `statistics.stdev(values)`, `min(values)`, `max(values)`."
        ),
    ),
    **dict.fromkeys(("statistics.len", "statistics.count"), _use("Use the builtin `len(values)`.")),
    **dict.fromkeys(
        ("statistics.rmse", "statistics.rms"), _use("Write it: `(sum(x * x for x in values) / len(values)) ** 0.5`.")
    ),
    **dict.fromkeys(
        ("statistics.mad",),
        _use("Write it: `statistics.mean(abs(x - m) for x in values)` with `m = statistics.mean(values)`."),
    ),
    **dict.fromkeys(("statistics.covar", "statistics.cov"), _use("Use `statistics.covariance(x, y)`.")),
    **dict.fromkeys(
        ("statistics.skew", "statistics.skewness", "statistics.kurtosis"),
        _use(
            "Write it with the mean and `statistics.pstdev`: `sum(((x - m) / s) ** 3 for x in values) / len(values)`."
        ),
    ),
    **dict.fromkeys(("statistics.round",), _use("Use the builtin `round(x, 2)`.")),
    **dict.fromkeys(
        ("statistics.frequency", "statistics.frequencies", "statistics.counts"),
        _use("Use `collections.Counter(values)`."),
    ),
    **dict.fromkeys(
        ("statistics.normal", "statistics.norm", "statistics.Normal"),
        _use("Use `statistics.NormalDist(mean, sd)`, with `.cdf(x)`, `.pdf(x)` and `.inv_cdf(p)`."),
    ),
    **dict.fromkeys(
        ("statistics.moving_average", "statistics.rolling_mean"),
        _use("Write it: `[statistics.mean(values[i:i + n]) for i in range(len(values) - n + 1)]`."),
    ),
    "statistics.sum": _use("Use the builtin `sum(values)`."),
    "statistics.min": _use("Use the builtin `min(values)`."),
    "statistics.max": _use("Use the builtin `max(values)`."),
    "statistics.range": _use("Use `max(values) - min(values)`."),
    "statistics.percentile": _use(
        "Use `statistics.quantiles(values, n=100)`, whose item `[p - 1]` is the p-th percentile."
    ),
    "statistics.quantile": _use("Use `statistics.quantiles(values, n=4)`."),
    "statistics.quartiles": _use("Use `statistics.quantiles(values, n=4)`."),
    "statistics.iqr": _use("Use `q = statistics.quantiles(values, n=4); q[2] - q[0]`."),
    "statistics.corr": _use("Use `statistics.correlation(x, y)`."),
    "statistics.pearsonr": _use("Use `statistics.correlation(x, y)`."),
    "statistics.zscore": _use(
        "Write it: `[(x - mean) / sd for x in values]` with `statistics.mean` and `statistics.stdev`."
    ),
    "statistics.regression": _use("Use `slope, intercept = statistics.linear_regression(x, y)`."),
    "random.pick": _use("Use `random.choice(values)`."),
    "random.select": _use("Use `random.choice(values)`."),
    "random.choose": _use("Use `random.choice(values)`."),
    "random.random_choice": _use("Use `random.choice(values)`."),
    "random.item": _use("Use `random.choice(values)`."),
    "random.randi": _use("Use `random.randint(a, b)`."),
    "random.randInt": _use("Use `random.randint(a, b)`."),
    "random.number": _use("Use `random.random()`, or `random.randint(a, b)`."),
    "random.range": _use("Use `random.randrange(start, stop, step)`."),
    "random.shuffled": _use("Use `random.sample(values, len(values))`, or `random.shuffle(values)` in place."),
    "random.random_integer": _use("Use `random.randint(a, b)`."),
    "random.rand": _use("Use `random.random()`."),
    "random.randn": _use("Use `random.gauss(0, 1)`."),
    "random.normal": _use("Use `random.gauss(mean, sd)`."),
    "random.int": _use("Use `random.randint(a, b)`."),
    "random.integer": _use("Use `random.randint(a, b)`."),
    "random.randfloat": _use("Use `random.uniform(a, b)`."),
    "random.float": _use("Use `random.uniform(a, b)`."),
    "random.sampling": _use("Use `random.sample(values, k)`."),
    "random.permutation": _use("Use `random.sample(values, len(values))`."),
    # iteration and containers
    "itertools.flatten": _use("Use `itertools.chain.from_iterable(nested)`."),
    "itertools.zip": _use("Use the builtin `zip(...)`."),
    "itertools.izip": _use("In Python 3 it is the builtin `zip(...)`."),
    "itertools.imap": _use("In Python 3 it is the builtin `map(...)`."),
    "itertools.ifilter": _use("In Python 3 it is the builtin `filter(...)`."),
    "itertools.izip_longest": _use("In Python 3 it is `itertools.zip_longest(...)`."),
    "itertools.chunked": _use("Use slices: `[values[i:i + n] for i in range(0, len(values), n)]`."),
    "itertools.chunk": _use("Use slices: `[values[i:i + n] for i in range(0, len(values), n)]`."),
    "itertools.batched": _use(
        "It came with Python 3.12; use slices: `[values[i:i + n] for i in range(0, len(values), n)]`."
    ),
    "itertools.window": _use("Use `zip(values, values[1:])`, or `itertools.pairwise(values)` for pairs."),
    "itertools.sliding_window": _use("Use `zip(values, values[1:])`, or `itertools.pairwise(values)` for pairs."),
    "itertools.unique": _use("Use `dict.fromkeys(values)`, which keeps the order."),
    "itertools.powerset": _use(
        "Use `itertools.chain.from_iterable(itertools.combinations(values, k) for k in range(len(values) + 1))`."
    ),
    "itertools.enumerate": _use("Use the builtin `enumerate(values)`."),
    "itertools.range": _use("Use the builtin `range(...)`, or `itertools.count(start, step)`."),
    "itertools.take": _use("Use `itertools.islice(values, n)`."),
    "itertools.reduce": _use("Use `functools.reduce(function, values)`."),
    "itertools.map": _use("Use the builtin `map(...)`."),
    "itertools.filter": _use("Use the builtin `filter(...)`, or `itertools.filterfalse`."),
    "functools.compose": _use("Write it: `lambda x: f(g(x))`."),
    "functools.memoize": _use("Use `@functools.lru_cache(maxsize=None)` or `@functools.cache`."),
    "functools.cached": _use("Use `@functools.cache`."),
    "functools.map": _use("Use the builtin `map(...)`."),
    "collections.Mapping": _use("Use `collections.abc.Mapping`."),
    "collections.Iterable": _use("Use `collections.abc.Iterable`."),
    "collections.Callable": _use("Use `collections.abc.Callable`."),
    "collections.Sequence": _use("Use `collections.abc.Sequence`."),
    "collections.MutableMapping": _use("Use `collections.abc.MutableMapping`."),
    "collections.Hashable": _use("Use `collections.abc.Hashable`."),
    "collections.Iterator": _use("Use `collections.abc.Iterator`."),
    "collections.Set": _use("Use `collections.abc.Set`, or the builtin `set`."),
    "collections.queue": _use("Use `collections.deque()`."),
    "collections.Queue": _use("Use `collections.deque()`."),
    "collections.MultiSet": _use("Use `collections.Counter()`."),
    **dict.fromkeys(
        ("heapq.Heap", "heapq.heap", "heapq.PriorityQueue", "heapq.MinHeap", "heapq.new"),
        _use("A heap is a plain list: `heap = []`, then `heapq.heappush(heap, item)` and `heapq.heappop(heap)`."),
    ),
    **dict.fromkeys(("heapq.peek", "heapq.top"), _use("The smallest is `heap[0]`.")),
    **dict.fromkeys(("heapq.heappeek",), _use("The smallest is `heap[0]`.")),
    **dict.fromkeys(
        ("heapq.MaxHeap", "heapq.heappush_max", "heapq.maxheap"),
        _use("Push the negative: `heapq.heappush(heap, -x)`, and negate what is popped."),
    ),
    **dict.fromkeys(
        ("bisect.search", "bisect.find", "bisect.index", "bisect.binary_search"),
        _use("Use `i = bisect.bisect_left(values, x)`, then check `values[i] == x`."),
    ),
    **dict.fromkeys(("bisect.insert",), _use("Use `bisect.insort(values, x)`.")),
    **dict.fromkeys(
        ("itertools.windowed", "itertools.windows", "itertools.sliding"),
        _use(
            "Use `itertools.pairwise(values)` for pairs, or slices: `[values[i:i + n] for i in range(len(values) - n + 1)]`."
        ),
    ),
    **dict.fromkeys(
        ("itertools.sum", "itertools.cumsum", "itertools.running_sum"),
        _use("Use `itertools.accumulate(values)`, or the builtin `sum(values)`."),
    ),
    **dict.fromkeys(("itertools.sorted", "itertools.sort"), _use("Use the builtin `sorted(values)`.")),
    **dict.fromkeys(
        ("itertools.first", "itertools.head"), _use("Use `next(iter(values))`, or `itertools.islice(values, n)`.")
    ),
    **dict.fromkeys(
        ("itertools.partition",),
        _use("Use two comprehensions, one with `if condition(x)` and one with `if not condition(x)`."),
    ),
    **dict.fromkeys(
        ("itertools.concat", "itertools.join", "itertools.concatenate"), _use("Use `itertools.chain(a, b)`.")
    ),
    **dict.fromkeys(
        ("functools.memoized", "functools.memo", "functools.lru", "functools.caching"),
        _use("Use `@functools.lru_cache(maxsize=None)` or `@functools.cache`."),
    ),
    **dict.fromkeys(("functools.filter",), _use("Use the builtin `filter(...)`.")),
    **dict.fromkeys(("functools.curry",), _use("Use `functools.partial(function, ...)`.")),
    **dict.fromkeys(("functools.fold", "functools.foldl"), _use("Use `functools.reduce(function, values, start)`.")),
    **dict.fromkeys(
        ("collections.list", "collections.dict", "collections.set"), _use("Use the builtin `list`, `dict` or `set`.")
    ),
    **dict.fromkeys(("collections.Stack", "collections.stack"), _use("Use a list: `append(item)` and `pop()`.")),
    **dict.fromkeys(
        ("collections.PriorityQueue",), _use("Use a list with `heapq.heappush(heap, item)` and `heapq.heappop(heap)`.")
    ),
    **dict.fromkeys(("collections.OrderedSet",), _use("Use `dict.fromkeys(values)`, which keeps the order.")),
    **dict.fromkeys(
        ("collections.frozendict", "collections.immutabledict"),
        _use("Use `types.MappingProxyType(d)`, or a tuple of pairs."),
    ),
    **dict.fromkeys(("copy.deep", "copy.clone"), _use("Use `copy.deepcopy(value)`.")),
    **dict.fromkeys(("copy.shallow",), _use("Use `copy.copy(value)`.")),
    **dict.fromkeys(("hashlib.sha", "hashlib.hash"), _use("Use `hashlib.sha256(data)`.")),
    **dict.fromkeys(
        ("uuid.generate", "uuid.new", "uuid.uuid", "uuid.create", "uuid.random", "uuid.v4"), _use("Use `uuid.uuid4()`.")
    ),
    **dict.fromkeys(
        ("csv.parse", "csv.loads", "csv.load", "csv.read_csv", "csv.from_string"),
        _use("Use `list(csv.reader(io.StringIO(text)))`, or `csv.DictReader(...)` for dicts."),
    ),
    **dict.fromkeys(
        ("csv.dumps", "csv.dump", "csv.to_string"),
        _use("Use `csv.writer(file)`, with `io.StringIO()` as the file for a text."),
    ),
    **dict.fromkeys(
        (
            "json.JSONError",
            "json.JsonError",
            "json.DecodeError",
            "json.ParseError",
            "json.JSONException",
            "json.JSONParseError",
            "json.decoder",
        ),
        _use("Use `json.JSONDecodeError`, or `ValueError`."),
    ),
    **dict.fromkeys(
        ("json.dumpstr", "json.tostring", "json.to_json", "json.format", "json.pretty"),
        _use("Use `json.dumps(value, indent=2)`."),
    ),
    **dict.fromkeys(
        ("json.from_json", "json.loadstr", "json.load_string", "json.fromstring", "json.loadString"),
        _use("Use `json.loads(text)`."),
    ),
    **dict.fromkeys(
        ("re.extract", "re.get_all", "re.all", "re.find_iter"),
        _use("Use `re.findall(pattern, text)`, or `re.finditer(pattern, text)`."),
    ),
    **dict.fromkeys(
        ("re.is_match", "re.isMatch", "re.ismatch", "re.has_match"),
        _use("Use `re.search(pattern, text) is not None`, or `re.fullmatch` for the whole text."),
    ),
    **dict.fromkeys(("re.remove", "re.delete"), _use("Use `re.sub(pattern, '', text)`.")),
    **dict.fromkeys(("re.tokenize",), _use("Use `re.findall(r'\\w+', text)`, or `re.split(pattern, text)`.")),
    **dict.fromkeys(("re.RegexError", "re.PatternError"), _use("Use `re.error`.")),
    **dict.fromkeys(("enum.EnumMember", "enum.value"), _use("Use `class Color(enum.Enum): RED = 1`.")),
    **dict.fromkeys(
        ("time.timestamp", "time.current_time", "time.current", "time.get_time"), _use("Use `time.time()`.")
    ),
    **dict.fromkeys(
        ("time.timer", "time.tic", "time.toc", "time.start"), _use("Use `time.perf_counter()` before and after.")
    ),
    **dict.fromkeys(("time.date", "time.today"), _use("Use `datetime.date.today()` (with `import datetime`).")),
    **dict.fromkeys(("time.format", "time.strftimes"), _use("Use `time.strftime('%Y-%m-%d %H:%M:%S')`.")),
    **dict.fromkeys(("datetime.current", "datetime.current_time"), _use("Use `datetime.datetime.now()`.")),
    **dict.fromkeys(
        ("datetime.days", "datetime.delta", "datetime.duration", "datetime.interval"),
        _use("Use `datetime.timedelta(days=1)`."),
    ),
    **dict.fromkeys(
        ("datetime.from_string", "datetime.fromstring", "datetime.to_datetime"),
        _use("Use `datetime.datetime.fromisoformat(text)` or `datetime.datetime.strptime(text, '%Y-%m-%d')`."),
    ),
    **dict.fromkeys(("datetime.weekday",), _use("Use the method of a date: `datetime.date(2024, 1, 31).weekday()`.")),
    **dict.fromkeys(
        ("calendar.days_in_month", "calendar.month_days", "calendar.last_day"),
        _use("Use `calendar.monthrange(year, month)[1]`."),
    ),
    **dict.fromkeys(
        ("calendar.is_leap", "calendar.is_leap_year", "calendar.leap"), _use("Use `calendar.isleap(year)`.")
    ),
    **dict.fromkeys(
        ("decimal.round", "decimal.quantize"),
        _use("Use `round(value, 2)`, or the method `value.quantize(decimal.Decimal('0.01'))`."),
    ),
    **dict.fromkeys(
        ("decimal.precision", "decimal.set_precision", "decimal.setprec"), _use("Use `decimal.getcontext().prec = 50`.")
    ),
    **dict.fromkeys(("decimal.sqrt",), _use("Use the method: `decimal.Decimal(2).sqrt()`.")),
    **dict.fromkeys(("fractions.gcd",), _use("Use `math.gcd(a, b)` (with `import math`).")),
    **dict.fromkeys(
        ("fractions.simplify", "fractions.reduce"),
        _use("A Fraction is always in lowest terms: `fractions.Fraction(6, 8)`."),
    ),
    **dict.fromkeys(
        ("string.ascii", "string.alphabets"),
        _use("Use `string.ascii_letters`, `string.ascii_lowercase` or `string.ascii_uppercase`."),
    ),
    **dict.fromkeys(("string.numbers", "string.numerals"), _use("Use `string.digits`.")),
    **dict.fromkeys(
        ("string.special", "string.symbols", "string.special_characters"), _use("Use `string.punctuation`.")
    ),
    **dict.fromkeys(
        ("string.capitalize", "string.title", "string.strip", "string.find", "string.count", "string.format"),
        _use("Use the method of a text: `text.title()`, `text.strip()`, `text.find(part)`."),
    ),
    **dict.fromkeys(("string.atoi",), _use("Use `int(text)`.")),
    **dict.fromkeys(
        ("textwrap.wrap_text",), _use("Use `textwrap.wrap(text, width)`, or `textwrap.fill(text, width)`.")
    ),
    **dict.fromkeys(("operator.multiply", "operator.times"), _use("Use `operator.mul`.")),
    **dict.fromkeys(("operator.subtract", "operator.minus"), _use("Use `operator.sub`.")),
    **dict.fromkeys(("operator.divide",), _use("Use `operator.truediv` or `operator.floordiv`.")),
    **dict.fromkeys(("operator.plus",), _use("Use `operator.add`.")),
    **dict.fromkeys(("operator.power",), _use("Use `operator.pow`.")),
    **dict.fromkeys(("dataclasses.data",), _use("Use `@dataclasses.dataclass`.")),
    **dict.fromkeys(
        ("dataclasses.to_dict", "dataclasses.as_dict", "dataclasses.dict"), _use("Use `dataclasses.asdict(obj)`.")
    ),
    **dict.fromkeys(
        ("typing.list", "typing.dict", "typing.tuple", "typing.set"),
        _use("Use the builtin `list[int]`, `dict[str, int]`, `tuple[int, ...]`, or `typing.List`."),
    ),
    **dict.fromkeys(("base64.b64", "base64.encode64"), _use("Use `base64.b64encode(data)`.")),
    **dict.fromkeys(("base64.decode64",), _use("Use `base64.b64decode(text)`.")),
    **dict.fromkeys(
        ("asyncio.parallelize", "asyncio.gather_all", "asyncio.await_all"),
        _use("Use `await asyncio.gather(*coroutines)`."),
    ),
    **dict.fromkeys(
        ("asyncio.start", "asyncio.execute", "asyncio.main", "asyncio.run_until_complete"),
        _use("Use `asyncio.run(main())`."),
    ),
    **dict.fromkeys(("asyncio.delay", "asyncio.wait_seconds"), _use("Use `await asyncio.sleep(seconds)`.")),
    **dict.fromkeys(("sympy.derivative", "sympy.differentiate", "sympy.derive"), _use("Use `sympy.diff(f, x)`.")),
    **dict.fromkeys(("sympy.integral", "sympy.antiderivative"), _use("Use `sympy.integrate(f, x)`.")),
    **dict.fromkeys(("sympy.symbol", "sympy.var_"), _use("Use `sympy.Symbol('x')`, or `x, y = sympy.symbols('x y')`.")),
    **dict.fromkeys(("sympy.equation", "sympy.Equation", "sympy.eq"), _use("Use `sympy.Eq(left, right)`.")),
    **dict.fromkeys(
        ("sympy.evaluate", "sympy.numeric", "sympy.evalf"),
        _use("Use `sympy.N(expression)`, or the method `expression.evalf()`."),
    ),
    **dict.fromkeys(("sympy.matrix",), _use("Use `sympy.Matrix([[1, 2], [3, 4]])`.")),
    **dict.fromkeys(("sympy.fraction_", "sympy.Fraction"), _use("Use `sympy.Rational(1, 3)`.")),
    **dict.fromkeys(
        ("sympy.ln_", "sympy.infinity", "sympy.Infinity_", "sympy.inf"), _use("Use `sympy.oo` for infinity.")
    ),
    **dict.fromkeys(("sympy.PI",), _use("Use `sympy.pi`.")),
    **dict.fromkeys(
        ("sympy.solve_equation", "sympy.solver"), _use("Use `sympy.solve(f, x)`, or `sympy.solveset(f, x)`.")
    ),
    "heapq.push": _use("Use `heapq.heappush(heap, item)`."),
    "heapq.pop": _use("Use `heapq.heappop(heap)`."),
    "operator.div": _use("Use `operator.truediv` or `operator.floordiv`."),
    # text
    "re.matchall": _use("Use `re.findall(pattern, text)`, or `re.finditer(pattern, text)` for match objects."),
    "re.match_all": _use("Use `re.findall(pattern, text)`, or `re.finditer(pattern, text)` for match objects."),
    "re.find_all": _use("Use `re.findall(pattern, text)`."),
    "re.find": _use("Use `re.search(pattern, text)`."),
    "re.test": _use("Use `re.search(pattern, text) is not None`."),
    "re.exec": _use("Use `re.search(pattern, text)`."),
    "re.replace": _use("Use `re.sub(pattern, replacement, text)`."),
    "re.gsub": _use("Use `re.sub(pattern, replacement, text)`."),
    "re.substitute": _use("Use `re.sub(pattern, replacement, text)`."),
    "re.matches": _use("Use `re.fullmatch(pattern, text)`, or `re.search(pattern, text)`."),
    "re.contains": _use("Use `re.search(pattern, text) is not None`."),
    "re.count": _use("Use `len(re.findall(pattern, text))`."),
    "json.parse": _use("Use `json.loads(text)`."),
    "json.stringify": _use("Use `json.dumps(value)`."),
    "json.encode": _use("Use `json.dumps(value)`."),
    "json.decode": _use("Use `json.loads(text)`."),
    "json.to_string": _use("Use `json.dumps(value)`."),
    "json.read": _use("Use `json.loads(text)`, or `json.load(file)`."),
    "json.write": _use("Use `json.dumps(value)`, or `json.dump(value, file)`."),
    "json.serialize": _use("Use `json.dumps(value)`."),
    "json.prettify": _use("Use `json.dumps(value, indent=2)`."),
    "json.from_string": _use("Use `json.loads(text)`."),
    "string.letters": _use("In Python 3 it is `string.ascii_letters`."),
    "string.lowercase": _use("In Python 3 it is `string.ascii_lowercase`."),
    "string.uppercase": _use("In Python 3 it is `string.ascii_uppercase`."),
    "string.alphabet": _use("Use `string.ascii_lowercase`."),
    "string.join": _use("Use the method: `', '.join(parts)`."),
    "string.split": _use("Use the method: `text.split(...)`."),
    "string.replace": _use("Use the method: `text.replace(old, new)`."),
    "string.upper": _use("Use the method: `text.upper()`."),
    "string.lower": _use("Use the method: `text.lower()`."),
    "string.maketrans": _use("Use `str.maketrans(...)` and `text.translate(...)`."),
    "csv.read": _use("Use `csv.reader(lines)` or `csv.DictReader(lines)`."),
    "csv.write": _use("Use `csv.writer(file)` or `csv.DictWriter(file, fieldnames=...)`."),
    "textwrap.trim": _use("Use `textwrap.shorten(text, width)`."),
    "base64.encode_string": _use("Use `base64.b64encode(data)`."),
    "base64.encodestring": _use("Use `base64.encodebytes(data)`."),
    "base64.decodestring": _use("Use `base64.decodebytes(data)`."),
    "base64.encode": _use("Use `base64.b64encode(data)` with bytes."),
    # time
    "datetime.now": _use(
        "`datetime` is the module here: use `datetime.datetime.now()`, or `from datetime import datetime`."
    ),
    "datetime.today": _use(
        "`datetime` is the module here: use `datetime.date.today()`, or `from datetime import date`."
    ),
    "datetime.strptime": _use(
        "`datetime` is the module here: use `datetime.datetime.strptime(text, format)`, or `from datetime import datetime`."
    ),
    "datetime.strftime": _use(
        "`datetime` is the module here: call `strftime` on a date: `datetime.datetime(2024, 1, 31).strftime(format)`."
    ),
    "datetime.fromisoformat": _use(
        "`datetime` is the module here: use `datetime.datetime.fromisoformat(text)`, or `from datetime import datetime`."
    ),
    "datetime.utcnow": _use("`datetime` is the module here: use `datetime.datetime.now(datetime.timezone.utc)`."),
    "datetime.fromtimestamp": _use("`datetime` is the module here: use `datetime.datetime.fromtimestamp(seconds)`."),
    "datetime.parse": _use(
        "Use `datetime.datetime.fromisoformat(text)` or `datetime.datetime.strptime(text, '%Y-%m-%d')`."
    ),
    "time.clock": _use("It was removed from Python; use `time.perf_counter()`."),
    "time.now": _use("Use `time.time()`, or `datetime.datetime.now()`."),
    "time.millis": _use("Use `time.time() * 1000`."),
    "time.wait": _use("Use `time.sleep(seconds)`."),
    # async
    "asyncio.async": _use("Use `asyncio.create_task(coroutine)`."),
    "asyncio.coroutine": _use("It was removed from Python; write `async def`."),
    "asyncio.all": _use("Use `await asyncio.gather(*coroutines)`."),
    "asyncio.spawn": _use("Use `asyncio.create_task(coroutine)`."),
    "asyncio.wait_all": _use("Use `await asyncio.gather(*coroutines)`."),
    "asyncio.parallel": _use("Use `await asyncio.gather(*coroutines)`."),
    "inspect.getargspec": _use("It was removed from Python; use `inspect.signature(function)`."),
    "inspect.formatargspec": _use("It was removed from Python; use `str(inspect.signature(function))`."),
    "inspect.getsource": _use("The source of guest code cannot be read back; keep it in a variable if you need it."),
    "random.choices_without_replacement": _use("Use `random.sample(values, k)`."),
    # refused on purpose in modules that are allowed
    **dict.fromkeys(
        ("asyncio.create_subprocess_shell", "asyncio.create_subprocess_exec"),
        (
            ("tool:shell", "Guest code cannot start processes; call the host tool `{tool}(...)`."),
            ("", "Guest code cannot start processes: do the work in Python."),
        ),
    ),
    **dict.fromkeys(
        (
            "asyncio.open_connection",
            "asyncio.start_server",
            "sklearn.datasets.fetch_openml",
            "sklearn.datasets.fetch_california_housing",
        ),
        (
            ("tool:fetch", "There is no network here; call the host tool `{tool}(...)` to fetch data."),
            (
                "",
                "There is no network here; put the data into the code, or use data sets that ship with the libraries.",
            ),
        ),
    ),
    "numpy.load": (
        (
            "writable",
            "`numpy.load` of plain arrays needs `.npy` files without pickled objects; text files are read with `np.loadtxt(...)`.",
        ),
        ("", "There are no files here; write the array as `np.array([...])`."),
    ),
    "os.getcwd": _use("Names of files are relative to the workspace; no directory is needed."),
    "os.path.join": (
        ("import:pathlib", "Use `str(pathlib.PurePosixPath(folder) / name)`, or join strings: `folder + '/' + name`."),
        ("", "Join strings: `folder + '/' + name`."),
    ),
    "os.listdir": (
        ("import:pathlib.Path workspace", "Use `[p.name for p in pathlib.Path('.').iterdir()]`."),
        ("", "There are no directories to list here."),
    ),
    "os.system": _use("Guest code cannot run shell commands; do the work in Python."),
    "sys.exit": _use(
        "Remove it: a step ends by itself; to stop early use `return` in a function, or `raise ValueError('why')`."
    ),
    "sys.argv": _use("A step has no command line; assign the values to variables at the top of the code."),
    "matplotlib.pyplot.ginput": _use(
        "There is no window and nobody to click: give the points in the code, and save the figure with `plt.savefig(...)`."
    ),
    "matplotlib.pyplot.waitforbuttonpress": _use("There is no window: save the figure with `plt.savefig(...)`."),
    "sys.modules": _use("Import the module directly: `import json`; each import gives the same module."),
    "sys.path": _use("Nothing can be added to the modules: import what the policy allows directly."),
    "sys.executable": _use("There is no interpreter to start: do the work in Python directly."),
    "sys.settrace": _use("Tracing is out of reach: print the values you want to see."),
    "concurrent.futures.ProcessPoolExecutor": _use(
        "There are no processes here: use `concurrent.futures.ThreadPoolExecutor`, or a plain loop."
    ),
    "traceback.TracebackException": _use("Use `traceback.format_exc()` or `traceback.format_exception(error)`."),
    "traceback.print_stack": _use("Use `traceback.print_exc()` in an `except` block, or print the values you need."),
    "traceback.format_stack": _use("Use `traceback.format_exc()` in an `except` block, or print the values you need."),
    "traceback.extract_stack": _use("Use `traceback.extract_tb(error.__traceback__)` in an `except` block."),
    "traceback.StackSummary": _use("Use `traceback.extract_tb(error.__traceback__)`."),
    "traceback.walk_tb": _use(
        "Use `traceback.extract_tb(error.__traceback__)`, which has name, line and text of each call."
    ),
    "inspect.currentframe": _use("The call stack is out of reach: pass names and values as arguments."),
    "inspect.stack": _use("The call stack is out of reach: pass names and values as arguments."),
    "enum.global_enum": _use("Bind the members yourself: `RED, GREEN = Color`."),
    "typing.ForwardRef": _use(
        "Write the annotation as the type itself, or as text, and read it with `typing.get_type_hints`."
    ),
    "uuid.uuid1": _use("Use `uuid.uuid4()`; the address of the machine is out of reach."),
    "uuid.getnode": _use("Use `uuid.uuid4()`; the address of the machine is out of reach."),
    "tempfile.mkstemp": _use("Use `tempfile.NamedTemporaryFile()`, or a plain name in the workspace."),
    "tempfile.mktemp": _use("Use `tempfile.NamedTemporaryFile()`, or a plain name in the workspace."),
    "shutil.make_archive": _use("Use `zipfile.ZipFile(name, 'w')` and its `write(file)`."),
    "shutil.unpack_archive": _use("Use `zipfile.ZipFile(name).extractall()`."),
    "os.chdir": _use("The workspace is the current directory: name files relative to it, `'folder/name.txt'`."),
    "os.popen": _use("Guest code cannot run shell commands; do the work in Python."),
    "os.getpid": _use("Processes are out of reach; for a unique name use `uuid.uuid4()`."),
    "sys.stdin": _use("There is no interactive user; assign the text to a variable."),
    "sys.maxint": _use("Integers have no limit in Python 3; use `float('inf')` or `math.inf` for a largest value."),
    "sys.setrecursionlimit": _use("The recursion limit is fixed; write the recursion as a loop with a list as stack."),
    "pathlib.Path": (
        (
            "writable builtin:open",
            "Use `open('name.txt')` with a name relative to the workspace, and `pathlib.PurePosixPath` for paths.",
        ),
        (
            "",
            "There are no files here: keep the text in a variable and print it; for paths alone use `pathlib.PurePosixPath`.",
        ),
    ),
    "io.open": (
        ("workspace builtin:open", "Use `open('name.txt')`."),
        ("", "There are no files here: use `io.StringIO(text)` for a text in memory."),
    ),
    "io.FileIO": (
        ("workspace builtin:open", "Use `open('name.bin', 'rb')`."),
        ("", "There are no files here: use `io.BytesIO(data)`."),
    ),
    "codecs.open": (
        ("workspace builtin:open", "Use `open('name.txt', encoding='utf-8')`."),
        ("", "There are no files here: keep the text in a variable."),
    ),
    "pandas.read_pickle": (
        ("workspace", "Pickles are not read here; use CSV, Parquet or JSON: `pd.read_csv(...)`."),
        ("", "Keep the frame in a variable: it stays alive from step to step."),
    ),
    "pandas.read_clipboard": _use(
        "There is no clipboard; put the text into the code and read it with `pd.read_csv(io.StringIO(text))`."
    ),
    "pandas.read_sql": (
        ("tool:query", "There is no database here; call the host tool `{tool}(...)`."),
        (
            "",
            '`sql("select …")` asks frames and CSV files; of a database file, by its connection: '
            "`rows = con.execute(query)` and `pd.DataFrame(rows.fetchall(), columns=[c[0] for c in rows.description])`.",
        ),
    ),
    "typing.get_type_hints": _use(
        "Read the annotations you need from your own program, or use `dataclasses.fields(Kind)`."
    ),
    "operator.attrgetter": _use("Use a lambda: `key=lambda item: item.name`."),
    "operator.methodcaller": _use("Use a lambda: `lambda item: item.method()`."),
}
