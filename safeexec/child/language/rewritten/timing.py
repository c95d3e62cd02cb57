"""`timeit` for text and functions, without its command line."""

from __future__ import annotations

from safeexec.child.language.rewritten import Rewrite

REWRITES = {
    "timeit": Rewrite(
        drop="main Timer.print_exc if:main", swap={"_globals() if globals is None": "{} if globals is None"}
    )
}
