from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.setup.toml_text import TomlTextError, drop_table, put_table

PATH = ("mcp_servers", "handoff-memory")
PAIRS = {
    "command": 'C:\\a "b"\\python',
    "args": ["serve", "é"],
    "env": {"MEMORY_DB": "/x/y z.db", "a.b": "1"},
    "required": True,
    "startup_timeout_sec": 20,
}
PARTS = st.lists(
    st.sampled_from(
        [
            "# a comment",
            "",
            '[mcp_servers.other]\ncommand = "x"\n',
            "[features]  # mine",
            "[[list]]\nn = 1",
            "[mcp_servers]",
            '[profiles."a b"]\ntext = """\n[not.a.header]\n"""',
            "[a.'b.c']\nnumbers = [\n  1,\n  2,\n]",
        ]
    ),
    max_size=5,
    unique=True,
).map("\n".join)


@given(PARTS, st.sampled_from(["", "\n", "\n\n"]), st.sampled_from(["\n", "\r\n"]))
def test_a_table_is_put_and_taken_out_to_the_byte(part: str, end: str, eol: str) -> None:
    text = (part + end).replace("\n", eol)

    edited = put_table(text, PATH, PAIRS)

    assert tomllib.loads(edited)["mcp_servers"]["handoff-memory"] == PAIRS
    assert put_table(edited, PATH, PAIRS) == edited
    assert drop_table(edited, PATH) == text


@given(PARTS, PARTS)
def test_a_table_in_the_middle_is_replaced_and_taken_out(before: str, after: str) -> None:
    if any(line and line in after for line in before.splitlines() if line.startswith("[")):
        return
    text = f"{before}\n{after}\n"
    standing = put_table(f"{before}\n", PATH, {"command": "old", "env": {"a": "1"}}) + f"{after}\n"

    edited = put_table(standing, PATH, PAIRS)

    ours = {"mcp_servers": {"handoff-memory": PAIRS, **mcp_servers(text)}}
    assert tomllib.loads(edited) == {**tomllib.loads(text), **ours}
    assert edited.startswith(f"{before}\n")
    assert edited.endswith(f"{after}\n")
    assert drop_table(edited, PATH).split() == text.split()


def test_a_table_with_parts_of_its_own_goes_whole() -> None:
    text = (
        'model = "x"\n\n[mcp_servers."handoff-memory"]\ncommand = "a"\n'
        '[mcp_servers."handoff-memory".env]\nA = "1"\n\n# next\n[b]\n'
    )

    assert drop_table(text, PATH) == 'model = "x"\n\n# next\n[b]\n'
    assert put_table(text, PATH, {"command": "b"}) == (
        'model = "x"\n\n[mcp_servers.handoff-memory]\ncommand = "b"\n\n# next\n[b]\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { other = { command = "x" } }\n',
        'mcp_servers.handoff-memory.command = "x"\n',
        '[mcp_servers]\nhandoff-memory = { command = "x" }\n',
        "mcp_servers = 1\n",
    ],
)
def test_an_unusual_form_is_refused(text: str) -> None:
    with pytest.raises(TomlTextError):
        put_table(text, PATH, PAIRS)


def test_a_text_that_is_no_toml_is_refused_with_its_line() -> None:
    with pytest.raises(TomlTextError) as caught:
        put_table("a = 1\nb = \n", PATH, PAIRS)

    assert caught.value.line == 2


@pytest.mark.parametrize("text", ["", "mcp_servers = 1\n", '[mcp_servers.other]\ncommand = "x"\n'])
def test_what_is_not_there_is_not_taken_out(text: str) -> None:
    assert drop_table(text, PATH) == text


def test_a_table_that_is_part_of_another_line_is_not_cut_out() -> None:
    with pytest.raises(TomlTextError, match="table of its own"):
        drop_table('[mcp_servers]\nhandoff-memory = { command = "x" }\n', PATH)


def mcp_servers(text: str) -> dict[str, object]:
    found: dict[str, object] = tomllib.loads(text).get("mcp_servers", {})
    return found
