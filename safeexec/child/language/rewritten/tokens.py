"""`tokenize` and `token`, of text that the program has, not of files; `shlex`, which opens what the program could."""

from __future__ import annotations

from safeexec.child.language.rewritten import Rewrite

REWRITES = {
    "shlex": Rewrite(drop="_print_tokens if:main"),
    "token": Rewrite(),
    "tokenize": Rewrite(drop="from:builtins open main if:main"),
}
