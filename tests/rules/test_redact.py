import json
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import is_in_step
from handoff_memory.rules.redact import Redacted, kinds, redact_text, redact_value, secret_kinds
from secrets_corpus import CANARIES, INNOCENT, Canary, pem

MIB = 1 << 20
LIMIT_S = 20 if sys.gettrace() else 5  # coverage counts each line, and is slow at it
ids = [f"{number}-{canary.kind}" for number, canary in enumerate(CANARIES)]
each_canary = pytest.mark.parametrize("canary", CANARIES, ids=ids)
GITHUB, OTHER = [c.text for c in CANARIES if c.kind == "github-token"][:2]

fragments = st.one_of(
    st.text(),
    st.sampled_from([c.text for c in CANARIES] + [c.text[: len(c.text) // 2] for c in CANARIES]),
    st.sampled_from(
        [
            "password=",
            "token:",
            '"',
            "'",
            '\\"',
            "\\n",
            "[redacted:jwt]",
            "--",
            "://",
            "@",
            "sk-",
            "eyJ",
            ".",
            "AKIA",
        ]
    ),
    st.sampled_from(["secret: ", "\n", "--password ", '{"api_key": "', "[redacted:", "]", "AIza"]),
)
texts = st.lists(fragments, max_size=8).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    """The value with each text replaced by its type."""
    if isinstance(value, dict):
        return [shape(member) for member in value.values()]
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


def test_the_corpus_is_large_enough() -> None:
    assert len({canary.kind for canary in CANARIES}) >= 35


def test_every_kind_in_the_table_has_a_canary() -> None:
    assert {row.kind for row in kinds.ROWS} == {canary.kind for canary in CANARIES}


@each_canary
def test_a_secret_in_prose_is_replaced_and_the_prose_survives(canary: Canary) -> None:
    found = redact_text(f"We tried it:\n{canary.text}\nand it worked, thanks.")

    assert canary.secret not in found.value
    assert found.value.startswith("We tried it:\n")
    assert found.value.endswith("\nand it worked, thanks.")
    assert found.value == f"We tried it:\n{canary.text}\nand it worked, thanks.".replace(
        canary.secret, f"[redacted:{canary.kind}]"
    )
    assert found.kinds == (canary.kind,)


@each_canary
def test_a_secret_in_a_json_value_is_replaced_and_its_neighbours_survive(canary: Canary) -> None:
    value: Any = {"note": canary.text, "list": [1, {"deep": f"see {canary.text}"}], "ok": "plain"}

    found = redact_value(value)

    assert canary.secret not in json.dumps(found.value)
    assert json.dumps(canary.secret)[1:-1] not in json.dumps(found.value)
    assert shape(found.value) == shape(value)
    assert found.value["ok"] == "plain"  # type: ignore[index,call-overload]
    assert found.kinds == (canary.kind,)


@each_canary
def test_a_secret_in_json_text_is_replaced_and_the_json_stays_json(canary: Canary) -> None:
    for text in (json.dumps({"note": canary.text}), json.dumps([json.dumps({"n": canary.text})])):
        found = redact_text(text)

        assert json.dumps(canary.secret)[1:-1] not in found.value
        assert json.loads(found.value)
        assert found.kinds == (canary.kind,)


@each_canary
def test_a_secret_after_an_equals_sign_is_replaced_and_the_name_survives(canary: Canary) -> None:
    for text in (f"VALUE={canary.text}", f"value='{canary.text}'", f"\x1b[31mx\\n{canary.text}"):
        found = redact_text(text)

        assert canary.secret not in found.value
        assert found.value[:5].lower() == text[:5].lower()
        assert canary.kind in found.kinds


@pytest.mark.parametrize("text", INNOCENT)
def test_an_innocent_text_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == Redacted(text, ())
    assert redact_value({"text": text, text: ["x"]}).kinds == ()
    assert redact_text(json.dumps({"text": text})).kinds == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"password": "a \\" b", "user": "ada"}', '{"password": "[R]", "user": "ada"}'),
        (
            '{\\"password\\": \\"a\\\\\\"b\\", \\"n\\": 1}',
            '{\\"password\\": \\"[R]\\", \\"n\\": 1}',
        ),
        ("password: hunter2xyz.", "password: [R]."),
        ("(user=ada, password=hun,ter2).", "(user=ada, password=[R])."),
        ("?password=hunter2xyz&user=ada", "?password=[R]&user=ada"),
        ("password: str = 'hunter2xyz'", "password: str = '[R]'"),
        ("config['password'] = \"hunter2xyz\"", "config['password'] = \"[R]\""),
        ("**Password:** hunter2xyz", "**Password:** [R]"),
        ("<password>hunter2xyz</password>", "<password>[R]</password>"),
        ("if password == 'hunter2xyz':", "if password == '[R]':"),
        ("password=hunter\\2xyz\\nuser=ada", "password=[R]\\nuser=ada"),
        ("password := `hunter2xyz`", "password := `[R]`"),
        ('pwd: f"hunter2xyz"', 'pwd: f"[R]"'),
        ("İ PASSWORD=hunter2xyz", "İ PASSWORD=[R]"),
        ("password=\ud800hunter2", "password=[R]"),
        ("password=[redacted:jwt]tail", "password=[R]"),
    ],
)
def test_a_password_is_replaced_and_what_surrounds_it_stays(text: str, expected: str) -> None:
    assert redact_text(text).value == expected.replace("[R]", "[redacted:password]")


@pytest.mark.parametrize(
    "value",
    [
        {"password": "hunter2xyz"},
        {"dbPassword": ["hunter2xyz", "hunter2xyz"]},
        {"env": [{"name": "DB_PASSWORD", "value": "hunter2xyz"}]},
        {"outer": ({"Passphrase": "hunter2xyz"},)},
        {"PASSWD": "it is hunter2xyz"},
    ],
)
def test_a_string_below_a_password_key_is_replaced(value: Any) -> None:
    found = redact_value(value)

    assert "hunter2xyz" not in json.dumps(found.value)
    assert found.kinds == ("password",)


@pytest.mark.parametrize("name", ["api_key", "clientSecret", "secret", "authToken", "private_key"])
def test_a_digest_below_a_credential_key_is_replaced_and_elsewhere_not(name: str) -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

    assert digest not in json.dumps(redact_value({name: digest}).value)
    assert redact_value({"digest": digest, "token": digest, "name": 1, "value": digest}).kinds == ()


def test_a_number_below_a_password_key_stays() -> None:
    value: Any = {"password": 12345678, "token": None, "secret": True, "api_key": 1.5}

    assert redact_value(value).value is value


def test_a_value_without_secrets_comes_back_as_the_same_object() -> None:
    plain: Any = {"a": [1, 2.5, None, {"b": "text"}]}
    suspicious: Any = {"token": ["short"], "password": "<password>", "u": "http://x", "n": [{}]}

    assert redact_value(plain).value is plain
    assert redact_value(suspicious).value is suspicious


def test_an_equal_text_that_was_seen_before_does_not_count_as_a_change() -> None:
    value: Any = [f"token {number}" for number in (1, 1)]

    assert value[0] is not value[1]
    assert redact_value(value).value is value


def test_keys_that_become_the_same_lose_no_entry() -> None:
    value: Any = {GITHUB: 1, "[redacted:github-token]#2": 2, OTHER: 3, f"{OTHER}#3": 4, "x": 5}

    found = redact_value(value)

    placeholder = "[redacted:github-token]"
    names = [placeholder, f"{placeholder}#2", f"{placeholder}#3", f"{placeholder}#3#2", "x"]
    assert found.value == dict(zip(names, [1, 2, 3, 4, 5], strict=True))


def test_an_allowed_string_is_never_replaced() -> None:
    allowed = frozenset({GITHUB, "hunter2xyz"})

    assert redact_text(f"{GITHUB} {OTHER}", allowed).value == f"{GITHUB} [redacted:github-token]"
    assert redact_text("password=hunter2xyz", allowed).kinds == ()
    assert redact_value({"password": "hunter2xyz", "t": GITHUB}, allowed).kinds == ()


def test_the_kinds_are_sorted_and_each_is_named_once() -> None:
    assert secret_kinds(f"password=hunter2xyz {OTHER} {GITHUB}") == ("github-token", "password")
    assert secret_kinds("notes/2026/plan") == ()


def test_a_secret_inside_a_rejected_value_is_found() -> None:
    assert secret_kinds('secret: "remember: password=hunter2xyz"') == ("password",)
    assert secret_kinds("token=" + "a/" * 200 + "b password=hunter2xyz") == ("password",)


def test_a_block_between_prose_leaves_the_prose() -> None:
    block = pem("PRIVATE " + "KEY", ended=False)

    assert redact_text(f"a\n{block}\n\nThe end.").value.endswith("\n\nThe end.")
    assert redact_text(f"> {block}".replace("\n", "\n> ")).value == "> [redacted:private-key]"


def test_no_token_is_shorter_than_the_words_that_are_searched_for_hints() -> None:
    for canary in CANARIES:
        for row in kinds.TOKEN_ROWS:
            found = row.pattern.search(canary.text)
            assert found is None or len(found[0]) >= kinds.LONG_WORD


@given(texts)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact_text(text)

    assert redact_text(once.value) == Redacted(once.value, ())


@given(st.text(st.characters(exclude_characters="-_.:=/>@' \"`", codec="utf-8"), max_size=40))
def test_a_text_without_any_trigger_stays_equal(text: str) -> None:
    assert redact_text(text[:18]).value == text[:18]


@given(values)
def test_redacting_a_value_keeps_its_shape_and_is_final(value: Any) -> None:
    once = redact_value(value)

    assert shape(once.value) == shape(value)
    assert redact_value(once.value).value is once.value
    assert bool(once.kinds) == (once.value is not value)


@given(st.text(st.characters()))
def test_no_text_makes_it_raise(text: str) -> None:
    redact_value({text: [text]})


@pytest.mark.parametrize(
    "unit",
    [
        "-----BEGIN " + "PRIVATE KEY-----",
        "-----BEGIN " + "PRIVATE KEY-----\n" + "A" * 20 + "\n",
        "a",
        "sk-",
        "eyJ",
        "eyJ.",
        "eyJ-",
        "eyJaaaaaaaaaaaa.",
        "-----BEGIN ",
        "password=",
        "://:@",
        "token=",
        'token="',
        "token='\\\"",
        "token=x,",
        "://a:b@",
        "ghp_",
        "AIza",
        "SG.aaaaaaaaaaaaaaaaaaaa",
        "password='\\",
        "Authorization: Bearer ",
        "--a-",
        "--",
        "secret: ",
        "\\",
        '\\"',
        ".aaaaaa.",
        "password=a.b ",
        "token=aB3dE6gH9jK2 ",
        "[redacted:password]",
        "password: a,b ",
    ],
)
def test_an_adversarial_mebibyte_takes_seconds_at_most(unit: str) -> None:
    text = (unit * (MIB // len(unit) + 1))[:MIB]

    started = time.process_time()
    redact_text(text)

    assert time.process_time() - started < LIMIT_S


@pytest.mark.parametrize(
    "name", ["api_key", "password", "passwort", "passphrase", "db_pass", "token"]
)
@pytest.mark.parametrize(
    "between",
    [
        *("=", ":", ": ", " = ", "\t:=\t", " => ", '": "', "': '", '\\": \\"', "`: `", "**: **"),
        *(": str = ", ":&bytes = ", " Optional[SecretStr] = ", "str = ", "bytes = ", "SecretStr="),
    ],
)
def test_a_name_is_known_whatever_stands_between_it_and_its_value(name: str, between: str) -> None:
    assert redact_text(f"x {name}{between}hR7kQ2wZ9xLm4Tv8").kinds
    assert redact_text(f"x {name.upper()}{between}hR7kQ2wZ9xLm4Tv8").kinds


@pytest.mark.parametrize("before", ["password=", "Authorization: Bearer ", "postgres://u:", "key="])
@pytest.mark.parametrize("piece", ["a", "_a", "a.", "A1", "%a", "${", " a", "/a", "[a", "a->"])
def test_a_long_value_is_looked_through_in_linear_time(before: str, piece: str) -> None:
    def look(text: str) -> object:
        return redact_text(text, frozenset())

    assert is_in_step(look, lambda size: before + piece * (size // len(piece)), 16_000)
