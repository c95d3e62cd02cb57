"""`MathAssistant` answers a mathematical question with a value that code computed, and runs the code again to check."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from safeexec import Opaque
from safeexec.agent import readings
from safeexec.agent.drivers import RunCalls
from safeexec.agent.evidence import Comparison, Computed, judge, known_numbers, leaves
from safeexec.agent.loop import FINAL_ANSWER, CodeAgent
from safeexec.agent.models.base import Model
from safeexec.agent.outcome import AgentResult, AgentStep, OfRun
from safeexec.agent.snippets import Parser
from safeexec.common.identity import weight
from safeexec.common.text import REPR_FAILED, short_repr, shorten

if TYPE_CHECKING:
    from safeexec import AsyncSandbox, AsyncSession, Policy, Sandbox, Session
    from safeexec.agent.transcript import Transcript

_INSTRUCTIONS = """\
You are a mathematician with a calculator. Every number of an answer must come out of code, never out of your head.
- Compute exactly: int, fractions.Fraction and decimal.Decimal before float; sympy where it may be imported. Round \
only when the user asks, and last.
- Check the result in code in a second way where there is one: substitute it, bound it, count by brute force in a \
small case.
- End with code that computes the answer and calls final_answer(value): with what was computed, not with a number \
that you write down."""

_PROVE = (
    "The answer is not proven yet. Send one step that computes it and calls final_answer(value) with the value. "
    "If the question needs no computation, repeat your answer in plain text."
)
_STATED = (
    "final_answer() was given a value that is written in the code, not computed by it. Send one step that computes the "
    "answer and hands over the result: final_answer(result)."
)
_PRINTED = """\
_printed = []


def print(*values, **_):
    _printed.extend(values)


"""
"""Stands before a program that prints its answer somewhere inside, in a loop say: keeps the values that it prints."""
_ALL_PRINTED = "\n\nanswer = _printed[0] if len(_printed) == 1 else _printed\nanswer"
_LAST_PRINTED = "\n\nanswer = _printed[-1]\nanswer"
_SHOWING = ("final_answer", "print", "display")
_CALLABLES = frozenset({"builtin_function_or_method", "function", "method", "type"})

_MAX_BITS = 1 << 16
"""The most bits of an int that is written out: 20,000 digits; the work grows with their square."""
_MAX_PROGRAMS = 6
"""Programs that are run to find the one that computes an answer."""
_MAX_SOURCE = 50_000
"""Characters of a program that is proven; to look through ten thousand short lines takes 0.5 s."""
_AT_ONCE = 1000
_WEIGHT = 8
"""A character that is judged takes 4 to 16 us, as long as so many of a reply that is only read."""
_WORDS = re.compile(r"[^\W\d_]+")
_PERCENT = re.compile(r"\*\s?100(?:\.0)?\b|\b100(?:\.0)?\s?\*|percent|pct|%[\"'}\s]")


@dataclass(frozen=True, slots=True, repr=False)
class MathAnswer(OfRun):
    """A mathematical answer.

    `verified` says that `code`, run by itself, computes `answer` (it is not just written there) and that the words of
    the model, where it answered in words, say that value, perhaps rounded.
    """

    # `field()`: or the properties of the base class would be the defaults.
    answer: Any = field()
    """The value that was computed; what the model said, where its words could not be matched with one."""
    text: str = field()
    """The answer in words: the model's, or the value written out."""
    code: str
    """A program that gives `answer`, as its last value and in the variable `answer`; empty where there is none."""
    verified: bool
    run: AgentResult
    reason: str = field()
    """The end of the run in words, and what contradicts the answer."""
    contradicted: bool = False
    """The model says a number that the code did not compute, or gives a function, also when it is asked again."""

    def __repr__(self) -> str:
        why = "" if self.ok or not self.reason else f"; {shorten(self.reason, 200)}"
        return f"<MathAnswer {shorten(self.text, 80)!r}, verified: {self.verified}{why}>"

    @property
    def value(self) -> Any:
        """The answer."""
        return self.answer

    said: bool = True
    """The words of an answer say the value that code computed, and no other."""

    @property
    def ok(self) -> bool:
        """Return True for an answer that nothing contradicts, and whose words, if any, say the value that was computed:
        one that cannot be judged is not ok.
        """
        return self.run.ok and not self.contradicted and self.said


