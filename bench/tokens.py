"""The token estimate against the exact o200k counter: error by kind of text, and speed.

`python bench/tokens.py` measures on texts that the weights were not fitted on, and fails where a
bound is missed; `--fit` finds weights and prints them for rules/tokens.py. Texts are generated from
fixed seeds, written for this (bench/corpus), or sources of the standard library, split by file.
"""

from __future__ import annotations

import argparse
import ast
import base64
import difflib
import json
import pydoc_data.topics
import random
import statistics
import sys
import sysconfig
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import toktok

from handoff_memory.rules.tokens import estimate, features

MEAN, P95, SPEED_MB_S = 0.06, 0.18, 0.4
CHARS = 3000
CORPUS = Path(__file__).parent / "corpus"
STDLIB = Path(sysconfig.get_path("stdlib"))
HALVES = ("fit", "test")

# Each half draws names from its own list, so that no text of one half resembles one of the other.
WORDS = {
    "fit": [
        "account",
        "invoice",
        "customer",
        "shipment",
        "warehouse",
        "carrier",
        "balance",
        "discount",
        "currency",
        "address",
        "created",
        "updated",
        "pending",
        "refund",
        "checkout",
        "session",
        "gateway",
        "webhook",
        "region",
        "tenant",
        "billing",
        "amount",
        "quantity",
        "weight",
        "label",
        "status",
        "priority",
        "assignee",
        "comment",
        "attachment",
        "revision",
    ],
    "test": [
        "sensor",
        "reading",
        "voltage",
        "turbine",
        "station",
        "forecast",
        "humidity",
        "pressure",
        "altitude",
        "calibration",
        "operator",
        "maintenance",
        "interval",
        "threshold",
        "firmware",
        "channel",
        "battery",
        "signal",
        "coverage",
        "antenna",
        "observed",
        "reported",
        "latitude",
        "longitude",
        "elevation",
        "rainfall",
        "sampling",
        "archive",
        "dataset",
        "quality",
    ],
}
NAMES = {
    "fit": ["Anna", "Bruno", "Chen", "Dmitri", "Elena", "Farid", "Greta", "Hiro", "Ines", "Jonas"],
    "test": ["Karim", "Lotte", "Marek", "Noor", "Olga", "Pablo", "Quinn", "Rosa", "Sven", "Tariq"],
}


def exact(texts: list[str]) -> list[int]:
    """What the tokenizer counts."""
    counts: list[int] = toktok.batch_count(texts, "o200k_base")
    return counts


def _identifier(rng: random.Random, words: list[str]) -> str:
    parts = rng.sample(words, rng.randint(1, 3))
    style = rng.randrange(3)
    if style == 0:
        return "_".join(parts)
    return parts[0] + "".join(part.title() for part in parts[1:]) if style == 1 else "-".join(parts)


def _value(rng: random.Random, half: str, depth: int = 0) -> object:
    words = WORDS[half]
    makers: list[Callable[[], object]] = [
        lambda: rng.randint(0, 10 ** rng.randint(1, 7)),
        lambda: round(rng.uniform(-180, 5000), rng.randint(1, 5)),
        lambda: rng.choice([True, False, None]),
        lambda: " ".join(rng.choices(words, k=rng.randint(1, 6))),
        lambda: f"{rng.choice(NAMES[half])}.{rng.choice(words)}@example.org",
        lambda: f"https://{rng.choice(words)}.example.com/v{rng.randint(1, 3)}/{rng.choice(words)}",
        lambda: _time(rng),
        lambda: _identifier(rng, words),
        lambda: str(uuid.UUID(int=rng.getrandbits(128))),
    ]
    if depth < 3 and rng.random() < 0.25:
        return [_value(rng, half, depth + 1) for _ in range(rng.randint(1, 4))]
    if depth < 3 and rng.random() < 0.25:
        return _object(rng, half, depth + 1)
    return rng.choice(makers)()


def _object(rng: random.Random, half: str, depth: int = 0) -> dict[str, object]:
    keys = [_identifier(rng, WORDS[half]) for _ in range(rng.randint(2, 8))]
    return {key: _value(rng, half, depth) for key in keys}


def _time(rng: random.Random) -> str:
    date = f"202{rng.randint(0, 6)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
    return f"{date}T{clock}" + rng.choice(["Z", f".{rng.randint(0, 999):03}Z", "+02:00"])


def _objects(rng: random.Random, half: str, indent: int | None) -> str:
    keys = [_identifier(rng, WORDS[half]) for _ in range(rng.randint(3, 8))]
    rows = [{key: _value(rng, half, 1) for key in keys} for _ in range(40)]
    separators = None if indent else (",", ":")
    return json.dumps(rows, indent=indent, separators=separators)


