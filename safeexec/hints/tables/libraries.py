# ruff: noqa: E501 (a table of sentences)
"""Names and arguments that numpy, pandas and scikit-learn had, or are believed to have, and what is there instead.

`METHODS` is by type and method; `ARGUMENTS` by function and keyword. Recorded against numpy 2.4, pandas 3.1,
scikit-learn 1.9, matplotlib 3.11 and scipy 1.17; a hint is used only after the name was missing.
"""

from __future__ import annotations

from safeexec.engine.policy.refusals import by_name

_FRAME_AND_SERIES = {
    "append extend push union add_row append_row": "Use `pd.concat([a, b], ignore_index=True)`; frames and series have no `append` any more.",
    "iteritems": "Use `.items()`.",
    "ix": "Use `.loc[...]` for labels or `.iloc[...]` for positions.",
    "as_matrix to_array": "Use `.to_numpy()`.",
    "sort_by order_by orderby": "Use `.sort_values('column')`.",
    "applymap": "Use `.map(function)`.",
    "first": "Use `.head(n)`, or `.iloc[0]` for the first row.",
    "last": "Use `.tail(n)`, or `.iloc[-1]` for the last row.",
    "to_list": "Use `.values.tolist()` of a frame, or `.tolist()` of a column.",
    "row_count num_rows nrows nrow length": "Use `len(df)`.",
    "rows": "Use `len(df)` for their number, `df.iloc[i]` for one, or a loop, `for row in df.itertuples():`.",
    "mutate with_column with_columns withColumn add_column add_columns": "Assign it: `df['name'] = values`.",
    "rename_column rename_columns withColumnRenamed": "Use `df.rename(columns={'old': 'new'})`.",
    "remove_column remove_columns delete_column drop_column drop_columns": "Use `df.drop(columns=['name'])`.",
    "show display collect print": "Print it: `print(df)`, or the first rows, `print(df.head())`.",
    "get_value set_value lookup": "Use `df.at[row, 'column']`.",
    "dedup distinct": "Use `.drop_duplicates()` of a frame, or `.unique()` of a column.",
    "remove_nulls remove_na": "Use `.dropna()`.",
    "replace_na fill_missing": "Use `.fillna(value)`.",
    "filter_rows filter_by where_ find search": "Select rows by a condition: `df[df['column'] > value]`.",
    "contains": "Use `.isin([value])`, or `.str.contains(text)` of a column.",
    "column_count ncols ncol get_columns column_names colnames": "Use `list(df.columns)`, and `len(df.columns)` for their number.",
    "select get_column col": "Use `df['column']`, or `df[['a', 'b']]` for several.",
    "normalize zscore": "Write it: `(df - df.mean()) / df.std()`.",
}
_SERIES = _FRAME_AND_SERIES | {
    "columns": "A Series has no columns; its name is `.name`, its labels are `.index`; use `df[['name']]` (two pairs of brackets) to keep a DataFrame.",
    "to_lower toLowerCase lowercase": "Use `.str.lower()`.",
    "to_upper toUpperCase uppercase": "Use `.str.upper()`.",
    "trim lstrip rstrip": "Use `.str.strip()`.",
    "length": "Use `len(series)`, or `.str.len()` for the length of each text.",
}