class MathAssistant:
    """Mathematics under the `calculator` policy, or in another `sandbox`: a policy or its name, for which a sandbox is
    opened for each question, or an open Sandbox, AsyncSandbox or session. With an open one a question costs 1 to 3 ms
    besides the model and the steps.

        MathAssistant(MistralModel()).ask("What is 2 ** 0.5 to 50 digits?").text

    A session keeps the variables of the questions, and an answer may rest on those that were there before: it is
    proven in a copy of the session from before the question. Other keywords are those of `CodeAgent`.
    """

    def __init__(
        self,
        model: Model,
        sandbox: Sandbox | AsyncSandbox | Session | AsyncSession | Policy | str = "calculator",
        **options: Any,
    ) -> None:
        self._assistant = CodeAgent(model, sandbox, instructions=_INSTRUCTIONS, **options)

    def ask(self, question: str) -> MathAnswer:
        """Answer `question`. What the model does wrong is in the answer's `run`."""
        proof = _Proof(question)
        return proof.answer(self._agent(proof).run(question))

    async def ask_async(self, question: str) -> MathAnswer:
        """As `ask`."""
        proof = _Proof(question)
        return await proof.answer_async(await self._agent(proof).run_async(question))

    def resume(self, transcript: Transcript, *, task: str | None = None, answer: Any = UNSET) -> MathAnswer:
        """Go on from a transcript, as `CodeAgent.resume`: also with the `answer` to a call of a tool that waits. What
        called such a tool is not verified: to compute it again would wait again.
        """
        proof = _Proof.of(transcript, task)
        return proof.answer(self._agent(proof).resume(transcript, task=task, answer=answer))

    async def resume_async(self, transcript: Transcript, *, task: str | None = None, answer: Any = UNSET) -> MathAnswer:
        """As `resume`."""
        proof = _Proof.of(transcript, task)
        return await proof.answer_async(await self._agent(proof).resume_async(transcript, task=task, answer=answer))

    def _agent(self, proof: _Proof) -> CodeAgent:
        proof.timeout = self._assistant.limits.step_timeout
        return self._assistant.judged(proof.review)


@dataclass(frozen=True, slots=True)
class _Found:
    """The program behind an answer, as far as one was found."""

    code: str = ""
    value: Any = None
    computed: bool = False
    verdict: Comparison | None = None

    @property
    def verified(self) -> bool:
        return self.computed and (self.verdict is None or self.verdict.matched)


