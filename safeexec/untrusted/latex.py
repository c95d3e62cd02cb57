"""Checks formulas that strangers wrote. Renderers of LaTeX know commands that link, style, fetch and define: none of
those passes.
"""

from __future__ import annotations

import re

from safeexec.common.text import printable

MAX_CHARACTERS = 20_000
_COMMAND = re.compile(r"\\([A-Za-z]+\*?|.)", re.DOTALL)
_ENVIRONMENT = re.compile(r"\\(?:begin|end)(?:\{([a-zA-Z]{1,20}\*?)\})?")
_WORDS = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho
    sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
    digamma aleph beth gimel daleth hbar ell wp Re Im imath jmath partial nabla infty emptyset varnothing
    sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan exp log ln lg det dim gcd ker deg arg hom
    lim limsup liminf max min sup inf Pr mod bmod pmod operatorname operatorname*
    frac dfrac tfrac cfrac sqrt binom dbinom tbinom sum prod coprod int iint iiint oint bigcup bigcap bigvee bigwedge
    bigoplus bigotimes limits nolimits over atop choose
    left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr
    langle rangle lfloor rfloor lceil rceil lvert rvert lVert rVert vert Vert lbrace rbrace lbrack rbrack backslash
    cdot times div pm mp ast star circ bullet oplus ominus otimes oslash odot wedge vee land lor lnot neg cap cup
    setminus sqcup sqcap uplus dagger ddagger
    eq ne neq lt gt le ge leq geq leqslant geqslant ll gg equiv sim simeq approx cong propto doteq prec succ preceq
    succeq subset supset subseteq supseteq in ni notin mid nmid parallel perp models vdash dashv bowtie not
    forall exists nexists therefore because top bot angle triangle square Box Diamond
    to gets mapsto leftarrow rightarrow leftrightarrow Leftarrow Rightarrow Leftrightarrow uparrow downarrow updownarrow
    longleftarrow longrightarrow longmapsto Longleftarrow Longrightarrow iff implies impliedby hookrightarrow
    hat widehat tilde widetilde bar vec dot ddot dddot check breve acute grave mathring overline underline overbrace
    underbrace overset underset stackrel overrightarrow overleftarrow substack
    mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr boldsymbol bm text textbf textit textrm texttt
    mbox rm bf it cal displaystyle textstyle scriptstyle scriptscriptstyle
    begin end hline quad qquad ldots cdots vdots ddots dots colon prime boxed tag notag nonumber
    degree circledR checkmark
"""
_TABLES = """
    matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array cases split substack equation equation* gather
    gather* gathered align align* aligned
"""
_ENVIRONMENTS = frozenset(_TABLES.split())
_COMMANDS = frozenset(_WORDS.split())
_SIGNS = frozenset(" ,;:!.>|{}[]()&%$#_^'`\"\\/-+*=~\n")


def plain_latex(text: str) -> str | None:
    r"""Return `text` if it is a formula of plain commands, `<` and `>` as `\lt` and `\gt`; else None."""
    text = printable(text[: MAX_CHARACTERS + 1])
    if len(text) > MAX_CHARACTERS or not _ENVIRONMENTS.issuperset(_ENVIRONMENT.findall(text)):
        return None
    if not all(name in (_COMMANDS if name[0].isalpha() else _SIGNS) for name in _COMMAND.findall(text)):
        return None
    return text.replace("<", r"\lt ").replace(">", r"\gt ")
