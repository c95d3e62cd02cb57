# ruff: noqa: E501 (a table of sentences)
"""Builtins that the policy does not have, names of other languages and of Python 2, and what there is instead: names, and
attributes by type. How an entry is read: `safeexec.hints.choice`.
"""

from __future__ import annotations

from collections import Counter, deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from safeexec.engine.policy.refusals import by_name
from safeexec.hints.choice import READ, Advice

BUILTINS: dict[str, Advice] = by_name(
    {
        "eval": {
            "import:ast.literal_eval": "Write the expression directly as code; to read a literal from text use `ast.literal_eval(text)`.",
            "import:json": "Write the expression directly as code; to read data from text use `json.loads(text)`.",
            "": "Write the expression directly as code; turn text into a number with `int(text)` or `float(text)`.",
        },
        "exec": "Write the code directly as plain code of this step: a `def` or an assignment needs no string around it.",
        "execfile": "Write the code directly as plain code of this step.",
        "compile": "Write the code directly as plain code of this step; to keep a formula for later, define a function: `def f(x): return ...`.",
        "open": {
            "builtin:open workspace": "Open files of the workspace with names relative to it: `open('name.txt')`.",
            "workspace": "This policy has a workspace, but not this builtin: whoever writes it must add `builtins: {add: [open]}`; until then keep the text in a variable.",
            "read builtin:open": READ,
            "read": "This policy has files to read, but not this builtin: whoever writes it must add `builtins: {add: [open]}`; until then keep the text in a variable.",
            "import:io": "There are no files here: keep the text in a variable (`io.StringIO(text)` reads it as a file) and print the result.",
            "": "There are no files here: keep the text in a variable and print the result.",
        },
        "file": {
            "workspace builtin:open": "Use `open('name.txt')` with a name relative to the workspace.",
            "read builtin:open": READ,
            "": "There are no files here: keep the text in a variable and print the result.",
        },
        "input raw_input": {
            "tool:ask": "There is no interactive user; call the host tool `{tool}(...)`, or assign the value to a variable.",
            "": "There is no interactive user to answer; assign the value to a variable instead, for example `n = 7`.",
        },
        "breakpoint": "There is no interactive debugger; remove the call and `print(...)` the values you want to see.",
        "exit quit": "Remove it: a step ends by itself at its last line; to stop early use `break` in a loop, `return` in a function, or `raise ValueError('why')`.",
        "__builtins__": "Call the builtin directly by its name: `len(values)`.",
        "__loader__ __spec__": "Import the module with a plain import statement.",
        "__class__": "Use `type(self)`, `super()`, or the class by its name.",
        "__classdict__": "Read the attributes of the class by their names.",
        "__build_class__": "Write the class with a `class` statement.",
        "__import__": "Write the import statement directly, for example `import json`.",
        "reload": "Remove it: modules cannot change, so there is nothing to reload.",
        "globals locals": "Use the variables directly by their names, or keep the values in a dict of your own: `values = {'x': 1}`.",
        "vars": "Read the attributes by their names, or keep the data in a dict or a dataclass (`dataclasses.asdict(obj)`).",
        "dir": "Use the attributes you know by their names; print `type(obj).__name__` to see what an object is.",
        "getattr": "Write the attribute directly (`obj.name`), or keep values that are chosen by name in a dict: `values[name]`.",
        "setattr": "Assign the attribute directly (`obj.name = value`), or keep values that are chosen by name in a dict: `values[name] = value`.",
        "delattr": "Delete the attribute directly: `del obj.name`.",
        "hasattr": "Use `isinstance(obj, Kind)`, or a `try` around `obj.name` with `except AttributeError`.",
        "help": "There is no pager here: print the text, `print(name.__doc__)`, or try the call on a small example.",
        "memoryview": "Use `bytes` or `bytearray` and slices of them.",
        "id": "Compare objects with `is`, or use a key of your own.",
        "type": "Use `isinstance(obj, Kind)`; write classes with a `class` statement.",
        "super": "Call the method of the base class by its name: `Base.method(self)`.",
        "print": "Let the last line of the step be the value to show.",
        "display": "Let the last line of the step be the value to show, or `print(...)` it.",
        "get_ipython": "There is no IPython here: leave out `get_ipython()`, and write plain Python.",
    }
)
"""Builtins that the policy does not have."""

