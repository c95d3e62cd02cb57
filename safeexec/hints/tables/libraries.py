# ruff: noqa: E501 (a table of sentences)
"""Names and arguments that numpy, pandas and scikit-learn had, or are believed to have, and what is there instead.

`METHODS` is by type and method; `ARGUMENTS` by function and keyword. Recorded against numpy 2.4, pandas 3.1,
scikit-learn 1.9, matplotlib 3.11 and scipy 1.17; a hint is used only after the name was missing.
"""

from __future__ import annotations

from safeexec.hints.needs import by_name

_FRAME_AND_SERIES: dict[str, str] = by_name(
    {
        "get_year": "Use `.dt.year`.",
        "get_value set_value": "Use `.at[row, column]`, and `.at[row, column] = value` to set it.",
        "cumulative_sum": "Use `.cumsum()`.",
        "inner_join outer_join left_join": "Use `.merge(other, on='key')`, with `how='outer'` or `'left'`.",
        "add_column withColumn with_columns": "Assign it: `df['name'] = values`, or `df.assign(name=values)`.",
        "plot_bar": "Use `.plot.bar()`.",
        "append extend push union add_row append_row": "Use `pd.concat([a, b], ignore_index=True)`; frames and series have no `append` any more.",
        "iteritems": "Use `.items()`.",
        "ix": "Use `.loc[...]` for labels or `.iloc[...]` for positions.",
        "as_matrix to_array": "Use `.to_numpy()`.",
        "sort_by order_by orderby": "Use `.sort_values('column')`.",
        "applymap": "Use `.map(function)`.",
        "first": "Use `.head(n)`, or `.iloc[0]` for the first row.",
        "last": "Use `.tail(n)`, or `.iloc[-1]` for the last row.",
        "to_list": "Use `.values.tolist()` of a frame, or `.tolist()` of a column.",
        "row_count num_rows nrows nrow": "Use `len(df)`.",
        "unique_count count_unique distinct_count": "Use `.nunique()`.",
        "dedup distinct": "Use `.drop_duplicates()` of a frame, or `.unique()` of a column.",
        "remove_nulls remove_na": "Use `.dropna()`.",
        "replace_na fill_missing": "Use `.fillna(value)`.",
        "remove_column delete_column": "Use `df.drop(columns=['name'])`.",
        "filter_rows filter_by where_ find search": "Select rows by a condition: `df[df['column'] > value]`.",
        "contains": "Use `.isin([value])`, or `.str.contains(text)` of a column.",
        "column_count ncols get_columns column_names colnames": "Use `list(df.columns)`, and `len(df.columns)` for their number.",
        "select get_column col": "Use `df['column']`, or `df[['a', 'b']]` for several.",
        "get_row row": "Use `df.iloc[i]`.",
        "rows forEach each": "Use `df.itertuples()` or `df.iterrows()` in a loop; `len(df)` is their number.",
        "to_int to_float to_str convert": "Use `.astype(int)`, `.astype(float)` or `.astype(str)`.",
        "display print show": "Use `print(df.head())`, or let the frame be the last line.",
        "normalize zscore": "Write it: `(df - df.mean()) / df.std()`.",
        "mad": "Write it: `(s - s.mean()).abs().mean()`.",
        "moving_average": "Use `.rolling(window).mean()`.",
        "is_null isNull": "Use `.isna()`.",
        "summary": "Use `.describe()`.",
        "to_pickle": "Variables stay alive from step to step; for a file use `.to_csv('name.csv')`.",
        "reshape flatten ravel": "Use `.to_numpy().reshape(...)`, or `.to_numpy().ravel()`.",
    }
)
_SERIES: dict[str, str] = {
    **_FRAME_AND_SERIES,
    **by_name(
        {
            "columns": "A Series has no columns; its name is `.name`, its labels are `.index`; use `df[['name']]` (two pairs of brackets) to keep a DataFrame.",
            "to_lower toLowerCase lowercase": "Use `.str.lower()`.",
            "to_upper toUpperCase uppercase": "Use `.str.upper()`.",
            "trim lstrip rstrip": "Use `.str.strip()`.",
            "itertuples iterrows": "Use `.items()` of a Series.",
            "query filter_by": "Select by a condition: `s[s > value]`.",
            "length": "Use `len(series)`, or `.str.len()` for the length of each text.",
            "to_period": "Use `.dt.to_period('M')`.",
        }
    ),
}

