"""Makes of the figures of a comparison: markdown, plots, the tables of `benchmarks/README.md`, the README's picture."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.common import shown

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "benchmarks/README.md"
README = PROJECT / "README.md"
PICTURE = PROJECT / "safeexec/docs/beside.svg"
OURS = "safeexec"
BEGIN, END = "<!-- compare -->\n", "<!-- end of compare -->\n"
AHEAD = 1.1
"""From which factor on another is called ahead."""
PICTURED = ("step", "program", "objects", "session", "saved", "loop", "cold")
COLOURS = {
    "safeexec": "#c0392b", "bare forked child": "#7f8c8d", "Monty": "#2980b9", "ipykernel": "#e67e22",
    "Pyodide": "#8e44ad", "process per step, bubblewrap": "#16a085", "bare exec": "#2c3e50", "smolagents": "#f1c40f",
}  # fmt: skip
Report = dict[str, Any]


def figure(number: float, unit: str) -> str:
    """Short: three digits and a unit."""
    if unit == "s":
        text, _, name = shown(number).partition(" ")
        return f"{float(text):.3g} {name}"
    return f"{number:.3g}" + ("" if unit == "/s" else f" {unit}")


def installed(data: Report) -> list[str]:
    """The contenders that have a figure or a trial."""
    rows = data["rows"].values()
    return [name for name in data["contenders"] if any("figure" in row["figures"][name] for row in rows)]


def factor(row: Report, name: str) -> float | None:
    """How many times better `name` is than we are."""
    ours, theirs = row["figures"][OURS].get("figure"), row["figures"][name].get("figure")
    if not ours or not theirs:
        return None
    return float(theirs / ours if row["more"] else ours / theirs)


def ahead(data: Report) -> str:
    """Where others are better, the largest gap first."""
    found = []
    for row in data["rows"].values():
        better = {}
        for name in installed(data):
            if name not in (OURS, "safeexec, no undo") and (times := factor(row, name)) and times > AHEAD:
                better[name] = times
        if better:
            best = sorted(better, key=lambda name: -better[name])
            told = ", ".join(f"{name} {better[name]:.2g}" for name in best)
            found.append((better[best[0]], f"| {row['what']} | {cell(row, OURS)} | {told} |"))
    lines = [line for _, line in sorted(found, reverse=True)]
    return "\n".join(["| what | safeexec | who is ahead, and how many times |", "| --- | --- | --- |", *lines]) + "\n"


def cell(row: Report, name: str) -> str:
    said = row["figures"][name]
    if "figure" not in said:
        return "—"
    return figure(said["figure"], row["unit"]) + ("\\*" if said["note"] else "")


def table(data: Report, names: list[str]) -> str:
    """All rows, a column for each name; ours comes first."""
    lines = [f"| | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    lines.append(f"| what holds the code | {' | '.join(data['contenders'][name]['holds'] for name in names)} |")
    lines += [f"| {row['what']} | {' | '.join(cell(row, name) for name in names)} |" for row in data["rows"].values()]
    return "\n".join(lines) + "\n"


def reach(data: Report) -> str:
    """What each runs, and what it lets through."""
    lines = [
        "| | programs exact | attempts | reached | ended or hung the host | past the language alone |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in installed(data):
        said = data["trials"][name]
        if "reason" in said:
            continue
        exact = f"{said['exact']} of {said['programs']}" if said["programs"] else "—"
        if said["attempts"]:
            passed = said["language"] if data["contenders"][name]["boundary"] == "language" else "—"
            rest = f"{said['attempts']} | {said['reached']} | {said['ended']} | {passed}"
        else:
            rest = "— | — | — | —"
        lines.append(f"| {name} | {exact} | {rest} |")
    return "\n".join(lines) + "\n"


def reasons(data: Report) -> str:
    """Why there is no figure, or what is to be said of one."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in data["rows"].values():
        for name in installed(data):
            said = row["figures"][name]
            if told := said.get("reason") or (said.get("note") and f"\\* {said['note']}"):
                found[name, told].append(row["what"])
    lines = [f"- {name}: {told} ({'; '.join(rows)})." for (name, told), rows in found.items()]
    for name, said in data["trials"].items():
        if "reason" in said and name in installed(data):
            lines.append(f"- {name}: {said['reason']} (programs and attempts).")
    absent = [name for name in data["contenders"] if name not in installed(data)]
    lines += [f"- {name}: {next(iter(data['rows'].values()))['figures'][name]['reason']}." for name in absent]
    return "\n".join(lines) + "\n"


