# domain: tests
"""A program as tokens."""

import tokenize, io, token

src = "def f(x):\n    return x + 1  # hi\ns = 'a'\n"
for t in tokenize.generate_tokens(io.StringIO(src).readline):
    print(token.tok_name[t.type], t.string, t.start, t.end)
print(tokenize.untokenize(tokenize.generate_tokens(io.StringIO(src).readline)) == src)
for t in tokenize.tokenize(io.BytesIO(src.encode()).readline):
    print(t)
try:
    list(tokenize.generate_tokens(io.StringIO("(1,\n").readline))
except tokenize.TokenError as e:
    print(e)
