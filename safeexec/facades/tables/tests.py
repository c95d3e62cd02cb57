"""Tests that a program brings along, and its own text as tokens. All run as guest code does."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import FILES, IMPORTS, INTERPRETER

_TOKENS = """
    AMPER AMPEREQUAL ASYNC AT ATEQUAL AWAIT CIRCUMFLEX CIRCUMFLEXEQUAL COLON COLONEQUAL COMMA COMMENT DEDENT DOT
    DOUBLESLASH DOUBLESLASHEQUAL DOUBLESTAR DOUBLESTAREQUAL ELLIPSIS ENCODING ENDMARKER EQEQUAL EQUAL ERRORTOKEN
    EXACT_TOKEN_TYPES EXCLAMATION FSTRING_END FSTRING_MIDDLE FSTRING_START GREATER GREATEREQUAL INDENT ISEOF
    ISNONTERMINAL ISTERMINAL LBRACE LEFTSHIFT LEFTSHIFTEQUAL LESS LESSEQUAL LPAR LSQB MINEQUAL MINUS N_TOKENS NAME
    NEWLINE NL NOTEQUAL NT_OFFSET NUMBER OP PERCENT PERCENTEQUAL PLUS PLUSEQUAL RARROW RBRACE RIGHTSHIFT
    RIGHTSHIFTEQUAL RPAR RSQB SEMI SLASH SLASHEQUAL SOFT_KEYWORD STAR STAREQUAL STRING TILDE tok_name TSTRING_END
    TSTRING_MIDDLE TSTRING_START TYPE_COMMENT TYPE_IGNORE VBAR VBAREQUAL
"""

TABLES = {
    "doctest": Table(
        """
            BLANKLINE_MARKER COMPARISON_FLAGS DebugRunner DocTest DocTestFailure DocTestFinder DocTestParser
            DocTestRunner DONT_ACCEPT_BLANKLINE DONT_ACCEPT_TRUE_FOR_1 ELLIPSIS ELLIPSIS_MARKER Example FAIL_FAST
            IGNORE_EXCEPTION_DETAIL NORMALIZE_WHITESPACE OPTIONFLAGS_BY_NAME OutputChecker register_optionflag
            REPORT_CDIFF REPORT_NDIFF REPORT_ONLY_FIRST_FAILURE REPORT_UDIFF REPORTING_FLAGS run_docstring_examples
            script_from_examples SKIP testmod TestResults UnexpectedException
        """,
        refuse={
            "debug debug_script debug_src": INTERPRETER,
            "DocFileCase DocFileSuite DocFileTest testfile testsource": FILES,
            "DocTestCase DocTestSuite set_unittest_reportflags SkipDocTestCase": IMPORTS,
        },
    ),
    "unittest": Table(
        """
            addModuleCleanup BaseTestSuite defaultTestLoader doModuleCleanups enterModuleContext expectedFailure
            findTestCases FunctionTestCase getTestCaseNames installHandler IsolatedAsyncioTestCase main makeSuite
            registerResult removeHandler removeResult skip skipIf SkipTest skipUnless TestCase TestLoader TestProgram
            TestResult TestSuite TextTestResult TextTestRunner
        """,
        note="what it reads, imports and writes it does as the program itself could.",
    ),
    "unittest.mock": Table(
        """
            ANY AsyncMock call create_autospec DEFAULT FILTER_DIR MagicMock Mock mock_open NonCallableMagicMock
            NonCallableMock patch PropertyMock seal sentinel ThreadingMock
        """,
        note="what patch puts in a module the program finds there, and no library; classes of libraries stay.",
    ),
    "token": Table(_TOKENS),
    "tokenize": Table(
        f"""
            {_TOKENS} detect_encoding generate_tokens StopTokenizing TokenError TokenInfo tokenize untokenize
            Untokenizer
        """,
        refuse={"open": FILES},
    ),
}