def body(data: Report) -> str:
    """What the report and the page of benchmarks share."""
    apart = [name for name in installed(data) if data["contenders"][name]["apart"]]
    inside = [OURS] + [name for name in installed(data) if not data["contenders"][name]["apart"]]
    versions = ", ".join(f"{name} {said['version']}" for name, said in data["contenders"].items() if said["version"])
    quick = " A quick run: smaller sizes, few rounds." if data["quick"] else ""
    return f"""\
Medians, each contender in turn, on {data["machine"]}, CPython {data["python"]}, {data["date"]}.{quick} The times
belong to that machine; compare them within a row. {versions}.

### Where others are ahead

{ahead(data)}
### Where guest code has a process of its own

{table(data, apart)}
### Where it runs in the host's process

{table(data, inside)}
### What each runs, and what it lets through

Programs are those of [compat](compat/__main__.py): exact is the same output and status as CPython's. Attempts are those
of the [escape corpus](../tests/escapes/README.md) that want out, each in a session of its own with a time limit, all of
them inside namespaces. *Reached*: the host's secret, a file, a process, its own code, or a system call that no policy
grants. *Past the language alone*: an object that the language shall not give out; where a kernel holds the process,
nothing of the host comes with it.

{reach(data)}
### Why there is no figure

{reasons(data)}"""


def plots(data: Report, directory: Path) -> None:
    """One plot for each kind of row, and the README's picture."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "safeexec"
    names = installed(data)
    for unit, title in (("s", "seconds, less is better"), ("MB", "MB, less is better"), ("/s", "per CPU second")):
        rows = [row for row in data["rows"].values() if row["unit"] == unit]
        if rows:
            dots(rows, names, title, directory / f"{ {'s': 'times', 'MB': 'memory', '/s': 'programs'}[unit] }.png")
    tried = {name: said for name, said in data["trials"].items() if said.get("attempts")}
    if tried:
        bars(tried, directory / "attempts.png")
    dots(
        [data["rows"][key] for key in PICTURED],
        [name for name in names if name in COLOURS],
        "seconds, less is better",
        directory / "beside.svg",
    )


def dots(rows: list[Report], names: list[str], title: str, path: Path) -> None:
    """A line for each row, a dot for each contender, on a logarithmic scale."""
    from matplotlib import pyplot

    figure_, axes = pyplot.subplots(figsize=(9, 1.4 + 0.42 * len(rows)))
    spare = iter(pyplot.get_cmap("tab20").colors)
    for name in names:
        places = [(row["figures"][name].get("figure"), -number) for number, row in enumerate(rows)]
        known = [(x, y) for x, y in places if x]
        if known:
            size, colour = (90, COLOURS[OURS]) if name == OURS else (45, COLOURS.get(name) or next(spare))
            axes.scatter(*zip(*known, strict=True), s=size, color=colour, label=name, zorder=3 if name == OURS else 2)
    axes.set_xscale("log")
    axes.set_yticks([-number for number in range(len(rows))], [row["what"].replace("`", "") for row in rows])
    axes.set_xlabel(title)
    axes.grid(axis="both", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.35, -0.9 / (1.4 + 0.42 * len(rows)) - 0.02), ncols=4, frameon=False
    )
    figure_.savefig(path, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure_)


def bars(tried: Report, path: Path) -> None:
    from matplotlib import pyplot

    figure_, axes = pyplot.subplots(figsize=(9, 1 + 0.4 * len(tried)))
    left = [0] * len(tried)
    for kind, colour in (("reached", "#c0392b"), ("ended", "#e67e22"), ("language", "#f7dc6f")):
        counts = [said[kind] for said in tried.values()]
        label = {"reached": "reached the host", "ended": "ended or hung it", "language": "past the language"}[kind]
        axes.barh(list(tried), counts, left=left, color=colour, label=label)
        left = [a + b for a, b in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel(f"attempts of {max(said['attempts'] for said in tried.values())} that got through")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure_.savefig(path, bbox_inches="tight")
    pyplot.close(figure_)


def write(data: Report, directory: Path, *, pages: bool) -> None:
    """The report in a directory; `pages`: also in the pages of the project, between their markers."""
    text = body(data)
    seen = "\n".join(f"![{name}]({name}.png)" for name in ("times", "memory", "programs", "attempts"))
    own = text.replace("(compat/", f"({PROJECT}/benchmarks/compat/").replace("(../tests/", f"({PROJECT}/tests/")
    (directory / "report.md").write_text(f"# safeexec beside other systems\n\n{own}\n{seen}\n", encoding="utf-8")
    plots(data, directory)
    if pages:
        PICTURE.write_text((directory / "beside.svg").read_text(encoding="utf-8"), encoding="utf-8")
        between(PAGE, f"\n{text}\n")
        between(README, f"![Times of safeexec and others]({PICTURE.relative_to(PROJECT).as_posix()})\n")


def between(page: Path, text: str) -> None:
    """Replace what stands between the markers of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page}: no place for it: {BEGIN.strip()} … {END.strip()}")
    page.write_text(before + begin + text + end + after, encoding="utf-8")
