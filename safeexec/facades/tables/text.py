"""Text: patterns, formatting, comparison, characters."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DEPRECATED, FILES, INTERPRETER

TABLES = {
    "string": Table(
        """
            ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable punctuation
            Template whitespace
        """,
        replaced="Formatter",
        note="format fields walk attributes.",
    ),
    "re": Table(
        """
            A ASCII compile DEBUG DOTALL error escape findall finditer fullmatch I IGNORECASE L LOCALE M Match match
            MULTILINE NOFLAG Pattern PatternError purge RegexFlag S Scanner search split sub subn U UNICODE VERBOSE X
        """,
        refuse={"T TEMPLATE template": DEPRECATED},
    ),
    "textwrap": Table("dedent fill indent shorten TextWrapper wrap"),
    "difflib": Table(
        """
            context_diff diff_bytes Differ get_close_matches HtmlDiff IS_CHARACTER_JUNK IS_LINE_JUNK Match ndiff restore
            SequenceMatcher unified_diff
        """
    ),
    "unicodedata": Table(
        """
            bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup mirrored
            name normalize numeric UCD ucd_3_2_0 unidata_version
        """
    ),
    "stringprep": Table(
        """
            b1_set b3_exceptions c22_specials c6_set c7_set c8_set c9_set in_table_a1 in_table_b1 in_table_c11
            in_table_c11_c12 in_table_c12 in_table_c21 in_table_c21_c22 in_table_c22 in_table_c3 in_table_c4 in_table_c5
            in_table_c6 in_table_c7 in_table_c8 in_table_c9 in_table_d1 in_table_d2 map_table_b2 map_table_b3
            unicodedata
        """
    ),
    "pprint": Table("isreadable isrecursive pformat pp pprint PrettyPrinter saferepr"),
    "fnmatch": Table("filter fnmatch fnmatchcase translate"),
    "shlex": Table(
        "join quote shlex split",
        note="runs as guest code: a lexer that is told to read a file has the open that the program has, or none.",
    ),
    "html": Table("escape unescape"),
    "html.parser": Table("HTMLParser"),
    "html.entities": Table("codepoint2name entitydefs html5 name2codepoint"),
    "codecs": Table(
        """
            backslashreplace_errors BOM BOM32_BE BOM32_LE BOM64_BE BOM64_LE BOM_BE BOM_LE BOM_UTF16 BOM_UTF16_BE
            BOM_UTF16_LE BOM_UTF32 BOM_UTF32_BE BOM_UTF32_LE BOM_UTF8 Codec CodecInfo decode encode getdecoder
            getencoder getincrementaldecoder getincrementalencoder getreader getwriter ignore_errors IncrementalDecoder
            IncrementalEncoder iterdecode iterencode lookup lookup_error namereplace_errors replace_errors StreamReader
            StreamReaderWriter StreamRecoder StreamWriter strict_errors xmlcharrefreplace_errors
        """,
        files="open",
        refuse={"EncodedFile": FILES, "register register_error unregister": INTERPRETER},
    ),
}
