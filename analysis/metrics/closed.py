"""Verdicts: the yes, no, true or false for which an answer to a closed question decides.

A closed question has two answers, and sharing a word with one of them is no evidence of it: "true or false" is half of
"false", and "there is no such page" holds a "no". So an answer is read clause by clause, quotations left out:

- A clause decides where it is nothing but a verdict ("Yes", "that is not true", "I would say no"), where it opens
  with one ("yes they were", but not "no information"), where the text ends with one, or where it says what the answer
  is. For true and false it is enough that the clause contains the word.
- A negation before the verdict turns it round ("I don't think it is true"); "maybe", "whether" and the like void it.
- An explicit conclusion ("so the answer is no") outweighs the rest, and of several the last counts. Otherwise clauses
  that contradict each other decide nothing.
- "true" also answers a question of yes or no; "yes" does not answer "true or false?".

What another short answer claims (`claims`) is what it says without what it denies, and each of the alternatives that it
leaves open: "London, not Paris" claims London; "Paris or London" is worth what the worse of the two is worth. Longer
texts, which may deny and weigh a thing on the way, are left whole.

English, Chinese and Russian are read. The published code gives "yes, they were" 0 against "yes" and "true or false" 0.5
against "false".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

_VERDICTS = {
    "yes": "yes yeah yep yup affirmative да 是 是的",
    "no": "no nope negative нет 否 不 不是",
    "true": "true correct accurate верно правда истина правильно 真 对 正确 属实 没错",
    "false": "false untrue incorrect inaccurate wrong неверно ложь ложно неправда неправильно 假 错 错误 不对"
    " 不正确 不属实",
}
_VALUES = {word: value for value, words in _VERDICTS.items() for word in words.split()}
_OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS = _words("yes no true false да нет верно неверно 是 是的 否 不是 对 不对 错 正确 错误 真 假")
"""Golds of closed questions, folded."""
_FILLERS = _words(
    "so therefore thus hence then well okay and but overall conclusion in final finally definitely clearly certainly "
    "probably likely really actually indeed most it it's that that's this these is was are were be would say i i'd i'm "
    "think believe guess the a an my answer statement claim sentence to of question seems appears both "
    "итак значит поэтому ответ это утверждение думаю наверное скорее всего что"
)
_CONCLUDES = _words("so therefore thus hence answer overall conclusion finally final итак значит поэтому ответ")
_NEGATORS = _words("not never nothing cannot hardly neither nor rather instead doubt without не ни")
_DOUBTS = _words(
    "maybe perhaps possibly might unclear unsure uncertain whether if partly partially half somewhat sometimes depends "
    "could may unknown ambiguous может возможно ли частично"
)
_JOINS = _words("or and nor neither either between или и ни")
_SUBJECTS = _words(
    "i we you he she it they this that these those the there both neither only because since as not "
    "он она оно они это я мы оба обе не"
)
_QUOTED = re.compile(r'"[^"]{2,400}"|“[^”]{2,400}”|«[^»]{2,400}»|「[^」]{2,400}」|(?<!\w)\'[^\']{4,400}\'(?!\w)')
_CLAUSE = re.compile(
    r"[.!?;:,\n()。！？；：，、…*_|]+|\s[-–—]+\s|[–—]"
    r"|\b(?:but|because|since|although|though|while|(?<!think )(?<!believe )so)\b"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_HAN = re.compile("[\u4e00-\u9fff]")
_HAN_STAND = re.compile(
    "(?:所以|因此)?(?:我认为|我觉得)?(?:最终)?(?P<answer>答案)?(?:应该|应)?[为是]?(?:该|这个|这一|此|这)?(?:说法|陈述|句子|句话|命题)?"
    "[为是]?(?P<verdict>不是|是的|是|否|不对|不正确|不属实|对|正确|属实|没错|错误|错|不|真|假)[的了]?"
)
_AGREES = frozenset({"exactly", "absolutely", "indeed", "sure", "certainly", "of course", "right", "that's right"})
_DENIES = re.compile(
    r"(?!i ).+\b(?:is|was|are|were|do|does|did|has|have|had|can|could|will|would)(?: not|n't)|(?:of )?(?:\w+ )?not"
    r"|not (?:really|at all)|i (?:do not|don't) (?:think|believe) so"
)
_LONGEST = 2_000


def verdict(text: str, pair: frozenset[str]) -> str | None:
    """The value of the pair ("yes" and "no", or "true" and "false") that an answer decides for; None for neither.

    >>> verdict("I don't think that this is true.", TRUE_FALSE), verdict("No information was found", YES_NO)
    ('false', None)
    """
    found = [(strength, value) for strength, value in _decisions(_excerpt(text)) if value in pair]
    if not found and "yes" in pair:
        translated = {"true": "yes", "false": "no"}
        found = [(strength, translated[value]) for strength, value in _decisions(_excerpt(text)) if value in translated]
    best = max((strength for strength, _ in found), default=0)
    values = [value for strength, value in found if strength == best]
    return values[-1] if values and (best == 3 or len(set(values)) == 1) else None


YES_NO = frozenset({"yes", "no"})
TRUE_FALSE = frozenset({"true", "false"})


def closed_value(tokens: Sequence[str]) -> str | None:
    """The value of a text, given as tokens, that is nothing but a verdict; None of any other.

    >>> closed_value(("true",)), closed_value(("不", "是")), closed_value(("not", "true"))
    ('true', 'no', None)
    """
    text = "".join(tokens[:3])
    return _VALUES[text] if text in WORDS and len(tokens) <= 3 else None


def pair_of(value: str) -> frozenset[str]:
    """The pair to which a value belongs."""
    return YES_NO if value in YES_NO else TRUE_FALSE


def _excerpt(text: str) -> str:
    if len(text) > 2 * _LONGEST:
        text = f"{text[:_LONGEST]}. {text[-_LONGEST:]}"
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    text = text.replace("no doubt", " ")
    bare = _QUOTED.sub(" ", text)
    return bare if _WORD.search(bare) else text


def _decisions(text: str) -> Iterator[tuple[int, str]]:
    """What the clauses of a text decide: 3 for a conclusion, 2 for a verdict in its place, 1 for a mention."""
    starts = [0, *(match.start() if match[0].isalpha() else match.end() for match in _CLAUSE.finditer(text))]
    clauses = [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    clauses = [clause for clause in clauses if _WORD.search(clause)]
    for number, clause in enumerate(clauses):
        if _HAN.search(clause):
            yield from _han_stand(clause)
        else:
            words = _WORD.findall(clause)
            yield from _stand(words, is_last=number == len(clauses) - 1) or _bare_stand(" ".join(words))


def _stand(words: list[str], is_last: bool) -> list[tuple[int, str]]:
    """What a clause decides by its verdicts; nothing where they contradict each other."""
    places = [place for place, word in enumerate(words) if word in _VALUES]
    if not places or not _DOUBTS.isdisjoint(words[: places[0]]):
        return []
    values, start = list[str](), 0
    for place in places:
        odd = sum(map(_is_negator, words[start:place])) % 2
        values.append(_OPPOSITE[_VALUES[words[place]]] if odd else _VALUES[words[place]])
        start = place + 1
    is_choice = len({words[place] for place in places}) > 1 and not _JOINS.isdisjoint(words)
    if is_choice or len({value in ("yes", "true") for value in values}) > 1:
        return []
    strength = _strength(words, places[0], is_last)
    return [(strength, value) for value in dict.fromkeys(values) if strength > 1 or value in TRUE_FALSE]


def _strength(words: list[str], first: int, is_last: bool) -> int:
    word, rest = words[first], words[first + 1 :]
    in_place = not rest or word not in ("no", "нет") or rest[0].partition("'")[0] in _SUBJECTS
    if not _CONCLUDES.isdisjoint(words[:first]) and in_place:
        return 3
    if all(word in _FILLERS or word in _VALUES or _is_negator(word) for word in words):
        return 2
    opens = word in ("yes", "yeah", "no", "да", "нет") and all(word in _FILLERS for word in words[:first])
    return 2 if (opens and in_place) or (is_last and not rest) else 1


def _bare_stand(clause: str) -> list[tuple[int, str]]:
    """What a clause without a verdict decides: "they were not", "of course"."""
    if clause in _AGREES:
        return [(2, "yes")]
    return [(2, "no")] if len(clause) <= 60 and _DENIES.fullmatch(clause) else []


def _is_negator(word: str) -> bool:
    return word in _NEGATORS or word.endswith("n't")


def _han_stand(clause: str) -> list[tuple[int, str]]:
    clause = "".join(filter(str.isalnum, clause))
    match = _HAN_STAND.fullmatch(clause) if "是否" not in clause else None
    if match is not None:
        return [(3 if match["answer"] else 2, _VALUES[match["verdict"]])]
    opening = re.match("是的|不是|不对|没错|正确|错误", clause)
    return [(2, _VALUES[opening[0]])] if opening else []


# ---- claims

LONGEST_CLAIM = 300
"""Characters of an answer that is read."""

_WRONG = r"\b(?:wrong|incorrect|untrue|mistaken|неверно|неправильно|ошибка)\b|不对|错误|错的|不正确"
CUE = re.compile(
    r"\b(?:not|never|or|rather|instead|no longer|не|или|либо)\b|n['’]t\b|不是|并非|而非|还是|或者|或"
    rf"|{_WRONG}"
    r"|(?-i:(?<=[a-z])/(?=[A-Z]))",
    re.IGNORECASE,
)
"""What an answer must hold to be worth reading."""
_SUBJECT = r"(?:^|(?<=[,;.!?，。；！？])|(?<=\band\b))(?:(?!\b(?:is|was|are|were|and|or)\b)[^,;.!?，。；！？])*?"
_DENIED = re.compile(
    rf"(?:{_SUBJECT}(?:\b(?:is|was|are|were)(?: not\b(?! only\b)|n['’]t\b)|不是|并非|\bне\b)"
    rf"|{_SUBJECT}(?:(?:\b(?:is|was|are|were|be|это|seems|looks)|\s[—–-]|是)(?: \w+)? ?(?:{_WRONG})|不对|不正确)"
    r"|\b(?:not(?! only\b)|never|no longer|rather than|instead of|не)\b|\b\w{2,6}n['’]t\b|而?不是|并非|而非)"
    r"[^,.;!?，。；！？]*?(?=[,;!?，。；！？]|[.:](?:\s|$)|\bbut\b|\bа\b|而是|$)",
    re.IGNORECASE,
)
_OR = re.compile(r"\s(?:or|или|либо)\s|还是|或者|或|(?-i:(?<=[a-z])/(?=[A-Z]))", re.IGNORECASE)
_EITHER = re.compile(r"^\W*(?:(?:either|maybe|perhaps|или|либо)\b|要么)\s*", re.IGNORECASE)


def claims(answer: str) -> tuple[str, ...]:
    """The texts that an answer claims, one where it leaves nothing open; the answer itself where it has no `CUE`.

    >>> claims("London, not Paris"), claims("either Paris or London"), claims("not Paris")
    (('London, ',), ('Paris', 'London'), ('',))
    """
    if len(answer) > LONGEST_CLAIM or CUE.search(answer) is None:
        return (answer,)
    rest = _DENIED.sub("", answer)
    parts = [part for part in _OR.split(_EITHER.sub("", rest)) if any(map(str.isalnum, part))]
    return tuple(parts) or ("",)
