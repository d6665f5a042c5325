r"""Gold answers that are expressions: what an answer must name, joined by "and" and "or".

    or      = and { ("|" | "||") and }
    and     = atom { ("&" | "&&") atom }
    atom    = "(" or ")" | literal
    literal = plain text | '"' text '"'

"&" binds tighter than "|". Plain text ends at the next operator or parenthesis; the spaces around it are no part of
it. A backslash takes the next character as it stands, in plain text and between quotes; a quote inside plain text is a
character like any other. So `AT\&T` and `"AT&T"` are one literal, and `AT&T` is two.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator

DEEPEST = 50
"""Parentheses within parentheses that are read; no real gold has as many."""
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>&&?|\|\|?|[()]|\Z)
      |"(?P<quoted>(?:[^"\\]|\\.)*)"
      |(?P<plain>(?:[^&|()"\\\s]|\\.)(?:[^&|()\\]|\\.)*))""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_HARD = frozenset("&|()\\")


class BadExpression(ValueError):
    """An expression is not one; the message says why and in which column, from 1."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(f"column {at + 1}: {why}")


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """A text that an answer must hold."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class And:
    """All of these."""

    parts: tuple[Expression, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Or:
    """At least one of these."""

    parts: tuple[Expression, ...]


Expression = Literal | And | Or


def parse(text: str) -> Expression:
    """The tree of an expression.

    >>> parse("a & (b|c)")
    And(parts=(Literal(text='a'), Or(parts=(Literal(text='b'), Literal(text='c')))))

    Raises:
        BadExpression: It is none.
    """
    parser = _Parser(text)
    tree = parser.read_or(0)
    if parser.sign != "":
        raise BadExpression(f"'&' or '|' is missing before {parser.token!r}; put quotes around such a text", parser.at)
    return tree


def written(tree: Expression) -> str:
    """An expression that `parse` reads as this tree.

    >>> written(And((Literal("AT&T"), Or((Literal("b"), Literal("c"))))))
    '"AT&T" & (b | c)'
    """
    if isinstance(tree, Literal):
        text = tree.text
        if _HARD.isdisjoint(text) and not text.startswith('"') and text == " ".join(text.split()):
            return text
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(tree, Or):
        return " | ".join(f"({written(part)})" if isinstance(part, Or) else written(part) for part in tree.parts)
    return " & ".join(written(part) if isinstance(part, Literal) else f"({written(part)})" for part in tree.parts)


def literals(tree: Expression) -> Iterator[str]:
    """The texts of its literals, from left to right."""
    if isinstance(tree, Literal):
        yield tree.text
    else:
        for part in tree.parts:
            yield from literals(part)


def mapped(tree: Expression, change: Callable[[str], str]) -> Expression:
    """The same tree with its literals changed."""
    if isinstance(tree, Literal):
        return Literal(change(tree.text))
    return type(tree)(tuple(mapped(part, change) for part in tree.parts))


def failing(tree: Expression, holds: Callable[[str], bool]) -> list[str]:
    """The literals for want of which the expression is false; none where it is true.

    Of an "and" they are those of the parts that are false, of an "or" those of all its parts.
    """
    if isinstance(tree, Literal):
        return [] if holds(tree.text) else [tree.text]
    found = [failing(part, holds) for part in tree.parts]
    if isinstance(tree, Or) and not all(found):
        return []
    return [text for texts in found for text in texts]


class _Parser:
    """Reads one expression from left to right, one token ahead.

    Attributes:
        at: Where the token begins.
        token: The token as it is written, or what a literal says.
        sign: "&", "|", "(" or ")"; "" at the end; None where the token is a literal.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at, self.end, self.token = text, 0, 0, ""
        self.sign: str | None = None
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        if match is None or match.lastgroup is None:
            raise BadExpression("a quote that is not closed, or a backslash with nothing behind it", self.end)
        kind, self.end = match.lastgroup, match.end()
        self.at, self.token = match.start(kind), match[kind]
        self.sign = self.token[:1] if kind == "sign" else None
        if kind != "sign":
            self.token = _ESCAPED.sub(r"\1", self.token)
        if kind == "plain":
            self.token = " ".join(self.token.split())

    def read_or(self, depth: int) -> Expression:
        return self._joined("|", Or, lambda: self._joined("&", And, lambda: self._atom(depth)))

    def _joined(self, sign: str, make: type[And] | type[Or], read: Callable[[], Expression]) -> Expression:
        parts = [read()]
        while self.sign == sign:
            self.advance()
            parts.append(read())
        return make(tuple(parts)) if len(parts) > 1 else parts[0]

    def _atom(self, depth: int) -> Expression:
        at = self.at
        if self.sign is None:
            text = self.token
            if not text.strip():
                raise BadExpression("the text is empty", at)
            self.advance()
            return Literal(text)
        if self.sign != "(":
            raise BadExpression(f"a text is missing before {f'{self.token!r}' if self.token else 'the end'}", at)
        if depth == DEEPEST:
            raise BadExpression(f"more than {DEEPEST} parentheses within each other", at)
        self.advance()
        tree = self.read_or(depth + 1)
        if self.sign != ")":
            raise BadExpression("a '(' that is not closed", at)
        self.advance()
        return tree