METHODS: dict[str, dict[str, str]] = {
    "pandas.DataFrame": {
        **_FRAME_AND_SERIES,
        **by_name(
            {
                "name": "A DataFrame has no name; its columns are `df.columns`.",
                "to_frame": "It is a DataFrame already; use it as it is.",
                "argmax": "Use `.idxmax()`.",
                "argmin": "Use `.idxmin()`.",
                "item": "Use `.iloc[0, 0]`.",
                "push_back": "Use `df.loc[len(df)] = values` for one row, or `pd.concat([a, b])`.",
                "pivot_wider": "Use `.pivot_table(...)`.",
                "pivot_longer": "Use `.melt(...)`.",
                "has_key": "Use `'column' in df.columns`.",
                "strip": "Use it on a column: `df['column'].str.strip()`, or on the names: `df.columns.str.strip()`.",
                "lower": "Use it on a column: `df['column'].str.lower()`.",
            }
        ),
    },
    "pandas.Series": _SERIES,
    "pandas.Index": by_name(
        {
            "replace": "Use `.str.replace(old, new)`.",
            "format": "Use `.astype(str)`.",
            "contains": "Use `name in index`.",
            "apply": "Use `.map(function)`.",
            "reset_index": "Use it on the DataFrame or Series: `df.reset_index()`.",
            "iloc loc": "Index it directly: `index[0]`.",
        }
    ),
    "numpy.Generator": by_name(
        {
            "randint": "Use `rng.integers(low, high, size)`.",
            "ranf": "Use `rng.random(size)`.",
            "randn": "Use `rng.standard_normal(size)`, with the shape as one tuple.",
            "sample": "Use `rng.choice(values, size, replace=False)`, or `rng.random(size)`.",
            "seed": "Give the seed when the generator is made: `np.random.default_rng(42)`.",
        }
    ),
    "pandas.GroupBy": by_name(
        {
            "list": "Use `.agg(list)`.",
            "distinct unique_count": "Use `.nunique()`, or `'nunique'` in `agg`.",
            "to_frame": "Aggregate first: `.sum().to_frame()`.",
            "reset_index": "Aggregate first: `df.groupby('key')['value'].sum().reset_index()`.",
            "sort_values": "Aggregate first: `df.groupby('key')['value'].sum().sort_values()`.",
            "aggregate_by summarize": "Use `.agg({'value': 'sum'})`.",
            "count_distinct": "Use `.nunique()`.",
            "iterrows items": "Loop over the groups: `for key, group in df.groupby('key'):`.",
        }
    ),
    "matplotlib.Figure": by_name(
        {
            "plot bar barh hist scatter pie boxplot imshow set_title set_xlabel set_ylabel title xlabel ylabel grid "
            "axhline axvline fill_between": "A figure draws on its axes: `fig, ax = plt.subplots()`, then `ax.plot(...)`, `ax.set_title(...)`.",
        }
    ),
    "matplotlib.Axes": by_name(
        {
            "savefig save save_fig": "Use `fig.savefig('name.png')` on the figure, or `ax.figure.savefig('name.png')`.",
            "show": "Use `plt.show()`.",
            "suptitle tight_layout colorbar": "It belongs to the figure: `fig.suptitle(...)`, `fig.tight_layout()`, `fig.colorbar(...)`.",
            "line lineplot": "Use `ax.plot(x, y)`.",
        }
    ),
    "numpy.ndarray": by_name(
        {
            "itemset": "Assign it: `a[i] = value`.",
            "filter where select query": "Use a mask: `a[a > value]`.",
            "plot bar barh hist scatter set_title set_xlabel set_ylabel set_xlim set_ylim legend grid imshow boxplot "
            "pie set axhline axvline fill_between text": "It is an array of axes: take one by its position, `axes[0]` (or `axes[0, 0]` with several rows), or loop, `for ax in axes.flat:`.",
            "push": "Use `np.append(a, value)`, or collect values in a list and make the array once.",
            "extend": "Use `np.concatenate([a, b])`.",
            "length len": "Use `len(a)`, or `a.shape`.",
            "count": "Use `np.count_nonzero(a == value)`.",
            "index": "Use `np.where(a == value)[0]`.",
            "remove": "Use `np.delete(a, position)`, or a mask: `a[a != value]`.",
            "reverse": "Use `a[::-1]`.",
            "mode": "Use `values, counts = np.unique(a, return_counts=True); values[counts.argmax()]`.",
            "append_row": "Use `np.vstack([a, row])`.",
            "map apply": "Apply the expression to the whole array, or use `np.vectorize(function)(a)`.",
            "inverse": "Use `np.linalg.inv(a)`.",
            "values to_numpy": "It is an array already; use it as it is.",
            "iloc loc": "Index it directly: `a[0]`.",
            "columns": "An array has no columns by name; use `a[:, 0]`, or keep the DataFrame.",
            "groupby": "Use `pd.DataFrame(a).groupby(...)`.",
            "value_counts": "Use `np.unique(a, return_counts=True)`.",
            "isnull isna": "Use `np.isnan(a)`.",
            "fillna": "Use `np.nan_to_num(a, nan=value)`.",
            "shift": "Use `np.roll(a, n)`.",
            "contains": "Use `value in a`, or `np.isin(a, values)`.",
            "is_empty": "Use `a.size == 0`.",
        }
    ),
}

