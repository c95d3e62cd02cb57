# ruff: noqa: E501 (a table of sentences)
"""Names of other languages and of Python 2, and what Python 3 has instead: names, and attributes by type."""

from __future__ import annotations

from safeexec.hints.needs import Advice, by_name

NAMES: dict[str, Advice] = by_name(
    {
        "true": "In Python it is `True`, with a capital letter.",
        "false": "In Python it is `False`, with a capital letter.",
        "TRUE": "In Python it is `True`.",
        "FALSE": "In Python it is `False`.",
        "null nil undefined NULL Null none NONE Nil nullptr": "In Python it is `None`.",
        "this": "In Python the object is the first parameter of a method: `self`.",
        "NaN nan": {
            "import:math": "Use `float('nan')`, or `math.nan` (with `import math`).",
            "": "Use `float('nan')`.",
        },
        "Infinity inf INF Inf infinity": {
            "import:math": "Use `float('inf')`, or `math.inf` (with `import math`).",
            "": "Use `float('inf')`.",
        },
        "console": "In Python use `print(...)` instead of `console.log(...)`.",
        "echo puts printf println cout System display alert fprintf disp Console print_": "Use `print(...)`.",
        "JSON": {
            "import:json": "Use `json.dumps(value)` and `json.loads(text)` (with `import json`).",
            "": "Print the value itself: `print(value)`.",
        },
        "Math": {
            "import:math": "Use the module in small letters: `import math`, then `math.sqrt(x)`.",
            "": "Use operators and builtins: `abs`, `round`, `x ** 0.5`.",
        },
        "xrange": "In Python 3 it is `range(...)`.",
        "unicode basestring": "In Python 3 it is `str`.",
        "long": "In Python 3 it is `int`.",
        "unichr": "In Python 3 it is `chr`.",
        "cmp": "In Python 3 write `(a > b) - (a < b)`, and sort with `key=`.",
        "reduce": {
            "import:functools": "In Python 3 it is `functools.reduce` (with `import functools`); for a sum use `sum(...)`.",
            "": "Use a loop, or `sum(...)`.",
        },
        "raw_input": "There is no interactive user; assign the value to a variable instead, for example `name = 'Ada'`.",
        "input": "There is no interactive user; assign the value to a variable instead, for example `n = 7`.",
        "system": "There are no processes and no shell commands here: write it in Python.",
        "reload": "Remove it: modules cannot change, so there is nothing to reload.",
        "file": {
            "builtin:open": "In Python 3 it is `open(...)`.",
            "": "There are no files here: keep the text in a variable and print the result.",
        },
        "izip": "In Python 3 it is `zip(...)`.",
        "imap": "In Python 3 it is `map(...)`.",
        "ifilter": "In Python 3 it is `filter(...)`.",
        "Error Exeption Excpetion ArgumentError IllegalArgumentException IllegalArgumentError RuntimeException": "Raise `ValueError('why')` or `RuntimeError('why')`.",
        "parseInt": "Use `int(text)`.",
        "parseFloat": "Use `float(text)`.",
        "Number": "Use `float(text)` or `int(text)`.",
        "String strval toString to_string Str tostring": "Use `str(value)`.",
        "Array": "Use a list: `[1, 2, 3]`, or `[0] * n`.",
        "Object Map HashMap": "Use a dict: `{'key': value}`.",
        "ArrayList": "Use a list: `[]`.",
        "Set": "Use the builtin `set()`.",
        "Date": {
            "import:datetime": "Use `datetime.date(2024, 1, 31)` (with `import datetime`).",
            "": "There is no clock here; use plain numbers.",
        },
        "boolean": "Use `bool`.",
        "string": "Use `str` for the type of a text.",
        "double": "Use `float`.",
        "array": {
            "import:numpy": "Use a list, or `np.array(...)` (with `import numpy as np`).",
            "": "Use a list: `[1, 2, 3]`.",
        },
        "func function": "Define functions with `def`.",
        "typeof": "Use `type(x)` or `isinstance(x, str)`.",
        "instanceof isinstanceof is_instance isa": "Use `isinstance(x, Kind)`.",
        "new": "Call the class itself: `Kind(...)`.",
        "var let const": "Assign directly: `x = 1`; there is no declaration.",
        "require": "Use `import module`.",
        "length size": "Use `len(x)`.",
        "count": "Use `len(x)`, or `values.count(x)`.",
        "substr substring": "Use a slice: `text[start:stop]`.",
        "concat": "Use `+`, or `''.join(parts)`.",
        "mean average avg": {
            "import:statistics": "Use `statistics.mean(values)` (with `import statistics`), or `sum(values) / len(values)`.",
            "": "Use `sum(values) / len(values)`.",
        },
        "help": "There is no pager here: print the text, `print(name.__doc__)`, or try the call on a small example.",
        "copyright credits license": "It is a notice of an interactive Python, which this policy leaves out: remove it.",
        "get_ipython": "There is no IPython here: leave out `get_ipython()`, and write plain Python.",
        "In Out": "There is no `In` and no `Out` here: the value of the last step is `_`; give a value a name to keep it.",
        "__ ___ _1": "The value of the last step is `_`; give a value a name to keep it.",
        "__file__": {
            "workspace": "A step without arguments has no file of its own; files of the workspace are named relative to it: `'data.csv'`.",
            "": "A step without arguments has no file of its own; leave it out.",
        },
        "isNaN isnan is_nan": {
            "import:math": "Use `math.isnan(x)` (with `import math`).",
            "": "Use `x != x`, which is true for NaN alone.",
        },
        "isFinite isfinite": {
            "import:math": "Use `math.isfinite(x)` (with `import math`).",
            "": "Compare with `float('inf')`.",
        },
        "setTimeout setInterval requestAnimationFrame": {
            "import:asyncio": "There are no timers: call the function directly, or wait with `await asyncio.sleep(seconds)`.",
            "": "There are no timers: call the function directly.",
        },
        "fetch axios XMLHttpRequest": {
            "tool:fetch": "There is no network here; call the host tool `{tool}(...)` to fetch data.",
            "": "There is no network here; put the data into the code as a literal.",
        },
        "document window localStorage process": "There is no browser and no Node.js here: keep the data in variables and print the result.",
        "Promise": {
            "import:asyncio": "Use `await asyncio.gather(*coroutines)` inside an `async def`.",
            "": "Call the functions one after the other.",
        },
        "RegExp": {"import:re": "Use `re.compile(pattern)` (with `import re`).", "": "Use the string methods."},
        "Symbol": {"import:sympy": "Import it first: `from sympy import Symbol`.", "": "Use a string."},
        "intval toInt to_int Int toint Integer": "Use `int(value)`.",
        "floatval toFloat to_float Float Double tonumber": "Use `float(value)`.",
        "indexOf index_of": "Use `values.index(item)`, or `text.find(part)`.",
        "upper toUpperCase strtoupper": "Use the method of a text: `text.upper()`.",
        "lower toLowerCase strtolower": "Use the method of a text: `text.lower()`.",
        "split explode": "Use the method of a text: `text.split(separator)`.",
        "join implode": "Use the method of a text: `', '.join(parts)`.",
        "replace str_replace": "Use the method of a text: `text.replace(old, new)`.",
        "trim strip": "Use the method of a text: `text.strip()`.",
        "flatten": {
            "import:itertools": "Use `itertools.chain.from_iterable(nested)` (with `import itertools`).",
            "": "Use `[x for part in nested for x in part]`.",
        },
        "std stdev variance": {
            "import:statistics": "Use `statistics.stdev(values)` or `statistics.variance(values)` (with `import statistics`).",
            "": "Compute it from `sum((x - mean) ** 2 for x in values)`.",
        },
        "ln": {"import:math": "Use `math.log(x)` (with `import math`).", "": "Compute it without logarithms."},
        "π": {"import:math": "Use `math.pi` (with `import math`).", "": "Write 3.141592653589793."},
    }
)
"""Names that are not defined, other than modules. Only used when nothing in the session's namespace is near."""

