"""Makes of the figures of a comparison: markdown, plots, the tables of `benchmarks/README.md`, the README's picture."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.common import shown

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "benchmarks/README.md"
README = PROJECT / "README.md"
PICTURE = PROJECT / "benchmarks/beside.svg"
OURS = "safeexec"
BEGIN, END = "<!-- compare -->\n", "<!-- end of compare -->\n"
AHEAD = 1.1
"""From which factor on another is called ahead."""
PICTURED = ("step", "program", "objects", "session", "saved", "loop", "cold")
COLOURS = {
    "safeexec": "#c0392b", "safeexec, no undo": "#e6a09a", "bare forked child": "#7f8c8d", "Monty": "#2980b9",
    "ipykernel": "#e67e22", "Pyodide": "#8e44ad", "process per step": "#a3e4d7",
    "process per step, bubblewrap": "#16a085", "bare exec": "#2c3e50", "RestrictedPython": "#27ae60",
    "smolagents": "#f1c40f", "asteval": "#d98cb3", "interpretthis": "#784212",
}  # fmt: skip
SHOWN = ("safeexec", "bare exec", "Monty", "ipykernel", "Pyodide", "process per step, bubblewrap", "smolagents")
"""Whom the README's picture shows."""
Report = dict[str, Any]


def figure(number: float, unit: str) -> str:
    """Short: three digits and a unit."""
    if unit == "s":
        text, _, name = shown(number).partition(" ")
        return f"{float(text):.3g} {name}"
    return f"{number:.3g}" + ("" if unit == "/s" else f" {unit}")


def factor(number: float) -> str:
    """Two digits: ``1.4``, ``6,900``."""
    return f"{number:.2g}" if number < 10 else f"{float(f'{number:.2g}'):,.0f}"


def installed(data: Report) -> list[str]:
    """The contenders that are here."""
    return [name for name, said in data["contenders"].items() if not said["missing"]]


def known(row: Report, name: str) -> float | None:
    """A figure, where there is one."""
    found: float | None = row["figures"].get(name, {}).get("figure")
    return found


def through(data: Report, name: str) -> dict[str, int]:
    """How many trials of a contender ended how, beside how many there were."""
    tried = data["trials"].get(name, {})
    whole = [got for trial, got in tried.items() if trial.startswith("program ")]
    ways_out = [got for trial, got in tried.items() if not trial.startswith("program ")]
    return {
        "programs": len(whole), "exact": whole.count("exact"), "attempts": len(ways_out),
        **{got: ways_out.count(got) for got in ("reached", "ended", "language")},
    }  # fmt: skip


def ahead(data: Report) -> str:
    """Where others are better, the largest gap first."""
    found = []
    others = [name for name in installed(data) if name not in (OURS, "safeexec, no undo")]
    for row in data["rows"].values():
        ours, better = known(row, OURS), {}
        for name in others:
            if ours and (theirs := known(row, name)):
                better[name] = theirs / ours if row["more"] else ours / theirs
        best = sorted((name for name in better if better[name] > AHEAD), key=lambda name: -better[name])
        if best:
            told = ", ".join(f"{name} {factor(better[name])}" for name in best)
            found.append((better[best[0]], f"| {row['what']} | {cell(row, OURS)} | {told} |"))
    lines = [line for _, line in sorted(found, reverse=True)]
    exact = {name: through(data, name)["exact"] for name in installed(data)}
    if more := [f"{name} {exact[name]}" for name in others if exact[name] > exact[OURS]]:
        lines.append(f"| programs exact | {exact[OURS]} | {', '.join(more)} |")
    return "\n".join(["| what | safeexec | who is ahead, and how many times |", "| --- | --- | --- |", *lines]) + "\n"


def cell(row: Report, name: str) -> str:
    if (found := known(row, name)) is None:
        return "—"
    return figure(found, row["unit"]) + ("\\*" if row["figures"][name]["note"] else "")


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
        said = through(data, name)
        exact = f"{said['exact']} of {said['programs']}" if said["programs"] else "—"
        passed = said["language"] if data["contenders"][name]["boundary"] == "language" else "—"
        tried = f"{said['attempts']} | {said['reached']} | {said['ended']} | {passed}"
        if said["programs"] or said["attempts"]:
            lines.append(f"| {name} | {exact} | {tried if said['attempts'] else '— | — | — | —'} |")
    return "\n".join(lines) + "\n"