ARGUMENTS: dict[str, dict[str, str]] = {
    "mean_squared_error": {"squared": "Use `root_mean_squared_error(y_true, y_pred)` of `sklearn.metrics`, or `mean_squared_error(y_true, y_pred) ** 0.5`."},
    "fillna": {"method": "Use `.ffill()` or `.bfill()` instead of `fillna(method=...)`."},
    "replace": {**{f"{unit}s": f"The argument is called `{unit}`." for unit in ("year", "month", "day", "hour", "minute", "second")}, "method": "Use `.ffill()` or `.bfill()` after `.replace(old, np.nan)`."},
    "rename": {"mapping": "Say which axis: `rename(columns={'old': 'new'})`."},
    "groupby": {"on": "The argument is called `by`: `df.groupby('column')`."},
    "sort_values": {"reverse": "Use `ascending=False`.", "descending": "Use `ascending=False`."},
    "sort_index": {"reverse": "Use `ascending=False`.", "by": "Use `df.sort_values(by='column')`."},
    "read_csv": {"error_bad_lines": "Use `on_bad_lines='skip'`.", "squeeze": "Use `.squeeze('columns')` on the result.", "columns": "Use `names=[...]` to name columns, or `usecols=[...]` to choose them.", "date_parser": "Use `date_format=`, or `pd.to_datetime` afterwards.", "delim_whitespace": "Use `sep=r'\\s+'`."},
    "pivot": {"aggfunc": "Use `df.pivot_table(..., aggfunc=...)`."},
    "drop_duplicates": {"take_last": "Use `keep='last'`."},
    "apply": {"columns": "Select the columns first: `df['column'].apply(function)`."},
    "resample": {"how": "Call the aggregation: `.resample('D').mean()`.", "period": "Give the rule as the first argument: `.resample('ME')`.", "freq": "Give the rule as the first argument: `.resample('ME')`."},
    "arange": {"num": "Use `np.linspace(start, stop, num)` for a number of points.", "n": "Use `np.linspace(start, stop, num)` for a number of points."},
    "linspace": {"step": "Use `np.arange(start, stop, step)` for a step."},
    "plot": {"width": "The argument is called `linewidth`.", "style": "The argument is called `linestyle`.", "size": "The argument is called `markersize`, or `linewidth` for the line.", "title": "Use `plt.title(text)`, or `ax.set_title(text)`.", "xlabel": "Use `plt.xlabel(text)`, or `ax.set_xlabel(text)`.", "ylabel": "Use `plt.ylabel(text)`, or `ax.set_ylabel(text)`.", "legend": "The argument is called `label`; then call `plt.legend()`.", "name": "The argument is called `label`.", "figsize": "Use `plt.figure(figsize=(8, 4))` before it."},
    "scatter": {"size": "The argument is called `s`.", "colour": "The argument is called `color` or `c`.", "colors": "The argument is called `color` or `c`.", "title": "Use `plt.title(text)`, or `ax.set_title(text)`."},
    "bar": {"colour": "The argument is called `color`.", "labels": "The argument is called `tick_label`, or `label` for the legend.", "title": "Use `plt.title(text)`, or `ax.set_title(text)`."},
    "hist": {"normed": "The argument is called `density`.", "title": "Use `plt.title(text)`, or `ax.set_title(text)`."},
    "figure": {"size": "The argument is called `figsize`."},
    "savefig": {"filename": "Give the name as the first argument: `plt.savefig('name.png')`."},
    "boxplot": {"labels": "The argument is called `tick_labels` now."},
    "round": {"digits": "Give the number of digits by position: `round(x, 2)`.", "decimals": "Give the number of digits by position: `round(x, 2)`.", "n": "Give the number of digits by position: `round(x, 2)`.", "places": "Give the number of digits by position: `round(x, 2)`.", "precision": "Give the number of digits by position: `round(x, 2)`."},
    "sorted": {"cmp": "Use `key=functools.cmp_to_key(compare)`, or better `key=lambda item: ...`.", "ascending": "Use `reverse=True` for the largest first."},
    "sort": {"cmp": "Use `key=functools.cmp_to_key(compare)`, or better `key=lambda item: ...`.", "ascending": "Use `reverse=True` for the largest first."},
    "print": {"newline": "Use `end=''` to stay in the line."},
    "enumerate": {"begin": "The argument is called `start`.", "start_index": "The argument is called `start`."},
    "max": {"cmp": "Use `key=`."},
    "min": {"cmp": "Use `key=`."},
    "timedelta": {"months": "A timedelta has days and weeks only: use `date.replace(month=...)`, or `days=30 * n`; with pandas `pd.DateOffset(months=1)`.", "years": "A timedelta has days and weeks only: use `date.replace(year=...)`, or `days=365 * n`; with pandas `pd.DateOffset(years=1)`.", "day": "The argument is called `days`.", "hour": "The argument is called `hours`.", "minute": "The argument is called `minutes`.", "second": "The argument is called `seconds`.", "week": "The argument is called `weeks`."},
    "Random": {"seed": "Give the seed by position: `random.Random(42)`."},
}  # fmt: skip
"""Function or method → keyword that it does not take → what to write instead."""