ORDINARY = by_name(
    {
        "length size count mean average avg empty new vector array func function module process document window display file system std stdev variance push append upper lower split explode join implode replace trim strip flatten seq sqr square concat apply long intern reload alert": True
    }
).keys()
"""Those of them that programs call their variables, too: a function of another language only where one is called."""

MEMBERS: dict[str, str] = {
    "Object.keys": "Use `mapping.keys()`, or loop over the dict itself: `for key in mapping:`.",
    "Object.values": "Use `mapping.values()`.",
    "Object.entries": "Use `mapping.items()`: `for key, value in mapping.items():`.",
    "Object.assign": "Use `{**a, **b}`, or `a | b`.",
    "Array.from": "Use `list(values)`.",
    "Array.isArray": "Use `isinstance(values, list)`.",
    "String.fromCharCode": "Use `chr(code)`.",
    "Number.parseFloat": "Use `float(text)`.",
    "Number.parseInt": "Use `int(text)`.",
    "Number.isInteger": "Use `isinstance(x, int)`, or `float(x).is_integer()`.",
    "Number.MAX_SAFE_INTEGER": "Integers have no limit in Python; use `float('inf')` for a largest value.",
    "Number.isNaN": "Use `math.isnan(x)` (with `import math`).",
    "Math.random": "Use `random.random()` (with `import random`).",
    "Math.PI": "Use `math.pi` (with `import math`).",
    "Math.E": "Use `math.e` (with `import math`).",
    "Date.now": "Use `time.time()` (with `import time`), or `datetime.datetime.now()`.",
    "System.out": "Use `print(...)`.",
    "process.exit": "Remove it: a step ends by itself at its last line.",
    "Promise.all": "Use `await asyncio.gather(*coroutines)` inside an `async def`.",
}
"""The same for names with a member, where the member says more than the name."""