def _log(rng: random.Random, half: str) -> str:
    words = WORDS[half]

    def some(count: int) -> str:
        return " ".join(rng.choices(words, k=count))

    def clock() -> str:
        return f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"

    def service() -> str:
        level = rng.choice(["INFO", "WARN", "ERROR", "DEBUG"])
        thread = f"[{rng.choice(words)}-{rng.randint(1, 99)}]"
        end = f"id={rng.randint(1, 10**6)} took {rng.randint(1, 9999)}ms"
        return f"{_time(rng)} {level} {thread} {some(5)} {end}"

    def access() -> str:
        address = ".".join(str(rng.randint(0, 255)) for _ in range(4))
        request = f"GET /{rng.choice(words)}/{rng.randint(1, 9999)} HTTP/1.1"
        status = rng.choice([200, 304, 404, 500])
        when = f"[{rng.randint(1, 28):02}/Mar/2026:{clock()} +0000]"
        return f'{address} - - {when} "{request}" {status} {rng.randint(100, 99999)}'

    def pairs() -> str:
        start = f"level={rng.choice(['info', 'error'])} ts={rng.randint(10**9, 2 * 10**9)}"
        where = f"caller={rng.choice(words)}.go:{rng.randint(1, 900)}"
        return f'{start} {where} msg="{some(4)}" trace={rng.getrandbits(64):016x}'

    def system() -> str:
        start = f"Mar {rng.randint(1, 28):2} {clock()} host{rng.randint(1, 9)}"
        process = f"{rng.choice(words)}[{rng.randint(100, 32000)}]"
        return f"{start} {process}: {some(6)}: 0x{rng.getrandbits(48):012x}"

    makers: list[Callable[[], str]] = [service, access, pairs, system]
    one = rng.choice(makers)
    return "\n".join((one if rng.random() < 0.9 else rng.choice(makers))() for _ in range(60))


def _csv(rng: random.Random, half: str) -> str:
    columns = [_identifier(rng, WORDS[half]) for _ in range(rng.randint(3, 9))]
    kinds = [rng.randrange(6) for _ in columns]
    cells: list[Callable[[], str]] = [
        lambda: str(rng.randint(0, 99999)),
        lambda: f"{rng.uniform(0, 1000):.2f}",
        lambda: rng.choice(WORDS[half]),
        lambda: _time(rng)[:10],
        lambda: f"{rng.choice(NAMES[half])} {rng.choice(WORDS[half]).title()}",
        lambda: rng.choice(["", "true", "false", "n/a"]),
    ]
    rows = [",".join(cells[kind]() for kind in kinds) for _ in range(80)]
    return "\n".join([",".join(columns), *rows])


def _diff(rng: random.Random, source: str, name: str) -> str:
    before = source.splitlines()
    after = list(before)
    for _ in range(max(3, len(before) // 25)):
        at = rng.randrange(len(after))
        after[at : at + rng.randint(0, 2)] = [before[rng.randrange(len(before))]] * rng.randint(
            0, 2
        )
    return "\n".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm=""))


def _sources(half: str) -> Iterator[tuple[str, str]]:
    for path in sorted(STDLIB.glob("*.py")):
        if HALVES[zlib.crc32(path.name.encode()) % 2] == half and path.stat().st_size > 4000:
            yield path.name, path.read_text("utf-8", "replace")


def _prose(half: str, sources: list[tuple[str, str]]) -> Iterator[str]:
    for name, topic in sorted(pydoc_data.topics.topics.items()):
        if HALVES[zlib.crc32(name.encode()) % 2] == half:
            yield topic
    for _, source in sources[:40]:
        yield "\n\n".join(
            text
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and (text := ast.get_docstring(node)) is not None
        )


def _chunks(text: str, most: int) -> list[str]:
    pieces = [text[at : at + CHARS] for at in range(0, len(text), CHARS)]
    return [piece for piece in pieces if len(piece) > 250][:most]


