"""The files of a form arrive as they were sent."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec.untrusted.multipart import MAX_PARTS, Part, files_of

HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'


@given(files=st.lists(st.tuples(st.text("abc /.;=é\"'", min_size=1), st.binary()), min_size=1, max_size=5))
def test_what_a_client_sends_arrives(files: list[tuple[str, bytes]]) -> None:
    sent = httpx.Request("POST", "http://x/", files=[("file", one) for one in files])
    assert files_of(sent.read(), sent.headers["content-type"]) == [Part(*one) for one in files]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "multipart/form-data; boundary=b"),
        (HEAD + b"x", "multipart/form-data; boundary=b"),
        (HEAD + b"x\r\n--b--", "multipart/form-data"),
        (HEAD + b"x\r\n--b--", 'multipart/form-data; boundary=""'),
        (HEAD + b"x\r\n--b--", "multipart/form-data; boundary=c"),
        (b"--b\r\nX: y\r\n\r\nx\r\n--b--", "multipart/form-data; boundary=b"),
        (b"--b\r\n" + b"X" * 10_000 + b"\r\n\r\nx\r\n--b--", "multipart/form-data; boundary=b"),
        (b"--bx\r\n--b--", "multipart/form-data; boundary=b"),
        ((HEAD + b"x\r\n") * (MAX_PARTS + 1) + b"--b--", "multipart/form-data; boundary=b"),
    ],
)
def test_what_is_no_form_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(ValueError, match="form"):
        files_of(body, kind)