SYNONYMS: dict[str, tuple[str, ...]] = by_name(
    {
        "train learn fit_model": ("fit",),
        "evaluate eval accuracy calculate compute": ("score", "evalf", "doit"),
        "to_hex hex hexdump tohex digest_hex": ("hexdigest", "hex"),
        "to_string format as_string": ("strftime",),
        "predict_probability predict_probabilities probabilities proba": ("predict_proba",),
        "derivative derive differentiate": ("diff",),
        "integral antiderivative": ("integrate",),
        "substitute": ("subs", "replace"),
        "replace_all replaceAll sub": ("replace",),
        "average avg": ("mean",),
        "stdev stddev standard_deviation": ("std",),
        "variance": ("var",),
        "percentile": ("quantile",),
        "position pos offset location": ("start", "index", "find"),
        "push enqueue insert put add": ("append", "add", "put", "insert", "push", "update"),
        "dequeue shift take poll": ("popleft", "get", "pop"),
        "delete erase drop discard": ("remove", "discard", "pop"),
        "write_line writeline println print": ("write", "writelines"),
        "read_all readAll text contents get_text": ("read", "getvalue", "read_text"),
        "transform_fit": ("fit_transform",),
        "inverse invert": ("inv", "inverse_transform"),
        "determinant": ("det",),
        "run execute start": ("run", "start", "submit"),
        "includes has contain": ("contains",),
        "length size count_chars": ("len",),
        "trim": ("strip",),
        "toupper to_upper toUpperCase uppercase": ("upper",),
        "tolower to_lower toLowerCase lowercase": ("lower",),
        "substring substr": ("slice",),
        "weekday_name dayofweek_name dayname": ("day_name",),
        "reset": ("reset_index",),
    }
)
"""Method of another library → what objects call it; used where the object has one of them."""

_LENGTH = "Use `len({obj})`."
_EMPTY = "Use `not {obj}` or `len({obj}) == 0`."
_TUPLE_ONLY = "A tuple cannot be changed; make a list of it first: `items = list({obj})`."

