"""`safeexec agent`: give a task to a model that works by running code here, and watch it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safeexec.agent import AgentError, CodeAgent, DataAnalyst, MistralModel, RecordedModel, Transcript
from safeexec.agent.view import StepPictures, View
from safeexec.cli.common import add_file_option, add_model_options, files_of
from safeexec.common.text import printable

if TYPE_CHECKING:
    from safeexec.agent import AgentResult, Model

SHIPPED = Path(__file__).parent.parent / "agent" / "transcripts"
DEFAULT_REPLAY = "squrt"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A model writes code, the sandbox runs it, the model sees the result; until there is an answer. "
        "The key is read from MISTRAL_API_KEY. --replay shows a recorded run offline: its code really runs."
    )
    parser.add_argument("task", nargs="?", help="what to do")
    add_model_options(parser, max_steps=20)
    parser.add_argument("--policy", "-p", metavar="P", help="default: calculator; data-analysis with --file")
    add_file_option(parser)
    parser.add_argument("--max-tokens", type=int, metavar="N", help="tokens in all")
    parser.add_argument("--max-seconds", type=float, metavar="S", help="seconds in all")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds per step")
    parser.add_argument("--native", action="store_true", help="use the model's own function calling")
    parser.add_argument(
        "--images", action="store_true", help="send the pictures to the model, which must be able to see"
    )
    parser.add_argument(
        "--transcript", metavar="FILE", help="write the run as JSON lines (default: a new file agent-*.jsonl)"
    )
    parser.add_argument(
        "--resume", metavar="FILE", help="go on from a transcript, with TASK as a further request if given"
    )
    parser.add_argument(
        "--display-dir", default="pictures", metavar="DIR", help="where pictures go (default: pictures)"
    )
    parser.add_argument("--report", metavar="DIR", help="with --file: write report.html")
    parser.add_argument(
        "--replay",
        nargs="?",
        const=DEFAULT_REPLAY,
        metavar="FILE",
        help=f"a transcript, or one of: {', '.join(shipped())}",
    )


def main(options: argparse.Namespace) -> int:
    """Run the task and show it. 0 with an answer, 1 without."""
    problem = _misuse(options)
    if problem:
        print(f"safeexec agent: {problem}", file=sys.stderr)
        return 2
    model, recorded = _model(options)
    path = _transcript_path(options)
    view = View(StepPictures(options.display_dir))
    try:
        result = _run(options, model, recorded, path, view.show)
    finally:
        if path is not None and _holds_something(path):  # also after Ctrl-C: a run can be resumed from it
            print(f"transcript: {printable(str(path))}")
    return 0 if result.ok else 1


def shipped() -> list[str]:
    """Return names of the transcripts that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.jsonl"))


def _misuse(options: argparse.Namespace) -> str:
    if not options.task and not options.replay and not options.resume:
        return "give a task, or --replay to see a recorded run"
    if options.replay and options.resume:
        return "--replay and --resume exclude each other"
    if options.report and not options.file:
        return "--report needs a data file: --file data.csv"
    if options.transcript and options.resume:
        return "a resumed run goes on in its own transcript: --resume and --transcript exclude each other"
    if options.transcript and _holds_something(Path(options.transcript)):
        return f"{options.transcript} holds something already: --resume goes on with a transcript"
    if len(files_of(options.file)) < len(options.file):
        return "two files have the same name: rename one with --file NAME=PATH"
    return ""


def _holds_something(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _model(options: argparse.Namespace) -> tuple[Model, Transcript | None]:
    """Return the model, and the transcript that is replayed or resumed. Raises ModelKeyMissing, TranscriptError."""
    if options.replay:
        path = SHIPPED / f"{options.replay}.jsonl" if options.replay in shipped() else Path(options.replay)
        return RecordedModel(path), Transcript.load(path)
    model = MistralModel(options.model, server_url=options.server_url)
    return model, Transcript.load(options.resume) if options.resume else None


def _run(
    options: argparse.Namespace, model: Model, recorded: Transcript | None, path: Path | None, on_event: Any
) -> AgentResult:
    settings: dict[str, Any] = {
        "native": options.native,
        "images": options.images,
        "max_steps": options.max_steps,
        "max_tokens": options.max_tokens,
        "max_seconds": options.max_seconds,
        "step_timeout": options.timeout,
        "on_event": on_event,
        "transcript": path,
    }
    resumed = recorded if options.resume else None
    tasks = [options.task] if options.task or recorded is None or resumed else recorded.tasks
    usual = "data-analysis" if options.file else "calculator"
    policy = options.policy or (_recorded_policy(recorded, usual) if recorded is not None else usual)
    if options.file:
        analyst = DataAnalyst(model, files_of(options.file), policy, **settings)
        analysis = analyst.resume(resumed, options.task) if resumed else analyst.run(tasks[0])
        if options.report:
            for written in analysis.write(options.report):
                print(f"report: {printable(str(written))}")
        return analysis.run
    agent = CodeAgent(model, policy, **settings)
    result = agent.resume(resumed, task=options.task) if resumed else agent.run(tasks[0])
    for task in tasks[1:]:
        result = agent.resume(result.transcript, task=task)
    return result


def _recorded_policy(recorded: Transcript, usual: str) -> str:
    """Return the policy of a recorded run, where it is the one that would be used anyway: a file must not choose what
    its own code may do. Raises AgentError.
    """
    name = recorded.entries[0].get("policy") or usual
    if name != usual:
        raise AgentError(
            f"the run was recorded with the policy {name!r}, and its file alone does not choose that in place of "
            f"{usual!r}: if you know where it comes from, name a policy with --policy"
        )
    return usual


def _transcript_path(options: argparse.Namespace) -> Path | None:
    """Return this run's transcript file, a new one where none is named; none for a replay that asked for none."""
    if options.resume:
        return Path(options.resume)
    if options.transcript:
        return Path(options.transcript)
    if options.replay:
        return None
    stem = time.strftime("agent-%Y%m%d-%H%M%S")
    for number in count():
        path = Path(f"{stem}{f'-{number}' if number else ''}.jsonl")
        try:
            # Made here, so that no link that is planted under this name is written through.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers do not end")
