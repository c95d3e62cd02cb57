"""`tokenize` and `token` for text instead of files; `shlex`, which opens only the files that the program may open."""

from __future__ import annotations

from safeexec.child.language.rewritten import Rewrite

REWRITES = {
    "shlex": Rewrite(drop="_print_tokens if:main"),
    "token": Rewrite(),
    "tokenize": Rewrite(drop="from:builtins open main if:main"),
}
