r"""Gold answers as expressions: the texts that an answer must contain, combined with "and" and "or".

    or      = and { ("|" | "||") and }
    and     = atom { ("&" | "&&") atom }
    atom    = "(" or ")" | literal
    literal = plain text | '"' text '"'

"&" binds tighter than "|". Plain text ends at the next operator or parenthesis and is stripped. A backslash escapes the
next character in plain text and between quotes; a quote inside plain text has no special meaning. `AT\&T` and `"AT&T"`
are one literal, `AT&T` is two.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator

DEEPEST = 50
"""Maximum depth of parentheses."""
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>&&?|\|\|?|[()]|\Z)
      |"(?P<quoted>(?:[^"\\]|\\.)*)"
      |(?P<plain>(?:[^&|()"\\\s]|\\.)(?:[^&|()\\]|\\.)*))""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_HARD = frozenset("&|()\\")


class BadExpression(ValueError):
    """Invalid expression; the message names the reason and the column, from 1."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(f"column {at + 1}: {reason}")


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """A text that an answer must contain."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """All of these if the sign is "&", at least one of these if it is "|"."""

    sign: str
    parts: tuple[Expression, ...]


Expression = Literal | Group
_Token = tuple[str | None, str, int]
"""The sign ("&", "|", "(", ")", "" at the end, None for a literal), the text and its position."""


def parse(text: str) -> Expression:
    """The tree of an expression.

    >>> parse("a & (b|c)")
    Group(sign='&', parts=(Literal(text='a'), Group(sign='|', parts=(Literal(text='b'), Literal(text='c')))))

    Raises:
        BadExpression: The expression is invalid.
    """
    tokens = list(_tokens(text))[::-1]
    tree = _chain(tokens, 0)
    sign, token, at = tokens[-1]
    if sign != "":
        raise BadExpression(f"'&' or '|' is missing before {token!r}; put quotes around such a text", at)
    return tree


def _tokens(text: str) -> Iterator[_Token]:
    end = 0
    sign: str | None = None
    while sign != "":
        match = _TOKEN.match(text, end)
        if match is None or match.lastgroup is None:
            raise BadExpression("a quote that is not closed, or a backslash with nothing behind it", end)
        kind, end = match.lastgroup, match.end()
        token, at = match[kind], match.start(kind)
        sign = token[:1] if kind == "sign" else None
        if sign is None:
            token = _ESCAPED.sub(r"\1", token)
            token = " ".join(token.split()) if kind == "plain" else token
            if not token.strip():
                raise BadExpression("the text is empty", at)
        yield sign, token, at


def _chain(tokens: list[_Token], depth: int, sign: str = "|") -> Expression:
    """Read operands of a sign from the end of the tokens."""
    parts: list[Expression] = []
    while not parts or tokens[-1][0] == sign:
        if parts:
            tokens.pop()
        parts.append(_chain(tokens, depth, "&") if sign == "|" else _atom(tokens, depth))
    return Group(sign, tuple(parts)) if len(parts) > 1 else parts[0]


def _atom(tokens: list[_Token], depth: int) -> Expression:
    sign, token, at = tokens[-1]
    if sign not in (None, "("):
        raise BadExpression(f"a text is missing before {repr(token) if token else 'the end'}", at)
    tokens.pop()
    if sign is None:
        return Literal(token)
    if depth == DEEPEST:
        raise BadExpression(f"more than {DEEPEST} parentheses within each other", at)
    tree = _chain(tokens, depth + 1)
    if tokens[-1][0] != ")":
        raise BadExpression("a '(' that is not closed", at)
    tokens.pop()
    return tree


def to_text(tree: Expression) -> str:
    """An expression that `parse` reads back as this tree.

    >>> to_text(Group("&", (Literal("AT&T"), Group("|", (Literal("b"), Literal("c"))))))
    '"AT&T" & (b | c)'
    """
    if isinstance(tree, Literal):
        text = tree.text
        if _HARD.isdisjoint(text) and not text.startswith('"') and text == " ".join(text.split()):
            return text
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    bare = [isinstance(part, Literal) or (tree.sign, part.sign) == ("|", "&") for part in tree.parts]
    texts = map(to_text, tree.parts)
    return f" {tree.sign} ".join(text if one else f"({text})" for text, one in zip(texts, bare, strict=True))


def map_literals(tree: Expression, change: Callable[[str], str]) -> Expression:
    """The same tree with its literals changed."""
    if isinstance(tree, Literal):
        return Literal(change(tree.text))
    return Group(tree.sign, tuple(map_literals(part, change) for part in tree.parts))


def failing(tree: Expression, holds: Callable[[str], bool]) -> list[str]:
    """The literals whose absence makes the expression false; none if it is true.

    For "and" these are the literals of the false parts, for "or" those of all parts.
    """
    if isinstance(tree, Literal):
        return [] if holds(tree.text) else [tree.text]
    failures = [failing(part, holds) for part in tree.parts]
    if tree.sign == "|" and not all(failures):
        return []
    return [text for texts in failures for text in texts]
