import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import volatile


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("Today is 2026-11-30.", "timestamp", "2026-11-30"),
        ("at 2026-11-30T16:55:40.123Z ok", "timestamp", "2026-11-30T16:55:40.123Z"),
        ("at 2026-11-30 16:55+01:00", "timestamp", "2026-11-30 16:55+01:00"),
        ("Mon, 30 Nov 2026 16:55:40 GMT", "timestamp", "30 Nov 2026 16:55:40"),
        ("since November 30th, 2026.", "timestamp", "November 30th, 2026"),
        ("clock 16:55:40", "timestamp", "16:55:40"),
        ("epoch 1796057740 s", "timestamp", "1796057740"),
        ("epoch 1796057740123 ms", "timestamp", "1796057740123"),
        (
            "id 123e4567-e89b-12d3-a456-426614174000",
            "uuid",
            "123e4567-e89b-12d3-a456-426614174000",
        ),
        ("This is turn 17 of", "counter", "turn 17"),
        ("Request #4:", "counter", "Request #4"),
        ("message no. 12", "counter", "message no. 12"),
        ("digest 3f9a1c8d0b7e here", "random_id", "3f9a1c8d0b7e"),
        ("req_011CSHoEeqs5C35K2UUqR7Fy", "random_id", "011CSHoEeqs5C35K2UUqR7Fy"),
        ("key dGhpcyBpczEgYSB0ZXN0Mg==", "random_id", "dGhpcyBpczEgYSB0ZXN0Mg=="),
        ("pid 4711", "pid", "pid 4711"),
        ("pid=4711,", "pid", "pid=4711"),
        ("<object at 0x7f3a2b1c>", "address", "0x7f3a2b1c"),
        ("in /tmp/pytest-1/x.log now", "temp_path", "/tmp/pytest-1/x.log"),  # noqa: S108 - a text
        ("/var/folders/zz/T/abc", "temp_path", "/var/folders/zz/T/abc"),
        (r"C:\Users\ann\AppData\Local\Temp", "temp_path", r"C:\Users\ann\AppData\Local\Temp"),
        ("cwd: /home/ann/src", "home_path", "/home/ann"),
        ("file:///Users/ann/x", "home_path", "/Users/ann"),
        ("/root/.cache", "home_path", "/root"),
        (r"D:\Users\ann\src", "home_path", r"D:\Users\ann"),
    ],
)
def test_a_volatile_token_is_named(text: str, kind: str, shown: str) -> None:
    assert [(hit.kind, hit.text) for hit in volatile.find(text)] == [(kind, shown)]


@pytest.mark.parametrize(
    "text",
    [
        "Step 1: read the file. Step 2: write 3 tests, at most 400 lines.",
        "Use Base64EncoderFactoryImplementation and handoff_memory_core_digest.",
        "https://example.org/home/page and src/home/x, /homes, /rooted",
        "Python 3.11, port 8080, 12:30, version 1.2.3-rc4, RFC 8785, 40000 tokens",
        "the process of turning requests into messages",
        "internationalization, antidisestablishmentarianism",
    ],
)
def test_a_text_that_stays_the_same_is_left_alone(text: str) -> None:
    assert volatile.find(text) == ()


def test_each_hit_has_its_place() -> None:
    text = "# Head\n\nDate: 2026-11-30, turn 17\npid 4711"

    found = volatile.find(text)

    assert [(hit.kind, hit.line, hit.column) for hit in found] == [
        ("timestamp", 3, 7),
        ("counter", 3, 19),
        ("pid", 4, 1),
    ]
    assert all(text[hit.offset :].startswith(hit.text) for hit in found)


def test_a_long_hit_is_shortened() -> None:
    (hit,) = volatile.find("0123456789abcdef" * 4)

    assert hit.text == ("0123456789abcdef" * 4)[:39] + "…"


@pytest.mark.parametrize(
    "piece", ["a", "1", "aA1", "/home/a", "0", "-", "2026-", "Aa1/", "turn ", "\\"]
)
def test_a_hostile_text_takes_linear_time(piece: str) -> None:
    # Quadratic matching of a megabyte would outlast any test run.
    volatile.find(piece * (1_000_000 // len(piece)))


@given(st.text(max_size=200))
def test_every_hit_stands_where_it_says(text: str) -> None:
    for hit in volatile.find(text):
        line_start = text.rfind("\n", 0, hit.offset) + 1
        assert hit.line == text.count("\n", 0, hit.offset) + 1
        assert hit.column == hit.offset - line_start + 1
        assert text.startswith(hit.text.removesuffix("…"), hit.offset)