NAMES: dict[str, Advice] = BUILTINS | by_name(
    {
        "true": "In Python it is `True`, with a capital letter.",
        "false": "In Python it is `False`, with a capital letter.",
        "TRUE": "In Python it is `True`.",
        "FALSE": "In Python it is `False`.",
        "null nil undefined NULL Null none NONE Nil nullptr": "In Python it is `None`.",
        "this": "In Python the object is the first parameter of a method: `self`.",
        "NaN nan": "Use `float('nan')`; `math.nan` is the same (with `import math`).",
        "Infinity inf INF Inf infinity": "Use `float('inf')`; `math.inf` is the same (with `import math`).",
        "console": "In Python use `print(...)` instead of `console.log(...)`.",
        "echo puts printf println cout System display alert fprintf disp Console print_": "Use `print(...)`.",
        "JSON": {
            "import:json": "Use `json.dumps(value)` and `json.loads(text)` (with `import json`).",
            "": "Leave it out: the value itself is shown.",
        },
        "Math": {
            "import:math": "Use the module in small letters: `import math`, then `math.sqrt(x)`.",
            "": "Use operators and builtins: `abs`, `round`, `x ** 0.5`.",
        },
        "apply": "Call the function itself: `function(*arguments)`.",
        "xrange": "In Python 3 it is `range(...)`.",
        "unicode basestring": "In Python 3 it is `str`.",
        "long": "In Python 3 it is `int`.",
        "unichr": "In Python 3 it is `chr`.",
        "cmp": "In Python 3 write `(a > b) - (a < b)`, and sort with `key=`.",
        "reduce": {
            "import:functools": "In Python 3 it is `functools.reduce` (with `import functools`); for a sum use `sum(...)`.",
            "": "Use a loop, or `sum(...)`.",
        },
        "system": "There are no processes and no shell commands here: write it in Python.",
        "izip": "In Python 3 it is `zip(...)`.",
        "imap ifilter": "In Python 3 it is `map(...)` or `filter(...)`, without the `i`.",
        "Error Exeption Excpetion ArgumentError IllegalArgumentException IllegalArgumentError RuntimeException": "Raise `ValueError('why')` or `RuntimeError('why')`.",
        "parseInt": "Use `int(text)`.",
        "parseFloat": "Use `float(text)`.",
        "Number": "Use `float(text)` or `int(text)`.",
        "String strval toString to_string Str tostring": "Use `str(value)`.",
        "Array": "Use a list: `[1, 2, 3]`, or `[0] * n`.",
        "Object Map HashMap": "Use a dict: `{'key': value}`.",
        "Set": "Use the builtin `set()`.",
        "Date": {
            "import:datetime": "Use `datetime.date(2024, 1, 31)` (with `import datetime`).",
            "": "There is no clock here; use plain numbers.",
        },
        "array": "Use a list: `[1, 2, 3]`; of numpy it is `np.array(...)` (with `import numpy as np`).",
        "func function": "Define functions with `def`.",
        "typeof": "Use `type(x)` or `isinstance(x, str)`.",
        "instanceof isinstanceof is_instance isa": "Use `isinstance(x, Kind)`.",
        "var let const": "Assign directly: `x = 1`; there is no declaration.",
        "require": "Use `import module`.",
        "length size strlen": "Use `len(x)`.",
        "count": "Use `len(x)`, or `values.count(x)`.",
        "substr substring": "Use a slice: `text[start:stop]`.",
        "concat": "Use `+`, or `''.join(parts)`.",
        "mean average avg": "Use `sum(values) / len(values)`; `statistics.mean(values)` is the same (with `import statistics`).",
        "copyright credits license": "It is a notice of an interactive Python, which this policy leaves out: remove it.",
        "In Out": "There is no `In` and no `Out` here: the value of the last step is `_`; give a value a name to keep it.",
        "__ ___ _1": "The value of the last step is `_`; give a value a name to keep it.",
        "__file__": {
            "workspace": "A step without arguments has no file of its own; files of the workspace are named relative to it: `'data.csv'`.",
            "": "A step without arguments has no file of its own; leave it out.",
        },
        "isNaN isnan is_nan": "Use `x != x`, which is true for NaN alone; `math.isnan(x)` is the same (with `import math`).",
        "fetch axios XMLHttpRequest": {
            "tool:fetch": "There is no network here; call the host tool `{tool}(...)` to fetch data.",
            "": "There is no network here; put the data into the code as a literal.",
        },
        "document window localStorage process": "There is no browser and no Node.js here: keep the data in variables and print the result.",
        "Promise": {
            "import:asyncio": "Use `await asyncio.gather(*coroutines)` inside an `async def`.",
            "": "Call the functions one after the other.",
        },
        "intval toInt to_int Int toint Integer": "Use `int(value)`.",
        "floatval toFloat to_float Float Double tonumber": "Use `float(value)`.",
        "indexOf index_of": "Use `values.index(item)`, or `text.find(part)`.",
        "upper toUpperCase strtoupper": "Use the method of a text: `text.upper()`.",
        "lower toLowerCase strtolower": "Use the method of a text: `text.lower()`.",
        "split explode": "Use the method of a text: `text.split(separator)`.",
        "join implode": "Use the method of a text: `', '.join(parts)`.",
        "replace str_replace": "Use the method of a text: `text.replace(old, new)`.",
        "trim strip": "Use the method of a text: `text.strip()`.",
        "flatten": "Use `[x for part in nested for x in part]`; `itertools.chain.from_iterable(nested)` goes through the same (with `import itertools`).",
        "std stdev variance": {
            "import:statistics": "Use `statistics.stdev(values)` or `statistics.variance(values)` (with `import statistics`).",
            "": "Compute it from `sum((x - mean) ** 2 for x in values)`.",
        },
        "ln": {"import:math": "Use `math.log(x)` (with `import math`).", "": "Compute it without logarithms."},
    }
)
"""Names that are not defined, other than modules. Only used when nothing in the session's namespace is near."""

