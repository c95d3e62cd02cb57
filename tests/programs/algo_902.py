# domain: algorithms
import os
import os.path as osp
from os import environ, getenv, linesep, path, sep

DEBUG = os.environ.get("LOCAL") is not None
if DEBUG:
    os.chdir(os.path.dirname(os.path.abspath(os.getcwd())))

print(DEBUG, getenv("ONLINE_JUDGE_OF_NOBODY"), os.getenv("NOT_SET_ANYWHERE", "default"))
print(os.name, repr(sep), repr(linesep), os.pathsep, os.curdir, os.pardir, os.extsep, os.altsep, os.cpu_count() > 0)

name = os.path.join("data", "2024", "report.final.csv")
print(name, path.basename(name), path.dirname(name), osp.splitext(name), path.split(name))
print(path.normpath("a/./b/../c//d"), path.isabs("/a"), path.isabs(name), path.join("a", "/b", "", "c"))
print(path.commonpath(["/a/b/c", "/a/b/d"]), path.commonprefix(["interview", "internal"]), path.splitdrive("/a"))
print(os.fspath("a"), os.fsencode("é"), os.fsdecode(b"a"), os.strerror(2), os.error is OSError)

environ["SEED_OF_THIS_PROGRAM"] = "7"
print(int(os.environ["SEED_OF_THIS_PROGRAM"]) + 1, "SEED_OF_THIS_PROGRAM" in environ)
del environ["SEED_OF_THIS_PROGRAM"]
for attempt in (
    lambda: os.environ["SEED_OF_THIS_PROGRAM"],
    lambda: os.environ.__setitem__("number", 1),
    lambda: path.join("a", 1),
    lambda: os.write(1, "text"),
    lambda: os.read(0.0, 1),
    lambda: os.read(2**40, 1),
    lambda: os.read(0, 2**70),
    lambda: os.read(0, -1),
):
    try:
        print(attempt())
    except Exception as error:
        print(type(error).__name__, error)
