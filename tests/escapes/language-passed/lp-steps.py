# expect: contained
# layer: kernel
# proves: forty ways of the standard library to read a name
# severity: primitive
# oracle: drop
# then: reach

import collections, types, operator, re, decimal, random, statistics, json, string, textwrap, pprint, functools, itertools, contextlib, copy, enum, typing, abc, graphlib, heapq, calendar, datetime
def T(l, f):
    try: print(l, '->', repr(f())[:160])
    except BaseException as e: print(l, 'x', type(e).__name__, str(e)[:100])
lib = calendar.monthrange
# statically known: methods that read names from self
T('calendar fn globals via UserDict', lambda: collections.UserString(('{0.__glo'+'bals__}')).format(lib))
T('str.format bound in map', lambda: list(map(('{0.__glo'+'bals__}').format, [lib])))
T('str.__mod__', lambda: '%(a)s' % {'a': 1})
T('format_map', lambda: ('{a.__glo'+'bals__}').format_map({'a': lib}))
T('type.__getattribute__', lambda: type.__getattribute__(lib, '__globals__'))
T('object.__getattribute__', lambda: object.__getattribute__(lib, '__globals__'))
T('types.MethodType', lambda: types.MethodType(object.__getattribute__, lib)('__globals__'))
T('property fget', lambda: property(object.__getattribute__).fget(lib, '__globals__'))
T('partial', lambda: functools.partial(object.__getattribute__, lib)('__globals__'))
T('map getattr', lambda: list(map(getattr, [lib], ['__globals__'])))
T('super getattribute', lambda: super(type(lib), lib).__getattribute__('__globals__'))
T('class dict function', lambda: type(lib).__dict__['__globals__'])
T('vars(type)', lambda: [k for k in vars(type(lib))])
T('reduce', lambda: functools.reduce(getattr, ['__globals__'], lib))
T('SimpleNamespace', lambda: types.SimpleNamespace(**{'__class__': int}))
T('cached_property on class', lambda: functools.cached_property(lambda s: s).__get__(lib))
T('Counter sub', lambda: collections.Counter.__missing__)
T('namedtuple rename', lambda: collections.namedtuple('A', '__globals__ b', rename=True)(1,2))
T('namedtuple module', lambda: collections.namedtuple('A', 'a', module='os').__module__)
T('namedtuple defaults', lambda: collections.namedtuple('A', ['a'])._make.__func__)
T('namedtuple field_defaults', lambda: collections.namedtuple('A', ['x,**k):pass#'])(1))
T('Enum functional', lambda: enum.Enum('E', 'a b', module='sys').a)
T('Enum _convert', lambda: enum.IntEnum._convert_('X', 'os', lambda n: True))
T('new_class', lambda: types.new_class('X', (), {}, lambda ns: ns.update({"__globals__":1})))
T('prepare_class', lambda: types.prepare_class('X'))
T('get_type_hints', lambda: typing.get_type_hints(types.SimpleNamespace(__annotations__={'a': 'print.__self__'})))
T('NewType', lambda: typing.NewType('x', int).__supertype__)
T('overload registry', lambda: typing.get_overloads(lib))
T('Protocol', lambda: typing.runtime_checkable)
T('no_type_check', lambda: typing.no_type_check(lib))
T('random SystemRandom', lambda: random.SystemRandom().getrandbits(8))
T('re scanner', lambda: re.compile('a').scanner('a').pattern)
T('json decoder attr', lambda: json.JSONDecoder().scan_once)
T('json encoder', lambda: json.JSONEncoder().iterencode.__func__)
T('string.Template', lambda: string.Template('${a}').substitute(a=1))
T('pprint dispatch', lambda: pprint.PrettyPrinter()._dispatch)
T('calendar locale', lambda: calendar.different_locale)
T('datetime strftime', lambda: datetime.datetime.now().strftime('%Y{0.__class__}'))
T('ExitStack cb', lambda: contextlib.ExitStack().push(lib))
T('decimal ctx', lambda: decimal.getcontext().traps)
T('deepcopy fn', lambda: copy.deepcopy(lib) is lib)
T('ABC registry', lambda: abc.ABCMeta._dump_registry)
T('weak type', lambda: typing.get_args(typing.Literal['__globals__']))
