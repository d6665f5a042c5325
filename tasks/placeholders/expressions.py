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
from collections.abc import Callable, Iterator

DEEPEST = 50
"""Parentheses within parentheses that are read; no real gold has as many."""
_ENDS = frozenset("&|()")
_HARD = frozenset("&|()\\")


class BadExpression(ValueError):
    """An expression is not one; the message says why and in which column.

    Attributes:
        column: Of the character where it goes wrong, from 1.
    """

    def __init__(self, why: str, at: int) -> None:
        self.why, self.column = why, at + 1
        super().__init__(f"column {self.column}: {why}")


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
    return _Parser(text).whole()


def written(tree: Expression) -> str:
    """An expression that `parse` reads as this tree.

    >>> written(And((Literal("AT&T"), Or((Literal("b"), Literal("c"))))))
    '"AT&T" & (b | c)'
    """
    if isinstance(tree, Literal):
        return _written(tree.text)
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


def _written(text: str) -> str:
    if _HARD.isdisjoint(text) and not text.startswith('"') and text == " ".join(text.split()):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class _Parser:
    """Reads one expression from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def whole(self) -> Expression:
        if not self.text.strip():
            raise BadExpression("is empty", 0)
        tree = self._or()
        if self.at < len(self.text):
            raise BadExpression("a ')' that closes nothing", self.at)
        return tree

    def _or(self) -> Expression:
        parts = [self._and()]
        while self._operator("|"):
            parts.append(self._and())
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def _and(self) -> Expression:
        parts = [self._atom()]
        while self._operator("&"):
            parts.append(self._atom())
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def _operator(self, sign: str) -> bool:
        """Whether an operator comes next; it is read, be it doubled or not."""
        if self._next() != sign:
            return False
        self.at += 2 if self.text.startswith(sign, self.at + 1) else 1
        return True

    def _atom(self) -> Expression:
        char = self._next()
        if char == "(":
            tree = self._parenthesis()
        elif char == "" or char in _ENDS:
            raise BadExpression(f"a text is missing before {f'{char!r}' if char else 'the end'}", self.at)
        else:
            tree = self._quoted() if char == '"' else self._plain()
        char = self._next()
        if char and char not in "&|)":
            hint = "; put quotes around a text that holds parentheses or begins with a quote"
            raise BadExpression(f"'&' or '|' is missing before {char!r}{hint}", self.at)
        return tree

    def _parenthesis(self) -> Expression:
        opened = self.at
        self.depth += 1
        if self.depth > DEEPEST:
            raise BadExpression(f"more than {DEEPEST} parentheses within each other", opened)
        self.at += 1
        tree = self._or()
        if self._next() != ")":
            raise BadExpression("a '(' that is not closed", opened)
        self.at += 1
        self.depth -= 1
        return tree

    def _quoted(self) -> Literal:
        opened, found = self.at, list[str]()
        self.at += 1
        while self.text[self.at : self.at + 1] != '"':
            if self.at >= len(self.text):
                raise BadExpression("a quote that is not closed", opened)
            found.append(self._character())
        self.at += 1
        text = "".join(found)
        if not text.strip():
            raise BadExpression("the text between the quotes is empty", opened)
        return Literal(text)

    def _plain(self) -> Literal:
        start, found = self.at, list[str]()
        while self.at < len(self.text) and self.text[self.at] not in _ENDS:
            found.append(self._character())
        text = " ".join("".join(found).split())
        if not text:
            raise BadExpression("the text is empty", start)
        return Literal(text)

    def _character(self) -> str:
        """The next character of a literal; behind a backslash, the one that it stands for."""
        if self.text[self.at] == "\\":
            self.at += 1
            if self.at == len(self.text):
                raise BadExpression("a backslash with nothing behind it", self.at - 1)
        self.at += 1
        return self.text[self.at - 1]

    def _next(self) -> str:
        """The next character that is no space; "" at the end."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]