class _Proof:
    """Looks for the program that computes an answer, and sends the model once an objection with what is missing.

    A model that repeats an answer without a number is believed that nothing was to compute.
    """

    def __init__(self, question: str = "", earlier: tuple[str, ...] = ()) -> None:
        self.timeout: float | None = None
        self._question = question
        self._earlier = earlier
        self._asked = False
        self._found = _Found()
        self._contradiction = ""

    @classmethod
    def of(cls, transcript: Transcript, task: str | None) -> _Proof:
        kept = [step["source"] for step in transcript.kept_steps() if step["outcome"] == "ok"]
        return cls("\n".join((*transcript.tasks, task or "")), tuple(kept))

    async def answer_async(self, run: AgentResult) -> MathAnswer:
        """As `answer`, in a thread where it may take long: to write out 2000 ints of 4000 digits takes 0.6 s."""
        if weight(run.answer) + sum(len(step.source) for step in run.steps) <= _AT_ONCE:
            return self.answer(run)
        import asyncio

        return await asyncio.to_thread(self.answer, run)

    def answer(self, run: AgentResult) -> MathAnswer:
        """Return the answer of a run that has ended."""
        found, contradicted = self._found, run.ok and bool(self._contradiction)
        reason = "; ".join(filter(None, (run.reason, self._contradiction or self._unproven(run))))
        said = found.verdict is None or found.verdict.said
        verified = run.ok and bool(found.code) and found.verified
        answer = found.value if verified and found.verdict is not None else run.answer
        code = found.code if run.ok else ""
        return MathAnswer(answer, _in_full(run), code, verified, run, reason, contradicted, said=said)

    def _unproven(self, run: AgentResult) -> str:
        """Return the reason why an answer that nothing contradicts is not verified."""
        if not run.ok or self._found.verified:
            return ""
        verdict = self._found.verdict
        if not any(step.result.ok for step in run.steps):
            return "not verified: no code computed it"
        if _is_hidden(run.answer):
            return "not verified: the value stays in the sandbox, and no text tells what it is"
        if is_stated([step.source for step in run.steps]) and (verdict is None or verdict.said):
            return "not verified: the value is written in the code, not computed by it"
        if verdict is not None:
            value = short_repr(self._found.value, 120)
            judged = "not verified: the words of the answer do not plainly say"
            if not verdict.said:
                judged = "not judged: nothing that can be read in the words of the answer is"
            return f"{judged} {value}, which the code computed"
        return "not verified: the code, run again by itself, did not give this value"

    async def review(self, answer: Any, steps: tuple[AgentStep, ...], calls: RunCalls) -> str | None:
        """Return the objection to an answer, None once the model was asked."""
        self._found = found = await self._prove(answer, steps, calls)
        self._contradiction = _contradiction(found, answer)
        if (found.verified and not self._contradiction) or self._asked:
            return None
        sources = [step.source for step in steps]
        stated = await calls.read(_WEIGHT * sum(map(len, sources)), partial(is_stated, sources))
        if self._contradiction:
            objection = f"{self._contradiction[0].upper()}{self._contradiction[1:]}. {_PROVE}"
        elif not sources or "final_answer" not in sources[-1]:
            objection = _PROVE
        else:
            objection = _STATED if stated else ""
        self._asked = bool(objection)
        return objection or None

    async def _prove(self, answer: Any, steps: tuple[AgentStep, ...], calls: RunCalls) -> _Found:
        """Return the shortest program that computes the answer: its last step alone, or all its steps."""
        good = [*self._earlier, *(step.source for step in steps if step.result.ok)]
        texts = [text[:20_000] for text in (self._question, *good, *(step.result.stdout for step in steps))]
        known = await calls.read(_WEIGHT * sum(map(len, texts)), partial(_known, texts, steps))
        sources = sum(map(len, self._earlier)) + sum(len(step.source) for step in steps)
        programs = await calls.read(_WEIGHT * sources, lambda: [*_programs(good, self._kept(steps))])
        percent = bool(_PERCENT.search("\n".join((self._question, *good))[:100_000]))
        best = _Found()
        for program in programs:
            ran = await calls.apart(program, "answer", self.timeout)
            if ran is None or not ran[0].ok:
                continue
            compare = partial(_compare, program, ran[1], answer, known, percent=percent, question=self._question)
            size = weight(answer) + weight(ran[1]) + len(program)
            found = await calls.read(_WEIGHT * size, compare)
            if found.verified:
                return found
            if ran[1] in (None, []) and answer is not None:
                continue  # a main() returns nothing, and a branch that was not taken prints nothing
            contradicts = found.verdict is not None and found.verdict.contradicted
            if program.startswith(_PRINTED) and not (contradicts and program.endswith(_ALL_PRINTED)):
                continue  # it may print more than the answer
            if not best.code or (best.verdict is not None and found.verdict is None):
                best = found
        return best

    def _kept(self, steps: tuple[AgentStep, ...]) -> list[str]:
        """Return the programs of all that was done."""
        return [*self._earlier, *filter(None, map(_kept_part, steps))]


def _known(texts: list[str], steps: tuple[AgentStep, ...]) -> list[Computed]:
    """Return the numbers that an answer may speak of besides what was computed: those of the question, of the code, and
    of what was printed.
    """
    known = [number for text in texts for number in known_numbers(text)]
    return known + [leaf for step in steps for leaf in leaves(step.result.value) or ()]


def _compare(program: str, value: Any, answer: Any, known: list[Computed], *, percent: bool, question: str) -> _Found:
    computed = not is_stated([program])
    if is_same(value, answer):
        return _Found(program, value, computed)
    if type(answer) is not str:
        return _Found()
    vocabulary = frozenset(_WORDS.findall(question[:20_000].lower()))
    predicates = readings.predicates(program) | readings.asked(question)
    verdict = judge(answer, value, known, percent=percent, vocabulary=vocabulary, predicates=predicates)
    if converted := readings.in_unit_asked(answer[:20_000], question):
        in_unit = judge(converted, value, known, percent=percent, vocabulary=vocabulary)
        otherwise = Comparison("undecided") if verdict.matched else replace(verdict, said=False)
        verdict = in_unit if in_unit.matched else otherwise
    return _Found(program if computed else "", value, computed, verdict)