_METHODS = {
    "pandas.DataFrame": _FRAME_AND_SERIES
    | {
        "has_key": "Use `'column' in df.columns`.",
        "strip": "Use it on a column: `df['column'].str.strip()`, or on the names: `df.columns.str.strip()`.",
        "lower": "Use it on a column: `df['column'].str.lower()`.",
    },
    "pandas.Series": _SERIES,
    "pandas.DatetimeProperties": {
        "week weekofyear": "Use `.dt.isocalendar().week`.",
        "weekday_name": "Use `.dt.day_name()`.",
        "format": "Use `.dt.strftime('%Y-%m-%d')`.",
    },
    "numpy.Generator": {
        "randint": "Use `rng.integers(low, high, size)`.",
        "randn": "Use `rng.standard_normal(size)`, with the shape as one tuple.",
        "seed": "Give the seed when the generator is made: `np.random.default_rng(42)`.",
    },
    "pandas.GroupBy": {
        "list": "Use `.agg(list)`.",
        "reset_index": "Aggregate first: `df.groupby('key')['value'].sum().reset_index()`.",
        "sort_values": "Aggregate first: `df.groupby('key')['value'].sum().sort_values()`.",
    },
    "matplotlib.Figure": {
        "plot bar barh hist scatter pie boxplot imshow set_title set_xlabel set_ylabel title xlabel ylabel grid "
        "axhline axvline fill_between": "A figure draws on its axes: `fig, ax = plt.subplots()`, then `ax.plot(...)`, `ax.set_title(...)`.",
    },
    "matplotlib.Axes": {
        "savefig save save_fig": "Use `fig.savefig('name.png')` on the figure, or `ax.figure.savefig('name.png')`.",
        "suptitle tight_layout colorbar": "It belongs to the figure: `fig.suptitle(...)`, `fig.tight_layout()`, `fig.colorbar(...)`.",
    },
    "PIL.ImageDraw": {
        "textsize multiline_textsize": "Use `draw.textbbox((0, 0), text)`, which gives left, top, right and bottom, or `draw.textlength(text)` for the width."
    },
    "numpy.ndarray": {
        "filter where select query": "Use a mask: `a[a > value]`.",
        "plot bar barh hist scatter set_title set_xlabel set_ylabel set_xlim set_ylim legend grid imshow boxplot "
        "pie set axhline axvline fill_between text": "It is an array of axes: take one by its position, `axes[0]` (or `axes[0, 0]` with several rows), or loop, `for ax in axes.flat:`.",
        "push": "Use `np.append(a, value)`, or collect values in a list and make the array once.",
        "length len": "Use `len(a)`, or `a.shape`.",
        "count": "Use `np.count_nonzero(a == value)`.",
        "index": "Use `np.where(a == value)[0]`.",
        "remove": "Use `np.delete(a, position)`, or a mask: `a[a != value]`.",
        "reverse": "Use `a[::-1]`.",
        "map apply": "Apply the expression to the whole array, or use `np.vectorize(function)(a)`.",
        "values to_numpy": "It is an array already; use it as it is.",
        "iloc loc": "Index it directly: `a[0]`.",
        "columns": "An array has no columns by name; use `a[:, 0]`, or keep the DataFrame.",
        "value_counts": "Use `np.unique(a, return_counts=True)`.",
        "isnull isna": "Use `np.isnan(a)`.",
        "contains": "Use `value in a`, or `np.isin(a, values)`.",
    },
}
METHODS = {kind: by_name(rows) for kind, rows in _METHODS.items()}