def reasons(data: Report) -> str:
    """Why there is no figure, or what is to be said of one."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, about in data["contenders"].items():
        for row in data["rows"].values():
            said = row["figures"].get(name, {"reason": "not yet measured"})
            if told := about["missing"] or said.get("reason") or (said["note"] and f"\\* {said['note']}"):
                found[name, told].append(row["what"])
        if about["untried"] and not about["missing"]:
            found[name, about["untried"]].append("programs and attempts")
    return "".join(
        f"- {name}: {told}{'' if data['contenders'][name]['missing'] else ' (' + '; '.join(what) + ')'}.\n"
        for (name, told), what in found.items()
    )


def body(data: Report) -> str:
    """What the report and the page of benchmarks share."""
    apart = [name for name in installed(data) if data["contenders"][name]["apart"]]
    inside = [OURS] + [name for name in installed(data) if not data["contenders"][name]["apart"]]
    versions = ", ".join(f"{name} {said['version']}" for name, said in data["contenders"].items() if said["version"])
    quick = " A quick run: smaller sizes, few rounds." if data["quick"] else ""
    return f"""\
Medians. Each row of each contender has a process and a core of its own, while another one runs on the other core.
Host, child and checkpoint of safeexec share that core: a row that goes on without a pause pays for the checkpoint of
the step before.
On {data["machine"]}, CPython {data["python"]}, {data["date"]}.{quick}
The times belong to that machine; compare them within a row. {versions}.

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
    matplotlib.rcParams["font.size"] = 11
    names, rows = installed(data), data["rows"].values()
    for unit, title, name in (
        ("s", "seconds, less is better", "times"),
        ("MB", "MB, less is better", "memory"),
        ("/s", "programs per CPU second, more is better", "programs"),
    ):
        dots([row for row in rows if row["unit"] == unit], names, title, directory / f"{name}.png")
    bars({name: said for name in names if (said := through(data, name))["attempts"]}, directory / "attempts.png")
    pictured = [data["rows"][key] for key in PICTURED]
    dots(pictured, [name for name in SHOWN if name in names], "seconds, less is better", directory / PICTURE.name)


def dots(rows: list[Report], names: list[str], title: str, path: Path) -> None:
    """A line for each row, a dot for each contender, on a logarithmic scale. On white, so that it reads on any page."""
    from matplotlib import pyplot

    height = 0.42 * len(rows)
    figure_, axes = pyplot.subplots(figsize=(9, 1.4 + height))
    for name in names:
        places = [(x, -number) for number, row in enumerate(rows) if (x := known(row, name))]
        size, above = (90, 3) if name == OURS else (45, 2)
        if places:
            axes.scatter(*zip(*places, strict=True), s=size, color=COLOURS[name], label=name, zorder=above)
    axes.set_xscale("log")
    axes.set_yticks([-number for number in range(len(rows))], [row["what"].replace("`", "") for row in rows])
    axes.set_xlabel(title)
    axes.grid(axis="both", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.35, -0.9 / (1.4 + height) - 0.02), ncols=4, frameon=False)
    figure_.savefig(path, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure_)


def bars(tried: dict[str, dict[str, int]], path: Path) -> None:
    """A bar for each contender: what came of the attempts to get out."""
    from matplotlib import pyplot

    figure_, axes = pyplot.subplots(figsize=(9, 1 + 0.4 * len(tried)))
    left = [0] * len(tried)
    for kind, label, colour in (
        ("reached", "reached the host", "#c0392b"),
        ("ended", "ended or hung it", "#e67e22"),
        ("language", "past the language", "#f7dc6f"),
    ):
        counts = [said[kind] for said in tried.values()]
        axes.barh(list(tried), counts, left=left, color=colour, label=label)
        left = [a + b for a, b in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel(f"attempts of {max((said['attempts'] for said in tried.values()), default=0)} that got through")
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
        PICTURE.write_text((directory / PICTURE.name).read_text(encoding="utf-8"), encoding="utf-8")
        between(PAGE, f"\n{text}\n")
        between(README, f"![Times of safeexec and others]({PICTURE.relative_to(PROJECT).as_posix()})\n")


def between(page: Path, text: str) -> None:
    """Replace what stands between the markers of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page}: no place for it: {BEGIN.strip()} … {END.strip()}")
    page.write_text(before + begin + text + end + after, encoding="utf-8")
