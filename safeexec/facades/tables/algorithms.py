"""Iterators, functions, containers and other tools of algorithms."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table

TABLES = {
    "itertools": Table(
        """
            accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile
            filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest
        """
    ),
    "functools": Table(
        """
            cache cached_property cmp_to_key lru_cache partial partialmethod reduce singledispatch singledispatchmethod
            total_ordering WRAPPER_ASSIGNMENTS WRAPPER_UPDATES
        """,
        replaced="update_wrapper wraps",
        note="update_wrapper reads and sets attributes whose names its caller chooses.",
    ),
    "operator": Table(
        """
            abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv
            ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv ixor
            le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor __abs__
            __add__ __and__ __contains__ __delitem__ __eq__ __floordiv__ __ge__ __getitem__ __gt__ __iadd__ __iand__
            __ifloordiv__ __ilshift__ __imatmul__ __imod__ __imul__ __index__ __invert__ __ior__ __ipow__ __irshift__
            __isub__ __itruediv__ __ixor__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__
            __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__
        """,
        replaced="attrgetter methodcaller",
        note="attrgetter and methodcaller read attributes by names that the compiler does not see.",
    ),
    "collections": Table("ChainMap Counter defaultdict deque namedtuple OrderedDict UserDict UserList UserString"),
    "collections.abc": Table(
        """
            AsyncGenerator AsyncIterable AsyncIterator Awaitable Buffer ByteString Callable Collection Container
            Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping
            MutableSequence MutableSet Reversible Sequence Set Sized ValuesView
        """
    ),
    "heapq": Table(
        """
            heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest _heapify_max _heappop_max
            _heapreplace_max
        """,
        note="the heaps of largest items have no public names before 3.14; programs use the private ones.",
    ),
    "bisect": Table("bisect bisect_left bisect_right insort insort_left insort_right"),
    "array": Table("array ArrayType typecodes"),
    "copy": Table(
        replaced="copy deepcopy Error error replace",
        note=(
            "copying sets the attributes that __reduce_ex__ names; the copy module is loaded once more with a "
            "checked setattr."
        ),
    ),
    "graphlib": Table("CycleError TopologicalSorter"),
    "queue": Table("Empty Full LifoQueue PriorityQueue Queue ShutDown SimpleQueue"),
    "sched": Table("scheduler"),
    "contextvars": Table("Context ContextVar copy_context Token"),
    "weakref": Table(
        """
            CallableProxyType finalize getweakrefcount getweakrefs proxy ProxyType ProxyTypes ref ReferenceType
            WeakKeyDictionary WeakMethod WeakSet WeakValueDictionary
        """
    ),
    "reprlib": Table("aRepr recursive_repr Repr repr"),
}
