# ruff: noqa: E501 (a table of sentences)
"""Hints for attributes and constructs that the policy refuses, and for names that a module does not have.

`ATTRIBUTES` are names refused on any object; `MODULE_ATTRIBUTES` are ``module.name`` that people write and that are
missing (of libraries: by the versions that `safeexec.hints.tables.libraries` names) or refused. How an entry is read: `safeexec.hints.choice`.
"""

from __future__ import annotations

from safeexec.engine.policy.refusals import by_name
from safeexec.hints.choice import Advice, dotted

ATTRIBUTES: dict[str, Advice] = by_name(
    {
        "__code__ func_code co_code co_consts co_varnames co_names": {
            "import:inspect": "Use `inspect.signature(function).parameters` for the parameters of a function; its code is out of reach.",
            "": "What you need to know of a function's parameters, write it directly into the program, or keep it in a variable beside the function.",
        },
        "__closure__ cell_contents func_closure co_freevars": "Let the function return the value, or keep it in an instance attribute of a class, instead of reading the closure.",
        "__globals__ func_globals f_globals": "Assign the module-level variable directly (`NAME = value`), or pass the value to the function as an argument.",
        "__subclasses__ __base__": "Use `isinstance(obj, Kind)` or `type(obj).__name__`; keep a list of the classes you need yourself.",
        "tb_frame gi_frame gi_code cr_frame cr_code ag_frame ag_code f_back f_locals f_builtins f_code": "Frames and tracebacks are out of reach; pass values as arguments, and print an exception with `print(type(e).__name__, e)`.",
        "__builtins__ __import__": "Call the builtin directly by its name.",
        "_getframe _current_frames _current_exceptions _getframemodulename": "The call stack is out of reach: write the name directly, or pass it to the function as an argument.",
        "__loader__ __spec__": "Import the module with a plain import statement.",
    }
)
"""Names that the language refuses by default (`engine.policy.names`); one that a policy refuses itself has the hint of that
policy."""


