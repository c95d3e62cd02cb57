# ruff: noqa: E501 (a table of sentences)
"""Hints for modules that the policy does not import. How an entry is read: `safeexec.hints.choice`."""

from __future__ import annotations

from safeexec.engine.policy.refusals import by_name
from safeexec.hints.choice import READ, Advice

MODULES: dict[str, Advice] = by_name(
    {
        "requests httpx aiohttp urllib3 urllib.request urllib2 http.client httplib socket ssl websocket "
        "websockets ftplib telnetlib paramiko selenium playwright scrapy wikipedia yfinance boto3 socketserver "
        "http.server xmlrpc.client grpc pycurl feedparser googlesearch duckduckgo_search tweepy": {
            "tool:fetch": "There is no network here; call the host tool `{tool}(...)` to fetch data.",
            "workspace": "There is no network here, and the host has given no tool that fetches; read the data from a file of the workspace, or put it into the code.",
            "": "There is no network here, and the host has given no tool that fetches; put the data into the code as a literal, or ask for it to be passed in as a variable.",
        },
        "smtplib imaplib poplib": {
            "tool:mail": "There is no network here, so no mail can be sent; call the host tool `{tool}(...)`.",
            "": "There is no network here, so no mail can be sent: print the text of the message.",
        },
        "subprocess pty commands popen2 sh pexpect pip ensurepip venv": {
            "tool:shell": "Guest code cannot start processes or shell commands; call the host tool `{tool}(...)`.",
            "": "Guest code cannot start processes or run shell commands, and nothing can be installed: do the work in Python with the modules that can be imported.",
        },
        "pickle cPickle dill joblib marshal shelve cloudpickle _pickle": {
            "writable": "Variables stay alive from step to step, so nothing needs to be pickled; to keep data in a file, write it with `json.dump(...)` or as CSV.",
            "import:json": "Variables stay alive from step to step, so nothing needs to be pickled; for plain data as text use `json.dumps(...)`.",
            "": "Variables stay alive from step to step, so nothing needs to be pickled: keep the object in a variable.",
        },
        "openai anthropic mistralai langchain transformers litellm": {
            "tool:model": "There is no network here; call the host tool `{tool}(...)` to ask a model.",
            "": "There is no network here, so no model can be called from the code: write the answer yourself, and use the code for what can be computed.",
        },
        "torch tensorflow keras jax xgboost lightgbm catboost flax": {
            "import:sklearn": "It is not installed and cannot be installed; scikit-learn is: `from sklearn.neural_network import MLPRegressor`, `sklearn.linear_model`, `sklearn.ensemble`.",
            "import:numpy": "It is not installed and cannot be installed; write the computation with numpy.",
        },
        "seaborn plotly plotly.express plotly.graph_objects bokeh altair pylab matplotlib matplotlib.pyplot turtle "
        "pygal": {
            "import:matplotlib": "It is not installed and cannot be installed; draw with `import matplotlib.pyplot as plt`.",
            "": "Nothing can be drawn here; print the numbers as a table.",
        },
        "polars dask dask.dataframe modin modin.pandas vaex pyspark cudf pandas": {
            "import:pandas": "It is not available; use `import pandas as pd`.",
            "import:csv": "It is not available; use lists and dicts, with `csv` and `statistics` of the standard library.",
        },
        "openpyxl xlrd xlsxwriter xlwt": {
            "import:pandas workspace": "Spreadsheets cannot be opened with it here; use CSV files: `pd.read_csv(...)` and `df.to_csv(...)`.",
            "import:csv": "Spreadsheets cannot be opened here; use CSV text with `csv.reader(io.StringIO(text))`.",
            "": "Spreadsheets cannot be opened here; put the rows into the code as a list.",
        },
        "simplejson ujson orjson demjson ruamel.yaml": {
            "import:json": "Use `import json` of the standard library instead.",
            "": "Use plain Python lists and dicts instead.",
        },
        "arrow pendulum dateutil dateutil.parser dateutil.relativedelta pytz delorean dateparser": {
            "import:datetime import:zoneinfo": "Use `from datetime import datetime, timedelta` and `from zoneinfo import ZoneInfo` instead.",
            "import:datetime": "Use `from datetime import datetime, timedelta` instead.",
            "": "Compute dates from plain numbers instead.",
        },
        "multiprocessing multiprocessing.pool multiprocessing.dummy billiard": {
            "import:concurrent.futures": "There are no processes here: use `concurrent.futures.ThreadPoolExecutor`, whose `map` is that of a pool, or a plain loop.",
            "": "There are no processes here: call the functions one after the other in a loop.",
        },
        "threading thread _thread concurrent concurrent.futures gevent eventlet trio ray": {
            "import:asyncio": "Guest code runs in one thread; call the functions one after the other in a loop, or use `asyncio` for code that waits.",
            "": "Guest code runs in one thread; call the functions one after the other in a loop.",
        },
        "shutil glob tempfile fileinput zipfile tarfile gzip bz2 lzma": {
            "writable import:pathlib": "Use `pathlib.Path` for files of the workspace: `Path('name.txt').read_text()`, `.glob('*.csv')`, `.unlink()`.",
            "writable builtin:open": "Use `open('name.txt')` for files of the workspace, with relative names.",
            "workspace builtin:open": "The workspace can be read with `open('name.txt')`, with relative names.",
            "read builtin:open": READ,
            "": "There are no files here: keep the data in variables and print the result.",
        },
        "cffi fcntl pwd grp termios tty syslog select selectors psutil os posix": {
            "workspace": "The system is out of reach; files of the workspace are opened by their relative name, and paths are joined with strings: `folder + '/' + name`.",
            "": "There are no files, environment variables, processes or shell commands here: keep data in variables, and print the result instead.",
        },
        "dis code codeop faulthandler site runpy pkgutil pkg_resources zipimport _frozen_importlib": "The interpreter's insides are out of reach; call functions and read attributes directly by their names instead.",
        "numpy numba cupy array_api": {
            "import:numpy": "It is not available; use `import numpy as np`.",
            "import:math import:statistics": "It is not available; use plain lists with `math` and `statistics`: `statistics.mean(values)`, `[x * 2 for x in values]`.",
            "": "It is not available; use plain lists and `sum(...)`.",
        },
        "scipy scipy.stats scipy.optimize scipy.integrate statsmodels statsmodels.api pingouin": {
            "import:scipy": "It is not available; use `scipy.stats`, `scipy.optimize` or `sklearn.linear_model`.",
            "import:numpy": "It is not available; use numpy.",
            "import:statistics import:math": "It is not available; use `statistics` (`statistics.linear_regression`, `statistics.NormalDist`) and `math`, or write the method in a few lines of plain Python.",
        },
        "sklearn scikit_learn scikit-learn": {
            "import:sklearn": "The module is called `sklearn`: `from sklearn.linear_model import LinearRegression`.",
            "import:statistics": "It is not available; for a straight line use `statistics.linear_regression(x, y)`, and write other models in plain Python.",
        },
        "sympy mpmath sage gmpy2": {
            "import:sympy": "Use `import sympy`; many digits are `sympy.N(expression, 50)`.",
            "import:mpmath": "It is not available; use `mpmath`.",
            "import:fractions": "It is not available; compute exactly with `from fractions import Fraction`, with many digits by `decimal.Decimal`, or numerically with `math`.",
        },
        "psycopg2 psycopg pymysql MySQLdb sqlalchemy duckdb pymongo redis dbm": {
            "tool:query": "There is no database here; call the host tool `{tool}(...)`.",
            "import:duckdb": "It is not available; use `import duckdb` over DataFrames and files of the workspace.",
            "import:pandas": "There is no database here; use a pandas DataFrame with `.query(...)`, `.groupby(...)` and `.merge(...)`.",
            "": "There is no database here; keep the rows in a list of dicts and filter it with a comprehension.",
        },
        "bs4 lxml lxml.html lxml.etree html5lib pyquery": {
            "import:html.parser": "It is not installed and cannot be installed; use `html.parser.HTMLParser`, or `re` for simple cases.",
            "import:re": "It is not installed and cannot be installed; take the text apart with `re`.",
        },
        "secrets": {
            "import:random": "It is not available here; for random numbers that need not be secret use `random`.",
            "": "It is not available here; use fixed values.",
        },
        "logging loguru structlog warnings": {"builtin:print": "Print what should be seen: `print(...)`."},
        "sys": "Nothing of `sys` is needed instead of the modules you can import: a step ends by itself at its last line, results are shown with `print(...)`, data comes from variables, and an error is raised with `raise ValueError(...)`.",
        "os.path": {
            "import:pathlib": "Use `pathlib.PurePosixPath(folder) / name` for paths, or join strings: `folder + '/' + name`.",
            "": "Join and split paths as strings: `folder + '/' + name`, `path.rsplit('/', 1)`, `name.endswith('.csv')`.",
        },
        "pathlib": {
            "writable builtin:open": "Use `open('name.txt')` with names relative to the workspace.",
            "read builtin:open": READ,
            "": "There are no files here: keep the text in a variable and print it.",
        },
        "importlib imp": "Write the import statement directly, for example `import json`; the modules that can be imported are fixed by the policy.",
        "builtins __builtin__": "The builtins are there without an import: write `len`, `sum`, `print` directly.",
        "getpass": {
            "tool:ask": "There is no interactive user; call the host tool `{tool}(...)`.",
            "": "There is no interactive user; assign the value to a variable.",
        },
        "argparse optparse click getopt typer fire docopt": {
            "import:argparse": "Use `argparse`: `parser = argparse.ArgumentParser()`, `parser.add_argument('--name')`, `parser.parse_args()`.",
            "": "Only a program that is given arguments has a command line (`sys.argv`); assign the values to variables at the top of the code.",
        },
        "inspect ast types traceback linecache symtable": "Looking into code is out of reach here; call the function directly and print what it returns.",
        "pdb bdb ipdb trace IPython rlcompleter readline curses": {
            "builtin:print": "There is no interactive debugger or terminal; remove it and use `print(...)` to see values."
        },
        "tkinter Tkinter PyQt5 PySide6 wx kivy pygame streamlit gradio dash flask django fastapi tornado uvicorn "
        "webbrowser": "There is no screen, server or user at this place; compute the result and print it.",
        "pydantic attr attrs marshmallow": {
            "import:dataclasses": "It is not available; use `from dataclasses import dataclass`.",
        },
        "tabulate prettytable rich termcolor colorama texttable": "It is not installed; align text with format strings: `print(f'{name:<12}{value:>8.2f}')`.",
        "tqdm tqdm.auto tqdm.notebook progressbar alive_progress": "Remove the progress bar and loop over the sequence itself.",
        "signal": {
            "import:asyncio": "There are no signals here: use `asyncio.timeout(seconds)`; the host ends a step that takes too long.",
            "": "There are no signals here; the host ends a step that takes too long by itself.",
        },
        "ctypes mmap": {
            "import:struct": "Memory and C libraries are out of reach: use `struct`, `array` or `bytes` of Python instead.",
            "": "Memory and C libraries are out of reach: use `bytes` and plain Python instead.",
        },
        "asyncio": "There is no event loop here: write plain functions and call them directly, one after the other.",
        "time": {
            "import:datetime": "Use `datetime.datetime.now()` for the time; there is nothing to wait for, so leave `time.sleep` out.",
            "": "There is no clock here; leave the timing out.",
        },
    }
)

