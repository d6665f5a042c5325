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

Expression = str | tuple["Expression", ...]
"""A literal; or "&" or "|" followed by the parts of which all or at least one must hold."""
_Token = tuple[str | None, str, int]
"""The sign ("&", "|", "(", ")", "" at the end, None for a literal), the text and its position."""


class BadExpression(ValueError):
    """Invalid expression; the message names the reason and the column, from 1."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(f"column {at + 1}: {reason}")


def parse(text: str) -> Expression:
    """The tree of an expression.

    >>> parse("a & (b|c)")
    ('&', 'a', ('|', 'b', 'c'))

    Raises:
        BadExpression: The expression is invalid.
    """
    tokens = list(_tokens(text))[::-1]
    tree = _chain(tokens, 0)
    sign, token, at = tokens[-1]
    if sign != "":
        raise BadExpression(f"'&' or '|' is missing before {token!r}; put quotes around such a text", at)
    return tree


def is_true(tree: Expression, holds: Callable[[str], bool]) -> bool:
    """Whether an expression is true of the literals that hold."""
    if isinstance(tree, str):
        return holds(tree)
    return (all if tree[0] == "&" else any)(is_true(part, holds) for part in tree[1:])


def escaped(text: str) -> str:
    r"""A text as a literal.

    >>> print(escaped("AT&T (old)"))
    AT\&T \(old\)
    """
    return re.sub(r'[&|()"\\]', r"\\\g<0>", text)


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
            token = re.sub(r"\\(.)", r"\1", token, flags=re.DOTALL)
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
    return (sign, *parts) if len(parts) > 1 else parts[0]


def _atom(tokens: list[_Token], depth: int) -> Expression:
    sign, token, at = tokens[-1]
    if sign not in (None, "("):
        raise BadExpression(f"a text is missing before {repr(token) if token else 'the end'}", at)
    tokens.pop()
    if sign is None:
        return token
    if depth == DEEPEST:
        raise BadExpression(f"more than {DEEPEST} parentheses within each other", at)
    tree = _chain(tokens, depth + 1)
    if tokens[-1][0] != ")":
        raise BadExpression("a '(' that is not closed", at)
    tokens.pop()
    return tree
