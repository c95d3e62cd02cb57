"""What is advised for a file that cannot be read follows from its bytes, and the advice gives the right data."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pathlib
import re
import zipfile

import pytest

from tests.hints.running import PLAN, answer

pd = pytest.importorskip("pandas")
TEXT = "id,name\n1,Zoë\n2,Łukasz\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hint(source: str) -> str:
    """The hint for a step that fails."""
    return answer(source, "import pandas as pd", PLAN)[2]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "source",
    ["pd.read_csv('d.csv')", "open('d.csv', encoding='utf-8').read()", "list(open('d.csv', encoding='utf-8'))"],
)
def test_wide_encodings_are_named(folder: pathlib.Path, encoding: str, source: str) -> None:
    (folder / "d.csv").write_text(TEXT, encoding=encoding)
    if encoding.endswith(("le", "be")) and "utf-8" in source:
        return  # zeros are UTF-8: what is read is no error
    try:
        said = hint(source)
    except AssertionError:  # pandas reads the zeros
        return
    named = re.search(r"encoding='([^']+)'", said)
    assert named and pd.read_csv("d.csv", encoding=named[1])["name"].tolist() == ["Zoë", "Łukasz"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_zeros_that_were_read_as_text_are_told_at_the_first_missing_column(folder: pathlib.Path, encoding: str) -> None:
    (folder / "d.csv").write_text("id,name\n1,Ann\n", encoding=encoding)
    assert f"encoding='{encoding}'" in hint("pd.read_csv('d.csv')['name']")


@pytest.mark.parametrize(("pack", "name"), [(gzip.compress, "gzip"), (bz2.compress, "bz2"), (lzma.compress, "xz")])
def test_packed_files_are_unpacked(folder: pathlib.Path, pack: object, name: str) -> None:
    (folder / "d.csv").write_bytes(pack(TEXT.encode() * 50))  # type: ignore[operator]
    said = hint("pd.read_csv('d.csv')")
    assert f"compression='{name}'" in said and "latin-1" not in said
    assert f"{'lzma' if name == 'xz' else name}.open('d.csv', 'rt')" in hint("open('d.csv', encoding='utf-8').read()")


@pytest.mark.parametrize("start", [b"\x89PNG\r\n\x1a\n\0", b"\x28\xb5\x2f\xfd\x24\x1a\xc1", b"%PDF-1.7 \xe2\xe3\x01"])
def test_what_is_no_text_is_not_called_one(folder: pathlib.Path, start: bytes) -> None:
    """A picture or a packed file that was read as latin-1 would be wrong data."""
    (folder / "d.csv").write_bytes(start)
    assert "encoding=" not in hint("pd.read_csv('d.csv')")


def test_a_workbook_that_is_called_csv_is_named_and_a_cut_character_no_other_encoding(folder: pathlib.Path) -> None:
    with zipfile.ZipFile("d.csv", "w") as file:
        file.writestr("[Content_Types].xml", "é" * 10)
        file.writestr("xl/workbook.xml", "")
    assert "read_excel('d.csv')" in hint("open('d.csv', encoding='utf-8').read()")
    said = hint("'Zoë und Łukasz'.encode()[:10].decode()")
    assert "middle of a character" in said and "latin-1" not in said


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café, zoë", "latin-1"),
        ("10 € – “so”", "cp1252"),
        ("姓名,销售额\n" * 9, "gb18030"),
        ("名前,売上\n" * 9, "cp932"),
        ("имя,сумма", "cp1251"),
    ],
)
def test_letters_of_one_byte_and_of_two_are_told_apart(folder: pathlib.Path, text: str, encoding: str) -> None:
    (folder / "d.txt").write_bytes(text.encode(encoding))
    said = hint("open('d.txt', encoding='utf-8').read()")
    western = {"latin-1", "cp1252"}
    assert f"'{encoding}'" in said and not any(other in said for other in western - {encoding})
    assert ("most likely" in said) == (encoding in western)


@pytest.mark.parametrize(
    ("above", "skipped"),
    [("Report of May\nSource: X\n", 2), ("# Report\n# Source: X\n\n", 3), ("Report\n\n\nby us\n", 4)],
)
@pytest.mark.parametrize("separator", [",", ";"])
def test_lines_above_the_header_are_skipped_alone(
    folder: pathlib.Path, above: str, skipped: int, separator: str
) -> None:
    (folder / "d.csv").write_text(above + "id,name,n\n1,a,2\n2,b,3\n".replace(",", separator))
    call = "pd.read_csv('d.csv')" if separator == "," else "pd.read_csv('d.csv', sep=';')"
    said = hint(call)
    assert f"skiprows={skipped}" in said and "sep=" not in said
    read = pd.read_csv("d.csv", sep=separator, skiprows=skipped)
    assert list(read.columns) == ["id", "name", "n"] and len(read) == 2


def test_another_separator_is_named_and_one_long_line_is_not_a_heading() -> None:
    said = hint("import io\npd.read_csv(io.StringIO('a;b\\n1,5;2\\n3,5,1;4\\n'))")
    assert "sep=';'" in said and "skip" not in said
    said = hint("import io\npd.read_csv(io.StringIO('a,b\\n1,2\\n1,2,3\\n4,5\\n'))")
    assert said.startswith("Line 3 has 3 fields instead of 2") and "skiprows" not in said
