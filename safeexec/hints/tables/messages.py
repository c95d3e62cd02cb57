# ruff: noqa: E501 (a table of sentences)
"""Rules that follow from the message of an exception alone.

Messages are those of CPython 3.11 to 3.13, numpy 2, pandas 2 and 3, scikit-learn 1.5 to 1.9, matplotlib 3. Within one
exception the special rules stand before the general ones.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import FunctionType

from safeexec.common.identity import class_name
from safeexec.hints.failure import Failure
from safeexec.hints.objects import MISSING, attribute_names, attribute_of, is_class_of_guest, is_of_guest
from safeexec.hints.refusals import without_network
from safeexec.hints.rules import HintRule

TAKE_ONE_LIST = ("concatenate", "vstack", "hstack", "stack", "dstack", "column_stack", "concat", "block", "array")
OF_CALLS: tuple[HintRule, ...] = (
    HintRule("TypeError", r"data type|interpret",
        "The shape is one tuple: `{as_tuple}`.", calls=("zeros", "ones", "empty", "full")),
    HintRule("TypeError", r"^(?!Random\.).*takes (?:at most|from).* positional|as a data type",
        "The shape is one tuple: `{sized}`.", calls=("random", "standard_normal", "poisson", "normal", "uniform", "integers", "randint", "binomial")),
    HintRule("TypeError", r"takes|iterable|scalar|axis|interpret|Field elements",
        "Give them as one list: `{as_list}`.", calls=TAKE_ONE_LIST),
    HintRule("TypeError", r"unhashable|Passing coroutines is forbidden",
        "Spread the list with a star: `asyncio.gather(*coroutines)`; `asyncio.wait` takes tasks, `asyncio.create_task(f())`.", calls=("gather", "wait")),
    HintRule("TypeError", r"'tuple'",
        "Give the sizes as separate numbers: `{function}(2, 3)`.", calls=("rand", "randn")),
    HintRule("TypeError", r"only integer scalar arrays",
        "Loop over the number of rows: `range(len(a))`, or over the rows themselves: `for row in a:`.", calls=("range",)),
    HintRule("TypeError", r"'(?:str|list)'$|can't sum (?:strings|bytes)",
        "`sum` adds numbers: texts become numbers first, `sum(float(x) for x in values)`; they are joined with `''.join(parts)`, lists with `[x for part in values for x in part]`.", calls=("sum",)),
    HintRule("TypeError", r"'(int|float|bool)' object is not iterable",
        "`{function}` takes a list, or several values: `{function}([1, 2, 3])`; a single number is used as it is.", calls=("sum", "min", "max", "any", "all", "sorted", "mean")),
    HintRule("TypeError", r"integer|float",
        "The third argument of `linspace` is the number of points, `num=5`; for a step use `np.arange(start, stop, step)`.", calls=("linspace",)),
    HintRule("TypeError", r"[\w.](?:\(\))? (?:expected|takes) (?:at (?:most|least) |exactly )?(?:\d+|one|no) (?:positional )?arguments?",
        "`append` adds one item: use `.extend([a, b])` for several, or `.append((a, b))` for a pair.", calls=("append",)),
    HintRule("TypeError", r"missing \d+ required positional argument: 'fp'",
        "`dump` writes to an open file: use `json.dumps(value)` for a text, or `json.dump(value, file)`.", calls=("dump",)),
    HintRule("TypeError", r"\w\(\) takes no arguments$|object\.__init__\(\) takes exactly one argument",
        "The class has no `__init__` with parameters: define `def __init__(self, ...):` (two underscores on each side), or call it without arguments."),
)  # fmt: skip
"""The rules of wrong arguments, which say more than those of `calls` for any function."""

_PROTOCOLS = {
    "subscriptable": "`__getitem__`",
    "iterable": "`__iter__`",
    "a container": "`__contains__`",
    "item assignment": "`__setitem__`",
    "len": "`__len__`",
    "the context manager protocol": "`__enter__` and `__exit__`",
    "the asynchronous context manager protocol": "`__aenter__` and `__aexit__`",
}
"""Words of a message about what an object is not, or does not support → the methods that its class lacks."""


_OTHER_WAYS = {
    "protocol": ("__aenter__", "write `async with` inside an `async def`"),
    "iterable": ("__aiter__", "write `async for` inside an `async def`"),
    "subscriptable": ("__iter__", "make a list of it first, `items = list(values)`, and take `items[0]`"),
}
"""Last word of such a message → a method that the class may have instead, and what that allows."""


def protocol_of_class(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield what to do with an object whose class lacks what a statement or a builtin asks of it."""
    said = next(filter(None, match.groups()[1:4]), "iterable" if "iterable" in match[0] else "")
    if "argument of type" in failure.message:
        said = "a container"
    method, kind = _PROTOCOLS.get(said, "`__neg__`"), match[1] or match[5]
    instead = "take a value out of it by its name, or put it into a list"
    if said.endswith("protocol"):
        instead = "use a plain `with`" if "asynchronous" in said else "it needs no `with`, use it directly"
    kinds = [*(type(failure.resolve(tree)) for tree in failure.operands()), failure.lookup(kind)]
    its = next(
        (found for found in kinds if found is not MISSING and class_name(found) == kind.rpartition(".")[2]), MISSING
    )
    of_guest = is_of_guest(its)
    there, what = _OTHER_WAYS.get(said.rpartition(" ")[2], ("", ""))
    if "asynchronous" not in said and attribute_of(its, there) is not MISSING:
        yield f"A `{kind}` has `{there}`: {what}."
    match failure.expression:
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
            if key in attribute_names(failure.resolve(owner)):
                yield f"`{key}` is an attribute: `{failure.text_of(owner)}.{key}`."
    last = f"or define {method} in its class" if of_guest else "or use it as it is, or its text, `str(x)`"
    yield f"A `{kind}` has no {method}: {instead}, {last}."


_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "** or pow()": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "divmod()": "divmod",
}  # fmt: skip
_LENGTH_OF_TIME = r"[-+]?\d+(?:\.\d+)? ?(?:days?|hours?|min\w*|seconds?|weeks?|[dhsDHW]|ms)\b"


