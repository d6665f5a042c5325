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
        BadExpression: The expression is invalid.
    """
    parser = _Parser(text)
    tree = parser.read_or(0)
    if parser.sign != "":
        raise BadExpression(f"'&' or '|' is missing before {parser.token!r}; put quotes around such a text", parser.at)
    return tree


def to_text(tree: Expression) -> str:
    """An expression that `parse` reads back as this tree.

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
        return " | ".join(f"({to_text(part)})" if isinstance(part, Or) else to_text(part) for part in tree.parts)
    return " & ".join(to_text(part) if isinstance(part, Literal) else f"({to_text(part)})" for part in tree.parts)


def literals(tree: Expression) -> Iterator[str]:
    """The texts of its literals, from left to right."""
    if isinstance(tree, Literal):
        yield tree.text
    else:
        for part in tree.parts:
            yield from literals(part)


def map_literals(tree: Expression, change: Callable[[str], str]) -> Expression:
    """The same tree with its literals changed."""
    if isinstance(tree, Literal):
        return Literal(change(tree.text))
    return type(tree)(tuple(map_literals(part, change) for part in tree.parts))


def failing(tree: Expression, holds: Callable[[str], bool]) -> list[str]:
    """The literals whose absence makes the expression false; none if it is true.

    For "and" these are the literals of the false parts, for "or" those of all parts.
    """
    if isinstance(tree, Literal):
        return [] if holds(tree.text) else [tree.text]
    failures = [failing(part, holds) for part in tree.parts]
    if isinstance(tree, Or) and not all(failures):
        return []
    return [text for texts in failures for text in texts]


class _Parser:
    """A recursive-descent parser with one token of lookahead.

    Attributes:
        at: Position of the token.
        token: The token, or the text of a literal.
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
        return self._parse_chain("|", Or, lambda: self._parse_chain("&", And, lambda: self._atom(depth)))

    def _parse_chain(self, sign: str, make: type[And] | type[Or], read: Callable[[], Expression]) -> Expression:
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
