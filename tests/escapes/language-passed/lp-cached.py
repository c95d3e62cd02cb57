# layer: kernel
# proves: cached_property writes into a module
# oracle: drop
# then: reach

# functools.cached_property writes into a facade's own dict
import functools, json
c = functools.cached_property(lambda self: 42)
c.attrname = 'dumps'
c.__get__(json)
print(json.dumps)
