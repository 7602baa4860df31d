import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import media

PYTHON = b"import os\n\n\ndef name() -> str:\n    return os.name\n"
DIFF = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
MANY = orjson.dumps([1] * 40_000)


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"", None, "text/plain"),
        (b"hello, world\n", None, "text/plain"),
        (b"a line\n" * 3000, None, "text/plain"),
        (b"\x89PNG\r\n\x1a\n....", "a.txt", "image/png"),
        (b"\xff\xd8\xff\xe0", None, "image/jpeg"),
        (b"%PDF-1.7\n", None, "application/pdf"),
        (b"\x1f\x8b\x08", None, "application/octet-stream"),
        (b"abc\0def", "a.py", "application/octet-stream"),
        (b"\x01\x02\x03\x04 text", None, "application/octet-stream"),
        ('{"ä": 1}'.encode(), None, "application/json"),
        (b'{"a": 1}', "a.txt", "application/json"),
        (b"[1,\n 2]\n", None, "application/json"),
        (MANY, None, "application/json"),
        (b'{"a": 1}\n{"a": 2}\n', None, "application/x-ndjson"),
        (b'{"a": 1}\r\n{"a": 2}\r\n' * 600, None, "application/x-ndjson"),
        (b"{not json", None, "text/plain"),
        (b"[a](b) is a link", None, "text/plain"),
        (b"id,name\n1,a\n2,b\n", None, "text/csv"),
        (b'id\tname\n1\t"a\n', None, "text/csv"),
        (b"a,b\nprose without any\nand more\n", None, "text/plain"),
        (b"a,b\n" + b"x" * 140_000, None, "text/plain"),
        (b"a\rb,c\nd,e\n", None, "text/plain"),
        (b"x" * 7000, "table.csv", "text/csv"),
        (PYTHON, None, "text/x-python"),
        (b"x = 1\n", "a.PY", "text/x-python"),
        (b"x = 1\n", "Makefile", "text/plain"),
        (b"x = 1\n", "a.unknown", "text/plain"),
        (b"fn main() {}\n", "src/main.rs", "text/x-rust"),
        (DIFF, None, "text/x-diff"),
        (b"diff --git a/x b/x\n", None, "text/x-diff"),
        (b"# Title\n\ntext\n\n## Part\n", None, "text/markdown"),
        (b"# a comment\nx\n", None, "text/plain"),
        ("# Title\n## Part\n".encode("utf-16"), None, "text/markdown"),
    ],
)
def test_the_content_goes_before_the_name(data: bytes, name: str | None, kind: str) -> None:
    assert media.sniff(data, name) == kind


def test_a_huge_document_is_judged_by_its_ends() -> None:
    filling = b" " * (33 << 20)

    assert media.sniff(b"[1," + filling + b"2]\n") == "application/json"
    assert media.sniff(b"[1," + filling + b"2") == "text/plain"


@given(st.binary() | st.text().map(str.encode), st.text() | st.none())
def test_any_bytes_have_a_media_type(data: bytes, name: str | None) -> None:
    assert "/" in media.sniff(data, name)


@given(st.text(alphabet='ab,;|\t"\n', max_size=80))
def test_a_delimiter_divides_the_header(text: str) -> None:
    found = media.delimiter(text)

    assert found is None or found in text.lstrip("\n").split("\n")[0]
