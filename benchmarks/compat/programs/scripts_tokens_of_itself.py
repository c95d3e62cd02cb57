import io
import tokenize
source = "def f(a, b=1):\n    '''doc'''\n    return a + b  # sum\n"
for token in tokenize.generate_tokens(io.StringIO(source).readline):
    print(tokenize.tok_name[token.type], repr(token.string), token.start)
print(tokenize.untokenize(list(tokenize.generate_tokens(io.StringIO(source).readline))) == source)
