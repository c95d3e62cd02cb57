"""`safeexec policy review PACKAGE`: a draft of the table that a person would write, from the package's source.

The source is a stranger's: it is found, read and parsed in a child under `confined-python`, and nothing of it is
imported, here or there. What comes back is names and findings, which are printed as text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from safeexec import PolicyError, Sandbox
from safeexec.text import printable

_PROGRAM = r'''
import ast, importlib.util, os, sys

MOST_FILES, MOST_BYTES, MOST_NAMES = 2000, 2_000_000, 20_000
SINKS = {
    "open": "FILES", "eval": "EVALUATES", "exec": "EVALUATES", "compile": "EVALUATES", "__import__": "IMPORTS",
    "import_module": "IMPORTS", "find_spec": "IMPORTS", "exec_module": "IMPORTS", "_getframe": "FRAMES",
    "read_text": "FILES", "write_text": "FILES", "read_bytes": "FILES", "write_bytes": "FILES", "unlink": "FILES",
    "rmtree": "FILES", "mkdir": "FILES", "makedirs": "FILES", "urlopen": "NETWORK", "urlretrieve": "NETWORK",
}
MODULES = {
    "subprocess": "PROCESS", "multiprocessing": "PROCESS", "signal": "PROCESS", "pty": "PROCESS", "psutil": "PROCESS",
    "socket": "NETWORK", "ssl": "NETWORK", "urllib.request": "NETWORK", "http.client": "NETWORK", "requests": "NETWORK",
    "httpx": "NETWORK", "aiohttp": "NETWORK", "smtplib": "NETWORK", "ftplib": "NETWORK", "pickle": "PICKLE",
    "marshal": "PICKLE", "shelve": "PICKLE", "dill": "PICKLE", "joblib": "PICKLE", "cloudpickle": "PICKLE",
    "ctypes": "MEMORY", "mmap": "MEMORY", "cffi": "MEMORY", "importlib": "IMPORTS", "pkgutil": "IMPORTS",
    "runpy": "IMPORTS", "shutil": "FILES", "tempfile": "FILES", "glob": "FILES", "code": "EVALUATES",
    "codeop": "EVALUATES", "gc": "FRAMES",
}
OS = {
    "PROCESS": "system popen fork exec kill spawn posix_spawn abort _exit",
    "FILES": "open remove rename rmdir walk scandir listdir mkdir makedirs chdir symlink link",
}
ORDER = ("PROCESS", "NETWORK", "PICKLE", "MEMORY", "EVALUATES", "IMPORTS", "FRAMES", "FILES")

def files_of(package):
    spec = importlib.util.find_spec(package)
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        return [(package, spec.origin)]
    found = []
    for root in spec.submodule_search_locations:
        for directory, below, names in os.walk(root):
            below[:] = sorted(name for name in below if name.isidentifier() and name not in ("tests", "testing"))
            parts = os.path.relpath(directory, root).split(os.sep)
            parts = [] if parts == ["."] else parts
            for name in sorted(names):
                stem, dot, suffix = name.partition(".")
                if suffix == "py" or suffix.endswith("so"):
                    module = ".".join([package, *parts, *([] if stem == "__init__" else [stem])])
                    found.append((module, os.path.join(directory, name)))
    return found

def imported(tree):
    """Name in the module -> what it stands for."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names

def dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return ".".join(reversed(parts))
    return ""

def kind_of(path):
    head, _, rest = path.partition(".")
    for depth in range(path.count(".") + 1, 0, -1):
        start = ".".join(path.split(".")[:depth])
        if start in MODULES:
            return MODULES[start]
    if head == "os" and rest:
        first = rest.partition(".")[0]
        return next((kind for kind, words in OS.items() if first.startswith(tuple(words.split()))), None)
    return None

def findings(node, names):
    """What the code below a node does: kind -> an example with its line."""
    found = {}
    for part in ast.walk(node):
        kind = text = None
        if isinstance(part, (ast.Name, ast.Attribute)):
            path = dotted(part)
            head, dot, rest = path.partition(".")
            if head in names:
                text = names[head] + dot + rest
                kind = kind_of(text)
        if isinstance(part, ast.Call):
            called = dotted(part.func)
            last = called.rpartition(".")[2] or getattr(part.func, "attr", "")
            if last in SINKS and (last not in ("open", "eval", "exec", "compile") or last == called):
                kind, text = SINKS[last], called or last
            elif last in ("getattr", "setattr") and len(part.args) > 1 and not isinstance(part.args[1], ast.Constant):
                kind, text = "ATTRIBUTES", called
        if kind:
            found.setdefault(kind, f"{text} in line {part.lineno}")
    return found

def uses(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}

def public(tree, defined):
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            try:
                listed = ast.literal_eval(node.value)
                return sorted({name for name in listed if type(name) is str})
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                break
    return sorted(name for name in defined if not name.startswith("_"))