def operator_of_class(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield the method that a class of the program lacks for an operator; of other classes what the operands are."""
    texts = [value for tree in failure.operands() if type(value := failure.resolve(tree)) is str]
    if re.match("Date|Time", match[2]) and texts and re.match(_LENGTH_OF_TIME, texts[0]):
        yield f"A length of time is no text: `pd.Timedelta({texts[0]!r})`."
    sign = match[1].removesuffix("=")
    joined = "/" if match[2].endswith("Path") else "|" if match[2] in ("dict", "set") else ""
    if joined and sign == "+" and isinstance(tree := failure.expression, ast.BinOp):
        both = failure.text_of(tree.left, "a"), failure.text_of(tree.right, "b")
        yield f"A {match[2]} is put together with `{joined}`: `{both[0]} {joined} {both[1]}`."
    if failure.called == "sum":
        yield "`sum` adds numbers: take one out of each item, `sum(item.value for item in values)`."
    for kind, side in (match[2], ""), (match[3], "r"):  # 1 + money asks the right one: `__radd__`
        method = f"__{side}{_OPERATORS.get(sign, sign)}__"
        if is_class_of_guest(failure.lookup(kind)):
            yield f"Define `{method}` in `{kind}`, `def {method}(self, other):`, or compute with what it holds."
    yield f"`{sign}` has no meaning for `{match[2]}` and `{match[3]}`: convert one of them, or take a value out of it."


_ASKING = ("abs", "round", "int", "float", "complex", "reversed", "next")
"""Builtins that call the method of their own name."""


def method_of_builtin(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield the method that a class of the program lacks for a builtin."""
    method = f"__{failure.called}__"
    for kind in map(failure.lookup, re.findall(r"\w+", failure.message)):
        if is_class_of_guest(kind) and attribute_of(kind, method) is MISSING:
            yield f"`{failure.called}(x)` calls `x.{method}()`, which `{class_name(kind)}` lacks: define it there, or take a value out of the object by its name."


def _no_coroutine(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield what to do with a function that was to be called, or another value, where a coroutine belongs."""
    for tree in failure.call.args if failure.call else ():
        if type(failure.resolve(tree)) is FunctionType:
            yield f"Call the function that is given: `{failure.text_of(failure.function)}({failure.text_of(tree)}())`, with its own parentheses."
    if "_GatheringFuture" in failure.message:
        yield "`gather` is called where a loop runs: `async def main(): return await asyncio.gather(f(1), f(2))`, and then `asyncio.run(main())`."
    yield "Give it coroutines, calls of `async def` functions: `asyncio.run(main())`, `asyncio.gather(f(1), f(2))`."


RULES: tuple[HintRule, ...] = (
    HintRule("TypeError", "", method_of_builtin, calls=_ASKING),
    HintRule("NameError", r"free variable '([^']+)'",
        "Assign `{1}` in the enclosing function before the inner function is called."),
    HintRule("TypeError", r"Cannot convert (?:expression|complex) to float|loop of ufunc does not support argument 0 of type (?:Symbol|Add|Mul|Pow|Float|Integer|Rational|One|Zero|Pi)|cannot determine truth value of Relational",
        "The expression still has symbols: give them values, `expr.subs(x, 2)`, use sympy's own function, `sp.sin(x)`, or `sp.lambdify(x, expr)` for arrays; a condition is solved with `sp.solve`."),
    HintRule("TypeError", r"resolved dtypes are not compatible with add\.reduce|signature matching types|reduce with flexible type|when using the string \w+ ufunc|ufunc '\w+' not supported for the input types|loop of ufunc does not support argument 0 of type \w+",
        "The array holds texts or objects: make numbers of them first, `a.astype(float)`, `np.array(values, dtype=float)`."),
    HintRule("TypeError", r"'(?:map|filter|zip|generator|enumerate|reversed|set|frozenset|range|bytes|dict_\w+|odict_\w+|\w+_iterator|itertools\.\w+)'(?: object (?:is not (?:reversible|subscriptable)|does not support item)| has no len)|unsupported operand type\(s\) for [^:]+: '(?:map|filter|zip|generator|range|dict_\w+|odict_\w+)'",
        "It has no positions, and computes nothing: make a list of it first, `list({it})`; its first item is `next(iter({it}))`."),
    HintRule("TypeError", r"can only concatenate str \(not \"byte|a bytes-like object is required, not 'str'|can't concat str to bytes|string argument without an encoding|[Ss]trings must be encoded|cannot use a (?:string|bytes) pattern|(?:be str, not|, got) '?bytes",
        "Text and bytes do not mix: `text.encode('utf-8')` makes bytes of a text, `data.decode('utf-8')` a text of bytes; the mode of a file of bytes has a `b`."),
    HintRule("TypeError", r'can only concatenate str \(not \"([\w.]+)\"\) to str',
        "Turn the value into text with `str({right})`, or use an f-string: `f'... {{{right}}}'`."),
    HintRule("TypeError", r"can only concatenate (list|tuple) \(not \"(?:int|float)\"\)",
        "`{left}` is a {1}: to compute take an item of it first, `{left}[0] + {right}`; one more item is `[*{left}, {right}]`."),
    HintRule("TypeError", "can only concatenate (list|tuple)",
        "Make both the same kind: `[*{left}, *{right}]` for several items, `[*{left}, {right}]` for one."),
    HintRule("TypeError", r"unsupported operand type\(s\) for (?:\+=?: '(?:int|float)' and 'str'|(?:[-*/%]+=?|\*\* or pow\(\)): '(?:int|float|complex|str|list|tuple|numpy\.\w+|\w*Symbol)' and 'str'|[^:]+: 'str' and)|'[<>]=?' not supported between instances of '(?:str' and '(?:int|float)|(?:int|float)' and 'str)'|for unary [-+~]: 'str'|non-int of type 'str'|for abs\(\): 'str'|type str doesn't define|component: str",
        "Turn the text into a number first, `int({text})` or `float({text})`; a number becomes text by `str(...)`, and values of both kinds are sorted with `key=str`."),
    HintRule("TypeError", r"unsupported operand type\(s\) for \+=?: '(?!int|float|complex|list|tuple|dict|set|\w+Path|NoneType|type|function|method|builtin|(?:decimal\.)?Decimal|Fraction|(?:datetime\.)?date|(?:datetime\.)?time)[\w.]+' and 'str'",
        "Turn the value into text first: `str({left})`, or use an f-string."),
    HintRule("TypeError", r"for [^:]+: (?:'(?:decimal\.)?Decimal' and 'float'|'float' and '(?:decimal\.)?Decimal')",
        "Make both Decimals: `Decimal('1.2')` for a constant, `Decimal(str(x))` for a variable."),
    HintRule("TypeError", r"for [^:]+: (?:'(?:list|tuple|range)' and '(?:int|float|list|tuple)'|'(?:int|float)' and '(?:list|tuple|range)')|for unary [-+~]: '(?:list|tuple)'|non-int of type '(?:list|tuple)'|for abs\(\): 'list'|type list doesn't define|'[<>]=?' not supported between instances of '(?:list|tuple)' and '(?:int|float)'",
        "Lists do not compute item by item: use a comprehension, `[x * 2 for x in values]`, `[a - b for a, b in zip(x, y)]`, `[x for x in a if x not in b]`, or numpy arrays if numpy is there; a total is `sum(values)`."),
    HintRule("TypeError", r"unsupported operand type\(s\) for [-+]: '(?:datetime\.)?time'",
        "Times of day do not compute: put each on a day first, `datetime.combine(date.today(), t)` (with `from datetime import date, datetime`)."),
    HintRule("TypeError", r"unsupported operand type\(s\) for [-+]: '(?:datetime\.)?(date|datetime)' and 'int'",
        "Add or subtract a timedelta: `timedelta(days={right})` (with `from datetime import timedelta`)."),
    HintRule("TypeError", r"'[<>]=?' not supported between instances of '(?:datetime\.timedelta' and '(?:int|float)|(?:int|float)' and 'datetime\.timedelta)'",
        "A length of time is compared with another, `timedelta(days=2)` (with `from datetime import timedelta`), or as a number of days, `{left}.days`."),
    HintRule("TypeError", r"'[<>]=?' not supported between instances of '(?:datetime\.)?(?:date|datetime|Timestamp)'|can't compare datetime\.datetime to datetime\.date|for -: '(?:datetime\.)?date(?!time\.time')|for [-+]=?: '(?:datetime\.)?(?:date|datetime|Timestamp)(?:\.date|\.datetime)?' and 'str'|Invalid comparison between dtype=datetime64.* and (?!Timestamp|datetime)",
        "Make both the same kind first: a text with `datetime.datetime.fromisoformat(text)`, a datetime with `.date()`; of pandas a text with `pd.Timestamp(text)`."),
    HintRule("TypeError", r"unsupported operand type\(s\) for \^: (?:'float'|'int' and 'float'|'(?:Symbol|Add|Mul|Pow)'|'int' and '(?:Symbol|Add|Mul|Pow)')",
        "Powers are written `**` in Python: `{left} ** {right}`."),
    HintRule("TypeError", r"'(?:_asyncio\.(?:Task|Future)|_GatheringFuture)'",
        "A task has its result when it is awaited: write `await task`."),
    HintRule("TypeError", "(?:'r?|^operation 'r)(?:and|or)_'",
        "Put parentheses around each comparison: `df[(df['a'] > 2) & (df['b'] < 4)]`."),
    HintRule("TypeError", "cannot unpack non-iterable Symbol object",
        "Name as many symbols as there are variables: `x, y = sp.symbols('x y')`."),
    HintRule("TypeError", r"unsupported operand type\(s\) for >>: '(?:builtin_function_or_method|function)' and '_io",
        "In Python 3 write `print(..., file=...)`."),
    HintRule("TypeError", r"unsupported operand type\(s\) for ([^:]+): '([\w.]+)' and '([\w.]+)'", operator_of_class),
    HintRule("TypeError", r"can't multiply sequence by non-int of type '(?:float|Fraction|decimal\.Decimal|numpy\.float64)'",
        "A text or list is repeated by a whole number only: convert text with `float(...)` to compute, or use `int(...)` to repeat."),
    HintRule("TypeError", r"not '?complex\b|can't convert complex to (?:int|float)|'[<>]=?' not supported between instances of (?:'complex' and|'\w+' and 'complex')",
        "Complex numbers have no order and are no real ones: take `z.real`, `z.imag` or `abs(z)`; the functions of `cmath` take them as they are."),
    HintRule("TypeError", "'[<>]=?' not supported between instances of",
        "Of equal priorities the next parts are compared: put a number between them, `(priority, next(counter), item)` with `counter = itertools.count()`.", calls=("heappush", "heappop", "heapify", "heappushpop", "heapreplace", "put", "put_nowait", "get", "get_nowait")),
    HintRule("TypeError", r"'[<>]=?' not supported between instances of '(\w+)' and '\1'",
        "Say what to compare by, `key=lambda item: item['name']` of dicts, `item.name` of objects, or define `__lt__` in the class (`@dataclass(order=True)` does)."),
    HintRule("TypeError", r"'[<>]=?' not supported between instances of '(\w+)' and '(\w+)'",
        "A `{1}` and a `{2}` have no order: convert them to one type, or sort with `key=`."),
    HintRule("TypeError", "can't (?:compare|subtract) offset-naive and offset-aware datetimes|Cannot (?:subtract|compare) tz-(?:naive|aware)|Invalid comparison between dtype=datetime64",
        "Give both a time zone, `dt.replace(tzinfo=datetime.timezone.utc)`, or none; in pandas a column with `.dt.tz_localize('UTC')`, one time with `pd.Timestamp(text, tz='UTC')`."),
    HintRule("TypeError", r"only (?:length-1|0-dimensional|size-1) arrays|cannot convert the series",
        "Take one item, `a[0]`, of a column `s.iloc[0]`, or convert them all: `a.astype({function})`.", calls=("int", "float")),
    HintRule("TypeError", r"must be real number, not (?:Series|DataFrame|ndarray|Index)|only (?:length-1|0-dimensional|size-1) arrays",
        "The functions of `math` take one number: use numpy's own (`np.sqrt(a)`, `np.exp(a)`) for a column or an array."),
    HintRule("TypeError", "must be real number, not (?!list|tuple)",
        "Convert it to a number first: `float({arg})`."),
    HintRule("TypeError", "must be real number, not (list|tuple)",
        "It takes numbers, one by one: spread the {1}, `{function}(*values)`, or take each item, `[{function}(x) for x in values]`."),
    HintRule("TypeError ValueError", r"non-integer (?:stop|start|step|arg 1) for randrange|'(?:float|Decimal|numpy\.float64)' object cannot be interpreted as an integer|slice indices must be integers|(?:list|tuple|str|string|range object|byte) ?ind(?:ices|ex) must be integers(?: or slices)?, not '?float|expected a sequence of integers",
        "Use a whole number there: `int(...)`, or `//` instead of `/`."),
    HintRule("TypeError", "list indices must be integers or slices, not tuple",
        "A list of lists takes two pairs of brackets, `{it}[i][j]`; for `[i, j]` make a numpy array of it. A missing comma between two lists looks the same."),
    HintRule("TypeError", "list indices must be integers or slices, not",
        "Positions are whole numbers: take an item first, `values[0]`, or go through them, `for i, item in enumerate(values):`."),
    HintRule("TypeError", "tuple indices must be integers or slices, not",
        "The items of a tuple have positions: `{it}[0]`, or unpack it, `a, b = {it}`; rows of a database have names after `con.row_factory = sqlite3.Row`."),
    HintRule("TypeError", "string ind(?:ices|ex) must be integers",
        "It is a text, not a dict: read it first with `json.loads(text)`; a loop over a dict gives its keys, `.items()` gives keys and values."),
    HintRule("TypeError", r"'(?:type|ABCMeta|EnumType)' object is not subscriptable|type '(\w+)' is not subscriptable",
        "Call the class with parentheses: `Kind(...)`."),
    HintRule("TypeError", r"'(?:float|bool|numpy\.\w+)' object is not iterable|'(?:int|float|bool|numpy\.\w+)'(?: object is not subscriptable| has no len| is not (?:iterable|a container))",
        "`{it}` is one number, not a list: use it as it is, take it from the list that it comes from, or put it into one, `[{it}]`; its digits are `str({it})`."),
    HintRule("TypeError", "'(int)' object is not iterable",
        "Loop over `range({it})`; a single number becomes a list with `[{it}]`."),
    HintRule("TypeError", "cannot unpack non-iterable (int|float|bool)",
        "There is one value on the right, not several: for pairs loop over `.items()`, `enumerate(...)` or `zip(...)`."),
    HintRule("TypeError", "object is not an iterator",
        "Make an iterator of it first: `next(iter({it}))`.", calls=("next",)),
    HintRule("TypeError", "object is not an iterator",
        "An iterator has `__next__`: a function with `yield` gives one, also below `@contextmanager`; `iter(values)` is one of a list."),
    HintRule("TypeError", "'async_generator' object is not iterable",
        "Use `async for` inside an `async def`; a list is `[x async for x in generator]`."),
    HintRule("TypeError", "'(?:Lock|Semaphore|BoundedSemaphore|Condition|TaskGroup|Timeout|AsyncExitStack|_AsyncGeneratorContextManager|aclosing|coroutine|async_generator)' object does not support the (?:asynchronous )?context manager",
        "Use `async with` inside an `async def` for an asynchronous one, and `await` for a coroutine."),
    HintRule("TypeError", "'str' object does(?: not|n't) support item (?:assignment|deletion)",
        "A str cannot be changed: make a new text, `text[:i] + new + text[i + 1:]` or `text.replace(old, new)`, or change a list of it, `letters = list({it})`."),
    HintRule("TypeError", "'tuple' object does(?: not|n't) support item (?:assignment|deletion)",
        "A tuple cannot be changed: make a list of it, `items = list({it})`, and change that."),
    HintRule("TypeError", r"'([\w.]+)' (?:object )?(?:is not (subscriptable|iterable|a container)|does not support (item assignment|the (?:asynchronous )?context manager protocol)|has no (len)\b)|(?:non-iterable|for unary [-+~]:) '?(\w+)",
        protocol_of_class),
    HintRule("TypeError", r"unhashable type: '(list|numpy\.ndarray|dict|set|Series|DataFrame|Index)'",
        "A {1} cannot be a key or a member of a set: use `tuple(values)` of a list, an array or a column, `frozenset(values)` of a set, one value or `tuple(sorted(d.items()))` of a dict."),
    HintRule("TypeError", "unhashable type: 'slice'",
        "A dict has no slices: use `list(d.items())[:n]`; rows of a DataFrame are `df.iloc[a:b]`, columns `df[['a', 'b']]`."),
    HintRule("TypeError", r"unhashable type: '(\w+)'",
        "A class that defines `__eq__` needs `__hash__` too: define it, or use `@dataclass(frozen=True)`."),
    HintRule("TypeError", r"Object of type (\w+) is not JSON serializable",
        "Say how a {1} becomes plain data: `json.dumps(value, default=str)`; `list(values)` of a set or an iterator, `a.tolist()` of an array, `x.item()` of a number of numpy, `df.to_dict(orient='records')`, `dataclasses.asdict(o)`."),
    HintRule("TypeError", "keys must be str, int, float, bool or None",
        "Make the keys text first: `{str(k): v for k, v in d.items()}`."),
    HintRule("TypeError", r"the JSON object must be str, bytes or bytearray, not (\w+)",
        "`json.loads` takes a text: a {1} that is read already is used as it is, and written with `json.dumps(value)`; a file is read with `json.load(file)`."),
    HintRule("TypeError", r"sequence item \d+: expected str instance|can only join an iterable",
        "Turn the items into texts first: `', '.join(str(x) for x in values)`, or `map(str, values)`."),
    HintRule("TypeError", "not all arguments converted during string formatting|not enough arguments for format string|%[a-zA-Z] format: a (?:real )?number is required, not str|%d format|%[a-zA-Z] requires a real number, not str",
        "Use an f-string, `f'{a} {b}'`, or give all values in one tuple, `'%s %s' % (a, b)`; a text becomes a number first, `int(text)`, also for the remainder, `int(text) % 2`."),
    HintRule("TypeError", r"unsupported format string passed to ([\w.]+)\.__format__",
        "Format a single number or text, `f'{float(x):.2f}'`; a {1} is formatted with `f'{x!s:>10}'`."),
    HintRule("TypeError", r"(?:int|float)\(\) argument must be a string.*, not '(\w+)'",
        "Convert one value at a time: `float(x)` of a text or number, `[float(x) for x in values]` of a list, `.astype(float)` of a column."),
    HintRule("TypeError", "exceptions must derive from BaseException|that do not inherit from BaseException",
        "Raise an exception, `raise ValueError('why')`, and catch a class of them, `except ValueError:`."),
    HintRule("TypeError", "cannot convert dictionary update sequence|dictionary update sequence element",
        "Give pairs: `dict([('a', 1), ('b', 2)])`, or `dict(zip(keys, values))`."),
    HintRule("TypeError", r"Can't instantiate abstract class (\w+) with(?:out an implementation for)? abstract methods? '?([\w, ']+?)'?$",
        "Define `{2}` in `{1}`, or in a subclass of it of which you make the instance; each name must be the same, letter for letter."),
    HintRule("TypeError", r"non-default argument '(\w+)' follows",
        "Put the fields without a default before those with one, or write `@dataclass(kw_only=True)`."),
    HintRule("TypeError", "should return |returned non-",
        "Python calls the method itself: `__init__` returns nothing, `__str__` and `__repr__` a text, `__len__` a whole number, `__iter__` an iterator."),
    HintRule("TypeError", "must be called with a collection of some kind",
        "Give a list there, `['a']`; `rename` takes a dict, `columns={'old': 'new'}`."),
    HintRule("TypeError", r"can(?:no|')t be used in 'await' expression|'async_generator' object can't be awaited|'async for' re",
        "Only a coroutine is awaited, and only an asynchronous generator is looped over with `async for`, or listed, `[x async for x in generator]`: remove the `await` or the `async`."),
    HintRule("TypeError ValueError", "An asyncio.Future, a coroutine or an awaitable is required|a coroutine was expected",
        _no_coroutine),
    HintRule("TypeError", r"Cannot cast ufunc '\w+' output from dtype\('(\w+)'\) to dtype\('(\w+)'\)",
        "The array holds `{2}` and the result is `{1}`: make it `{1}` first, `a = a.astype('{1}')`, or write `a = a + b` instead of `a += b`."),
    HintRule("TypeError", "Must provide 'func' or tuples of",
        "Name each aggregation with a pair: `.agg(total=('column', 'sum'))`."),
    HintRule("TypeError", "data type '(.*)' not understood",
        "Name a type that exists: `'int64'`, `'float64'`, `'bool'`, `'str'`, `'category'`, or `'number'` for all numeric ones."),
    HintRule("TypeError DataError", r"Cannot perform reduction '\w+' with string|agg function failed|[Cc]ould not convert .* to numeric|Could not convert string|does not support operation '\w+'|operation '\w+' not supported for dtype 'str'|Cannot aggregate non-numeric|has dtype (?:str|object), cannot use method|no numeric data to plot",
        "Some of the columns are text: make numbers of them, `pd.to_numeric(column, errors='coerce')`, or leave them out, `numeric_only=True`, `df.select_dtypes('number')`; a file that writes 3,50 is read with `decimal=','`."),
    HintRule("TypeError", r"cannot concatenate object of type '<class '(\w+)'>'",
        "Make a frame of the {1} first: `pd.DataFrame([row])` of a dict for one row, `pd.DataFrame(rows)` of a list of them."),
    HintRule("TypeError", "Only valid with DatetimeIndex",
        "Make dates the index first: `df.set_index(pd.to_datetime(df['date']))`, or use `on='date'`."),
    HintRule("TypeError", "Cannot setitem on a Categorical|Cannot set .* into .* dtype|Invalid value '(.*)' for dtype",
        "Convert the column first: `.astype(object)`, `.astype(float)` or `.astype(str)`."),
    HintRule("TypeError", r"must be (?:str|bytes) or a tuple of (?:str|bytes), not",
        "Give one text, or several in a tuple: `{function}(tuple(values))`."),
    HintRule("TypeError", r"descriptor '(\w+)' for '([\w.]+)' objects doesn't apply to",
        "`{1}` is a method of a value of that class: call it on one, `value.{1}(...)`, with the other arguments."),
    HintRule("TypeError", "Addition/subtraction of integers|cannot add DatetimeArray",
        "Add a length of time: `column + pd.Timedelta(days=5)`; two dates are subtracted, `(a - b).dt.days`."),
    HintRule("TypeError", r"expected string or bytes-like object|(?:write\(\) argument must be str|string argument expected|must be str(?: or None)?), (?:not|got)|argument must be str|requires? string as left operand|must be None or a string|decoding to str: need",
        "Give a text there: `str(value)`, or `json.dumps(value)` of data; a list is gone through item by item."),
    HintRule("TypeError", r"can't convert type '(\w+)' to numerator/denominator",
        "Turn the items into numbers first: `statistics.mean(float(x) for x in values)`."),
    HintRule("ValueError", r"'c' argument must be a color|'(\w+)' is not a valid (?:value for )?(?:color|c|facecolor|edgecolor)\b",
        "Use a colour name such as `'red'`, or `'#1f77b4'`."),
    HintRule("ValueError", r"Length mismatch: Expected axis has (\d+) elements?, new values have (\d+)",
        "There are {1} names on that axis, not {2}: give as many as there are columns or rows, or rename some of them with `df.rename(columns={'old': 'new'})`."),
    HintRule("ValueError IndexError IndexingError TypeError", r"objects cannot be broadcast to a single shape|equal len keys|same (?:length|size|number(?! of dim)|first dimension)|one fewer than|different lengths|does not match the (?:population|length)|Columns must be same length|mismatched columns|indexing assignment cannot|Shape of passed values|\d+ columns passed|Length of values|(?:number|shape) of (?:ticks|labels)|same shape$|match the number of|boolean index did not match|^Unalignable boolean|must be of length|expected length \d+ but got length",
        "Give both the same number of values, as many on one side as on the other: print `df.shape` and the length of each, and filter both alike."),
    HintRule("ValueError", r"'?(?:M|Q|Y|A|H|T|S)'? is no longer supported for offsets|Invalid frequency: \w+",
        "Use a frequency as it is called now: `'D'`, `'W'`, `'ME'` for months, `'QE'` for quarters, `'YE'` for years, `'h'`, `'min'` and `'s'`."),
    HintRule("ValueError", r"cannot insert (.+), already exists",
        "There is a column {1} already: leave the index out, `df.reset_index(drop=True)`, or assign to the column, `df[name] = values`."),
    HintRule("ValueError", "does not result in an equal division",
        "Use `np.array_split(a, n)`, whose parts may differ by one."),
    HintRule("ValueError", "Invalid limits given",
        "Give variable and limits as one tuple: `sp.integrate(f, (x, 0, 1))`."),
    HintRule("ValueError", "cannot assign without a target object",
        "In a query compare with `==`: `df.query(\"column == 'value'\")`; a single `=` assigns."),
    HintRule("ValueError", r"must be 1-?[dD]imensional|Data must be 1-dimensional|Expected 1D|should be a 1d array",
        "Make it one row of values: `a.ravel()`, or one column, `df['column']` with one pair of brackets."),
    HintRule("ValueError", "Unrecognized marker style",
        "Markers are signs: `'o'` a circle, `'s'` a square, `'^'` a triangle, `'*'` a star, `'x'`, `'+'`, `'.'`."),
    HintRule("ValueError", "assignment destination is read-only|output array is read-only",
        "The array is a read-only view: make a copy first, `a = a.copy()`."),
    HintRule("ValueError", r"level name (\w+) is not the name of the index",
        "Give the columns as one list: `df.groupby(['a', 'b'])`; the second argument is the level of an index."),
    HintRule("ValueError", "Cannot mask with non-boolean array containing NA",
        "Say what a missing value counts as: `column.str.contains(text, na=False)`, or `mask.fillna(False)`."),
    HintRule("ValueError", "Cannot subset columns with a tuple",
        "Give the columns as a list, with two pairs of brackets: `df.groupby('key')[['a', 'b']]`."),
    HintRule("ValueError TypeError", "[Bb]ased indexing can only have|index by location index with a non-integer key",
        "`.iloc` takes positions: for names use `.loc[row, 'column']`, or `df['column'].iloc[0]`."),
    HintRule("ValueError", r"(?:with base 10|string to float): '(?=[^']*[,$€£¥%])[-+\s\d.,$€£¥%]+'",
        "Leave only the digits and a point: `float(text.strip('$€% ').replace(',', ''))`, where the comma is the decimal one `.replace('.', '').replace(',', '.')`; a percentage is divided by 100."),
    HintRule("ValueError", r"invalid literal for int\(\) with base 10: '\s*[-+]?0[xXbBoO]\w+'",
        "The text names its base: `int(text, 0)` reads `0x`, `0o` and `0b`."),
    HintRule("ValueError", r"invalid literal for int\(\) with base 10: '\s*-?\d+\.\d*\s*'",
        "It has a decimal point: use `float(text)`, or `int(float(text))` to cut it off."),
    HintRule("ValueError", r"(?:invalid literal for int\(\) with base 10|could not convert string to float): '\s*'",
        "The text is empty: skip it first, `if text.strip():`."),
    HintRule("ValueError", r"invalid literal for int\(\) with base (\d+)",
        "It is not a whole number in base {1}: check it first with `text.strip().isdigit()`, or skip such values in a `try` with `except ValueError`; a hexadecimal one is `int(text, 16)`."),
    HintRule("ValueError", "could not convert string",
        "The file has a header or other texts: leave the first line out, `skiprows=1`, or read it with `pd.read_csv(name)`.", calls=("loadtxt",)),
    HintRule("ValueError", r"could not convert string to float|complex\(\) arg is a malformed string",
        "It is not a number: skip or replace such values, in a `try` with `except ValueError`; a column with `pd.to_numeric(column, errors='coerce')`."),
    HintRule("ValueError", r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)",
        "The right side gives {2} and the left side has {1} names: check how the value is split, or unpack what there is, `first, *rest = values`; keys and values of a dict are `d.items()`, rows of a frame `df.iterrows()`."),
    HintRule("ValueError", r"too many values to unpack \(expected (\d+)(?:, got \d+)?\)",
        "There are more than {1} values on the right: give each a name, or take the rest with a star, `a, *rest = values`; keys and values of a dict are `d.items()`, rows of a frame `df.iterrows()`, positions come with `enumerate(...)`."),
    HintRule("ValueError", r"cannot reshape array of size (\d+) into shape (\(.*\))",
        "The product of the new shape {2} must be the size, {1}; `-1` lets numpy compute one axis: `a.reshape(-1, 2)`."),
    HintRule("ValueError", r"operands could not be broadcast together with (?:remapped )?shapes? (\S+) (\S+)|could not broadcast input array from shape (\([\d, ]*\)) into shape (\([\d, ]*\))",
        "The shapes {1}{3} and {2}{4} do not fit: print `a.shape` and `b.shape`, then transpose (`a.T`), reshape (`a[:, None]`) or select the same part of both."),
    HintRule("ValueError ShapeError", "has a mismatch in its core dimension|shapes .* not aligned|all the input array|dimension mismatch|size mismatch",
        "The inner sizes must be equal: the columns of `a` as many as the rows of `b` in `a @ b`, all but the joined axis when arrays are joined. Print the shapes, transpose (`b.T`) or reshape (`a.reshape(-1, 1)`) one."),
    HintRule("ValueError", "setting an array element with a sequence",
        "The rows have different lengths, or an item is a list: give all rows the same length, or use a list of lists."),
    HintRule("ValueError", "The truth value of an? (?:.*array.*|Series|DataFrame|Index) is ambiguous",
        "Use `&`, `|` and `~` with parentheses around each comparison instead of `and`, `or` and `not`; in an `if` use `.any()`, `.all()`, or `.empty` of a frame; to choose row by row use `np.where(condition, a, b)`."),
    HintRule("ValueError", "Expected 2D array, got (?:1D|scalar) array instead|Expected a 2-dimensional container but got",
        "scikit-learn takes rows and columns: `X.reshape(-1, 1)`, or `df[['column']]` with two pairs of brackets."),
    HintRule("ValueError", r"Found input variables with inconsistent numbers of samples: \[(\d+), (\d+)\]",
        "X and y must have the same number of rows ({1} and {2}): select the same rows of both, and check the order of `train_test_split`'s results: `X_train, X_test, y_train, y_test`."),
    HintRule("ValueError", "cannot convert float NaN to integer",
        "The value is NaN, which is no number: check it first, `if x == x:`, which is false for NaN alone.", calls=("int", "round", "floor", "ceil", "trunc")),
    HintRule("ValueError", r"cannot convert float NaN to integer|Cannot convert non-finite values|[Cc]annot convert NA to integer|Input (?:X |y )?contains",
        "Fill or drop the missing values first: `df.dropna()`, `.fillna(0).astype(int)`, the type `'Int64'`, or `SimpleImputer()` in a pipeline; infinite ones with `df.replace([np.inf, -np.inf], np.nan)`."),
    HintRule("ValueError", r"X has \d+ features|feature names should match",
        "Give the same columns as in `fit`, in the same order: `X_new[X.columns]`."),
    HintRule("ValueError", r"at least 2 classes|number of classes has to be|least populated class|n_samples=\d+ should be|number of splits n_splits",
        "There are too few rows, or too few of one class: look at `len(y)` and `y.value_counts()`, and take more data, or fewer clusters and splits."),
    HintRule("ValueError", "Unknown label type",
        "The target is continuous: use a regressor, for example `LinearRegression`, or make classes of it."),
    HintRule("ValueError", "continuous(?:-multioutput)? is not supported|and continuous targets",
        "This score compares classes, and numbers were given: make classes of them, `y_pred.round()` or `(y_pred > 0.5).astype(int)`; numbers are compared by `r2_score` or `mean_absolute_error`."),
    HintRule("ValueError", r"You are trying to merge on (\S+) and (\S+) columns",
        "The keys have different types ({1} and {2}): convert one first, `df['key'] = df['key'].astype(str)`."),
    HintRule("ValueError", "mutable default .* use default_factory",
        "Use `field(default_factory=list)` (with `from dataclasses import field`)."),
    HintRule("ValueError", "If using all scalar values, you must pass an index",
        "Put the values into lists, `pd.DataFrame({'a': [1]})`, or use `pd.Series(values)`.", calls=("DataFrame",)),
    HintRule("ValueError", r"No axis named|Must specify axis=",
        "Use `axis=0` for rows and `axis=1` for columns."),
    HintRule("ValueError", "[Ll]arger (?:sample )?than population",
        "Take at most as many as there are, or with repetition: `random.choices(values, k=n)`, of numpy `replace=True`."),
    HintRule("ValueError ProgrammingError", r"I/O operation on closed file|Cannot operate on a closed",
        "It is closed: use it inside of its `with` block or before `.close()`, or open it again."),
    HintRule("ValueError UnsupportedOperation Error", r"should return strings, not bytes|not (?:readable|writable)|exactly one of create/read/write/append mode|invalid mode",
        "Open it for what you do: the mode `'r'` reads, `'w'` writes anew, `'a'` appends, `'r+'` does both, with `b` for bytes."),
    HintRule("ValueError", "unknown file extension|No engine for filetype",
        "Name the file by a format that can be written here: `.xlsx` a workbook, `.png` a picture, `.gif` an animation, with `writer='pillow'`."),
    HintRule("ValueError", "^Trailing data",
        "There are several JSON values, one a line: pass `lines=True`."),
    HintRule("ValueError", "columns overlap but no suffix specified",
        "Name the key, `df.merge(other, on='key')`, or tell the columns apart: `df.join(other, rsuffix='_right')`."),
    HintRule("ValueError KeyError", "Worksheet .*(?:not found|does not exist)",
        "The sheets are called `pd.ExcelFile(name).sheet_names`, of openpyxl `workbook.sheetnames`: take one of these."),
    HintRule("ValueError", "No group keys passed",
        "Say what to group by: `index='column'` of `pivot_table`, or the column of `groupby`."),
    HintRule("ValueError", "Cannot (?:set|assign) a DataFrame with multiple columns|Index contains duplicate entries, cannot reshape",
        "Use `df.pivot_table(index=..., columns=..., values=..., aggfunc='sum')`, which joins duplicates."),
    HintRule("ValueError DateParseError", r"time data .* match format|Unknown datetime string format|must be in \d.*: |is out of range for month: |Invalid date specified|Out of bounds nanosecond",
        "A date is not written as the format says, or as the first one is: `pd.to_datetime(column, format='mixed')` reads each by itself, with `dayfirst=True` where the day stands first; `errors='coerce'` makes NaT of what is no date.", calls=("to_datetime", "Timestamp", "read_csv")),
    HintRule("ValueError", r"time data .* (?:doesn't|does not) match format|unconverted data remains|Invalid isoformat string|Error parsing datetime string|out of range in datetime string",
        "The format does not fit the text: `datetime.strptime(text, '%d/%m/%Y')` for 31/01/2024, `'%Y-%m-%d'` for 2024-01-31, `'%H:%M'` for times; `pd.to_datetime(text)` finds it."),
    HintRule("ValueError", r"day is out of range for month|day \d+ must be in range|month must be in 1\.\.12|hour must be in 0\.\.23|minute must be in|year \d+ is out of range",
        "Check the order of the arguments, year, month, day, hour, minute; the last day of a month is `calendar.monthrange(year, month)[1]`."),
    HintRule("ValueError", r"(max|min)\(\) (?:arg is an empty sequence|iterable argument is empty)",
        "The sequence is empty: use `{1}(values, default=0)`, or check `if values:` first."),
    HintRule("ValueError", r"list\.remove\(x\): x not in list|is not in list|tuple\.index\(x\)|(?:substring|subsection) not found",
        "Check `if x in values:` first; of a text `text.find(part)` is -1 if it is not there."),
    HintRule("ValueError", r"Exceeds the limit \((\d+) digits\) for integer string conversion",
        "The number has more than {1} digits: end the step with it, which shows them, or print a part, `n % 10**10`; `sys.set_int_max_str_digits(0)` (with `import sys`) lifts that limit."),
    HintRule("ValueError", r"Unknown format code|Invalid format specifier|Sign not allowed|Format specifier missing|Precision not allowed|alignment not allowed|Alternate form|Cannot specify '",
        "Use `f'{x:.2f}'` for numbers with decimals, `f'{int(x):d}'` for whole ones, `f'{x:,}'`, `f'{text:>10}'` for a text; a text becomes a number first, `f'{float(x):.2f}'`."),
    HintRule("IndexError", r"Replacement index (\d+) out of range",
        "The text asks for the value with the position {1}, counted from 0, and `format` was given fewer: give one for each `{}`, or use an f-string."),
    HintRule("ValueError IndexError", r"cannot switch from (?:manual|automatic) field|unmatched '\{'|Single '[{}]' encountered|expected '\}' before end of string|unsupported format character|incomplete format",
        "Use an f-string; a brace or a percent sign that is text is doubled: `{{`, `}}`, `%%`."),
    HintRule("ValueError KeyError", r"(?:[Vv]alid (?:plot kinds|values|options)|[Ss]upported (?:values|formats)|one of|[Cc]hoose from|a str among)(?: are)?[: ]+(\([^()]{2,160}\)|[^()\n]{2,160}?(?=[?.)]*(?:\n|$)|\.? Got )|[^()\n]{160})",
        "Take one of these, as it is written here: {1}."),
    HintRule("ValueError", r"cannot convert '?(\w+)'? to|Unable to parse string",
        "Use `pd.to_numeric(column, errors='coerce')`; what is no number becomes NaN."),
    HintRule("IndexError", "list assignment index out of range",
        "A list does not grow by assignment: use `.append(value)`, or make it long enough first, `[0] * n`."),
    HintRule("IndexError KeyError", "pop from (?:an )?empty|dictionary is empty|^index out of range|Cannot choose from an empty sequence",
        "The sequence is empty: check `if values:` first."),
    HintRule("AxisError IndexError", r"axis -?\d+ is out of bounds for array of dimension (\d+)|too many indices for array: array is (\d+)-dim",
        "The axes are counted from 0, and the array has {1}{2}: print `a.ndim` and `a.shape`; several numbers are one list, `np.max([1, 2])`."),
    HintRule("IndexError error PatternError", "no such group|unknown group name|invalid group reference",
        "Put parentheses around the part that you want, `(...)` or `(?P<name>...)`, and count them from 1; `.group()` is the whole match."),
    HintRule("IndexError", r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)",
        "Axis {2} has {3} items, and indexes count from 0: print `a.shape`."),
    HintRule("IndexError", r"only integers, slices .* are valid indices|arrays used as indices must be of integer",
        "Use whole numbers as indexes: `int(i)`, `//`, `index.astype(int)`; columns by name belong to a DataFrame, `df['name']`."),
    HintRule("IndexError", "single positional indexer is out-of-bounds|positional indexers are out-of-bounds|iloc cannot enlarge",
        "The frame has fewer rows, or columns: check `df.shape`; it may be empty after a filter."),
    HintRule("AttributeError ValueError", r"'(.*)' is not a valid function (?:name )?for",
        "Aggregations are functions, or called `'mean'`, `'std'`, `'var'`, `'sum'`, `'count'`, `'nunique'`, `'size'`, `'median'`, `'min'` and `'max'`."),
    HintRule("AttributeError", r"Can only use \.(?:dt|str|cat) accessor with",
        "Convert the column first: `pd.to_datetime(series).dt`, or `series.astype(str).str`, or `series.astype('category').cat`."),
    HintRule("AttributeError", r"can't set attribute|cannot assign to field|cannot reassign member|property '(\w+)' of '(\w+)' object has no setter|has no setter",
        "It cannot be assigned, so give the value to a new name; a changed copy of a namedtuple is `obj._replace(name=value)`, of a frozen dataclass `dataclasses.replace(obj, name=value)`; a property needs a setter (`@name.setter`)."),
    HintRule("RuntimeError", r"asyncio\.run\(\) cannot be called from a running event loop|This event loop is already running|Cannot run the event loop while another loop is running",
        "A loop runs already: inside an `async def` write `await f()` instead of `asyncio.run(f())`."),
    HintRule("TimeoutError", "",
        "It took longer than it was given: give it more time, or catch it, `except TimeoutError:`."),
    HintRule("Empty QueueEmpty", "",
        "The queue is empty: ask `q.empty()` first, wait with `q.get()`; to a queue of asyncio values come with `await q.put(value)`."),
    HintRule("RuntimeError", "no running event loop|There is no current event loop",
        "Start one: `asyncio.run(main())`, and create tasks inside `main`."),
    HintRule("RuntimeError", "(?:changed size|keys changed|mutated) during iteration",
        "Loop over a copy: `for item in list(d):`."),
    HintRule("RuntimeError InvalidStateError", "cannot reuse already awaited coroutine|await wasn't used with future|Result is not (?:set|ready)",
        "Write `await` before it, and call the function again for each: `await f()`, `a, b = await asyncio.gather(f(), g())`."),
    HintRule("RuntimeError AttributeError", r"super\(\)|type object 'super'",
        "Use `super().method(...)` inside a method of the class."),
    HintRule("RuntimeError", "attached to a different loop|is bound to a different event loop|Event loop is closed",
        "A task, a lock or a queue lives as long as the step that makes it: make it and `await` it in one step."),
    HintRule("StatisticsError", "requires at least (?:one|two) data points?|no (?:median|mode) for empty data|at least one",
        "The list is empty or too short: check `len(values)` and the filter that made it."),
    HintRule("EOFError", "",
        "The input is at its end: read no more lines than there are (`for line in sys.stdin:`), or catch EOFError."),
    HintRule("URLError IOException Error", "urlopen error|Failed to download", lambda failure, _: [without_network(failure.plan)]),
    HintRule("JSONDecodeError ValueError", "Unexpected UTF-8 BOM",
        "The text begins with a byte order mark: open the file with `encoding='utf-8-sig'`, or drop it with `text.lstrip('\\ufeff')`."),
    HintRule("JSONDecodeError", "Expecting property name enclosed in double quotes",
        "JSON needs double quotes around names, and no comma after the last item: `text.replace(\"'\", '\"')`, or write it as a Python dict."),
    HintRule("JSONDecodeError", r"Expecting value: line 1 column 1 \(char 0\)",
        "The text is empty or not JSON: print `text[:200]`; a Python literal is written directly as code."),
    HintRule("JSONDecodeError", "Extra data",
        "There are several JSON values: read line by line, `[json.loads(line) for line in text.splitlines() if line.strip()]`."),
    HintRule("JSONDecodeError", "",
        "The text is not valid JSON there: print `text[:200]` and mend it: double quotes, no comma after the last item, `true`, `false` and `null` in small letters."),
    HintRule("Error", "Incorrect padding",
        "The text was cut off: fill it up, `base64.b64decode(text + '=' * (-len(text) % 4))`."),
    HintRule("UnicodeEncodeError", "^(?!.*surrogates)",
        "Write UTF-8, which has every character: `text.encode('utf-8')`; to a file, `open(name, 'w', encoding='utf-8')`."),
    HintRule("UnicodeDecodeError", "",
        "The bytes are not UTF-8: look at the first of them, `data[:20]`, before you name an encoding; of a file, `open(name, 'rb').read(20)`."),
    HintRule("ZeroDivisionError", "^(?!.*negative power)",
        "The divisor is 0: check it first, `... if {right} != 0 else 0`; for a mean check that the list is not empty."),
    HintRule("OverflowError", r"too large to convert to float|integer division result too large|math range error|Numerical result out of range|Result too large|too large to convert to C|Python integer \S+ out of bounds",
        "The number is too large: stay with whole numbers (`//`), or take `math.log(n)` for its size; `decimal.Decimal(n)` holds it, and an array with `dtype=object`."),
    HintRule("RecursionError", "",
        "The recursion never ends or goes too deep: check that the base case is reached, use `functools.lru_cache`, or write it as a loop with a list as stack."),
    HintRule("StopIteration", "",
        "The iterator is at its end: use `next(iterator, default)`, or a `for` loop."),
    HintRule("SystemExit", "^True$",
        "Tests did not pass: which, and why, is on stderr."),
    HintRule("SystemExit", "^2$",
        "A step without arguments has no command line: give them as a list, `parser.parse_args(['--name', 'value'])`.", calls=("parse_args",)),
    HintRule("SystemExit", "",
        "Remove the call: a step ends by itself at its last line; to stop early use `break` in a loop, `return` in a function, or `raise ValueError('why')`."),
    HintRule("ImportError", "Cannot load backend|interactive framework|Qt binding modules",
        "There is no window here: remove the line that chooses a backend; `plt.show()` shows the figure as a picture."),
    HintRule("BdbQuit", "",
        "There is no interactive debugger; remove the call and `print(...)` the values you want to see."),
    HintRule("RuntimeError", "[Kk]aleido",
        "Pictures of plotly's charts cannot be made here: write the page, `fig.write_html('chart.html')`, or show it with `fig.show()`; matplotlib draws pictures."),
    HintRule("ImportError", r"tabulate|sqlalchemy|[Mm]issing optional dependency|[Uu]se pip|Import \w+ failed|is required (?:for|to)|requires \w+",
        "It needs a package that is not installed and cannot be: use another method of the same library, `df.to_string()` to print, a connection of `sqlite3` for `to_sql`."),
    HintRule("NotFittedError", "",
        "Call `.fit(X, y)` before `.predict(...)` or `.transform(...)`; `.fit_transform(X)` does both."),
    HintRule("LinAlgError", "",
        "The matrix is not square, or has no inverse: use `np.linalg.pinv(a)`, or `np.linalg.lstsq(a, b)` to solve."),
    HintRule("ZoneInfoNotFoundError", "",
        "Time zones are called by region and city: `ZoneInfo('Europe/Berlin')`, `'America/New_York'`, `'UTC'`."),
    HintRule("ParserError", r"Expected (\d+) fields in line (\d+), saw (\d+)",
        "Line {2} has {3} fields instead of {1}: look at it; quote texts that hold the separator. `on_bad_lines='skip'` leaves such lines out."),
    HintRule("UndefinedVariableError", "name '(.*)' is not defined",
        "In `query` columns are written by name (with blanks in backquotes), variables with `@{1}`, and texts in quotes."),
    HintRule("ParseError", "",
        "The text is not XML there: close each tag, `<a>...</a>` or `<a/>`, have one outermost element, and write `&amp;` and `&lt;` for `&` and `<`."),
    HintRule("InvalidOperation", "",
        "It is no decimal number: clean the text first (`text.replace(',', '').strip()`), or check for a zero divisor."),
    HintRule("error PatternError", r"at position \d",  # its name since CPython 3.13; struct and zlib have an `error`, too
        r"Escape what is text, `re.escape(text)`; close every bracket, put something before `*`, `+` and `?`, and write patterns as raw strings: `r'\d+'`."),
    HintRule("OSError", r"\[Errno 27\]",
        "The file is larger than one file may be: write less, or in a compact form; `df.to_parquet` and `gzip.open` are such."),
    HintRule("OSError", "is not a valid package style",
        "Leave the style out, or take one of `plt.style.available`: `'ggplot'`; those of seaborn are called `'seaborn-v0_8'`, `'seaborn-v0_8-whitegrid'`."),
    HintRule("OSError", "source code not available|could not (?:get source code|find class definition)",
        "The source of a class is not kept: `inspect.getsource(function)` shows that of a function, or of one method."),
    HintRule("InvalidIndexError", "",
        "Rows and a column together are taken by `df.loc[rows, 'column']`, by position with `df.iloc[i, j]`."),
    HintRule("SyntaxError", "<unknown>",  # pandas; the builtin `eval` says `<string>`
        "In a query names with blanks stand in backquotes, variables behind an `@`, and texts in quotes: `df.query('`unit price` > @least')`.", calls=("query", "eval")),
    HintRule("SympifyError", "",
        "Write it as Python does: `2*x`, `x**2`; an equation is `sp.Eq(left, right)`."),
    HintRule("OperationalError", r"no such|no column named|columns but|syntax error|already exists",
        "Look at what there is, `con.execute('select sql from sqlite_master').fetchall()`, and at the statement near the word that is named; values are given as `?`."),
    HintRule("ProgrammingError InterfaceError", r"bindings? supplied|[Ee]rror binding|did not supply|^parameters are of unsupported type",
        "Give one value for each `?`, all in one tuple, `con.execute(sql, (a,))`, to `executemany` a list of tuples; a list or dict becomes text first, `json.dumps(value)`."),
    HintRule("IntegrityError", "",
        "The table refuses the row: `insert or replace` puts it in the place of the one with that key, `insert or ignore` leaves it out; a column that is `not null` needs a value."),
    HintRule("ProgrammingError Warning", "one statement at a time",
        "Several statements are run by `con.executescript(sql)`."),
    HintRule("CatalogException", "does not exist",
        "A table is the name of a variable that holds a DataFrame, or a file in quotes: `select * from df`, `select * from 'data.csv'`."),
    HintRule("OSError", "Cannot save file into a non-existent directory",
        "There is no such folder, and only the workspace is open: write to a plain name, `'result.csv'`, or make a folder in it first."),
)  # fmt: skip