for _name, _renamed in {
    "deque": {"max_len": "maxlen", "size": "maxlen", "max_size": "maxlen", "maxsize": "maxlen"},
    "product": {"times": "repeat", "n": "repeat", "r": "repeat", "k": "repeat"},
    "reader": {"sep": "delimiter", "separator": "delimiter"},
    "writer": {"sep": "delimiter", "separator": "delimiter"},
    "int": {"radix": "base", "b": "base"},
    "fromtimestamp": {"timezone": "tz", "tzinfo": "tz"},
    "accumulate": {"start": "initial", "function": "func"},
}.items():
    ARGUMENTS[_name] = {old: f"The argument is called `{new}`." for old, new in _renamed.items()} | ARGUMENTS.get(
        _name, {}
    )
for _name in ("LinearRegression", "Ridge", "Lasso"):
    ARGUMENTS[_name] = {"normalize": "It was removed; scale with `make_pipeline(StandardScaler(), model)`."}
ARGUMENTS["_parse_args"] = by_name(
    {"mean mu avg": "The argument is called `loc`.", "std sd sigma stdev": "The argument is called `scale`."}
)
KEYWORDS: dict[str, tuple[str, ...]] = {
    name: tuple(meant.split())
    for name, meant in by_name(
        {
            "mean mu average": "loc mean mu",
            "std sd sigma stdev deviation": "scale sigma std",
            "points n count steps samples number": "num n_samples size n k",
            "shape length dims": "size shape",
            "iterations n_iter epochs iters max_iterations maxiter niter": "max_iter n_iter maxiter maxfev",
            "seed random_seed rng random": "random_state seed rng",
            "separator delimiter delim sep splitter": "sep delimiter separators",
            "descending reverse desc asc": "ascending reverse",
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
            "places digits precision decimals": "decimals ndigits precision prec",
        }
    ).items()
}
"""Keyword that is written → the keywords that are meant by it, where the function has one of them."""

ARTIST_PROPERTIES = (
    "color", "linewidth", "linestyle", "marker", "markersize", "markerfacecolor", "markeredgecolor", "label", "alpha",
    "zorder", "edgecolor", "facecolor", "figsize", "dpi", "rotation", "fontsize", "fontweight", "hatch", "visible",
)  # fmt: skip
"""The arguments that plotting functions pass on to what they draw, under the names that programs use."""