def look_at(module, path):
    if not path.endswith(".py"):
        return {"module": module, "names": [], "found": {}, "note": "compiled: its source is not here"}
    if not os.path.isfile(path):  # a FIFO would be waited for
        return {"module": module, "names": [], "found": {}, "note": "no regular file"}
    if os.path.getsize(path) > MOST_BYTES:
        return {"module": module, "names": [], "found": {}, "note": "too large to be read"}
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return {"module": module, "names": [], "found": {}, "note": f"not read: {type(error).__name__}"}
    names, defined, own = imported(tree), {}, {}
    top = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    defined[target.id] = node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)):
            top.append(node)
    own = {name: findings(node, names) for name, node in defined.items()}
    calls = {name: uses(node) & defined.keys() for name, node in defined.items()}
    for name in defined:  # what a name of the module leads to
        seen, waiting = {name}, [name]
        while waiting:
            for other in calls[waiting.pop()] - seen:
                seen.add(other)
                waiting.append(other)
                for kind, text in own[other].items():
                    own[name].setdefault(kind, f"{text}, by {other}")
    shown = public(tree, defined)[:MOST_NAMES]
    return {"module": module, "names": shown, "found": {name: own[name] for name in shown if own.get(name)}, "note": ""}

def review(package):
    files = files_of(package)
    if files is None:
        return None
    shown = [entry for entry in files[:MOST_FILES] if not any(part.startswith("_") for part in entry[0].split("."))]
    looked = [look_at(*entry) for entry in shown]
    return {"modules": looked, "left": max(0, len(files) - MOST_FILES)}
'''
_KINDS = ("PROCESS", "NETWORK", "PICKLE", "MEMORY", "EVALUATES", "IMPORTS", "FRAMES", "FILES")
_MOST_MODULES = 2000
_SECONDS = 60


def draft(package: str) -> str:
    """The draft as text. Raises `PolicyError` where there is no such package, or what came back is not one."""
    if not all(part.isidentifier() for part in package.split(".")) or "." in package:
        raise PolicyError(
            f"{printable(package)!r} is not the name of a package: expected one as in an import statement"
        )
    with Sandbox("confined-python", spare=0) as sandbox:
        result = sandbox.run(f"{_PROGRAM}\nreview({package!r})", timeout=_SECONDS)
    if not result.ok:
        raise PolicyError(f"{package} could not be read: {result.error.message if result.error else result.outcome}")
    if result.value is None:
        raise PolicyError(f"{package} is not installed here")
    try:
        return "\n".join(_lines(package, result.value)) + "\n"
    except (TypeError, LookupError, AttributeError, ValueError):
        raise PolicyError(f"what came back of {package} is not a review") from None


def _lines(package: str, found: Mapping[str, Any]) -> Iterator[str]:
    yield f"# A draft for {package}, from its source alone: a person judges each name."
    yield "# What is allowed here only looked harmless: compiled modules, names made at run time, and what is inherited"
    yield "# or imported from other modules were not looked at."
    yield "TABLES = {"
    for module in list(found["modules"])[:_MOST_MODULES]:
        yield from _table(module)
    yield "}"
    if found["left"]:
        yield "# There are more files, which were not read."


def _table(module: Mapping[str, Any]) -> Iterator[str]:
    name = _word(module["module"])
    if module["note"]:
        yield f"    # {name}: {_word(module['note'])}"
        return
    findings = {_word(name): dict(kinds) for name, kinds in dict(module["found"]).items()}
    names = [_word(name) for name in module["names"]]
    worst = {name: next((kind for kind in _KINDS if kind in findings.get(name, ())), "") for name in names}
    if not names:
        yield f'    "{name}": Table(),'
        return
    yield f'    "{name}": Table('
    yield from _wrapped([name for name in names if not worst[name]], "")
    yield from _wrapped([name for name in names if worst[name] == "FILES"], "files=")
    refused = {kind: [name for name in names if worst[name] == kind] for kind in _KINDS if kind != "FILES"}
    if any(refused.values()):
        yield "        refuse={"
        for kind, those in refused.items():
            for part in those:
                yield f'            "{part}": {kind},  # {_word(findings[part][kind])}'
        yield "        },"
    yield "    ),"
    for part in names:
        if why := findings.get(part, {}).get("ATTRIBUTES"):
            yield f"    # {name}.{part} reads attributes by computed names: {_word(why)}"


def _wrapped(names: list[str], keyword: str) -> Iterator[str]:
    if names:
        yield f'        {keyword}"""'
        yield textwrap.fill(" ".join(names), 116, initial_indent=" " * 12, subsequent_indent=" " * 12)
        yield '        """,'


def _word(text: object) -> str:
    """A word of a stranger's, in one printable line and without what would end a comment or a string."""
    if type(text) is not str:
        raise TypeError("not a text")
    return printable(text[:200]).replace('"', "'").replace("\\", "/").replace("\n", " ")
