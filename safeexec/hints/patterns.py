# ruff: noqa: E501 (a table of sentences)
"""Hints that follow from the message of an exception alone: pattern → sentence, by kind of exception.

``{1}`` is the first group of the pattern, ``{expr}`` the source text of the failing expression, ``{left}``, ``{right}``
the operands of a failing operator, ``{obj}`` the object whose method or item failed, and ``{arg}`` the first argument of
a failing call. Messages are those of CPython 3.11 to 3.13, numpy 2, pandas 2 and 3, scikit-learn 1.5 to 1.9.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from safeexec.hints.matching import needles

if TYPE_CHECKING:
    from safeexec.hints.failure import Failure

_Table = tuple[tuple[str, str], ...]

PATTERNS: dict[str, _Table] = {
    "TypeError": (
        # texts and numbers
        (r"can only concatenate str \(not \"(?:bytes|bytearray)\"\) to str", "Decode the bytes first: `{right}.decode('utf-8')`."),
        (r"can only concatenate str \(not \"(list|dict|tuple|set)\"\) to str", "Turn it into text first: `str({right})`, or use an f-string: `f'... {{{right}}}'`."),
        (r"can only concatenate str \(not \"([\w.]+)\"\) to str", "Turn the value into text with `str({right})`, or use an f-string: `f'... {{{right}}}'`."),
        (r"can only concatenate list \(not \"(tuple|set|range|dict_keys|dict_values|map|filter)\"\)", "Make a list of it first: `{left} + list({right})`."),
        (r"can only concatenate list", "Put the item into a list, `{left} + [{right}]`, or use `{left}.append({right})`."),
        (r"can only concatenate tuple", "Make a tuple of it first: `{left} + ({right},)`, or `tuple({right})` for a list."),
        (r"unsupported operand type\(s\) for \+=?: '(int|float)' and 'str'", "Turn the text into a number with `int({right})` or `float({right})`, or the number into text with `str({left})`."),
        (r"unsupported operand type\(s\) for \+=?: '(int|float)' and '(list|tuple)'", "A number and a list cannot be added: use `sum(values)`, or a comprehension for each item."),
        (r"unsupported operand type\(s\) for [-/]=?: 'str' and '(int|float|str)'", "Turn the text into a number first: `float({left})`."),
        (r"unsupported operand type\(s\) for \+=?: '(?!int|float|complex|list|tuple|dict|set|NoneType|type|function|method|builtin|(?:decimal\.)?Decimal|Fraction|(?:datetime\.)?date|(?:datetime\.)?time)[\w.]+' and 'str'", "Turn the value into text first: `str({left})`, or use an f-string."),
        (r"unsupported operand type\(s\) for [-*/+%]+=?: '\w+' and 'str'", "Turn the text into a number first: `float({right})`."),
        (r"unsupported operand type\(s\) for [^:]+: 'str' and", "Turn the text into a number first: `float({left})`."),
        (r"unsupported operand type\(s\) for [^:]+: '(?:decimal\.)?Decimal' and 'float'", "Make both Decimals: `Decimal('1.2')` for a constant, `Decimal(str({right}))` for a variable."),
        (r"unsupported operand type\(s\) for [^:]+: 'float' and '(?:decimal\.)?Decimal'", "Make both Decimals: `Decimal('1.2')` for a constant, `Decimal(str({left}))` for a variable."),
        (r"unsupported operand type\(s\) for [^:]+: '(?:decimal\.)?Decimal' and 'Fraction'|'Fraction' and '(?:decimal\.)?Decimal'", "Make both of one kind: `Fraction(x)` takes a Decimal."),
        (r"unsupported operand type\(s\) for \+: 'dict' and 'dict'", "Merge dicts with `{left} | {right}`."),
        (r"unsupported operand type\(s\) for \+: 'set' and 'set'", "Join sets with `{left} | {right}`."),
        (r"unsupported operand type\(s\) for -: 'list' and 'list'", "Use a comprehension: `[x for x in {left} if x not in {right}]`; for the differences of the items `[a - b for a, b in zip({left}, {right})]`."),
        (r"unsupported operand type\(s\) for [^:]+: '(list|tuple|range)' and '(?:int|float)'", "A {1} does not compute item by item: use a comprehension, `[x * 2 for x in {left}]`, or a numpy array if numpy is there."),
        (r"unsupported operand type\(s\) for [^:]+: '(?:int|float)' and '(list|tuple|range)'", "A {1} does not compute item by item: use a comprehension, `[2 * x for x in {right}]`, or a numpy array if numpy is there."),
        (r"unsupported operand type\(s\) for [^:]+: '(list|tuple)' and '(?:list|tuple)'", "Lists do not compute item by item: use `[a * b for a, b in zip({left}, {right})]`, or numpy arrays if numpy is there."),
        (r"unsupported operand type\(s\) for [^:]+: '(map|filter|zip|generator|range|dict_keys|dict_values|dict_items|odict_keys)'", "Make a list of it first: `list({left})`."),
        (r"unsupported operand type\(s\) for \+: '(?:datetime\.)?(date|datetime)' and 'int'", "Add a timedelta: `{left} + datetime.timedelta(days={right})`."),
        (r"unsupported operand type\(s\) for [-+]: '(?:datetime\.)?(date|datetime)' and 'int'", "Use a timedelta: `{left} - datetime.timedelta(days={right})`."),
        (r"unsupported operand type\(s\) for -: '(?:datetime\.)?(date|datetime)(?:\.date|\.datetime)?' and '(?:datetime\.)?(date|datetime)", "Both must be dates or both datetimes: use `.date()` of the datetime."),
        (r"unsupported operand type\(s\) for \+: '(?:datetime\.)?\w+' and '(?:datetime\.)?\w+'.*date", "Two dates cannot be added: subtract them, or add a `timedelta`."),
        (r"unsupported operand type\(s\) for \|: 'dict' and|unsupported operand type\(s\) for \|: 'list'", "Use `{**a, **b}` for dicts, `+` for lists and `set(...)` on both for sets."),
        (r"unsupported operand type\(s\) for \^: (?:'float'|'int' and 'float')", "Powers are written `**` in Python: `{left} ** {right}`."),
        (r"unsupported operand type\(s\) for [-+]=?: '(?:datetime\.)?(?:date|datetime)(?:\.date|\.datetime)?' and 'str'", "Make a date of the text first: `datetime.datetime.fromisoformat({right})`, or `strptime` with its format."),
        (r"unsupported operand type\(s\) for [-+]=?: 'str' and '(?:datetime\.)?(?:date|datetime)(?:\.date|\.datetime)?'", "Make a date of the text first, `datetime.datetime.fromisoformat({left})`; to join texts use `str({right})`."),
        (r"unsupported operand type\(s\) for [^:]+: '_asyncio\.(?:Task|Future)'|unsupported operand type\(s\) for [^:]+: '[\w.]+' and '_asyncio\.(?:Task|Future)'", "A task has its result when it is awaited: write `await task`."),
        (r"unsupported operand type\(s\) for [|&]=?: '(?:float|int)' and '(?:float|int)'", "Bits need whole numbers: use `int(x)`; `//` divides to a whole number, and conditions are joined with `and`, `or`."),
        (r"Cannot perform 'r?(?:and|or)_' with a dtyped", "Put parentheses around each comparison: `df[(df['a'] > 2) & (df['b'] < 4)]`."),
        (r"Cannot convert expression to float|Cannot convert complex to float", "The expression still has symbols: give them values, `expr.subs(x, 2)`, or use sympy's own function, `sp.sin(x)`."),
        (r"loop of ufunc does not support argument 0 of type (?:Symbol|Add|Mul|Pow|Float|Integer|Rational|One|Zero|Pi)", "Use sympy's own function for symbols, `sp.sin(x)`, or `sp.lambdify(x, expr)` to compute with arrays."),
        (r"cannot unpack non-iterable Symbol object", "Name as many symbols as there are variables: `x, y = sp.symbols('x y')`."),
        (r"cannot determine truth value of Relational", "The comparison still has symbols: give them values first, `expr.subs(x, 3)`, or solve it with `sp.solve`."),
        (r"sequence index must be integer, not 'slice'", "A deque has no slices: use `list({obj})[a:b]`, or `itertools.islice({obj}, n)`."),
        (r"(zip_longest|product|deque|pairwise)\(\) got an unexpected keyword argument", "`zip_longest` takes `fillvalue=`, `product` takes `repeat=`: leave others out."),
        (r"unsupported operand type\(s\) for >>: 'builtin_function_or_method'", "In Python 3 write `print(..., file=...)`."),
        (r"unsupported operand type\(s\) for [^:]+: '([\w.]+)' and '([\w.]+)'", "An operand is of the wrong type (`{1}` and `{2}`): convert one of them, or define the operator's method in the class."),
        (r"unsupported operand type\(s\) for (?:\*\* or pow|%)", "Convert the operands to numbers first: `float(x)`."),
        (r"can't multiply sequence by non-int of type 'float'", "A text or list is repeated by a whole number only: convert text with `float(...)` to compute, or use `int(...)` to repeat."),
        (r"can't multiply sequence by non-int of type '(str|list|tuple)'", "Turn the texts into numbers first, `float(text)` or `int(text)`, or use a comprehension: `[a * b for a, b in zip(x, y)]`."),
        (r"'[<>]=?' not supported between instances of 'complex' and|'[<>]=?' not supported between instances of '\w+' and 'complex'", "Complex numbers have no order: compare `abs(z)`, or `z.real`."),
        (r"bad operand type for unary [-+~]: 'str'", "Turn the text into a number first: `float(x)`."),
        (r"bad operand type for unary [-+~]: '(list|tuple)'", "Use a comprehension: `[-x for x in values]`; to sort the other way round use `reverse=True`."),
        (r"bad operand type for abs\(\): '(list|tuple|str)'", "Take it of each item: `[abs(x) for x in values]`; turn text into a number with `float(x)`."),
        (r"bad operand type for unary", "Convert the value to a number first, or define the operator's method (`__neg__`) in the class."),
        (r"unorderable types|'[<>]=?' not supported between instances of 'str' and '(int|float)'", "Turn the text into a number before comparing: `float({left})`."),
        (r"'[<>]=?' not supported between instances of '(int|float)' and 'str'", "Turn the text into a number before comparing, `float({right})`, or sort by one kind with `key=str`."),
        (r"'[<>]=?' not supported between instances of '(NoneType)' and|'[<>]=?' not supported between instances of '\w+' and 'NoneType'", "One of the values is None: leave it out first, `[x for x in values if x is not None]`."),
        (r"'[<>]=?' not supported between instances of 'dict' and 'dict'", "Say what to sort by: `key=lambda item: item['name']`."),
        (r"'[<>]=?' not supported between instances of 'list' and 'int'|'[<>]=?' not supported between instances of 'int' and 'list'", "Compare each item: `[x > 3 for x in values]`, or use `max(values)`, `len(values)`."),
        (r"'[<>]=?' not supported between instances of '(?:datetime\.)?(?:date|datetime|Timestamp)", "Make both the same kind: text with `datetime.date.fromisoformat(text)`, a datetime with `.date()`."),
        (r"'[<>]=?' not supported between instances of '(\w+)' and '\1'", "Say what to compare by, `key=lambda item: item.name`, or define `__lt__` in the class `{1}` (`@dataclass(order=True)` does)."),
        (r"'[<>]=?' not supported between instances of '(\w+)' and '(\w+)'", "A `{1}` and a `{2}` have no order: convert them to one type, or sort with `key=`."),
        (r"can't compare datetime.datetime to datetime.date", "Compare dates with dates: use `.date()` of the datetime."),
        (r"can't (?:compare|subtract) offset-naive and offset-aware datetimes", "Give both a time zone, `dt.replace(tzinfo=datetime.timezone.utc)`, or none."),
        (r"must be real number, not (?:Series|DataFrame|ndarray|Index)", "The functions of `math` take one number: use numpy's own (`np.sqrt(a)`, `np.exp(a)`) for a column or an array."),
        (r"must be real number, not complex", "Use `cmath` for complex numbers, or take `z.real` or `abs(z)`."),
        (r"must be real number, not str|must be real number, not (list|tuple)|must be real number, not (\w+)", "Convert it to a number first: `float({arg})`; for a list take each item, `[f(x) for x in values]`."),
        (r"only (?:length-1|0-dimensional|size-1) arrays can be converted to Python scalars|only length-1 arrays", "The functions of `math` take one number: use numpy's own (`np.sqrt(a)`, `np.exp(a)`) for an array."),
        (r"cannot convert the series to", "The functions of `math` and `float(...)` take one number: use numpy's own (`np.log(series)`) or `.astype(float)`."),
        (r"'(float|Decimal|numpy\.float64)' object cannot be interpreted as an integer", "Use a whole number: `int(...)`, or `//` instead of `/`."),
        (r"'str' object cannot be interpreted as an integer", "Turn the text into a number first: `int({arg})`."),
        (r"'(list|tuple|dict|set)' object cannot be interpreted as an integer", "Use its length, `range(len({arg}))`, or loop over it directly: `for item in {arg}:`."),
        (r"slice indices must be integers", "Use whole numbers in slices: `n // 2` instead of `n / 2`."),
        (r"(list|tuple|str|string|range object|byte) ?ind(?:ices|ex) must be integers(?: or slices)?, not '?float", "Use a whole number: `//` instead of `/`, or `int(...)`."),
        (r"list indices must be integers or slices, not tuple", "A list of lists takes two pairs of brackets, `{obj}[i][j]`; for `[i, j]` make a numpy array of it. A missing comma between two lists looks the same."),
        (r"tuple indices must be integers or slices, not str", "A tuple has positions, not names: take `{obj}[0]`, or unpack it, `a, b = {obj}`."),
        (r"list indices must be integers or slices, not str", "It is a list: take an item first, `{obj}[0]['key']`, or loop over it, `for item in {obj}:`."),
        (r"list indices must be integers or slices, not (\w+)", "Use a whole number as index; for positions in a loop use `for i, item in enumerate({obj}):`."),
        (r"string ind(?:ices|ex) must be integers", "It is a text, not a dict: read it first with `json.loads(text)`; a loop over a dict gives its keys, `.items()` gives keys and values."),
        (r"'(?:type|ABCMeta|EnumType)' object is not subscriptable", "Call the class with parentheses: `Kind(...)`."),
        (r"'(dict_keys|dict_values|dict_items|map|filter|zip|generator|set|frozenset|enumerate|reversed|odict_keys|range_iterator|list_iterator|itertools\.\w+)' object is not subscriptable", "It has no positions: make a list of it first, `list({obj})[0]`, or use `next(iter({obj}))`."),
        (r"'(int|float|bool|numpy\.float64|numpy\.int64)' object is not subscriptable", "`{obj}` is one number, not a list: use it as it is, or take the item from the list that it comes from; its digits are `str({obj})[0]`."),
        (r"'(\w+)' object is not subscriptable", "Use the attributes of `{obj}` by their names, `{obj}.name`, or define `__getitem__` in the class."),
        (r"'(int)' object is not iterable", "Loop over `range({iter})`; a single number becomes a list with `[{iter}]`."),
        (r"'(float|bool|numpy\.float64|numpy\.int64)' object is not iterable", "It is one number, not a list: use it as it is, or put it into a list, `[x]`."),
        (r"cannot unpack non-iterable (int|float|bool)", "There is one value on the right, not several: for pairs loop over `.items()`, `enumerate(...)` or `zip(...)`."),
        (r"cannot unpack non-iterable (\w+) object", "The value on the right is one object: take its parts by name, or return a tuple."),
        (r"'(type|EnumType)' object is not iterable", "It is a class: call it first, or list its members yourself."),
        (r"'async_generator' object is not iterable", "Use `async for` inside an `async def`; a list is `[x async for x in generator]`."),
        (r"'(\w+)' object is not iterable", "Loop over a list in it, or define `__iter__` in the class `{1}`."),
        (r"'(\w+)' object is not an iterator", "Make one first: `iterator = iter(values)`, then `next(iterator)`."),
        (r"'async for' requires an object with __aiter__", "Use a plain `for` instead of `async for`, or an `async def` generator."),
        (r"'(Lock|Semaphore|BoundedSemaphore|Condition|TaskGroup|Timeout|AsyncExitStack|_AsyncGeneratorContextManager|aclosing)' object does not support the context manager protocol", "Use `async with` inside an `async def`."),
        (r"'(\w+)' object does not support the asynchronous context manager protocol", "Use a plain `with` instead of `async with`, or define `__aenter__` and `__aexit__` (or use `contextlib.asynccontextmanager`)."),
        (r"'(?:coroutine|async_generator)' object does not support the (?:asynchronous )?context manager protocol", "Use `async with` for an asynchronous one, and `await` for a coroutine."),
        (r"'(\w+)' object does not support the context manager protocol", "It needs no `with`: use it directly, or define `__enter__` and `__exit__` (or use `contextlib.contextmanager`)."),
        (r"'(str)' object does not support item (?:assignment|deletion)", "A string cannot be changed: make a new one, `text[:i] + new + text[i + 1:]`, or `text.replace(old, new)`."),
        (r"'(tuple)' object does not support item (?:assignment|deletion)", "A tuple cannot be changed: make a list of it, `items = list({obj})`."),
        (r"'(set|frozenset|dict_keys|range|bytes|generator|map)' object does not support item (?:assignment|deletion)", "Make a list of it first: `items = list(values)`."),
        (r"'(\w+)' object does not support item assignment", "Set an attribute, `obj.name = value`, or use a dict or list; `__setitem__` in the class allows it."),
        (r"object of type '(generator|map|filter|zip|enumerate|reversed|itertools\.\w+)' has no len\(\)", "Make a list of it first: `len(list({arg}))`."),
        (r"object of type '(int|float|bool)' has no len\(\)", "It is one number, not a list; the number of its digits is `len(str({arg}))`."),
        (r"object of type '(type|function|method)' has no len\(\)", "Call it first: `len({arg}(...))`."),
        (r"object of type '(\w+)' has no len\(\)", "Take the length of a list in it, or define `__len__` in the class `{1}`."),
        (r"len\(\) of unsized object", "The array has no axis: use `a.size`, or `np.atleast_1d(a)`."),
        (r"unhashable type: '(list|numpy\.ndarray)'", "A {1} cannot be a key or a member of a set: use a tuple, `tuple(values)`."),
        (r"unhashable type: 'dict'", "A dict cannot be a key or a member of a set: use one of its values, or `tuple(sorted(d.items()))`."),
        (r"unhashable type: 'set'", "A set cannot be a key or a member of a set: use `frozenset(values)`."),
        (r"unhashable type: 'slice'", "A dict has no slices: use `list(d.items())[:n]`; rows of a DataFrame are `df.iloc[a:b]`, columns `df[['a', 'b']]`."),
        (r"unhashable type: '(Series|DataFrame|Index)'", "Use one value of it, or `tuple(values)`; for unique values use `.unique()` or `.drop_duplicates()`."),
        (r"unhashable type: '(\w+)'", "A class that defines `__eq__` needs `__hash__` too: define it, or use `@dataclass(frozen=True)`."),
        (r"Object of type (date|datetime|Timestamp|time) is not JSON serializable", "Use `json.dumps(value, default=str)`, or `.isoformat()` for the dates."),
        (r"Object of type (int64|int32|float32|float64|bool|bool_|int_) is not JSON serializable", "Use `json.dumps(value, default=float)`, or make plain numbers of them: `int(x)`, `float(x)`, `x.item()`."),
        (r"Object of type ndarray is not JSON serializable", "Use `a.tolist()`."),
        (r"Object of type (set|frozenset|generator|map|dict_keys|dict_values|range|deque) is not JSON serializable", "Make a list of it first: `list(values)`, or `sorted(values)` for a set."),
        (r"Object of type DataFrame is not JSON serializable", "Use `df.to_dict(orient='records')`, or `df.to_json()`."),
        (r"Object of type Series is not JSON serializable", "Use `series.tolist()` or `series.to_dict()`."),
        (r"Object of type (Decimal|Fraction|complex|UUID|PosixPath|PurePosixPath|Path) is not JSON serializable", "Use `json.dumps(value, default=str)`."),
        (r"Object of type bytes is not JSON serializable", "Decode it first: `data.decode('utf-8')`."),
        (r"Object of type (\w+) is not JSON serializable", "Say how it becomes plain data: `json.dumps(value, default=str)` or `default=lambda o: o.name`, `dataclasses.asdict(o)` for a dataclass."),
        (r"keys must be str, int, float, bool or None", "Make the keys text first: `{str(k): v for k, v in d.items()}`."),
        (r"the JSON object must be str, bytes or bytearray, not (dict|list)", "It is read already: use it as it is, or write it with `json.dumps(value)`."),
        (r"the JSON object must be str, bytes or bytearray, not (\w+)", "Give `json.loads` a text; for a file use `json.load(file)`."),
        (r"sequence item \d+: expected str instance, (\w+) found", "Turn the items into texts first: `', '.join(str(x) for x in values)`, or `map(str, values)`."),
        (r"can only join an iterable", "Give `join` a list of texts: `', '.join(map(str, values))`."),
        (r"expected string or bytes-like object(?:, got '(\w+)')?", "Give the function a text: `str(value)`; to search in a list loop over its items."),
        (r"a bytes-like object is required, not 'str'", "Encode the text first, `text.encode('utf-8')`, or decode the bytes, `data.decode('utf-8')`."),
        (r"(?:can't concat str to bytes|can only concatenate str \(not \"bytes\"\))", "Decode the bytes first: `data.decode('utf-8')`."),
        (r"[Ss]trings must be encoded before hashing", "Encode the text first: `hashlib.sha256(text.encode('utf-8'))`."),
        (r"write\(\) argument must be str, not (bytes)", "Open the file with mode `'wb'` for bytes, or decode them first."),
        (r"write\(\) argument must be str, not (\w+)", "Turn it into text first: `f.write(str(value))`, or `json.dump(value, f)` for data."),
        (r"string argument expected, got 'bytes'", "Use `io.BytesIO(data)` for bytes, or decode them first."),
        (r"not all arguments converted during string formatting", "Use an f-string: `f'{value}'`; for the remainder of a number in a text convert it first, `int(text) % 2`."),
        (r"not enough arguments for format string", "Use an f-string, `f'{a} {b}'`, or give all values in one tuple: `'%s %s' % (a, b)`."),
        (r"%[a-zA-Z] format: a (?:real )?number is required, not str|%d format", "Convert the text first, `int(text)`, or use an f-string."),
        (r"unsupported format string passed to (\w+)\.__format__", "Format a single number or text, `f'{float(x):.2f}'`; a {1} is formatted with `f'{x!s:>10}'`."),
        (r"Unknown format code", "Use `f'{float(x):.2f}'` for numbers and `f'{text:>10}'` for text."),
        (r"(?:int|float)\(\) argument must be a string.*, not '(list|tuple|set|map|filter)'", "Convert each item: `[float(x) for x in values]`."),
        (r"(?:int|float)\(\) argument must be a string.*, not '?complex'?|can't convert complex to (?:int|float)", "Take a part of it: `z.real`, `z.imag` or `abs(z)`."),
        (r"(?:int|float)\(\) argument must be a string.*, not '(dict|Series|DataFrame)'", "Convert one value of it, for example `float(d['key'])`; a column is converted with `.astype(float)`."),
        (r"(?:int|float)\(\) argument must be a string.*, not '(\w+)'", "Convert a text or number: `float(str(x))`, or take the value out of the object first."),
        (r"int\(\) can't convert non-string with explicit base", "A base needs text: `int(str(x), 2)`; for the digits of a number use `bin(x)` or `format(x, 'b')`."),
        (r"type (\w+) doesn't define __round__ method", "Convert it to a number first: `round(float(x), 2)`; for a list round each item."),
        (r"conversion from (\w+) to Decimal is not supported", "Use `Decimal(str(x))`."),
        (r"both arguments should be Rational instances|argument should be a string or a (?:Rational|number)", "Use whole numbers or text: `Fraction(1, 3)`, `Fraction('0.25')`, `Fraction(x).limit_denominator()`."),
        (r"exceptions must derive from BaseException", "Raise an exception: `raise ValueError('why')`."),
        (r"catching classes that do not inherit from BaseException", "Name exception classes after `except`: `except (ValueError, TypeError):`."),
        (r"Can't instantiate abstract class (\w+) .*?abstract methods? '?([\w', ]+?)'?$", "Implement `{2}` in a subclass and make an instance of that."),
        (r"descriptor '(\w+)' (?:for|requires) .* (?:but received|doesn't apply)", "Call the method on an instance of the class: `value.{1}(...)`."),
        (r"super\(type, obj\)|super\(\): no arguments|super\(\): __class__ cell", "Use `super().method(...)` inside a method of the class."),
        (r"__init__\(\) should return None", "Remove the `return` value from `__init__`."),
        (r"non-default argument '(\w+)' follows default argument", "Put the fields without a default before those with one, or use `kw_only=True`."),
        (r"metaclass conflict|duplicate base class|Cannot create a consistent method resolution", "List the base classes from the most special to the most general, each once."),
        (r"cannot create '(\w+)' instances|type '(\w+)' is not an acceptable base type", "Write a class of your own that holds such a value."),
        (r"cannot convert dictionary update sequence|dictionary update sequence element", "Give pairs: `dict([('a', 1), ('b', 2)])`, or `dict(zip(keys, values))`."),
        (r"cannot use a (?:string|bytes) pattern on", "Use text for both the pattern and the text: decode bytes with `.decode('utf-8')`."),
        (r"first argument must be callable", "Give a function or class first: `defaultdict(int)`, `defaultdict(list)` or `defaultdict(lambda: 0)`, without a value or parentheses."),
        (r"first argument must be string or compiled pattern", "Give the pattern first: `re.sub(pattern, replacement, text)`."),
        (r"decoding to str: need a bytes-like object, (\w+) found", "Give a text there: `str(value)`."),
        (r"ord\(\) expected (?:a character, but string of length|string of length 1, but string)|ord\(\) expected a character, but", "`ord` takes one character: `[ord(c) for c in text]`."),
        (r"ord\(\) expected string of length 1, but (\w+) found", "`ord` takes a character; of a number `chr(n)` makes one."),
        (r"(\w+)\(\) accepts (\d+) positional sub-patterns? \((\d+) given\)", "`{1}(...)` takes {2} positional pattern in a `case`: name the attributes, `case {1}(name=x):`, or set `__match_args__` in the class."),
        (r"Must provide 'func' or tuples of", "Name each aggregation with a pair: `.agg(total=('column', 'sum'))`."),
        (r"Cannot specify both 'mapper' and any of", "Say which axis: `df.rename(columns={'old': 'new'})`."),
        (r"Cannot index by location index with a non-integer key", "`.iloc` takes positions: for names use `.loc[row, 'column']`, or `df['column']`."),
        (r"expected x and y to have same length", "Give as many x as y values, of the same length."),
        (r"operation 'add' not supported for dtype '(?:str|string|object)' with dtype '(?:u?int|float|bool)\d*'|operation 'add' not supported for dtype '(?:u?int|float|bool)\d*' with dtype '(?:str|string|object)'", "Make texts of the numbers first, `df['n'].astype(str)`, or numbers of the texts, `pd.to_numeric(column)`."),
        (r"the first argument must be callable", "Give the function first: `partial(function, ...)`, `defaultdict(list)` without parentheses after `list`."),
        (r"object async_generator can't be used in 'await' expression|'async_generator' object can't be awaited", "Loop over it with `async for`, or make a list: `[x async for x in generator]`."),
        (r"'(\w+)' object cannot be used in 'await' expression|object (\w+) can't be used in 'await' expression", "It is no coroutine: remove the `await`."),
        (r"a coroutine was expected, got <function|An asyncio.Future, a coroutine or an awaitable is required|a coroutine was expected", "Call the function: `asyncio.run(main())`, with the parentheses of `main()`; give `gather` coroutines: `asyncio.gather(f(1), f(2))`."),
        (r"'?(\w+)'? object is not awaitable", "It is no coroutine: remove the `await`."),
        (r"Population must be a sequence", "Give `random.sample` a list: `random.sample(sorted(values), k)` for a set."),
        (r"'mappingproxy' object|'type' object does not support item assignment", "Change an instance or a dict of your own instead of the class."),
        (r"heap argument must be a list", "Give `heapq` a plain list: `heap = list(values); heapq.heapify(heap)`."),
        (r"pattern must be|unknown flag", "Use `re.IGNORECASE` as `flags=`."),
        (r"cannot pickle", "Keep the object in a variable instead; copy data with `list(...)` or `dict(...)`."),
        (r"cannot assign to field|cannot delete field|FrozenInstance", "Make a changed copy: `dataclasses.replace(obj, name=value)`."),
        (r"'(\w+)' object is not a mapping|argument after \*\* must be a mapping", "Give a dict after `**`."),
        (r"argument after \* must be an iterable", "Give a list or tuple after `*`."),
        (r"memoryview|'(\w+)' does not support the buffer", "Use `bytes(values)` or a list."),
        # numpy and pandas
        (r"(\w+)\(\) argument (\d+) must be (list|int|float|dict|bytes|set|tuple|date|datetime|function|callable)\b(?:[\w, ]*), not (\w+)", "Argument {2} of `{1}` must be of type `{3}`, not `{4}`: check the order of the arguments, or convert it."),
        (r"operation '\w+' not supported for dtype 'str'", "The column holds texts: convert it first, `pd.to_datetime(column)` or `pd.to_numeric(column)`."),
        (r"Cannot cast ufunc '\w+' output from dtype\('(\w+)'\) to dtype\('(\w+)'\)", "The array holds `{2}` and the result is `{1}`: make it `{1}` first, `a = a.astype({1})`, or write `a = a + b` instead of `a += b`."),
        (r"'out' kwarg is necessary when using the string \w+ ufunc", "The array holds texts: make them numbers first, `.astype(float)`."),
        (r"expected a sequence of integers or a single integer", "A shape is made of whole numbers: `int(...)`, or `//` instead of `/`."),
        (r"data type '(.*)' not understood", "Name a type that exists: `'int64'`, `'float64'`, `'bool'`, `'str'`, `'category'`, or `'number'` for all numeric ones."),
        (r"Cannot interpret '.*' as a data type", "Give the shape as one tuple, `np.zeros((3, 4))`, and a type as `dtype=`: `float`, `int`, `bool` or `str`."),
        (r"only integer scalar arrays can be converted to a scalar index", "Give the arrays as one list, `np.concatenate([a, b])`; to select by positions make it an integer array: `values[np.array(index, dtype=int)]`."),
        (r"first argument must be an iterable of pandas objects", "Give them as one list: `pd.concat([a, b])`."),
        (r"agg function failed|[Cc]ould not convert .* to numeric|Could not convert string|does not support operation '(\w+)'|Cannot perform reduction '(\w+)' with string", "Some columns are text: use `numeric_only=True`, or choose the numeric columns with `df.select_dtypes('number')`."),
        (r"Only valid with DatetimeIndex", "Make dates the index first: `df.set_index(pd.to_datetime(df['date']))`, or use `on='date'`."),
        (r"ufunc '(\w+)' not supported for the input types|loop of ufunc does not support argument 0 of type (\w+)", "The array holds objects or text: make it numeric first, `.astype(float)`."),
        (r"ufunc '(\w+)' did not contain a loop", "The array holds text: make it numeric first, `.astype(float)`."),
        (r"Cannot compare (?:tz-naive|tz-aware)|Invalid comparison between dtype=datetime64.* and (\w+)", "Compare dates with dates: `pd.Timestamp('2024-01-31')`."),
        (r"Invalid comparison between dtype", "Make both the same type first, for example with `.astype(...)` or `pd.to_datetime(...)`."),
        (r"cannot do (?:slice|positional|label) indexing on", "Use `.iloc[a:b]` for positions and `.loc[a:b]` for labels of the index."),
        (r"incompatible index of inserted column|Must pass .* bool", "Use values with the same index: `series.to_numpy()`, or `.reset_index(drop=True)`."),
        (r"Cannot setitem on a Categorical|Cannot set .* into .* dtype|Invalid value '(.*)' for dtype", "Convert the column first: `.astype(object)`, `.astype(float)` or `.astype(str)`."),
        (r"bad operand type for unary ~: 'float'|bad operand type for unary ~", "Make the mask boolean first: `~mask.astype(bool)`."),
        (r"no numeric data to plot", "Make the columns numeric first: `.astype(float)` or `pd.to_numeric(..., errors='coerce')`."),
        (r"unsupported type for timedelta", "Use plain numbers: `datetime.timedelta(days=int(n))`."),
        (r"strptime\(\) argument 1 must be str, not", "Give a text, or use the date as it is: it may be one already."),
        (r"(?:fromisoformat: )?argument must be str", "Give a text: `str(value)`."),
        (r"replace\(\) argument \d must be str, not (\w+)", "Give texts: `text.replace(str(old), str(new))`."),
        (r"must be str or None, not (\w+)|must be str, not (\w+)|argument \d must be str, not (\w+)", "Give a text there: `str(value)`."),
        (r"can't convert type '(\w+)' to numerator/denominator", "Turn the items into numbers first: `statistics.mean(float(x) for x in values)`."),
        (r"integer argument expected, got float|an integer is required", "Use a whole number: `int(x)` or `//`."),
        (r"'(\w+)' requires? string as left operand, not int|'in <string>' requires string as left operand, not (\w+)", "Turn it into text first: `str(x) in text`."),
        (r"argument of type '(int|float|bool|method|builtin_function_or_method)' is not (?:iterable|a container)", "`in` needs a list, set, dict or text on its right; compare numbers with `==`."),
        (r"argument of type '(\w+)' is not (?:iterable|a container)", "`in` needs a list, set, dict or text on its right; a class needs `__contains__`."),
    ),
    "URLError": ((r"", "There is no network here: read a file of the workspace, or put the data into the code and read it with `io.StringIO(text)`."),),
    "AxisError": ((r"axis (-?\d+) is out of bounds for array of dimension (\d+)", "The array has {2} axes, counted from 0: leave `axis=` out, or use a smaller one; `a.reshape(-1, 1)` adds an axis."),),
    "ValueError": (
        (r"a must be 1-dimensional|a must be 1-d", "Give one axis: `np.random.choice(a.ravel(), n)`; rows are drawn with `rng.choice(a, n)` of `np.random.default_rng()`."),
        (r"can only specify one unknown dimension", "Only one `-1` is allowed: compute the others yourself."),
        (r"For argument \"(\w+)\" expected type bool, received type str", "Give `True` or `False` without quotes: `{1}=False`."),
        (r"cannot assign without a target object", "In a query compare with `==`: `df.query(\"column == 'value'\")`; a single `=` assigns."),
        (r"f\(a\) and f\(b\) must have different signs", "The function must change its sign between the two ends: take another bracket, or `fsolve` with a start value."),
        (r"in x_new is (?:above|below) the interpolation range", "Stay inside the range, or use `interp1d(x, y, fill_value='extrapolate')`."),
        (r"is not a valid value for (?:color|c|facecolor|edgecolor)", "Use a colour name such as `'red'`, or `'#1f77b4'`."),
        (r"Invalid literal for Fraction", "Write it as `Fraction('1/2')`, `Fraction('0.25')` or `Fraction(1, 2)`."),
        (r"Percentiles must be in the range \[0, 100\]", "A percentile is from 0 to 100; `np.quantile` takes a share from 0 to 1."),
        (r"[Qq]uantiles must be in the range \[0, 1\]|percentiles should all be in the interval \[0, 1\]", "A quantile is a share from 0 to 1: `0.95` for the 95th percentile."),
        (r"either both or neither of x and y should be given", "Give both values: `np.where(condition, a, b)`."),
        (r"array split does not result in an equal division", "Use `np.array_split(a, n)`, which allows parts of different lengths."),
        (r"(?:Month|Day|Hour|Minute|Second)s? out of range in datetime string", "There is no such date: write it as `YYYY-MM-DD` with a month from 01 to 12."),
        (r"Error parsing datetime string", "Write the date as `YYYY-MM-DD`, or read it with `pd.to_datetime(text)`."),
        (r"Array conditional must be same shape as self", "Rows are chosen with a condition, `df[df['column'] > value]`, or `df.query('column > 2')`; `where` takes a mask of the same shape."),
        (r"Must have equal len keys and value", "Give one value, or exactly as many values as rows are selected."),
        (r"'(\w+)' is not a valid Merge type", "Use `how='inner'`, `'left'`, `'right'`, `'outer'` or `'cross'`; a full join is `'outer'`."),
        (r"do not recognize join method (\w+)|Only can inner .* join the other axis", "Use `how='inner'`, `'left'`, `'right'` or `'outer'`; a full join is `'outer'`."),
        (r"non-integer (?:stop|start|step|arg 1) for randrange", "Use whole numbers, or `random.uniform(a, b)` for a float."),
        (r"Unknown format code 'd' for object of type 'str'", "Convert the text to a number first: `f'{int(x):d}'`, or `float(x)` with `.2f`."),
        (r"[Ll]evel (\S+) (?:not found|must be same as name)", "Print `df.index.names`: use one of these names or a number."),
        (r"no field of name (\w+)", "There is no field `{1}`: the names are in `a.dtype.names`."),
        (r"assignment destination is read-only|output array is read-only", "The array is a read-only view: make a copy first, `a = a.copy()`."),
        (r"dtype='numeric' is not compatible with arrays of bytes/strings", "Turn the texts into numbers first: `pd.get_dummies(df)`, or `OneHotEncoder` or `OrdinalEncoder` of `sklearn.preprocessing`."),
        (r"level name (\w+) is not the name of the index", "Give the columns as one list: `df.groupby(['a', 'b'])`; the second argument is the level of an index."),
        (r"Cannot subset columns with a tuple", "Give the columns as a list, with two pairs of brackets: `df.groupby('key')[['a', 'b']]`."),
        (r"Location based indexing can only have", "`.iloc` takes positions: for names use `.loc[row, 'column']`, or `df['column'].iloc[0]`."),
        (r"Format '(\w+)' is not supported \(supported formats", "Save it as `.png`, `.svg`, `.pdf` or `.jpg`."),
        (r"invalid literal for int\(\) with base 10: '-?[\d]+,[\d,]+'", "Remove the separators first: `int(text.replace(',', ''))`."),
        (r"could not convert string to float: '-?[\d]{1,3}(?:,\d{3})+(?:\.\d+)?'", "Remove the separators first: `float(text.replace(',', ''))`."),
        (r"could not convert string to float: '-?\d+,\d+'", "Write the decimal comma as a point first: `float(text.replace(',', '.'))`; if it separates thousands, remove it."),
        (r"(?:invalid literal for int\(\) with base 10|could not convert string to float): '\s*[$€£¥]\s*[\d.,]+'", "Remove the currency sign and the separators first: `float(text.replace('$', '').replace(',', ''))`."),
        (r"(?:invalid literal for int\(\) with base 10|could not convert string to float): '\s*[\d.,]+\s*%'", "Remove the percent sign first: `float(text.rstrip('%')) / 100`."),
        (r"invalid literal for int\(\) with base 10: '\s*-?\d+\.\d*\s*'", "It has a decimal point: use `float(text)`, or `int(float(text))` to cut it off."),
        (r"(?:invalid literal for int\(\) with base 10|could not convert string to float): '\s*'", "The text is empty: skip it first, `if text.strip():`."),
        (r"invalid literal for int\(\) with base (\d+)", "It is not a whole number in base {1}: check it first with `text.strip().isdigit()`, or skip such values in a `try` with `except ValueError`."),
        (r"could not convert string to float|complex\(\) arg is a malformed string", "It is not a number: skip or replace such values, in a `try` with `except ValueError`; a column with `pd.to_numeric(column, errors='coerce')` where pandas is there."),
        (r"not enough values to unpack \(expected (\d+), got (\d+)\)", "The right side gives {2} and the left side has {1} names: check how the value is split, or unpack what there is, `first, *rest = values`; keys and values of a dict are `.items()`."),
        (r"not enough values to unpack \(expected at least (\d+), got (\d+)\)", "There are only {2} values on the right: check the length first."),
        (r"too many values to unpack \(expected (\d+)\)", "There are more than {1} values on the right: take the rest with a star, `a, *rest = values`; keys and values of a dict are `.items()`, positions come with `enumerate(...)`."),
        (r"cannot reshape array of size (\d+) into shape (\(.*\))", "The product of the new shape {2} must be the size, {1}; `-1` lets numpy compute one axis: `a.reshape(-1, 2)`."),
        (r"operands could not be broadcast together with (?:remapped )?shapes? (\S+) (\S+)", "The shapes {1} and {2} do not fit: print `a.shape` and `b.shape`, then transpose (`a.T`), reshape (`a[:, None]`) or select the same part of both."),
        (r"could not broadcast input array from shape (\([\d, ]*\)) into shape (\([\d, ]*\))", "The part assigned to has shape {2}, the values have {1}: give as many values, or select the matching part."),
        (r"matmul: Input operand 1 has a mismatch in its core dimension 0.*\(size (\d+) is different from (\d+)\)", "In `a @ b` the columns of `a` ({2}) must be as many as the rows of `b` ({1}): transpose one of them (`b.T`), or use `*` for the product item by item."),
        (r"shapes (\S+) and (\S+) not aligned", "The columns of the first, {1}, must be as many as the rows of the second, {2}: transpose one of them (`b.T`)."),
        (r"all the input array dimensions.* must match exactly|all the input arrays must have same number of dimensions", "Print the shapes and make them equal but for the joined axis: `a.reshape(-1, 1)`, `axis=1`."),
        (r"setting an array element with a sequence", "The rows have different lengths, or an item is a list: give all rows the same length, or use a list of lists."),
        (r"The truth value of a(?:n array with more than one element is ambiguous|n empty array is ambiguous)", "Use `&`, `|` and `~` with parentheses instead of `and`, `or` and `not`, and `.any()` or `.all()` in an `if`."),
        (r"The truth value of a (Series|DataFrame|Index) is ambiguous", "Use `&`, `|` and `~` with parentheses around each comparison instead of `and`, `or` and `not`; in an `if` use `.any()`, `.all()` or `.empty`; to choose row by row use `np.where(condition, a, b)`."),
        (r"cannot convert float NaN to integer|Cannot convert non-finite values|[Cc]annot convert NA to integer", "Fill or drop the missing values first: `.fillna(0).astype(int)`, `.dropna()`, or the type `'Int64'`."),
        (r"cannot convert float infinity to integer", "The value is infinite: check it with `math.isinf(x)` first."),
        (r"Expected 2D array, got (?:1D|scalar) array instead", "scikit-learn takes rows and columns: `X.reshape(-1, 1)`, or `df[['column']]` with two pairs of brackets."),
        (r"y should be a 1d array|Expected 1D array|DataConversionWarning", "Give the target as one column: `y.ravel()`, or `df['target']` with one pair of brackets."),
        (r"Found input variables with inconsistent numbers of samples: \[(\d+), (\d+)\]", "X and y must have the same number of rows ({1} and {2}): select the same rows of both, and check the order of `train_test_split`'s results: `X_train, X_test, y_train, y_test`."),
        (r"Input (?:X |y )?contains NaN|Input contains NaN", "Fill or drop the missing values first: `df.dropna()`, `df.fillna(df.mean(numeric_only=True))`, or `SimpleImputer()` in a pipeline."),
        (r"Input (?:X |y )?contains infinity", "Replace infinite values first: `df.replace([np.inf, -np.inf], np.nan).dropna()`."),
        (r"Unknown label type", "The target is continuous: use a regressor, for example `LinearRegression`, or make classes of it."),
        (r"X has (\d+) features, but (\w+) is expecting (\d+) features", "Give the same {3} columns as in `fit`, in the same order, not {1}."),
        (r"The feature names should match", "Give the same columns as in `fit`, in the same order: `X_new[X.columns]`."),
        (r"This solver needs samples of at least 2 classes|The number of classes has to be greater than one", "The target has only one class: check `y.unique()` and how the rows were split."),
        (r"could not convert string to (?:float|numeric)|Unable to convert array of bytes/strings", "Encode the text columns first: `pd.get_dummies(X)` or `OneHotEncoder()`."),
        (r"invalid error value specified", "`errors=` takes `'raise'` or `'coerce'`: with `errors='coerce'` what cannot be converted becomes NaN."),
        (r"cannot reindex on an axis with duplicate labels|cannot handle a non-unique", "The index has duplicates: use `.reset_index(drop=True)` first."),
        (r"You are trying to merge on (\S+) and (\S+) columns", "The keys have different types ({1} and {2}): convert one first, `df['key'] = df['key'].astype(str)`."),
        (r"Length of values \((\d+)\) does not match length of index \((\d+)\)", "The column needs {2} values, not {1}: filter both alike, or use a Series with the same index."),
        (r"Length mismatch: Expected axis has (\d+) elements?, new values have (\d+)", "There are {1} names on that axis, not {2}: give as many as there are columns or rows, or rename some of them with `df.rename(columns={'old': 'new'})`."),
        (r"All arrays must be of the same length", "Give every column the same number of values; print their lengths."),
        (r"If using all scalar values, you must pass an index", "Put the values into lists, `pd.DataFrame({'a': [1]})`, or use `pd.Series(values)`."),
        (r"Columns must be same length as key", "Give as many columns on the right as names on the left; `.str.split(sep, expand=True)` makes columns."),
        (r"mutable default .* use default_factory", "Use `field(default_factory=list)` (with `from dataclasses import field`)."),
        (r"No group keys passed", "Say what to group by: `index='column'` of `pivot_table`, or the column of `groupby`."),
        (r"No objects to concatenate", "The list is empty: check the loop or filter that fills it."),
        (r"columns overlap but no suffix specified", "Use `df.join(other, rsuffix='_right')`, or `df.merge(other, on='key')`."),
        (r"Cannot (?:set|assign) a DataFrame with multiple columns|Index contains duplicate entries, cannot reshape", "Use `df.pivot_table(index=..., columns=..., values=..., aggfunc='sum')`, which joins duplicates."),
        (r"Must specify axis=0 or 1|No axis named (\w+)", "Use `axis=0` for rows and `axis=1` for columns."),
        (r"Invalid frequency: (\w+)", "Use a frequency such as `'D'`, `'W'`, `'ME'`, `'QE'`, `'YE'`, `'h'` or `'min'`."),
        (r"'?(M|Q|Y|A|H|T|S)'? is no longer supported for offsets", "Use the new name of the frequency: `'ME'`, `'QE'`, `'YE'`, `'h'`, `'min'` or `'s'`."),
        (r"time data \"?'?(.*?)'?\"? doesn't match format|unconverted data remains|time data '(.*)' does not match format '(.*)'", "The format does not fit the text: compare them, for example `'%Y-%m-%d'` for 2024-01-31, `'%d/%m/%Y'` for 31/01/2024, `'%H:%M'` for times."),
        (r"Invalid isoformat string", "Use `datetime.strptime(text, '%d/%m/%Y')` with the format that the text has."),
        (r"day is out of range for month", "That month has fewer days: `calendar.monthrange(year, month)[1]` is its last day."),
        (r"month must be in 1\.\.12|hour must be in 0\.\.23|minute must be in|year \d+ is out of range", "Check the order of the arguments: year, month, day, hour, minute."),
        (r"math domain error|expected a (?:nonnegative|positive) input|expected a number in range", "{domain}"),
        (r"(?:factorial|isqrt|comb|perm)\(\) (?:not defined for negative values|argument must be nonnegative)|must be a non-negative integer", "Check that the number is not negative first."),
        (r"(max|min)\(\) (?:arg is an empty sequence|iterable argument is empty)", "The sequence is empty: use `{1}(values, default=0)`, or check `if values:` first."),
        (r"list\.remove\(x\): x not in list", "Check `if x in values:` first."),
        (r"(?:substring|subsection) not found", "Use `text.find(part)`, which is -1 if it is not there."),
        (r"is not in list|tuple\.index\(x\)", "Check `if x in values:` first."),
        (r"Sample larger than population", "Take at most `len(values)` items, or use `random.choices(values, k=n)` with repetition."),
        (r"empty range (?:for|in) rand", "The lower bound must not be above the upper one: `random.randint(low, high)`."),
        (r"range\(\) arg 3 must not be zero|slice step cannot be zero", "Use a step other than zero."),
        (r"Exceeds the limit \((\d+) digits\) for integer string conversion", "The number has more than {1} digits: print its length or part of it, for example `n % 10**10`, or `math.log10(n)`."),
        (r"zero-size array to reduction operation|attempt to get arg(?:max|min) of an empty sequence", "The array is empty: check `a.size` and the filter that made it."),
        (r"Number of samples, (\d+), is less than|n_samples=(\d+) should be >= n_clusters=(\d+)|Cannot have number of splits n_splits=(\d+)", "There are too few rows for this: use more data, fewer clusters or fewer splits."),
        (r"The least populated class", "A class has too few rows to stratify: leave `stratify=` out, or drop that class."),
        (r"I/O operation on closed file", "Read or write inside the `with` block, or open the file again."),
        (r"(?:embedded null|null byte)", "Remove the null characters from the text."),
        (r"Unknown format code '(\w)' for object of type 'str'", "Convert the text to a number first: `f'{float(x):.2f}'`."),
        (r"Unknown format code '(\w)' for object of type 'float'", "Use `f` for numbers with decimals, `f'{x:.2f}'`, or convert it: `f'{int(x):d}'`."),
        (r"Unknown format code|Invalid format specifier|Sign not allowed|Format specifier missing", "Use a format such as `f'{x:.2f}'`, `f'{x:,}'`, `f'{text:>10}'`."),
        (r"cannot switch from (?:manual|automatic) field|unmatched '\{'|Single '[{}]' encountered", "Use an f-string; a brace that is text is doubled: `{{` and `}}`."),
        (r"unsupported format character|incomplete format", "Use an f-string; a percent sign that is text is doubled: `%%`."),
        (r"negative shift count|negative dimensions are not allowed", "Check that the number is not negative first."),
        (r"step must be greater than zero|Number of samples, .*, must be non-negative", "Use a positive number there."),
        (r"'(\w+)' is not in list", "Check `if x in values:` first."),
        (r"'(.*)' is not a valid (?:value for )?(\w+); supported values are (.*)", "Use one of {3}."),
        (r"(.*) is not a valid (value for )?(\w+)$", "Use one of the values that it lists: for an Enum `list({3})` shows its members."),
        (r"Invalid RGBA argument|not a valid color|'(.*)' is not a recognized color", "Use a colour name such as `'red'`, or `'#1f77b4'`."),
        (r"x and y must have same first dimension, but have shapes (\S+) and (\S+)", "Give as many x as y values: the shapes are {1} and {2}."),
        (r"x and y must be the same size", "Give as many x as y values."),
        (r"style .* (?:is not|does not)|not a valid package style", "Leave the style out, or take one of `plt.style.available`: seaborn's are called `'seaborn-v0_8'`."),
        (r"[Mm]ultiClass|[Tt]arget is multiclass but average='binary'", "For several classes give `average='macro'` or `'weighted'`."),
        (r"malformed node or string", "`literal_eval` reads literals only: numbers, texts, lists, dicts; compute expressions directly as code."),
        (r"unknown locale|Unknown projection|unknown url type", "Use one of the standard values."),
        (r"buffer size must be a multiple|incorrect padding|Incorrect padding", "The data is cut off or of another kind: check its length and type."),
        (r"signal only works in main thread", "Leave signals out."),
        (r"Cannot take a larger sample than population", "Take at most as many rows as there are, or use `replace=True`."),
        (r"Bin edges must be unique", "Use `duplicates='drop'`, or fewer bins."),
        (r"Bin labels must be one fewer than the number of bin edges", "Give one label fewer than there are edges."),
        (r"bins must increase monotonically", "Give the edges in rising order."),
        (r"Can only compare identically-labeled", "Compare with the same index: `.reset_index(drop=True)` on both, or `.to_numpy()`."),
        (r"Cannot describe a DataFrame without columns", "The frame is empty: check the filter that made it."),
        (r"Plan shapes are not aligned|Shape of passed values is (\S+), indices imply (\S+)", "The data has shape {1}, the names imply {2}: give as many columns as there are names."),
        (r"(\d+) columns passed, passed data had (\d+) columns", "The data has {2} columns: give as many names."),
        (r"Wrong number of items passed", "Give as many columns as names."),
        (r"cannot insert (\w+), already exists", "The column exists: assign it, `df['{1}'] = values`, or use `.reset_index(drop=True)`."),
        (r"Grouper for '(.*)' not 1-dimensional", "Two columns are called `{1}`: rename one of them."),
        (r"[Mm]issing column provided to 'parse_dates': '?(.*?)'?$", "The file has no column `{1}`: read it first and print `df.columns`."),
        (r"Usecols do not match columns", "The file has other columns: read it without `usecols` and print `df.columns`."),
        (r"Passed header=.* but only", "The file has fewer lines: use `header=0`, or `header=None` where there are no names."),
        (r"dtype '(\w+)' not understood|data type '(\w+)' not understood", "Use `'int64'`, `'float64'`, `'bool'`, `'str'` or `'category'`."),
        (r"cannot convert '?(\w+)'? to|Unable to parse string", "Use `pd.to_numeric(column, errors='coerce')`; what is no number becomes NaN."),
        (r"must have exactly one of create/read/write/append mode|invalid mode", "Use the mode `'r'`, `'w'`, `'a'` or `'x'`, with `b` for bytes."),
        (r"coroutine|a coroutine was expected, got", "Call the function: `asyncio.run(main())`, with the parentheses of `main()`."),
        (r"need more than|dictionary update sequence element #\d+ has length (\d+); 2 is required", "Give pairs: `dict([('a', 1), ('b', 2)])`."),
        (r"zip\(\) argument \d+ is (?:longer|shorter)", "The lists have different lengths: leave `strict=True` out to stop at the shortest."),
        (r"byte must be in range|bytes must be in range|chr\(\) arg not in range", "Use a number in the range that the function takes (0 to 255 for bytes)."),
        (r"non-hexadecimal number", "Give hexadecimal digits only, two for each byte."),
        (r"Singular matrix", "The matrix has no inverse: use `np.linalg.lstsq(a, b)` or `np.linalg.pinv(a)`."),
    ),
    "JSONDecodeError": (
        (r"Expecting property name enclosed in double quotes", "JSON needs double quotes around names, and no comma after the last item: `text.replace(\"'\", '\"')`, or write it as a Python dict."),
        (r"Expecting value: line 1 column 1 \(char 0\)", "The text is empty or not JSON: print `text[:200]`; a Python literal is written directly as code."),
        (r"Extra data", "There are several JSON values: read line by line, `[json.loads(line) for line in text.splitlines() if line.strip()]`."),
        (r"Invalid control character|Invalid \\\\?escape", "Write a raw string, `r'...'`, or double the backslashes."),
        (r"", "The text is not valid JSON there: print `text[:200]` and mend it: double quotes, no comma after the last item, `true`, `false` and `null` in small letters."),
    ),
    "UnicodeDecodeError": ((r"", "Name the encoding: `encoding='latin-1'` or `'cp1252'`, or use `errors='replace'`."),),
    "UnicodeEncodeError": ((r"", "Use `text.encode('utf-8')`, or `errors='replace'`."),),
    "IndexError": (
        (r"list assignment index out of range", "A list does not grow by assignment: use `.append(value)`, or make it long enough first, `[0] * n`."),
        (r"Too many levels: Index has only (\d+) level", "The index has {1} level: leave `level=` out, or use a smaller one."),
        (r"no such group", "The pattern has no such group: put parentheses around the part that you want, and count from 1; `.group()` is the whole match."),
        (r"(list|tuple|string|array|range object|deque) (?:assignment )?index out of range|pop index out of range|bytearray index out of range", "{index}"),
        (r"pop from (?:an )?empty (list|deque)|pop from an empty", "Check `if values:` before you pop."),
        (r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)", "Axis {2} has {3} items, and indexes count from 0: print `a.shape`."),
        (r"too many indices for array: array is (\d+)-dimensional, but (\d+) were indexed", "The array has {1} axes: use as many indexes, or reshape it first, `a.reshape(-1, 1)`."),
        (r"only integers, slices .* are valid indices", "Use whole numbers as indexes: `int(i)` or `//`; columns by name belong to a DataFrame, `df['name']`."),
        (r"boolean index did not match indexed array along axis (\d+); size of axis is (\d+) but size of corresponding boolean axis is (\d+)", "The mask has {3} items and the axis {2}: make the mask from the same array."),
        (r"single positional indexer is out-of-bounds|positional indexers are out-of-bounds|iloc cannot enlarge", "The frame has fewer rows: check `len(df)`; it may be empty after a filter."),
        (r"Cannot choose from an empty sequence", "The sequence is empty: check `if values:` first."),
        (r"Replacement index \d+ out of range", "Give as many values as there are places; use an f-string."),
        (r"arrays used as indices must be of integer", "Make the indexes whole numbers: `index.astype(int)`."),
        (r"index out of bounds|out of bounds", "Check the length first: indexes go from 0 to `len(values) - 1`."),
    ),
    "ZeroDivisionError": (
        (r"Fraction\(", "The denominator is 0: check it first, `if denominator:`."),
        (r"modulo", "The number after `%` is 0: check it first, `if {right} != 0:`."),
        (r"", "The divisor is 0: check it first, `... if {right} != 0 else 0`; for a mean check that the list is not empty."),
    ),
    "DivisionByZero": ((r"", "The divisor is 0: check it first."),),
    "OverflowError": (
        (r"cannot convert float infinity to integer", "The value is infinite: check it with `math.isinf(x)` first."),
        (r"(?:int|integer) too large to convert to float|integer division result too large", "Stay with whole numbers (`//`), use `decimal.Decimal`, or `math.log(n)` for the size."),
        (r"math range error|Numerical result out of range|Result too large", "The result is too large for a float: use whole numbers, `decimal.Decimal`, or logarithms."),
        (r"date value out of range", "The date leaves the years 1 to 9999: use a smaller step."),
        (r"Python int too large to convert to C|Python integer (\S+) out of bounds", "The number does not fit: use `dtype=object` or `float`, or a smaller number."),
        (r"cannot fit 'int' into an index-sized integer", "The number is too large for a size: use a smaller one."),
    ),
    "RecursionError": ((r"", "The recursion never ends or goes too deep: check that the base case is reached, use `functools.lru_cache`, or write it as a loop with a list as stack."),),
    "RuntimeError": (
        (r"asyncio\.run\(\) cannot be called from a running event loop|This event loop is already running|Cannot run the event loop while another loop is running", "A loop runs already: inside an `async def` write `await f()` instead of `asyncio.run(f())`."),
        (r"no running event loop|There is no current event loop", "Start one: `asyncio.run(main())`, and create tasks inside `main`."),
        (r"dictionary changed size during iteration|dictionary keys changed during iteration", "Loop over a copy: `for key in list(d):`."),
        (r"[Ss]et changed size during iteration", "Loop over a copy: `for item in list(s):`."),
        (r"deque mutated during iteration", "Loop over a copy: `for item in list(d):`."),
        (r"generator raised StopIteration", "Use `return` to end a generator, and `next(it, default)` inside it."),
        (r"cannot reuse already awaited coroutine", "Call the function again for each `await`: `await f()`."),
        (r"super\(\)", "Use `super().method(...)` inside a method of the class."),
        (r"can't start new thread", "As many threads run as `limits.threads` allows: `join()` some before you start more, or use a pool with fewer workers."),
        (r"is bound to a different event loop|Event loop is closed", "Create tasks, locks and queues inside the `async def` that `asyncio.run` runs."),
        (r"await wasn't used with future", "Write `await` before it: `a, b = await asyncio.gather(f(), g())`."),
        (r"Task got bad yield", "Use `await` with coroutines and tasks only."),
        (r"lost sys.stdout", "Do not replace `sys.stdout`; use `contextlib.redirect_stdout`."),
        (r"No active exception to reraise", "A bare `raise` belongs into an `except` block: write `raise ValueError('why')`."),
        (r"Set changed size", "Loop over a copy."),
        (r"Optimal parameters not found", "Give start values, `p0=[...]`, and a larger `maxfev=`."),
    ),
    "StopIteration": ((r"", "The iterator is at its end: use `next(iterator, default)`, or a `for` loop."),),
    "StopAsyncIteration": ((r"", "The iterator is at its end: use an `async for` loop."),),
    "AttributeError": (
        (r"'(avg|average|stdev|stddev|variance|percentile|total|distinct|unique_count|count_distinct|len|length)' is not a valid function for", "Aggregations are called `'mean'`, `'std'`, `'var'`, `'sum'`, `'count'`, `'nunique'`, `'size'`, `'median'`, `'min'` and `'max'`."),
        (r"'(.*)' is not a valid function for", "Give the name of a method, `'mean'`, `'sum'`, `'count'`, or a function."),
        (r"The '\.style' accessor requires jinja2", "Styles cannot be drawn here: use `df.round(2)`, and `print(df.to_string())`."),
        (r"Can only use \.dt accessor with datetimelike values", "Convert the column first: `pd.to_datetime(series).dt`."),
        (r"Can only use \.str accessor with string values", "Convert the column first: `series.astype(str).str`."),
        (r"Can only use \.cat accessor", "Convert the column first: `series.astype('category').cat`."),
        (r"can't set attribute|property '(\w+)' of '(\w+)' object has no setter|has no setter", "It cannot be assigned: a namedtuple is changed with `obj._replace(name=value)`, a property needs a setter (`@name.setter`)."),
        (r"cannot assign to field '(\w+)'", "The dataclass is frozen: make a changed copy, `dataclasses.replace(obj, {1}=value)`."),
        (r"cannot reassign member", "Members of an Enum are fixed: use a plain variable."),
        (r"partially initialized module '(\w+)'", "Rename what hides the module `{1}`."),
        (r"'(\w+)' object attribute '(\w+)' is read-only", "It cannot be changed: make a subclass or a wrapper of your own."),
        (r"'(\w+)' object has no attribute '(\w+_)'", "Attributes that end with `_` exist after `fit`, and only on the models that have them: `{1}` has other ones, for example `coef_` of linear models and `feature_importances_` of trees."),
        (r"has no attribute '(\w+)' and no __dict__", "Set only attributes that the class knows, or use a dict."),
        (r"This '(\w+)' has no attribute '(\w+)'", "The estimator has no `{2}` with these settings: for probabilities of an SVC use `SVC(probability=True)`."),
    ),
    "FrozenInstanceError": ((r"cannot assign to field '(\w+)'", "The dataclass is frozen: make a changed copy, `dataclasses.replace(obj, {1}=value)`."),),
    "SystemExit": ((r"", "Remove the call: a step ends by itself at its last line; to stop early use `break` in a loop, `return` in a function, or `raise ValueError('why')`."),),
    "KeyError": (),
    "ImportError": (
        (r"tabulate", "Use `print(df.to_string())`: `to_markdown` needs a package that is not installed."),
        (r"[Mm]issing optional dependency|[Uu]se pip|Import \w+ failed|is required (?:for|to)|requires \w+", "It needs a package that is not installed and cannot be: use another method of the same library."),
    ),
    "NotFittedError": ((r"", "Call `.fit(X, y)` before `.predict(...)` or `.transform(...)`; `.fit_transform(X)` does both."),),
    "LinAlgError": (
        (r"Singular matrix", "The matrix has no inverse: use `np.linalg.lstsq(a, b)` or `np.linalg.pinv(a)`."),
        (r"must be square", "It needs as many rows as columns: use `np.linalg.pinv(a)` or `np.linalg.lstsq(a, b)` for others."),
        (r"Matrix is not positive definite", "Use `np.linalg.eigh(a)`, or add a small multiple of `np.eye(n)`."),
    ),
    "EmptyDataError": ((r"", "The file or text is empty: check that it was written and its name."),),
    "ZoneInfoNotFoundError": ((r"", "Time zones are called by region and city: `ZoneInfo('Europe/Berlin')`, `'America/New_York'`, `'UTC'`."),),
    "ParseError": (
        (r"mismatched tag|no element found|not well-formed|unclosed", "The XML is not well-formed there: close every tag in order, quote attributes, and write `&amp;` for `&`."),
    ),
    "ParserError": (
        (r"Expected (\d+) fields in line (\d+), saw (\d+)", "Line {2} has {3} fields instead of {1}: give `sep=`, quote texts that hold the separator, or use `on_bad_lines='skip'`."),
        (r"Error tokenizing", "Give `sep=`, or use `on_bad_lines='skip'`."),
        (r"[Uu]nknown (?:string|datetime string) format", "Give the format: `pd.to_datetime(column, format='%d/%m/%Y')`, or `errors='coerce'`."),
    ),
    "DateParseError": ((r"", "Give the format, `pd.to_datetime(column, format='%d/%m/%Y')`, or `errors='coerce'`."),),
    "OutOfBoundsDatetime": ((r"", "The date is outside of what pandas can hold: use `errors='coerce'`."),),
    "MergeError": ((r"No common columns", "Name the keys: `left.merge(right, left_on='a', right_on='b')`."),),
    "UndefinedVariableError": ((r"name '(.*)' is not defined", "In `query` columns are written by name (with blanks in backquotes), variables with `@{1}`, and texts in quotes."),),
    "IndexingError": (
        (r"Too many indexers", "A frame takes rows and columns, a Series one index: several columns are a list, `df.loc[rows, ['a', 'b']]`."),
        (r"Unalignable boolean Series", "Make the mask from the same frame, or use `mask.to_numpy()`."),
    ),
    "SpecificationError": ((r"", "Name the aggregations: `.agg(total=('column', 'sum'))`."),),
    "ChainedAssignmentError": ((r"", "Assign in one step: `df.loc[rows, 'column'] = value`."),),
    "SettingWithCopyError": ((r"", "Assign in one step: `df.loc[rows, 'column'] = value`, or take a `.copy()` first."),),
    "StatisticsError": (
        (r"same number of data points", "Give both lists the same length."),
        (r"requires at least (?:one|two) data points?|no (?:median|mode) for empty data|at least one", "The list is empty or too short: check `len(values)` and the filter that made it."),
        (r"must be a positive|no unique mode", "Check the values first."),
    ),
    "InvalidOperation": ((r"", "It is no decimal number: clean the text first (`text.replace(',', '').strip()`), or check for a zero divisor."),),
    "error": (
        (r"nothing to repeat|multiple repeat", "Escape a `*`, `+` or `?` that is text: `re.escape(text)`, or a backslash before it."),
        (r"unterminated|missing \)|unbalanced parenthesis", "Close every bracket of the pattern, or escape one that is text: `re.escape(text)`."),
        (r"bad escape", "Write patterns as raw strings: `r'\\d+'`."),
        (r"look-behind requires fixed-width", "Use a pattern of fixed length after `(?<=`, or capture a group instead."),
        (r"bad character range", "Put the `-` at the end of the brackets: `[a-z0-9_-]`."),
        (r"global flags not at the start", "Put `(?i)` at the beginning of the pattern, or use `flags=re.IGNORECASE`."),
        (r"", "Check the pattern: escape what is text with `re.escape(text)`."),
    ),
    "BufferError": ((r"", "Delete the other views of the object first."),),
    "OSError": (
        (r"Cannot save file into a non-existent directory", "There is no such folder: write to a plain name, `'result.csv'`, or make the folder first with `os.makedirs(folder, exist_ok=True)`."),
        (r"is not a valid package style", "Leave the style out, or take one of `plt.style.available`: `'ggplot'`; seaborn's are called `'seaborn-v0_8'`."),
    ),
    "EOFError": ((r"", "There is no input to read: assign the value to a variable."),),
    "TimeoutError": ((r"", "Use a longer timeout, or less work inside it."),),
    "NotImplementedError": ((r"", "Override the method in the subclass that you use."),),
    "InvalidStateError": ((r"", "`await` the task before you read its result."),),
    "BrokenProcessPool": ((r"", "Guest code cannot start processes: call the function in a plain loop."),),
    "ConvergenceWarning": ((r"", "Scale the data (`StandardScaler`), or use a larger `max_iter=`."),),
}  # fmt: skip
PATTERNS["PatternError"] = PATTERNS["error"]


def hint(failure: Failure) -> str | None:
    """The hint of the first pattern that fits the message, for the exception's class or the nearest base with a table."""
    for base in type.__dict__["__mro__"].__get__(failure.kind):
        if base is Exception:
            return None
        name = type.__dict__["__name__"].__get__(base)
        if (table := PATTERNS.get(name)) is None or not _is_known(base):
            continue
        for pattern, text in table:
            wanted = _NEEDLES.get(pattern)
            if wanted is None:
                wanted = _NEEDLES[pattern] = needles(pattern)
            if wanted and not any(needle in failure.message for needle in wanted):
                continue
            if match := re.search(pattern, failure.message):
                return _fill(text, match, failure)
    return None


