# expect: contained
# layer: kernel
# proves: a weak proxy shows the dict of a module
# severity: primitive
# oracle: drop
# then: reach

import weakref, json
d = weakref.proxy(json).__dict__
print(type(d), list(d)[:12])
