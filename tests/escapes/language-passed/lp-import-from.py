# layer: kernel
# proves: a module whose class is the program's own
# oracle: drop
# then: reach

import json
kind = type(json)
class Evil(kind):
    def __getattribute__(self, name):
        if name == '__name__': return 'os'
        if name == '__dict__': return {'path': 1}
        raise AttributeError(name)
m = [json]
m[0].__class__ = Evil
from json import path as real
print(real, real.os, real.os.getpid())
try: print(real.os.listdir('/'))
except BaseException as e: print(type(e), e)
try: print(real.os.system('id'))
except BaseException as e: print(type(e), e)
sm = real.os.sys.modules
print(len(sm), sm['builtins'])
try: print(sm['builtins'].open('/etc/passwd').read(20))
except BaseException as e: print(type(e), e)
