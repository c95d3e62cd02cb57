"""`tokenize` and `token`: of text that the program has, not of files."""

from __future__ import annotations

from safeexec.child.language.rewritten import Rewrite

REWRITES = {
    "token": Rewrite(),
    "tokenize": Rewrite(drop="from:builtins open main if:main"),
}