ORDINARY = by_name(
    {
        "length size count mean average avg array process document window display file system std stdev variance upper lower split explode join implode replace trim strip flatten concat long reload alert": True
    }
).keys()
"""Names of these that programs give to variables, too: a function of another language only where one is called."""

MEMBERS: dict[str, str] = {
    "Object.keys": "Use `mapping.keys()`, or loop over the dict itself: `for key in mapping:`.",
    "Object.values": "Use `mapping.values()`.",
    "Object.entries": "Use `mapping.items()`: `for key, value in mapping.items():`.",
    "Array.from": "Use `list(values)`.",
    "Array.isArray": "Use `isinstance(values, list)`.",
    "Number.parseFloat": "Use `float(text)`.",
    "Number.parseInt": "Use `int(text)`.",
    "Number.isInteger": "Use `isinstance(x, int)`, or `float(x).is_integer()`.",
    "Math.random": "Use `random.random()` (with `import random`).",
    "Math.PI": "Use `math.pi` (with `import math`).",
    "Math.E": "Use `math.e` (with `import math`).",
    "Date.now": "Use `time.time()` (with `import time`), or `datetime.datetime.now()`.",
}
"""Remedies for names with a member, where the member says more than the name."""

_MAKE_LIST = "Make a list of it first: `list({obj})`."
_READ_AS_DATE = "It is text: make a date of it first: `datetime.datetime.fromisoformat({obj})`."