_TEXT: dict[str, str] = by_name(
    {
        "json": "Use `json.loads({obj})` (with `import json`).",
        "contains includes has": "Use `in`: `part in {obj}`.",
        "length size count_chars": _LENGTH,
        "isEmpty is_empty empty": _EMPTY,
        "ltrim trimStart": "Use `{obj}.lstrip()`.",
        "rtrim trimEnd": "Use `{obj}.rstrip()`.",
        "substring slice": "Use a slice: `{obj}[start:stop]`.",
        "substr": "Use a slice: `{obj}[start:start + length]`.",
        "charAt at char_at get_char nth": "Use an index: `{obj}[i]`.",
        "charCodeAt codePointAt": "Use `ord({obj}[i])`.",
        "indexOf": "Use `{obj}.find(part)`, which is -1 if it is not there.",
        "lastIndexOf": "Use `{obj}.rfind(part)`.",
        "search": "Use `{obj}.find(part)`, or `re.search(pattern, {obj})`.",
        "sub gsub": "Use `{obj}.replace(old, new)`, or `re.sub(pattern, new, {obj})`.",
        "match test": "Use `re.search(pattern, {obj})` (with `import re`).",
        "findall": "Use `re.findall(pattern, {obj})` (with `import re`).",
        "padStart": "Use `{obj}.rjust(width, fill)`.",
        "padEnd": "Use `{obj}.ljust(width, fill)`.",
        "pad padding pad_right rpad padRight right_pad": "Use `{obj}.ljust(width)`.",
        "repeat": "Use `{obj} * n`.",
        "concat": "Use `+`: `{obj} + other`.",
        "append push": "Use `+`: `{obj} = {obj} + other`; strings cannot be changed in place.",
        "add extend": "Use `+`: `{obj} = {obj} + other`.",
        "reverse reversed": "Use a slice: `{obj}[::-1]`.",
        "sort sorted": "Use `''.join(sorted({obj}))`.",
        "remove delete": "Use `{obj}.replace(part, '')`.",
        "toString to_string to_s": "Use `str({obj})`.",
        "decode": "It is text already; `decode` is a method of bytes.",
        "strftime": "It is text: make a date of it first: `datetime.datetime.fromisoformat({obj}).strftime(format)`.",
        "items keys get values": "It is text, not a dict; read it first with `json.loads({obj})`.",
        "astype": "Use `int({obj})` or `float({obj})`; `astype` is for arrays and Series.",
        "read": "It is text already; use it as it is.",
        "year month day": "It is text: make a date of it first: `datetime.date.fromisoformat({obj})`.",
        "map": "Use a comprehension: `[f(c) for c in {obj}]`.",
        "filter": "Use a comprehension: `[c for c in {obj} if ...]`.",
        "forEach each": "Use a loop: `for c in {obj}:`.",
        "pad_left padleft lpad leftpad padLeft left_pad": "Use `{obj}.rjust(width)`, or `{obj}.zfill(width)` for zeros.",
        "is_number isNumber is_float is_int": "Use `{obj}.isdigit()`, or try `float({obj})`.",
        "tolist": "Use `list({obj})`, or `{obj}.split()` for words.",
        "str": "It is text already: use its methods directly, `{obj}.upper()`.",
        "first": "Use `{obj}[0]`.",
    }
)
_LIST: dict[str, str] = by_name(
    {
        "counter": "Use `collections.Counter({obj})` (with `import collections`).",
        "argmax index_max": "Use `{obj}.index(max({obj}))`.",
        "append_all addAll pushAll": "Use `{obj}.extend(items)`.",
        "concat": "Use `+`: `{obj} + other`.",
        "update": "Use `{obj}.extend(items)`, or assign an item: `{obj}[i] = value`.",
        "unshift prepend": "Use `{obj}.insert(0, item)`.",
        "appendleft": "Use `{obj}.insert(0, item)`, or `collections.deque`.",
        "popleft": "Use `{obj}.pop(0)`, or `collections.deque`.",
        "splice": "Use slices: `del {obj}[start:stop]`, or `{obj}[start:stop] = items`.",
        "slice": "Use a slice: `{obj}[start:stop]`.",
        "length size": _LENGTH,
        "isEmpty is_empty empty": _EMPTY,
        "contains includes has exists": "Use `in`: `item in {obj}`.",
        "find": "Use `{obj}.index(item)`, or `next(x for x in {obj} if ...)`.",
        "findIndex": "Use `next(i for i, x in enumerate({obj}) if ...)`.",
        "forEach each foreach": "Use a loop: `for item in {obj}:`.",
        "map apply": "Use a comprehension: `[f(x) for x in {obj}]`.",
        "filter select where": "Use a comprehension: `[x for x in {obj} if ...]`.",
        "reduce": "Use `sum({obj})` or `functools.reduce(f, {obj})`.",
        "flatMap": "Use a comprehension: `[y for x in {obj} for y in f(x)]`.",
        "flat flatten": "Use a comprehension: `[y for x in {obj} for y in x]`.",
        "join": "Use the separator's method: `', '.join({obj})`.",
        "total": "Use `sum({obj})`.",
        "mean average avg": "Use `sum({obj}) / len({obj})`.",
        "median": "Use `statistics.median({obj})`.",
        "std": "Use `statistics.stdev({obj})`.",
        "sort_by": "Use `sorted({obj}, key=lambda item: ...)`.",
        "reversed": "Use `{obj}[::-1]`.",
        "unique uniq distinct drop_duplicates": "Use `list(dict.fromkeys({obj}))`.",
        "first": "Use `{obj}[0]`.",
        "last peek top": "Use `{obj}[-1]`.",
        "head take": "Use `{obj}[:n]`.",
        "tail": "Use `{obj}[-n:]`.",
        "get at iloc loc nth elementAt": "Use an index: `{obj}[i]`.",
        "every": "Use `all(... for x in {obj})`.",
        "some": "Use `any(... for x in {obj})`.",
        "delete": "Use `del {obj}[i]` or `{obj}.remove(item)`.",
        "items": "It is a list: use `enumerate({obj})` for positions and items.",
        "keys": "It is a list: use `range(len({obj}))`.",
        "values": "It is a list: loop over it directly.",
        "iteritems": "It is a list: use `enumerate({obj})`.",
        "entries": "Use `enumerate({obj})`.",
        "shape": "Make an array of it: `np.array({obj}).shape` (with `import numpy as np`), or use `len({obj})`.",
        "reshape": "Make an array of it first: `np.array({obj}).reshape(...)` (with `import numpy as np`).",
        "tolist to_list": "It is a list already; use it as it is.",
        "astype": "Use a comprehension: `[int(x) for x in {obj}]`.",
        "describe": "Make a Series of it: `pd.Series({obj}).describe()`.",
        "value_counts": "Use `collections.Counter({obj})`.",
        "groupby": "Use a dict of lists, or `itertools.groupby` on the sorted list.",
        "dtype": "A list has no dtype; make an array of it: `np.array({obj})`.",
        "toString": "Use `str({obj})`.",
        "stdev": "Use `statistics.stdev({obj})` (with `import statistics`).",
        "set put": "Assign it: `{obj}[i] = value`.",
        "difference subtract": "Use `[x for x in {obj} if x not in other]`.",
        "intersection": "Use `[x for x in {obj} if x in other]`.",
        "union": "Use `list(dict.fromkeys({obj} + other))`.",
        "shuffle": "Use `random.shuffle({obj})` (with `import random`).",
        "sample choice random": "Use `random.choice({obj})` (with `import random`).",
    }
)
_DICT: dict[str, str] = by_name(
    {
        "has_key hasOwnProperty containsKey contains contains_key has includes exists": "Use `in`: `key in {obj}`.",
        "find": "Use `{obj}.get(key)`.",
        "iteritems viewitems entries": "Use `{obj}.items()`.",
        "iterkeys viewkeys": "Use `{obj}.keys()`.",
        "itervalues": "Use `{obj}.values()`.",
        "average mean": "Use `sum({obj}.values()) / len({obj})`.",
        "total sum": "Use `sum({obj}.values())`.",
        "add_key add put set insert append push": "Assign it: `{obj}[key] = value`.",
        "each forEach": "Use a loop: `for key, value in {obj}.items():`.",
        "extend addAll": "Use `{obj}.update(other)`.",
        "merge": "Use `{**{obj}, **other}` or `{obj} | other`.",
        "remove delete": "Use `del {obj}[key]` or `{obj}.pop(key, None)`.",
        "length size count": _LENGTH,
        "isEmpty is_empty empty": _EMPTY,
        "sort sorted": "Use `dict(sorted({obj}.items()))`.",
        "sort_values": "Use `dict(sorted({obj}.items(), key=lambda pair: pair[1]))`.",
        "getOrDefault get_or_default fetch": "Use `{obj}.get(key, default)`.",
        "index": "A dict has keys: use `{obj}[key]`, or `list({obj}).index(key)`.",
        "map": "Use a comprehension: `{k: f(v) for k, v in {obj}.items()}`.",
        "filter": "Use a comprehension: `{k: v for k, v in {obj}.items() if ...}`.",
        "first": "Use `next(iter({obj}))`.",
        "to_dict json": "It is a dict already; use it as it is.",
        "toString": "Use `str({obj})`.",
        "max": "Use `max({obj}, key={obj}.get)`.",
        "min": "Use `min({obj}, key={obj}.get)`.",
        "to_json dumps": "Use `json.dumps({obj})`.",
        "clone": "Use `{obj}.copy()`.",
    }
)
_SET: dict[str, str] = by_name(
    {
        "append": "Use `{obj}.add(item)`.",
        "extend addAll": "Use `{obj}.update(items)`.",
        "has contains includes": "Use `in`: `item in {obj}`.",
        "delete": "Use `{obj}.discard(item)`.",
        "length size": _LENGTH,
        "sort": "Use `sorted({obj})`.",
        "get count": "Use `item in {obj}`.",
        "is_empty isEmpty": _EMPTY,
        "items": "A set has no pairs: loop over it directly.",
        "keys": "A set has no keys: loop over it directly.",
        "first": "Use `next(iter({obj}))`.",
        "join": "Use `', '.join(sorted({obj}))`.",
    }
)
_OF_ORDER = (
    "isEmpty is_empty contains includes has find forEach map filter mean reversed unique first last get items shape"
)
"""What lists and tuples have in common."""
_TUPLE: dict[str, str] = {name: _LIST[name] for name in _OF_ORDER.split()} | by_name(
    {
        "length size": _LENGTH,
        "sort": "Use `sorted({obj})`, which gives a list.",
        "tolist": "Use `list({obj})`.",
        "append push add extend insert remove pop clear": _TUPLE_ONLY,
        "copy": "A tuple cannot change, so no copy is needed.",
        "savefig plot bar hist scatter set_title set_xlabel set_ylabel suptitle tight_layout legend": "`plt.subplots()` gives a pair: write `fig, ax = plt.subplots()`.",
    }
)
_NUMBER: dict[str, str] = by_name(
    {
        "toString to_string to_s": "Use `str({obj})`.",
        "toFixed": "Use `f'{{obj}:.2f}'`, or `round({obj}, 2)`.",
        "sqrt": "Use `math.sqrt({obj})`, or `{obj} ** 0.5`.",
        "floor": "Use `math.floor({obj})`, or `int({obj} // 1)`.",
        "ceil": "Use `math.ceil({obj})`.",
        "length len": "A number has no length; use `len(str({obj}))` for its digits.",
        "isdigit isnumeric toNumber total_seconds seconds": "It is a number already; use it as it is.",
        "to_i toInt to_int intValue toInteger": "Use `int({obj})`.",
        "isNaN is_nan isnan": "Use `math.isnan({obj})`.",
        "isInteger": "Use `float({obj}).is_integer()`.",
        "pow power": "Use `{obj} ** n`.",
        "format": "Use `f'{{obj}:.2f}'`.",
        "append": "It is a number, not a list; start with a list: `values = []`.",
        "mean sum": "It is one number already, not a list.",
        "astype": "Use `int({obj})` or `float({obj})`.",
        "item tolist": "It is a plain number already; use it as it is.",
        "shape": "It is a plain number, not an array.",
        "extend add push": "It is a number, not a list: make a list first, `values = [{obj}]`, and use `values.append(item)`.",
        "items keys values get": "It is a number, not a dict: use the dict that it comes from.",
        "max min std sort": "It is one number: use it as it is, or put the numbers into a list.",
        "strftime year month day date": "It is a number: make a date of it first, `datetime.datetime.fromtimestamp({obj})` for seconds.",
    }
)
_FRACTION: dict[str, str] = by_name(
    {
        "to_float toFloat evalf decimal as_float": "Use `float({obj})`.",
        "simplify reduce normalize lowest_terms": "A Fraction is always in lowest terms: use it as it is.",
        "quantize": "Use `round({obj}, 2)`, or `{obj}.limit_denominator(100)`.",
        "inverse reciprocal invert": "Use `1 / {obj}`.",
        "num top p": "Use `{obj}.numerator`.",
        "den bottom q": "Use `{obj}.denominator`.",
        "sqrt": "Use `float({obj}) ** 0.5`.",
        "pow power": "Use `{obj} ** n`.",
        "add plus": "Use `{obj} + other`.",
        "to_string toString": "Use `str({obj})`.",
    }
)
_COMPLEX: dict[str, str] = by_name(
    {
        "magnitude modulus norm absolute mod r": "Use `abs({obj})`.",
        "re Re": "Use `{obj}.real`.",
        "im Im": "Use `{obj}.imag`.",
        "phase angle arg argument theta": "Use `cmath.phase({obj})` (with `import cmath`).",
        "polar to_polar": "Use `cmath.polar({obj})` (with `import cmath`).",
        "sqrt": "Use `cmath.sqrt({obj})` (with `import cmath`).",
        "round": "Use `complex(round({obj}.real, 2), round({obj}.imag, 2))`.",
    }
)
_DECIMAL: dict[str, str] = by_name(
    {
        "log": "Use `{obj}.ln()`, or `{obj}.log10()`.",
        "toFixed to_fixed setScale": "Use `round({obj}, 2)`, or `{obj}.quantize(Decimal('0.01'))`.",
        "pow": "Use `{obj} ** n`.",
        "to_float toFloat": "Use `float({obj})`.",
        "to_int toInt": "Use `int({obj})`.",
    }
)
_ITERATORS = "dict_keys dict_values dict_items map filter zip generator enumerate list_iterator reversed"
_ITERATOR: dict[str, str] = by_name(
    {
        "sort append index reverse pop remove extend count copy insert map filter tolist len length sorted join shape get size first": "Make a list of it first: `list({obj})`.",
        "next": "Use `next({obj})`.",
        "has_next": "Loop over it with `for`.",
    }
)
_DATE: dict[str, str] = by_name(
    {
        "last_day": "Use `calendar.monthrange({obj}.year, {obj}.month)[1]` (with `import calendar`).",
        "add_days plus_days plusDays add_day plus shift offset add addDays": "Add a `timedelta`: `{obj} + timedelta(days=1)` (with `from datetime import timedelta`).",
        "add_months addMonths plus_months": "Use `{obj}.replace(month=...)`, or add a `timedelta(days=30)`.",
        "toString to_str": "Use `{obj}.strftime('%Y-%m-%d')` or `{obj}.isoformat()`.",
        "day_name dayName weekday_name": "Use `{obj}.strftime('%A')`.",
        "month_name monthName": "Use `{obj}.strftime('%B')`.",
        "quarter": "Use `({obj}.month - 1) // 3 + 1`.",
        "week week_number weekofyear isoweek week_of_year": "Use `{obj}.isocalendar().week`.",
        "getTime unix epoch to_timestamp toTimestamp": "Use `{obj}.timestamp()` of a datetime.",
        "toISOString iso to_iso toISO": "Use `{obj}.isoformat()`.",
        "hour": "A date has no time; use `datetime.datetime`.",
        "date": "It is a date already; use it as it is.",
        "now": "Use `datetime.date.today()`.",
        "total_seconds": "Subtract two dates first: `(end - start).total_seconds()`.",
        "dayofweek": "Use `{obj}.weekday()`.",
        "day_of_week dayOfWeek getDay": "Use `{obj}.weekday()`, which counts from Monday as 0.",
        "diff difference subtract days_between": "Subtract the dates: `({obj} - other).days`.",
        "to_date as_date": "Use `{obj}.date()` of a datetime; a date is one already.",
        "localize tz_localize": "Use `{obj}.replace(tzinfo=zoneinfo.ZoneInfo('Europe/Berlin'))`.",
        "to_timezone tz_convert convert": "Use `{obj}.astimezone(zoneinfo.ZoneInfo('Europe/Berlin'))`.",
    }
)

