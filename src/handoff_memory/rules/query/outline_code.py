"""Definitions in source code: Python by its syntax tree, other languages by how they begin."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Final

from handoff_memory.core import lazy

_AST_BYTES: Final = 1 << 20  # larger sources are read by pattern
_SIGNATURE_CHARS: Final = 120
_LINE_CHARS: Final = 400
_MODIFIERS: Final = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|override|async)\s+)*"
)


def _pattern(*parts: str) -> re.Pattern[str]:
    return lazy.pattern(rf"[ \t]*(?:{'|'.join(parts)})")


_SCRIPT: Final = (
    r"(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\b\*?\s*\w*",
    r"(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:class|interface|enum|namespace)\s+\w+",
    r"(?:export\s+)?type\s+\w+[^=]*=",
    r"(?:export\s+)?(?:const|let|var)\s+\w+[^=]*=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*(?::[^=]+)?=>",
    r"(?!(?:if|for|while|switch|catch|return|function)\b)(?:(?:public|private|protected|static|async|get|set|readonly)\s+)*"
    r"\w+\s*\([^()]*\)\s*(?::\s*[^{=]+)?\{\s*$",
)
_PATTERNS: Final = {
    "text/x-python": _pattern(r"(?:async\s+)?def\s+\w+", r"class\s+\w+"),
    "text/x-typescript": _pattern(*_SCRIPT),
    "text/x-javascript": _pattern(*_SCRIPT),
    "text/x-rust": _pattern(
        r"(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?"
        r"(?:extern\s+\"\w+\"\s+)?(?:fn|struct|enum|trait|union|mod|type|macro_rules!)\s+\w+",
        r"(?:unsafe\s+)?impl\b",
    ),
    "text/x-go": _pattern(r"func\b", r"type\s+\w+"),
    "text/x-java": _pattern(
        _MODIFIERS
        + r"(?:data\s+)?(?:class|interface|enum|record|object|trait|struct|namespace)\s+\w+",
        _MODIFIERS + r"(?:fun|def)\s+\w+",
        _MODIFIERS + r"(?!(?:return|new|else|throw|if|for|while|switch|catch)\b)"
        r"[\w<>\[\],.?]+\s+\w+\s*\([^;]*$",
    ),
    "text/x-c": _pattern(
        r"(?:typedef\s+)?(?:struct|class|enum|union|namespace)\s+\w+[^;]*$",
        r"#\s*define\s+\w+\(",
        r"(?!(?:return|else|if|for|while|switch|case|goto)\b)\w[\w\s*&:<>,]*?[\s*&](?:\w+::)*~?\w+\s*\([^;]*$",
    ),
    "text/x-ruby": _pattern(r"(?:def|class|module)\s+\S+"),
    "text/x-shellscript": _pattern(r"function\s+[\w-]+", r"[\w-]+\s*\(\)"),
    "text/x-sql": _pattern(
        r"(?i:create)\s+(?i:or\s+replace\s+)?(?i:unique\s+|temp\s+|temporary\s+|virtual\s+)?"
        r"(?i:table|view|index|trigger|function|procedure|type)\b",
        r"(?i:alter)\s+(?i:table)\b",
    ),
}


def knows(kind: str) -> bool:
    """Whether there is an outline for source code of this media type."""
    return kind in _PATTERNS


def definitions(body: str, kind: str) -> list[str]:
    """Each definition with its lines, indented as it is nested."""
    if kind == "text/x-python" and len(body) <= _AST_BYTES:
        tree = _tree(body)
        if tree is not None:
            return _python(tree)
        return ["the syntax has an error; read by pattern", *_by_pattern(body, kind)]
    return _by_pattern(body, kind)


def _by_pattern(body: str, kind: str) -> list[str]:
    pattern = _PATTERNS[kind]
    found = []
    for number, line in enumerate(body.split("\n"), 1):
        start = line[:_LINE_CHARS]
        if pattern.match(start):
            indent = len(start) - len(start.lstrip())
            plain = " ".join(start.split()).rstrip(" {:").rstrip()
            found.append(f"{number} {' ' * min(indent, 8)}{plain[:_SIGNATURE_CHARS]}")
    return found


def _tree(body: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():  # of escapes in the payload's strings
            warnings.simplefilter("ignore")
            return ast.parse(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _python(tree: ast.Module) -> list[str]:
    found: list[str] = []
    # Each entry waits with its depth; the last one put is the first one taken.
    waiting: list[tuple[ast.AST, int]] = [(child, 0) for child in reversed(tree.body)]
    while waiting:
        node, depth = waiting.pop()
        inner = depth
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(f"{node.lineno}-{node.end_lineno} {'  ' * depth}{_signature(node)}")
            inner = depth + 1
        statements = [child for child in ast.iter_child_nodes(node) if _holds_code(child)]
        waiting.extend((child, inner) for child in reversed(statements))
    return found


def _holds_code(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


def _signature(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(_written(base) for base in node.bases)
        return f"class {node.name}({bases})" if bases else f"class {node.name}"
    given = node.args
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    names += [f"*{given.vararg.arg}"] if given.vararg else []
    names += [one.arg for one in given.kwonlyargs]
    names += [f"**{given.kwarg.arg}"] if given.kwarg else []
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word} {node.name}({', '.join(names)})"[:_SIGNATURE_CHARS]


def _written(node: ast.expr) -> str:
    """A base class by its name; what is more than a name and its parts is left out."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_written(node.value)}.{node.attr}"
    return f"{_written(node.value)}[…]" if isinstance(node, ast.Subscript) else "…"