def corpus(half: str, each: int) -> dict[str, list[str]]:
    """At most `each` texts a kind, of one half; the same at each run of one Python version."""
    rng = random.Random(f"handoff-memory {half}")
    found: dict[str, list[str]] = {}
    sources = list(_sources(half))
    sources = sources[:: max(1, len(sources) // each)]
    found["python"] = [piece for _, text in sources for piece in _chunks(text, 2)]
    found["english"] = [piece for text in _prose(half, sources) for piece in _chunks(text, 3)]
    found["json pretty"] = [_objects(rng, half, 2)[:CHARS] for _ in range(each)]
    found["json minified"] = [_objects(rng, half, None)[:CHARS] for _ in range(each)]
    found["log"] = [_log(rng, half)[:CHARS] for _ in range(each)]
    found["csv"] = [_csv(rng, half)[:CHARS] for _ in range(each)]
    found["diff"] = [p for name, text in sources for p in _chunks(_diff(rng, text, name), 1)]
    for path in sorted(CORPUS.glob(f"*-{half}*")):
        kind = path.name.partition("-")[0]
        text = path.read_text("utf-8")
        size = 120 if kind in ("zh", "ja") else 700
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        found.setdefault(kind, []).extend(piece for piece in pieces if len(piece) > size // 3)
    found["hex"] = [rng.randbytes(rng.randint(200, 1000)).hex() for _ in range(each // 3)]
    found["base64"] = [
        base64.b64encode(rng.randbytes(rng.randint(200, 1500))).decode() for _ in range(each // 3)
    ]
    found["uuid lines"] = [
        "\n".join(str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(50))
        for _ in range(each // 3)
    ]
    return {kind: texts[:: max(1, len(texts) // each)][:each] for kind, texts in found.items()}


def errors(texts: list[str]) -> list[float]:
    """The relative error of each estimate, without its sign, sorted."""
    counts = exact(texts)
    return sorted(
        abs(estimate(text) - count) / count for text, count in zip(texts, counts, strict=True)
    )


def p95(sorted_errors: list[float]) -> float:
    """The error that 95 % of the texts do not exceed."""
    return sorted_errors[max(0, -(-len(sorted_errors) * 95 // 100) - 1)]


def fit(texts: dict[str, list[str]]) -> dict[str, float]:
    """Weights with the least squared relative error; each kind counts the same."""
    rows: list[tuple[list[float], float]] = []
    names = list(features(""))
    for group in texts.values():
        for text, count in zip(group, exact(group), strict=True):
            found = features(text)
            rows.append(([found[name] / count for name in names], len(group) ** -0.5))
    # Coordinate descent on the normal equations, with a slight pull to zero.
    size = len(names)
    square = [[sum(w * w * r[i] * r[j] for r, w in rows) for j in range(size)] for i in range(size)]
    target = [sum(w * w * r[i] for r, w in rows) for i in range(size)]
    weights = [0.0] * size
    for _ in range(5000):
        for i in range(size):
            rest = target[i] - sum(square[i][j] * weights[j] for j in range(size) if j != i)
            low, high = BOUNDS.get(names[i], (0.0, 2.0))
            weights[i] = min(max(rest / (square[i][i] + 1e-6), low), high)
    return dict(zip(names, weights, strict=True))


# Some features correct others, so they may be negative; some are too rare here to be fitted freely.
BOUNDS = {
    "word after mark": (-0.5, 1.0),
    "word after low line": (-0.5, 1.0),
    "han before kana": (-0.2, 0.2),
    "katakana": (0.3, 0.8),
    "further capitals": (-0.2, 1.0),
    "long word": (-0.2, 1.0),
    "hangul": (0.6, 0.8),
    "foreign letter": (0.25, 0.4),
    "wide mark": (0.8, 1.1),
    "symbol": (1.0, 1.5),
}


def measure(each: int) -> bool:
    """Print the table; whether all bounds are met."""
    print(f"{'kind':14} {'n':>4} {'mean':>7} {'p95':>7} {'max':>7}")
    everything: list[float] = []
    for kind, texts in corpus("test", each).items():
        found = errors(texts)
        everything += found
        print(_row(kind, found))
    everything.sort()
    print(_row("total", everything))
    text = "".join("".join(texts) for texts in corpus("test", 40).values())
    whole = [text[at : at + 60_000] for at in range(0, len(text), 60_000)]
    start = time.perf_counter()
    for piece in whole:
        estimate(piece)
    speed = len(text.encode()) / (time.perf_counter() - start) / 1e6
    print(f"{speed:.2f} MB/s below 64 KiB; longer texts are sampled")
    return statistics.mean(everything) <= MEAN and p95(everything) <= P95 and speed >= SPEED_MB_S


def _row(kind: str, found: list[float]) -> str:
    numbers = (statistics.mean(found), p95(found), found[-1])
    return f"{kind:14} {len(found):4} " + " ".join(f"{number:7.1%}" for number in numbers)


def main() -> None:
    """Measure or fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="print weights for rules/tokens.py")
    parser.add_argument("--each", type=int, default=60, help="texts of each kind")
    asked = parser.parse_args()
    if asked.fit:
        for name, weight in fit(corpus("fit", asked.each)).items():
            print(f'    "{name}": {weight:.3f},')
        return
    sys.exit(not measure(asked.each))


if __name__ == "__main__":
    main()