MODULE_ATTRIBUTES: dict[str, Advice] = dotted(
    {
        "math": {
            "random": {
                "import:random": "Use `random.random()` (with `import random`).",
                "": "There are no random numbers here; use fixed values.",
            },
            "cot sec csc cosec": "Use `1 / math.tan(x)`, `1 / math.cos(x)`, `1 / math.sin(x)`.",
            "squareroot square_root sqroot": "Use `math.sqrt(x)`.",
            "square sqr cube root nthroot nth_root": "Use a power: `x ** 2`, `x ** 3`, `x ** (1 / n)`.",
            "lg": "Use `math.log10(x)`, or `math.log2(x)`.",
            "sign": "Use `math.copysign(1, x)`, or `(x > 0) - (x < 0)`.",
            "clamp clip": "Use `max(low, min(x, high))`.",
            "nCr ncr choose binomial": "Use `math.comb(n, k)`.",
            "isprime is_prime": "Write it: `all(n % d for d in range(2, math.isqrt(n) + 1))` for n > 1.",
            "mod modulo modulus": "Use `x % y`, or `math.fmod(x, y)`.",
            "factors divisors factorize prime_factors": "Write it: `[d for d in range(1, n + 1) if n % d == 0]` are the divisors.",
            "solve solver": {
                "import:sympy": "Use `sympy` for formulas: `sympy.solve(f, x)`.",
                "": "Write the formula of the solution, or halve an interval in a loop until it is small enough.",
            },
            "limit": {
                "import:sympy": "Use `sympy` for formulas: `sympy.limit(f, x, 0)`.",
                "": "Compute it numerically: the function at numbers that come nearer and nearer.",
            },
            "derivative diff integrate integral": {
                "import:sympy": "Use `sympy` for formulas: `sympy.diff(f, x)`, `sympy.integrate(f, x)`.",
                "": "Compute it numerically: a difference quotient, `(f(x + h) - f(x - h)) / (2 * h)`, or a sum over small steps.",
            },
        },
        "asyncio": {
            "parallelize await_all all wait_all parallel": "Use `await asyncio.gather(*coroutines)`.",
            "coroutine": "It was removed from Python; write `async def`.",
            "create_subprocess_shell create_subprocess_exec": {
                "tool:shell": "Guest code cannot start processes; call the host tool `{tool}(...)`.",
                "": "Guest code cannot start processes: do the work in Python.",
            },
            "open_connection start_server": {
                "tool:fetch": "There is no network here; call the host tool `{tool}(...)` to fetch data.",
                "": "There is no network here; put the data into the code, or use data sets that ship with the libraries.",
            },
        },
        "numpy": {
            "trapz integrate": "Use `np.trapezoid(y, x)`.",
            "in1d": "Use `np.isin(values, test)`.",
            "product": "Use `np.prod(a)`.",
            "standard_deviation": "Use `np.std(a)`.",
            "find": "Use `np.where(condition)[0]`.",
            "asscalar": "Use `a.item()`.",
            "matrix_multiply mmult matmult": "Use `a @ b`.",
            "int0": "Use `np.intp`.",
            "shuffle": "Use `np.random.default_rng().permutation(a)`.",
            "randn": "Use `np.random.default_rng().standard_normal(size)`.",
            "seed": "Use `np.random.default_rng(42)`.",
            "range": "Use `np.arange(start, stop, step)`.",
            "randint": "Use `np.random.default_rng().integers(low, high, size)`.",
        },
        "os": {
            "listdir": {
                "import:pathlib.Path workspace": "Use `[p.name for p in pathlib.Path('.').iterdir()]`.",
                "": "There are no directories to list here.",
            },
            "system popen": "Guest code cannot run shell commands; do the work in Python.",
            "access lstat makedirs mkdir open remove removedirs rename renames replace rmdir scandir stat truncate "
            "unlink utime walk": {
                "workspace builtin:open": "Use `open('name.txt')` for files of the workspace, with relative names.",
                "": "There are no files here: keep the data in variables and print the result.",
            },
        },
        "os.path": {
            "exists getatime getctime getmtime getsize isdir isfile islink ismount lexists samefile": {
                "workspace builtin:open": "Try `open('name.txt')` and catch `FileNotFoundError`.",
                "": "There are no files here: keep the data in variables.",
            },
        },
        "concurrent.futures": {
            "ProcessPoolExecutor": "There are no processes here: use `concurrent.futures.ThreadPoolExecutor`, or a plain loop."
        },
        "tempfile": {
            "mkstemp mktemp": {"workspace": "Use `tempfile.NamedTemporaryFile()`, or a plain name in the workspace."}
        },
        "io": {
            "open": {
                "workspace builtin:open": "Use `open('name.txt')`.",
                "": "There are no files here: use `io.StringIO(text)` for a text in memory.",
            },
        },
    }
) | by_name(
    {
        "statistics.standard_deviation": "Use `statistics.stdev(values)` of a sample, or `statistics.pstdev(values)` of a population.",
        "statistics.describe statistics.summary": "Print what you need: `statistics.mean(values)`, `statistics.median(values)`, `statistics.stdev(values)`, `min(values)`, `max(values)`.",
        "statistics.range": "Use `max(values) - min(values)`.",
        "random.random_integer random.int random.integer": "Use `random.randint(a, b)`.",
        "random.range": "Use `random.randrange(start, stop, step)`.",
        "random.randn": "Use `random.gauss(0, 1)`.",
        "random.normal": "Use `random.gauss(mean, sd)`.",
        "functools.memoize functools.memoise functools.memo": "Use `functools.cache`, or `functools.lru_cache(maxsize=100)`.",
        "itertools.unique itertools.unique_everseen": "Use `list(dict.fromkeys(values))`.",
        "itertools.chunked itertools.chunk": "Use slices: `[values[i:i + n] for i in range(0, len(values), n)]`.",
        "itertools.batched": "It came with Python 3.12; use slices: `[values[i:i + n] for i in range(0, len(values), n)]`.",
        "itertools.window itertools.sliding_window": "Use `zip(values, values[1:])`, or `itertools.pairwise(values)` for pairs.",
        "re.is_match re.isMatch re.ismatch re.has_match re.test": "Use `re.search(pattern, text) is not None`, or `re.fullmatch` for the whole text.",
        "re.matchall re.match_all": "Use `re.findall(pattern, text)`, or `re.finditer(pattern, text)` for match objects.",
        "re.matches": "Use `re.fullmatch(pattern, text)`, or `re.search(pattern, text)`.",
        "matplotlib.pyplot.piechart": "Use `plt.pie(values, labels=names)`.",
        "matplotlib.pyplot.barchart matplotlib.pyplot.barplot": "Use `plt.bar(x, height)`.",
        "matplotlib.pyplot.lineplot matplotlib.pyplot.linechart matplotlib.pyplot.line": "Use `plt.plot(x, y)`.",
        "pandas.np": "Use numpy itself: `import numpy as np`, then `np.log(...)`.",
        "pandas.datetime": "Use `from datetime import datetime`, or `pd.Timestamp`.",
        "pandas.nan pandas.NaN": "Use `np.nan` (with `import numpy as np`), or `pd.NA`.",
        "scipy.std scipy.var scipy.median scipy.zeros scipy.ones scipy.arange scipy.dot scipy.sqrt scipy.exp scipy.log scipy.sin scipy.cos scipy.sum scipy.pi scipy.eye scipy.polyfit scipy.array scipy.linspace": "Use numpy's own, `np.mean(a)`, `np.sqrt(a)`, `np.linspace(...)`: `scipy` has no functions of numpy any more.",
        "scipy.trapz": "Use `scipy.integrate.trapezoid(y, x)`.",
        "scipy.simps": "Use `scipy.integrate.simpson(y, x=x)`.",
        "scipy.random": "Use `numpy.random.default_rng()`.",
        "collections.Stack collections.stack": "Use a list: `append(item)` and `pop()`.",
        "collections.PriorityQueue": "Use a list with `heapq.heappush(heap, item)` and `heapq.heappop(heap)`.",
        "heapq.Heap heapq.heap heapq.PriorityQueue heapq.MinHeap heapq.new": "A heap is a plain list: `heap = []`, then `heapq.heappush(heap, item)` and `heapq.heappop(heap)`.",
        "heapq.peek heapq.top heapq.heappeek": "The smallest is `heap[0]`.",
        "csv.parse csv.loads csv.load csv.read_csv csv.from_string": "Use `list(csv.reader(io.StringIO(text)))`, or `csv.DictReader(...)` for dicts.",
        "time.now time.current_time": "Use `time.time()`, or `datetime.datetime.now()` (with `import datetime`).",
        "time.clock": "It was removed from Python; use `time.perf_counter()`.",
        "datetime.current datetime.current_time": "Use `datetime.datetime.now()`.",
        "datetime.from_string datetime.fromstring datetime.to_datetime datetime.parse": "Use `datetime.datetime.fromisoformat(text)` or `datetime.datetime.strptime(text, '%Y-%m-%d')`.",
        "calendar.days_in_month calendar.month_days calendar.last_day": "Use `calendar.monthrange(year, month)[1]`.",
        "typing.list typing.dict typing.tuple typing.set": "Use the builtin `list[int]`, `dict[str, int]`, `tuple[int, ...]`, or `typing.List`.",
        "inspect.getargspec": "It was removed from Python; use `inspect.signature(function)`.",
        "sklearn.datasets.load_boston": "Use `sklearn.datasets.load_diabetes()`; the Boston data was removed.",
        "sys.maxint": "Integers have no limit in Python 3; use `float('inf')` or `math.inf` for a largest value.",
        "shutil.make_archive": "Use `zipfile.ZipFile(name, 'w')` and its `write(file)`.",
        "shutil.unpack_archive": "Use `zipfile.ZipFile(name).extractall()`.",
        "sklearn.cross_validation": "Use `sklearn.model_selection`.",
        "seaborn.factorplot": "Use `sns.catplot(...)`.",
        "networkx.info": "Print the graph, `print(g)`; its parts are `g.number_of_nodes()`, `g.number_of_edges()` and `g.degree()`.",
        "PIL.Image.ANTIALIAS": "Use `Image.LANCZOS`.",
        "sklearn.grid_search": "Use `from sklearn.model_selection import GridSearchCV`.",
    }
)