_COLLECTION = {
    "isEmpty is_empty empty": "Use `not {obj}` or `len({obj}) == 0`.",
    "contains includes has exists has_key hasOwnProperty containsKey contains_key": "Use `in`: `item in {obj}`.",
    "count": "Use `len({obj})`, or `in`: `item in {obj}`.",
    "first": "Use `next(iter({obj}))`.",
    "forEach each foreach": "Use a loop: `for item in {obj}:`.",
    "map apply": "Use a comprehension: `[f(item) for item in {obj}]`.",
    "filter select where": "Use a comprehension: `[item for item in {obj} if ...]`.",
    "join implode": "Use the method of a text: `', '.join(map(str, {obj}))`.",
    "reduce": "Use `sum({obj})` or `functools.reduce(f, {obj})`.",
    "mean average avg": "Use `sum({obj}) / len({obj})`.",
    "median": "Use `statistics.median({obj})` (with `import statistics`).",
    "std stdev": "Use `statistics.stdev({obj})` (with `import statistics`).",
    "entries iteritems": "Use `enumerate({obj})`.",
    "some": "Use `any(... for item in {obj})`.",
    "every": "Use `all(... for item in {obj})`.",
    "equals equal eq": "Use `==`: `{obj} == other`.",
    "unique uniq distinct drop_duplicates": "Use `list(dict.fromkeys({obj}))`.",
    "value_counts counter": "Use `collections.Counter({obj})` (with `import collections`).",
    "shape": "Use `len({obj})`; an array of numpy has a shape, `np.array({obj}).shape`.",
    "reshape dtype": "Make an array of it first: `np.array({obj})` (with `import numpy as np`).",
    "describe columns groupby iterrows loc merge to_csv sort_values dropna fillna": "Make a DataFrame of it first, `pd.DataFrame({obj})` (with `import pandas as pd`).",
}
"""For whatever holds items."""
_SEQUENCE = {
    "first": "Use `{obj}[0]`.",
    "last peek top": "Use `{obj}[-1]`.",
    "head take": "Use `{obj}[:n]`.",
    "get at iloc loc nth elementAt charAt char_at get_char": "Use an index: `{obj}[i]`.",
    "slice substring substr splice": "Use a slice: `{obj}[start:stop]`.",
    "reverse reversed": "Use a slice: `{obj}[::-1]`.",
    "concat": "Use `+`: `{obj} + other`.",
    "repeat times": "Use `*`: `{obj} * n`.",
}
"""For what has positions, too."""
_TEXT = {
    "json items keys get values": "It is text: read it first with `json.loads({obj})` (with `import json`).",
    "charCodeAt codePointAt": "Use `ord({obj}[i])`.",
    "indexOf": "Use `{obj}.find(part)`, which is -1 if it is not there.",
    "match test": "Use `re.search(pattern, {obj})` (with `import re`).",
    "padEnd pad padding pad_right rpad padRight right_pad": "Use `{obj}.ljust(width)`.",
    "padStart pad_left padleft lpad leftpad padLeft left_pad": "Use `{obj}.rjust(width)`, or `{obj}.zfill(width)` for zeros.",
    "append push add extend": "Use `+`: `{obj} = {obj} + other`; strings cannot be changed in place.",
    "remove delete": "Use `{obj}.replace(part, '')`.",
    "readlines readline read": "It is a text already, no file: `{obj}.splitlines()` gives its lines.",
    "chars toCharArray toArray to_list tolist": "Use `list({obj})`, or loop over it: `for letter in {obj}:`.",
    "decode": "It is text already; `decode` is a method of bytes.",
    "strftime year month day": _READ_AS_DATE,
}
_LIST = {
    "sorted": "Use `sorted({obj})`.",
    "appendleft unshift prepend": "Use `{obj}.insert(0, item)`, or `collections.deque`.",
    "popleft shift": "Use `{obj}.pop(0)`, or `collections.deque`.",
    "find": "Use `{obj}.index(item)`, or `next(x for x in {obj} if ...)`.",
    "flat flatten flatMap": "Use a comprehension: `[y for x in {obj} for y in x]`.",
    "delete": "Use `del {obj}[i]` or `{obj}.remove(item)`.",
    "items": "It is a list: use `enumerate({obj})` for positions and items.",
    "keys": "It is a list: use `range(len({obj}))`.",
    "set put": "Assign it: `{obj}[i] = value`.",
    "push_back pushBack add_item addItem": "Use `{obj}.append(item)`.",
    "removeAt remove_at": "Use `del {obj}[i]`, or `{obj}.pop(i)`.",
}
_DICT = {
    "itervalues": "Use `{obj}.values()`.",
    "iteritems entries": "Use `{obj}.items()`.",
    "forEach each": "Use a loop: `for key, value in {obj}.items():`.",
    "map filter": "Use a comprehension: `{k: f(v) for k, v in {obj}.items() if ...}`.",
    "add_key add put set insert append push": "Assign it: `{obj}[key] = value`.",
    "getOrDefault get_or_default": "Use `{obj}.get(key, default)`.",
    "merge": "Use `{**{obj}, **other}` or `{obj} | other`.",
    "remove delete": "Use `del {obj}[key]` or `{obj}.pop(key, None)`.",
    "sort sorted": "Use `dict(sorted({obj}.items()))`.",
    "sort_values": "Use `dict(sorted({obj}.items(), key=lambda pair: pair[1]))`.",
}
_COUNTER = {
    "add append": "Use `{obj}[item] += 1`.",
    "count": "Use `{obj}[item]`, or `{obj}.total()` for all.",
    "max highest most_frequent top mostCommon sort sorted": "Use `{obj}.most_common(n)`.",
}
_TUPLE = {
    "append push add extend insert remove pop clear sort reverse": "A tuple cannot be changed; make a list of it first: `items = list({obj})`.",
    "savefig plot bar hist scatter set_title set_xlabel set_ylabel suptitle tight_layout legend": "`plt.subplots()` gives a pair: write `fig, ax = plt.subplots()`.",
}
_FROZENSET = {
    "append push insert extend addAll delete add update remove discard": "A frozenset cannot be changed: make a new one, `{obj} | {item}` or `{obj} - {item}`."
}
_DEQUE = {"pop_front popfront popFront dequeue shift poll get": "Use `{obj}.popleft()`."}
_SET = {"addAll extend": "Use `{obj}.update(items)`.", "insert": "Use `{obj}.add(item)`."}
_RANGE = {"append remove pop extend insert sort shuffle": _MAKE_LIST}
_ITERATORS = "dict_keys dict_values dict_items map filter zip generator enumerate list_iterator reversed"
_ITERATOR = {
    "sort append index reverse pop remove extend count copy insert map filter tolist len length sorted join shape get size first": _MAKE_LIST,
    "has_next": "Loop over it with `for`.",
}
_REAL = {
    "toFixed to_fixed setScale format quantize": "Use `round({obj}, 2)`, or `f'{{obj}:.2f}'` for a text.",
    "pow power": "Use `{obj} ** n`.",
    "isNaN is_nan": "Use `math.isnan({obj})` (with `import math`).",
    "to_i intValue": "Use `int({obj})`.",
}
"""For numbers that have an order."""
_NUMBER = {
    "length len": "A number has no length; use `len(str({obj}))` for its digits.",
    "isdigit isnumeric toNumber total_seconds seconds item tolist": "It is a number already; use it as it is.",
    "append extend add push": "It is a number, not a list: make a list first, `values = [{obj}]`, and use `values.append(item)`.",
    "mean sum max min std sort shape": "It is one number, not a list: use it as it is, or put the numbers into a list.",
}
_COMPLEX = {
    "pow": "Use `{obj} ** n`.",
    "magnitude modulus norm mod r": "Use `abs({obj})`.",
    "phase angle arg argument theta": "Use `cmath.phase({obj})` (with `import cmath`).",
}
_FRACTION = {"simplify reduce normalize lowest_terms": "A Fraction is always in lowest terms: use it as it is."}
_DATE = {
    "add_days plus_days plusDays add_day plus shift offset add addDays": "Add a `timedelta`: `{obj} + timedelta(days=1)` (with `from datetime import timedelta`).",
    "add_months addMonths plus_months": "Use `{obj}.replace(month=...)`, or add a `timedelta(days=30)`.",
    "toString to_str to_string as_string format toISOString isoFormat": "Use `{obj}.strftime('%Y-%m-%d')` or `{obj}.isoformat()`.",
    "day_name dayName weekday_name": "Use `{obj}.strftime('%A')`.",
    "month_name monthName": "Use `{obj}.strftime('%B')`.",
    "week isoweek week_of_year weekofyear week_number": "Use `{obj}.isocalendar().week`.",
    "hour": "A date has no time; use `datetime.datetime`.",
    "day_of_week dayOfWeek dayofweek getDay": "Use `{obj}.weekday()`, which counts from Monday as 0.",
    "diff difference subtract days_between": "Subtract the dates: `({obj} - other).days`.",
}
_DURATION = {
    "hours minutes total_hours total_minutes months years": "Use `{obj}.total_seconds() / 3600` for hours, `/ 60` for minutes; `{obj}.days` are its days."
}


