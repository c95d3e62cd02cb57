"""Which file holds the tables of a top-level module, and the modules that are refused as a whole."""

from __future__ import annotations

from safeexec.facades.tables.reasons import (
    DISPLAY,
    EVALUATES,
    FILES,
    FRAMES,
    IMPORTS,
    INTERPRETER,
    MACHINE,
    MEMORY,
    NETWORK,
    PICKLE,
    PROCESS,
    Reason,
)

GROUPS = {
    "mathematics": "math cmath decimal fractions numbers statistics random colorsys",
    "algorithms": (
        "itertools functools operator collections heapq bisect array copy graphlib queue sched contextvars weakref "
        "reprlib"
    ),
    "language": (
        "dataclasses enum typing typing_extensions types abc contextlib inspect ast keyword builtins importlib "
        "__future__"
    ),
    "text": "string re textwrap difflib unicodedata stringprep pprint fnmatch shlex html codecs",
    "data": (
        "json csv io base64 binascii hashlib hmac zlib struct gzip bz2 lzma zipfile configparser tomllib ipaddress "
        "quopri uuid secrets urllib xml pickle"
    ),
    "time": "datetime time calendar zoneinfo timeit",
    "storage": "sqlite3 yaml",
    "tests": "doctest token tokenize unittest",
    "concurrency": "asyncio threading concurrent",
    "runtime": "sys gc warnings traceback logging argparse errno http locale mimetypes platform",
    "files": "os pathlib glob shutil tempfile tarfile",
    "numpy": "numpy",
    "pandas": "pandas",
    "scipy": "scipy",
    "sklearn": "sklearn",
    "matplotlib": "matplotlib mpl_toolkits",
    "sympy": "sympy mpmath",
    "seaborn": "seaborn",
    "spreadsheets": "openpyxl xlrd",
    "markup": "lxml bs4",
    "plotly": "plotly _plotly_utils",
    "networkx": "networkx",
    "pyarrow": "pyarrow",
    "pillow": "PIL",
    "statsmodels": "statsmodels patsy",
    "helpers": "dateutil tqdm pytz tabulate",
    "notebooks": "IPython",
}
"""Group (a file of this folder) → the top-level modules it judges."""


REWRITTEN = frozenset({"doctest", "shlex", "timeit", "token", "tokenize", "unittest", "unittest.mock"})
"""Modules of the standard library that run as guest code: their source is compiled under the same rules."""
OF_SESSIONS = REWRITTEN | {"builtins", "importlib", "IPython", "pickle"}
"""Modules that guest code has a version of its own of, which only a child can make (`child.language`)."""


def _spread(reasons: dict[str, Reason]) -> dict[str, Reason]:
    return {name: reason for names, reason in reasons.items() for name in names.split()}


REFUSED_MODULES = _spread(
    {
        "subprocess multiprocessing pty signal posix _posixsubprocess faulthandler resource pwd grp spwd crypt "
        "syslog concurrent.futures.process psutil sh pexpect": PROCESS,
        "socket _socket ssl select selectors socketserver http.client http.server http.cookiejar urllib.request "
        "urllib.error urllib.robotparser ftplib smtplib poplib imaplib nntplib telnetlib xmlrpc wsgiref asyncore "
        "asynchat requests httpx aiohttp urllib3 websockets paramiko webbrowser email boto3": NETWORK,
        "_pickle shelve marshal copyreg dbm cloudpickle dill joblib joblib.externals": PICKLE,
        "ctypes _ctypes mmap cffi numpy.ctypeslib": MEMORY,
        "importlib.abc importlib.machinery importlib.metadata importlib.readers importlib.resources importlib.simple "
        "importlib.util imp pkgutil runpy zipimport modulefinder site pip setuptools pkg_resources ensurepip "
        "venv": IMPORTS,
        "code codeop pytest pdb bdb cProfile profile trace timeit.main numexpr numba "
        "numpy.f2py numpy.distutils cython": EVALUATES,
        "dis opcode symtable tracemalloc linecache": FRAMES,
        "_io _thread atexit sysconfig gettext": INTERPRETER,
        "getpass ntpath posixpath nt winreg msvcrt": MACHINE,
        "lxml.ElementInclude fileinput filecmp netrc plistlib mailbox logging.handlers logging.config cgi": FILES,
        "tkinter turtle curses readline cmd idlelib cv2.highgui": DISPLAY,
    }
)
"""Dotted module name → why it has no table. Covers its submodules too."""

RUN_TEXT = frozenset(["asteval", "formulaic", "jinja2", "linearmodels", "mako"])
"""Packages without a table that a policy may open as they are, and that run text which they are given: formulas,
templates. No compiler of ours sees it."""
