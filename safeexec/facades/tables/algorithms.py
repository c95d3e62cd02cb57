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
            ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv
            ixor le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor
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
    "heapq": Table("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
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