def _contradiction(found: _Found, answer: Any) -> str:
    """Return the reason why this is no answer; empty where it is one."""
    if isinstance(answer, Opaque) and answer.type in _CALLABLES:
        return f"the answer is {shorten(answer.repr, 80)}, a function or a class: call it, and give what it returns"
    if found.verdict is None or not found.verdict.contradicted:
        return ""
    said = ", ".join(found.verdict.unsupported[:3]) or "something else"
    does = "computed" if found.computed else "says"
    return f"the answer says {shorten(said, 120)}, the code {does} {short_repr(found.value, 120)}"


def _in_full(run: AgentResult) -> str:
    """Return the answer as text, with all digits."""
    answer = run.answer
    if type(answer) is int or type(answer) is Fraction:
        above, below = answer.numerator, answer.denominator
        if max(above.bit_length(), below.bit_length()) < _MAX_BITS:  # of a Decimal: `str` of an int ends at 4300 digits
            return str(Decimal(above)) if below == 1 else f"{Decimal(above)}/{Decimal(below)}"
    return run.text


def is_same(a: Any, b: Any) -> bool:
    """Return True if two answers are the same; nan is."""
    return type(a) is type(b) and not _is_hidden(a) and (_holds(lambda: a == b) or _holds(lambda: repr(a) == repr(b)))


def _is_hidden(answer: Any) -> bool:
    """Return True if a part stayed in the sandbox and could not be written there: it may be any object of its class."""
    return _holds(lambda: REPR_FAILED in repr(answer))


def _holds(comparison: Callable[[], Any]) -> bool:
    """Return whether it holds; False also where values cannot be compared: an int of 5000 digits has no repr, two
    arrays no truth, a signaling NaN no comparison.
    """
    try:
        return bool(comparison())
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return False


# The program


def _programs(good: list[str], kept: list[str]) -> Iterator[str]:
    """Yield programs that may compute the answer, the most likely first: each ends with `answer`."""
    seen: set[str] = set()
    ends = range(len(good), max(0, len(good) - 3), -1)
    for steps in [part for end in ends for part in (good[end - 1 : end], good[:end])] + [kept]:
        source = "\n\n".join(steps)
        if not source or source in seen:
            continue
        seen.add(source)
        for program in _exposed(source):
            if len(seen) <= _MAX_PROGRAMS:
                yield program


def _exposed(source: str) -> Iterator[str]:
    """Yield the program so that its last value is the answer: what it gave final_answer, prints, or computes last."""
    module = _parsed(source)
    if module is None or not module.body:
        return
    last = module.body[-1]
    calls = sum(isinstance(node, ast.Name) and node.id == "final_answer" for node in ast.walk(module))
    if calls > 1 or (calls and not _gives(last)):
        yield f"{FINAL_ANSWER}\n{source}\n\nanswer = _final_answer[0]\nanswer"
        return
    match last:
        case (
            ast.Assign(targets=[*_, ast.Name(id=name)])
            | ast.AnnAssign(target=ast.Name(id=name))
            | ast.AugAssign(target=ast.Name(id=name))
        ):
            yield f"{source}\nanswer = {name}\nanswer"
        case ast.Expr(value=value):
            lines = source.encode().splitlines(keepends=True)
            before = (b"".join(lines[: last.lineno - 1]) + lines[last.lineno - 1][: last.col_offset]).decode()
            given = [_text(source, each) for each in _shown_expressions(value)]
            for text in [*given, *([", ".join(given)] if len(given) > 1 else ())]:
                yield f"{before}answer = {text}\nanswer" if text != "answer" else f"{before}answer"
    prints = [node for node in ast.walk(module) if isinstance(node, ast.Call) and _called(node) == "print"]
    if prints and not (isinstance(last, ast.Expr) and _called(last.value) in _SHOWING):
        for end in (_ALL_PRINTED, _LAST_PRINTED):
            yield f"{_PRINTED}{_without_texts(source, prints)}{end}"