def _of(kind: type, *tables: dict[str, str]) -> dict[str, str]:
    """Return the rows of the tables for what a type does not have, those of later ones first."""
    return {name: text for table in tables for name, text in by_name(table).items() if not hasattr(kind, name)}


ATTRIBUTES: dict[str, dict[str, str]] = {
    "str": _of(str, _COLLECTION, _SEQUENCE, _TEXT),
    "bytes": _of(bytes, _COLLECTION, _SEQUENCE),
    "list": _of(list, _COLLECTION, _SEQUENCE, _LIST),
    "tuple": _of(tuple, _COLLECTION, _SEQUENCE, _TUPLE),
    "range": _of(range, _COLLECTION, _SEQUENCE, _RANGE),
    "deque": _of(deque, _COLLECTION, _SEQUENCE, _DEQUE),
    **dict.fromkeys(("dict", "defaultdict", "OrderedDict"), _of(dict, _COLLECTION, _DICT)),
    "Counter": _of(Counter, _COLLECTION, _DICT, _COUNTER),
    "set": _of(set, _COLLECTION, _SET),
    "frozenset": _of(frozenset, _COLLECTION, _FROZENSET),
    "int": _of(int, _REAL, _NUMBER),
    "float": _of(float, _REAL, _NUMBER),
    "Fraction": _of(Fraction, _REAL, _FRACTION),
    "Decimal": _of(Decimal, _REAL),
    "complex": _of(complex, _COMPLEX),
    "date": _of(date, _DATE),
    "datetime": _of(datetime, _DATE),
    "timedelta": _of(timedelta, _DURATION),
    "Match": {"text": "Use `{obj}.group()`."},
    **dict.fromkeys(_ITERATORS.split(), by_name(_ITERATOR)),
}
"""Type name → attribute of another language or type → what to write; ``{obj}`` is the object's own source text."""

CLASSES: dict[str, str] = by_name(
    {
        "datetime.parse datetime.from_string": "Use `datetime.strptime(text, '%Y-%m-%d')`, or `datetime.fromisoformat(text)`.",
        "date.strptime": "Use `datetime.datetime.strptime(text, '%Y-%m-%d').date()`, or `date.fromisoformat(text)`.",
        "date.now": "Use `date.today()`.",
    }
)
"""Class and attribute → what to write; for names that are asked of a class instead of its module or an instance."""