CONSTRUCTS: dict[str, Advice] = {
    "annotation": "Leave the annotation out.",
    "assert": "Use `if not condition: raise ValueError('why')`.",
    "assignment": "Only expressions are allowed here: give the values as variables from outside.",
    "async": {"construct:function": "Write plain functions and call them one after the other."},
    "attribute": "Use builtins and operators on the values themselves; attributes cannot be read here.",
    "class": {"construct:function": "Use functions, and dicts or tuples for data."},
    "comprehension": {
        "construct:for": "Use a `for` loop that appends to a list, or `map` and `filter`.",
        "": "Use `map` and `filter`.",
    },
    "decorator": "Call the decorator yourself: `f = decorator(f)`.",
    "delete": "Assign `None` instead, or make a new list or dict without the item.",
    "f-string": "Join texts with `+` and `str(...)`.",
    "for": {
        "construct:comprehension": "Use a comprehension, or `sum(...)` and `max(...)` over the values.",
        "": "Use `sum(...)` and `max(...)` over the values.",
    },
    "function": "Write the computation out, without functions.",
    "global": {"construct:function": "Return the value from the function and assign it outside."},
    "if": "Use an expression: `a if condition else b`.",
    "import": "Nothing can be imported here; use the builtins.",
    "lambda": {
        "construct:function": "Write a `def` with a name, or a comprehension.",
        "construct:comprehension": "Write a comprehension: `[x * 2 for x in values]`.",
    },
    "match": "Use `if`, `elif` and `else`.",
    "nonlocal": {
        "construct:function": "Return the value from the inner function, or keep it in a dict or an instance attribute."
    },
    "raise": {"construct:function": "Return a value that says what went wrong, for example `None`."},
    "star-import": "Name what you import: `from math import sqrt, pi`, or `import math`.",
    "try": "Check the condition before, with `if`.",
    "type-alias": "Write the type out where it is used, or leave it out.",
    "walrus": "Assign the variable in a line of its own before.",
    "while": "Use a `for` loop over `range(n)`.",
    "with": {"construct:assignment": "Call the functions one after the other, without `with`."},
    "yield": {"construct:function": "Build a list and return it."},
}
"""Language constructs that the policy refuses."""