def _without_texts(source: str, prints: list[ast.Call]) -> str:
    """Return a program whose calls of print() are given values alone, without the texts around them."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    data = b"".join(lines)
    for call in sorted(prints, key=lambda call: (call.lineno, call.col_offset), reverse=True):
        begin, end = starts[call.lineno - 1] + call.col_offset, starts[(call.end_lineno or 0) - 1]
        values = ", ".join(ast.unparse(part) for argument in call.args for part in _formatted(argument))
        data = data[:begin] + f"print({values})".encode() + data[end + (call.end_col_offset or 0) :]
    return data.decode()


def _parsed(source: str) -> ast.Module | None:
    """Return the tree of a program; None for what is no Python, or too long to be looked through."""
    return Parser(len(source)).parse(source) if len(source) <= _MAX_SOURCE else None


def _gives(statement: ast.stmt) -> bool:
    """Return True for a call of final_answer()."""
    return isinstance(statement, ast.Expr) and _called(statement.value) == "final_answer"


def _shown_expressions(value: ast.expr) -> list[ast.expr]:
    """Return the expressions whose values are shown."""
    if not isinstance(value, ast.Call) or (called := _called(value)) not in _SHOWING:
        return [value]
    if called == "final_answer":
        return [*value.args, *(keyword.value for keyword in value.keywords)][:1]
    parts = [part for argument in value.args for part in _formatted(argument)]
    return [part for part in parts if not isinstance(part, (ast.Constant, ast.Starred))][:6]


def _formatted(argument: ast.expr) -> list[ast.expr]:
    """Return the expressions that a printed one puts in a text, by any of the ways to format; else itself."""
    match argument:
        case ast.Constant(value=str()):
            return []
        case ast.JoinedStr(values=values):
            return [part.value for part in values if isinstance(part, ast.FormattedValue)]
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=ast.Tuple(elts=parts)):
            return parts
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=part):
            return [part]
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format"), args=parts, keywords=named):
            return [*parts, *(one.value for one in named)]
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Call(func=ast.Name(id="str"), args=[part])):
            return [*_formatted(left), part]
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=str())):
            return _formatted(left)
    return [argument]


def _text(source: str, expression: ast.expr) -> str:
    text = ast.get_source_segment(source, expression) or ast.unparse(expression)
    return f"({text})" if "\n" in text or isinstance(expression, (ast.NamedExpr, ast.Yield)) else text


def _kept_part(step: AgentStep) -> str:
    """Return the part of a step that was done: all of it, or the statements before the one that failed."""
    if step.result.ok:
        return step.source
    error = step.result.error
    if step.result.state != "kept" or step.result.outcome == "rejected" or error is None or not error.line:
        return ""
    module = _parsed(step.source)
    done = [node for node in module.body if (node.end_lineno or node.lineno) < error.line] if module else []
    return "\n".join(step.source.split("\n")[: done[-1].end_lineno]) if done else ""


# Stated or computed

_CONSTRUCTORS = frozenset(
    {"Decimal", "Fraction", "Integer", "Rational", "bool", "complex", "dict", "float", "int", "list", "round", "str"}
)
_LITERAL = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.JoinedStr, ast.FormattedValue),
    *(ast.expr_context, ast.unaryop),
)


def is_stated(program: list[str]) -> bool:
    """Return True if the last step gives final_answer() a value that is only written down, there or in a variable, or
    ends with such a one. Names are followed through plain assignments; whatever else binds one counts as computing.
    """
    module: ast.Module | None = None
    written: dict[str, list[ast.AST]] = {}
    given: list[ast.AST] = []
    for source in program:
        module, given = _parsed(source), []
        assigned: dict[ast.expr, ast.expr] = {}
        for node in ast.walk(module) if module is not None else ():
            match node:
                case ast.Assign(targets=targets, value=value):
                    assigned |= dict.fromkeys(targets, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    assigned[target] = value
                case ast.Name(id=name, ctx=ast.Store()) | ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                    written.setdefault(name, []).append(
                        assigned.get(node, node) if isinstance(node, ast.Name) else node
                    )
                case ast.Call(func=ast.Name(id=name)) if name == "final_answer" or (
                    name == "print" and source.startswith(_PRINTED)
                ):
                    given += [*node.args, *(keyword.value for keyword in node.keywords)]
    if not given and module is not None and module.body and isinstance(last := module.body[-1], ast.Expr):
        given = [last.value] if not _gives(last) else []
    return bool(given) and _are_stated(given, written)


def _are_stated(given: list[ast.AST], written: Mapping[str, list[ast.AST]]) -> bool:
    pending, followed = list(given), set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in written:
            pending += written[node.id] if node.id not in followed else []
            followed.add(node.id)
        elif isinstance(node, ast.Call) and _name_of(node.func) in _CONSTRUCTORS and not node.keywords:
            pending += node.args
        elif isinstance(node, _LITERAL):
            pending += ast.iter_child_nodes(node)
        else:
            return False
    return True


def _called(expression: ast.expr) -> str:
    """Return the name of what an expression calls; empty where it is no call."""
    return _name_of(expression.func) if isinstance(expression, ast.Call) else ""


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