ATTRIBUTES: dict[str, dict[str, str]] = {
    "str": _TEXT,
    "list": _LIST,
    "dict": _DICT,
    "defaultdict": _DICT,
    "OrderedDict": _DICT,
    "Counter": {name: text for name, text in _DICT.items() if name != "total"}
    | by_name(
        {
            "add append": "Use `{obj}[item] += 1`.",
            "count": "Use `{obj}[item]`, or `{obj}.total()` for all.",
            "sort sorted": "Use `{obj}.most_common()`.",
            "to_dict": "Use `dict({obj})`.",
            "sum": "Use `{obj}.total()`.",
            "max highest most_frequent": "Use `{obj}.most_common(1)`.",
            "top mostCommon": "Use `{obj}.most_common(n)`.",
        }
    ),
    "set": _SET,
    "frozenset": _SET
    | by_name(
        {
            "append push insert extend addAll delete add update remove discard": "A frozenset cannot be changed: make a new one, `{obj} | {item}` or `{obj} - {item}`."
        }
    ),
    "tuple": _TUPLE,
    "int": _NUMBER,
    "float": _NUMBER,
    "Fraction": _FRACTION,
    "Decimal": _DECIMAL,
    "complex": _COMPLEX,
    "deque": by_name(
        {
            "pop_front get": "Use `{obj}.popleft()`.",
            "push_front": "Use `{obj}.appendleft(item)`.",
            "length size": _LENGTH,
            "empty isEmpty": _EMPTY,
            "peek": "Use `{obj}[0]`.",
            "sort": "Use `sorted({obj})`.",
        }
    ),
    "bytes": by_name(
        {
            "format": "Decode first: `{obj}.decode()`.",
            "toString": "Use `{obj}.decode()`.",
        }
    ),
    "range": by_name(
        {
            "append remove pop extend insert": "Make a list of it first: `list({obj})`.",
            "sort": "Use `sorted({obj})`.",
            "reverse": "Use `{obj}[::-1]`, or `reversed({obj})`.",
            "map": "Use a comprehension: `[f(x) for x in {obj}]`.",
            "length": _LENGTH,
            "tolist": "Use `list({obj})`.",
            "shuffle": "Make a list of it first: `items = list({obj}); random.shuffle(items)`.",
        }
    ),
    **dict.fromkeys(_ITERATORS.split(), _ITERATOR),
    "date": _DATE,
    "datetime": {name: text for name, text in _DATE.items() if name != "hour"} | {"date": "Use `{obj}.date()`."},
    "timedelta": by_name(
        {
            "hours total_hours": "Use `{obj}.total_seconds() / 3600`.",
            "minutes total_minutes": "Use `{obj}.total_seconds() / 60`.",
            "months": "A difference of dates has days only: `{obj}.days / 30.44`.",
            "years": "A difference of dates has days only: `{obj}.days / 365.25`.",
        }
    ),
    "Match": by_name(
        {
            "text value match": "Use `{obj}.group()`.",
            "index": "Use `{obj}.start()`.",
        }
    ),
}
"""Type name → attribute of another language or type → what to write; ``{obj}`` is the object's own source text."""

CLASSES: dict[str, str] = by_name(
    {
        "datetime.datetime": "`datetime` is the class here: use `datetime(2024, 1, 31)` itself.",
        "datetime.timedelta": "`datetime` is the class here: use `from datetime import timedelta`.",
        "datetime.date": "`datetime` is the class here: use `from datetime import date`.",
        "datetime.timezone": "`datetime` is the class here: use `from datetime import timezone`.",
        "datetime.parse datetime.from_string": "Use `datetime.strptime(text, '%Y-%m-%d')`, or `datetime.fromisoformat(text)`.",
        "datetime.sleep": "Use `time.sleep(seconds)` (with `import time`).",
        "date.parse date.from_string": "Use `date.fromisoformat(text)`.",
        "date.strptime": "Use `datetime.datetime.strptime(text, '%Y-%m-%d').date()`, or `date.fromisoformat(text)`.",
        "date.now": "Use `date.today()`.",
    }
)
"""Class and attribute → what to write; for names that are asked of a class instead of its module or an instance."""