_NEEDLES: dict[str, tuple[str, ...]] = {}


def _is_known(kind: type) -> bool:
    """Is it a class of Python or a library, and not one of the guest that happens to have the name?"""
    return bool(type.__dict__["__module__"].__get__(kind) != "__main__")


def _fill(text: str, match: re.Match[str], failure: Failure) -> str:
    if text == "{index}":
        return _index(failure)
    if text == "{domain}":
        return _domain(failure)
    for number, value in enumerate(match.groups(), 1):
        text = text.replace("{" + str(number) + "}", value or "")
    if "{" not in text:
        return text
    tree = failure.expression
    parts = {"expr": "x", "left": "a", "right": "b", "obj": "values", "arg": "x", "iter": "n"}
    match tree:
        case ast.BinOp(left=left, right=right):
            parts["left"], parts["right"] = failure.text_of(left, "a"), failure.text_of(right, "b")
            if isinstance(right, ast.Constant) and issubclass(failure.kind, ArithmeticError):
                parts["right"] = "b"
        case ast.Compare(left=left, comparators=[right]):
            parts["left"], parts["right"] = failure.text_of(left, "a"), failure.text_of(right, "b")
        case ast.Subscript(value=value):
            parts["obj"] = failure.text_of(value, "values")
        case ast.Call(func=function, args=[first, *_]):
            parts["arg"] = failure.text_of(first, "x")
            parts["iter"] = failure.text_of(first, "n")
            if isinstance(function, ast.Attribute):
                parts["obj"] = failure.text_of(function.value, "values")
        case ast.Name(id=name):
            parts["iter"] = parts["arg"] = name
    for key, value in parts.items():
        text = text.replace("{{{" + key + "}}}", "{" + value + "}").replace("{" + key + "}", value)
    return text


