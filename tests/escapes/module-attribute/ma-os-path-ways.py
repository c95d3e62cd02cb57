# id: ma-os-path-ways
# class: module-attribute
# expect: blocked-at-run
# layer: language
# proves: prints ESCAPED with a name of the real os, or of the process's environment
# severity: escape
# oracle: marker

import os
import os.path as path

for name in ("os", "sys", "stat", "genericpath", "posixpath", "posix", "_get_sep", "expandvars", "realpath", "abspath"):
    for module in (path, os.path, os):
        if hasattr(module, name):
            print("ESCAPED", module, name, getattr(module, name))
for name in ("system", "listdir", "open", "fork", "execv", "getpid", "stat", "remove", "environb", "putenv", "dup", "pipe"):
    if hasattr(os, name):
        print("ESCAPED", name)
for name in ("PATH", "HOME", "USER", "PWD"):
    if os.getenv(name) or name in os.environ:
        print("ESCAPED", name, os.environ[name])
os.environ["LD_PRELOAD"] = "/tmp/nothing.so"