TOOLS_OF_OTHERS = ("tools", "functions")
"""The names of what holds the host's tools elsewhere. Here they are names of their own."""
ALIASES: dict[str, str] = {
    "np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "mpl": "matplotlib", "sns": "seaborn", "sp": "scipy",
    "stats": "scipy.stats", "sm": "statsmodels.api", "tf": "tensorflow", "nx": "networkx", "dt": "datetime", "px": "plotly.express",
    "go": "plotly.graph_objects",
    "sk": "sklearn", "sy": "sympy", "smp": "sympy", "mp": "mpmath", "it": "itertools", "ET": "xml.etree.ElementTree",
    "mdates": "matplotlib.dates", "mticker": "matplotlib.ticker", "optimize": "scipy.optimize",
    "linalg": "scipy.linalg", "interpolate": "scipy.interpolate", "metrics": "sklearn.metrics",
}  # fmt: skip
"""The names under which everybody imports a module."""

SYNONYMS: dict[str, str] = {
    "maths": "math", "stat": "statistics", "stats": "statistics", "date": "datetime", "dates": "datetime",
    "regexp": "re", "collection": "collections", "itertool": "itertools", "functool": "functools", "jsonlib": "json", "rand": "random",
    "function": "functools", "functions": "functools", "iter": "itertools", "regular": "re", "path": "pathlib", "dataclass": "dataclasses",
    "Math": "math", "Decimal": "decimal", "Fraction": "fractions", "panda": "pandas", "matplot": "matplotlib",
    "cPickle": "pickle", "StringIO": "io", "cStringIO": "io", "Queue": "queue", "typing_extensions": "typing",
}  # fmt: skip
"""Names of modules that do not exist, as models write them, and the module that is meant."""