def _domain(failure: Failure) -> str:
    """For a number that a function of `math` is not defined for: which ones it takes."""
    call = failure.call
    name = call.func.attr if call is not None and isinstance(call.func, ast.Attribute) else ""
    name = call.func.id if call is not None and isinstance(call.func, ast.Name) else name
    if name.startswith("log"):
        return f"`{name}` takes numbers greater than 0: check the value first; `cmath.log` takes negative ones too."
    if name in ("sqrt", "isqrt"):
        return f"`{name}` takes no negative numbers: check the value first, or use `cmath.sqrt`."
    if name in ("asin", "acos", "atanh"):
        return f"`{name}` takes numbers between -1 and 1: clip the value, `max(-1, min(1, x))`, if rounding took it outside."
    return "The function is not defined for this number: check its sign or range first (`cmath` computes roots and logarithms of negative numbers)."


def _index(failure: Failure) -> str:
    """For an index out of range: how long the sequence is, if that is known."""
    tree = failure.expression
    if isinstance(tree, ast.Subscript):
        owner = failure.resolve(tree.value)
        text = failure.text_of(tree.value, "values")
        if type(owner) in (list, tuple, str, range):
            size = len(owner)
            if size == 0:
                return f"`{text}` is empty: check `if {text}:` first."
            return f"`{text}` has {size} item{'' if size == 1 else 's'}: its indexes go from 0 to {size - 1}."
        return f"Check the length first: the indexes of `{text}` go from 0 to `len({text}) - 1`."
    return "Check the length first: indexes go from 0 to `len(values) - 1`."