ARGUMENTS: dict[str, dict[str, str]] = {
    "mean_squared_error": {"squared": "Use `root_mean_squared_error(y_true, y_pred)` of `sklearn.metrics`, or `mean_squared_error(y_true, y_pred) ** 0.5`."},
    "fillna": {"method": "Use `.ffill()` or `.bfill()` instead of `fillna(method=...)`."},
    "replace": {**{f"{unit}s": f"The argument is called `{unit}`." for unit in ("year", "month", "day", "hour", "minute", "second")}, "method": "Use `.ffill()` or `.bfill()` after `.replace(old, np.nan)`."},
    "sort_values": dict.fromkeys(("reverse", "descending", "order"), "Use `ascending=False`."),
    "read_csv": {"error_bad_lines": "Use `on_bad_lines='skip'`.", "squeeze": "Use `.squeeze('columns')` on the result.", "columns": "Use `names=[...]` to name columns, or `usecols=[...]` to choose them.", "date_parser": "Use `date_format=`, or `pd.to_datetime` afterwards.", "delim_whitespace": "Use `sep=r'\\s+'`."},
    "arange": {"num": "Use `np.linspace(start, stop, num)` for a number of points.", "n": "Use `np.linspace(start, stop, num)` for a number of points."},
    "linspace": {"step": "Use `np.arange(start, stop, step)` for a step."},
    "plot": {"width": "The argument is called `linewidth`.", "style": "The argument is called `linestyle`.", "size": "The argument is called `markersize`, or `linewidth` for the line.", "title": "Use `plt.title(text)`, or `ax.set_title(text)`.", "xlabel": "Use `plt.xlabel(text)`, or `ax.set_xlabel(text)`.", "ylabel": "Use `plt.ylabel(text)`, or `ax.set_ylabel(text)`.", "legend": "The argument is called `label`; then call `plt.legend()`.", "name": "The argument is called `label`.", "figsize": "Use `plt.figure(figsize=(8, 4))` before it."},
    "scatter": {"size": "The argument is called `s`.", "colour": "The argument is called `color` or `c`.", "colors": "The argument is called `color` or `c`.", "title": "Use `plt.title(text)`, or `ax.set_title(text)`."},
    "bar": {"colour": "The argument is called `color`.", "labels": "The argument is called `tick_label`, or `label` for the legend.", "title": "Use `plt.title(text)`, or `ax.set_title(text)`."},
    "hist": {"normed": "The argument is called `density`.", "title": "Use `plt.title(text)`, or `ax.set_title(text)`."},
    "figure": {"size": "The argument is called `figsize`."},
    "round": {"digits": "Give the number of digits by position: `round(x, 2)`.", "decimals": "Give the number of digits by position: `round(x, 2)`.", "n": "Give the number of digits by position: `round(x, 2)`.", "places": "Give the number of digits by position: `round(x, 2)`.", "precision": "Give the number of digits by position: `round(x, 2)`."},
    "sorted": {"cmp": "Use `key=functools.cmp_to_key(compare)`, or better `key=lambda item: ...`.", "ascending": "Use `reverse=True` for the largest first."},
    "sort": {"cmp": "Use `key=functools.cmp_to_key(compare)`, or better `key=lambda item: ...`.", "ascending": "Use `reverse=True` for the largest first.", **dict.fromkeys(("descending", "reverse"), "A list takes `reverse=True` for the largest first; an array is turned round, `np.sort(a)[::-1]`.")},
    "print": {"newline": "Use `end=''` to stay in the line."},
    "timedelta": {"months": "A timedelta has days and weeks only: use `date.replace(month=...)`, or `days=30 * n`; with pandas `pd.DateOffset(months=1)`.", "years": "A timedelta has days and weeks only: use `date.replace(year=...)`, or `days=365 * n`; with pandas `pd.DateOffset(years=1)`.", "day": "The argument is called `days`.", "hour": "The argument is called `hours`.", "minute": "The argument is called `minutes`.", "second": "The argument is called `seconds`.", "week": "The argument is called `weeks`."},
    "deque": dict.fromkeys(("max_len", "size", "max_size", "maxsize"), "The argument is called `maxlen`."),
    "product": dict.fromkeys(("times", "n", "r", "k"), "The argument is called `repeat`."),
    **dict.fromkeys(("reader", "writer"), dict.fromkeys(("sep", "separator"), "The argument is called `delimiter`.")),
    "int": dict.fromkeys(("radix", "b"), "The argument is called `base`."),
    "fromtimestamp": dict.fromkeys(("timezone", "tzinfo"), "The argument is called `tz`."),
    "accumulate": {"start": "The argument is called `initial`.", "function": "The argument is called `func`."},
    **{name: {"normalize": "It was removed; scale with `make_pipeline(StandardScaler(), model)`."} for name in ("LinearRegression", "Ridge", "Lasso")},
    **dict.fromkeys(("cdf", "pdf", "ppf", "rvs"), by_name({"mean mu avg": "The argument is called `loc`.", "std sd sigma stdev": "The argument is called `scale`."})),
}  # fmt: skip
"""Function or method → keyword that it does not take → what to write instead."""

_MEANT = {
    "mean mu average": "loc mean mu",
    "std sd sigma stdev deviation": "scale sigma std",
    "points n count steps samples number": "num n_samples size n k",
    "shape length dims": "size shape",
    "iterations n_iter epochs iters max_iterations maxiter niter": "max_iter n_iter maxiter maxfev",
    "seed random_seed rng random": "random_state seed rng",
    "separator delimiter delim sep splitter": "sep delimiter separators",
    "descending reverse desc asc order": "ascending reverse",
    "columns cols column col": "columns usecols subset by col",
    "rows n_rows": "nrows index n",
    "k clusters neighbors components trees folds splits": "n_clusters n_neighbors n_components n_estimators n_splits k cv",
    "depth maxdepth": "max_depth",
    "learning_rate lr eta": "learning_rate learning_rate_init eta0",
    "round rounding_mode mode": "rounding mode",
    "frequency period rule": "freq rule periods",
    "type kind datatype data_type": "dtype kind how type",
    "top limit max amount": "n k maxsplit max_iter limit count stop",
    "func function f fn callback fun agg aggregation": "func fun f aggfunc function key",
    "x_data xdata xs": "x xdata",
    "guess initial start x_0 initial_guess begin": "x0 p0 start initial initializer",
    "default fallback default_value": "default fillvalue fill_value",
    "fill fillvalue value fillchar": "fill_value fillvalue value fillchar",
    "text s str": "string text",
    "how method join_type": "how method join",
    "keys key by": "by key on keys",
    "rotate angle": "rotation angle",
    "places digits precision decimals": "decimals ndigits precision prec",
}
KEYWORDS = {name: tuple(meant.split()) for name, meant in by_name(_MEANT).items()}
"""Keyword that is written → the keywords that are meant by it, where the function has one of them."""
