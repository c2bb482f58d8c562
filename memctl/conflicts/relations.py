"""Relations in which somebody or something stands to one thing at a time: where one lives, whose birthday is when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memctl.conflicts import lexicon
from memctl.conflicts.statements import FACT, PAST, SELF, Statement
from memctl.core.text.stopwords import stop_terms
from memctl.core.text.terms import terms
from memctl.judgement.quantities import quantities

NAME, ANY, PREFERENCE = "name", "any", "preference"


@dataclass(frozen=True)
class Relation:
    """That `owner` is in relation `name` to `value`.

    Args:
        owner: words for whom it is about; empty for the one whose memories these are.
        value: words; for a preference what is preferred, `other` what it is preferred to.
    """

    name: str
    owner: frozenset[str]
    value: frozenset[str]
    shown: str
    text: str
    other: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Rule:
    name: str
    pattern: re.Pattern[str]
    value: str
    moods: tuple[str, ...] = (FACT,)


_OWNER = r"^(?P<owner>.{0,60}?)"
_ADVERB = r"(?:now |currently |still |also |mainly )?"


def _english(name: str, verb: str, moods: tuple[str, ...] = (FACT,)) -> _Rule:
    return _Rule(name, re.compile(rf"{_OWNER}\b{_ADVERB}{verb}\s+{_ADVERB}(?P<value>.+)$"), NAME, moods)


def _chinese(name: str, pattern: str, moods: tuple[str, ...] = (FACT,)) -> _Rule:
    return _Rule(name, re.compile(rf"{_OWNER}(?:现在|目前|如今|已经|都|一直|还)*{pattern}"), ANY, moods)


_V = r"(?P<value>[^，。,.；;!！（(的]{1,12})"
_RULES = (
    _english("lives in", r"(?:lives?|is living|am living|resides?|is based|am based) in"),
    _english("works at", r"(?:works?|is employed) (?:at|for|by)"),
    _english("is married to", r"(?:is|am) (?:married|engaged) to"),
    _english("was born in", r"(?:was )?born in", (FACT, PAST)),
    _english("runs on", r"runs on"),
    _english("is in", r"(?:is|are|lies) (?:located |based )?in"),
    _english("studies at", r"(?:studies|study|is studying) at"),
    _english("comes from", r"(?:comes?|is|am) (?:originally )?from"),
    _chinese("住在", rf"(?:住在|居住在|家住){_V}$"),
    _chinese("工作", r"在(?P<value>[^，。,在]{2,10})(?:工作|上班|任职|就职)"),
    _chinese("出生", rf"(?:出生在|出生于|生于){_V}$", (FACT, PAST)),
    _chinese("位于", rf"(?:在|位于|设在){_V}$"),
)

_IS = re.compile(r"^(?P<owner>[^,]{2,60}?)\s+(?:is|are)\s+(?:now |currently |called |named |still )*(?P<value>[^,]+)$")
_SHI = re.compile(rf"^(?P<owner>.{{1,20}}?)(?:现在|目前)?(?:是|叫|为|:|：){_V}$")
_PREFERS = re.compile(rf"{_OWNER}\bprefers?\s+(?P<a>.+?)\s+(?:to|over|rather than|instead of)\s+(?P<b>[^,.;]+)")
_PREFERS_ZH = re.compile(
    r"(?:比起|和|与|跟)(?P<b>[^，,。]{1,10})(?:相比)?[，,](?P<owner>[^，,。]{0,8}?)更(?:喜欢|爱)(?P<a>[^，,。]{1,10})"
)
_PREFERS_ZH_OVER = re.compile(
    r"^(?P<owner>.{0,8}?)更?喜欢(?P<a>[^，,。]{1,10}?)(?:胜过|多过|而不是)(?P<b>[^，,。]{1,10})"
)
_CUT = re.compile(
    r"\s+(?:with|as|since|from|for|near|because|until|and|but|where|who|which|on|by|at|these|now|again)\b.*"
    r"|\s+in the .*"
)
_NO_PLACES = re.compile(
    r"^(?:家|家里|公司|学校|外面|外地|办公室|宿舍|图书馆|线|哪|这|那|一|两|城[东南西北]|市区|市中心|线上|线下|里|上面|下面)"
)


def relations(statement: Statement, aliases: frozenset[str]) -> Iterator[Relation]:
    """The relations one clause states."""
    whom = frozenset(statement.inherited)
    return (replace(found, owner=found.owner | whom) for found in _own(statement, aliases))


def _own(statement: Statement, aliases: frozenset[str]) -> Iterator[Relation]:
    """Those the clause states in words of its own, as if nobody had been spoken of before."""
    text = _spelled(statement.text.rstrip(" .。!！"))
    if statement.sign < 0 or statement.mood not in (FACT, PAST):
        return
    for rule in _RULES:
        if statement.mood in rule.moods and (match := rule.pattern.match(text)):
            yield from _stated(rule, match, aliases)
    if statement.mood == FACT:
        yield from _attributes(text, aliases)
        yield from _preferences(statement, aliases)


def _spelled(text: str) -> str:
    """British spelling, so that two spellings are one word."""
    return text.replace("avorite", "avourite").replace("olor", "olour")


def _stated(rule: _Rule, match: re.Match[str], aliases: frozenset[str]) -> Iterator[Relation]:
    value = match["value"].strip()
    owner = _owner(match["owner"], aliases)
    words = names_in(value) if rule.value == NAME else frozenset([value])
    anyone = rule.name in ("is in", "位于", "runs on")
    if rule.name == "位于" and not re.search(
        r"(?:总部|办公室|公司|学校|机房|实验室|老家|分店|店|仓库)$", match["owner"].strip()
    ):
        return
    if not words or owner is None or (anyone and not owner) or (rule.value == ANY and _NO_PLACES.match(value)):
        return
    yield Relation(rule.name, owner, words, rule.name, value)


def _attributes(text: str, aliases: frozenset[str]) -> Iterator[Relation]:
    match = _IS.match(text) or _SHI.match(text)
    if not match:
        return
    value = match["value"].strip()
    kind = _kind_of(match["owner"])
    owner = _owner(match["owner"], aliases)
    words = names_in(value) if kind == NAME and text.isascii() else frozenset(_content(value))
    if kind == NAME and not value.isascii() and not (value[0] in lexicon.SURNAMES and len(value) <= 4):
        return
    if kind and owner and words and not quantities(value)[1] and not _PREPOSITION.match(value):
        yield Relation("is", owner, words, "", value)


_PREPOSITION = re.compile(
    r"(?:in|on|at|to|for|from|with|about|not|a bit|very|too|so|being|\w+ing|\w+ed)\b", re.IGNORECASE
)


def _kind_of(owner: str) -> str:
    """Whether what is said to be something has one value: an attribute, a role, a favourite."""
    folded = owner.lower().strip()
    head = re.split(r"\s+(?:of|for)\s+", folded)[0].split()[-1].removesuffix("'s") if folded.isascii() else folded
    if re.search(r"favou?rite", folded) or "最喜欢的" in folded:
        return ANY
    for words, kind in ((lexicon.THINGS_OF_ONE, ANY), (lexicon.PEOPLE_OF_ONE, NAME)):
        if head in words or (not folded.isascii() and any(folded.endswith(w) for w in words if not w.isascii())):
            return kind
    return ""


def _preferences(statement: Statement, aliases: frozenset[str]) -> Iterator[Relation]:
    match = (
        _PREFERS.match(statement.text)
        or _PREFERS_ZH.search(statement.sentence)
        or _PREFERS_ZH_OVER.match(statement.text)
    )
    owner = _owner(match["owner"], aliases) if match else None
    if match and owner is not None:
        one, other = frozenset(_content(match["a"])), frozenset(_content(match["b"]))
        yield Relation(PREFERENCE, owner, one, "prefers", match[0].strip(), other)


def contrary(one: Relation, other: Relation) -> bool:
    """Whether two relations of one name and owner exclude each other."""
    if one.name == PREFERENCE:
        return bool(one.value and one.other) and one.value == other.other and one.other == other.value
    joined = ["".join(sorted(words)) for words in (one.value, other.value)]
    overlapping = any(a in b or b in a or _share(a, b) for a in one.value for b in other.value)
    return joined[0] != joined[1] and not overlapping


def _share(one: str, other: str) -> bool:
    """Whether two Chinese names share two characters in a row, as a place and a part of it do."""
    return not one.isascii() and any(one[at : at + 2] in other for at in range(len(one) - 1))


def names_in(text: str) -> frozenset[str]:
    """The names at the beginning of a value: words with a capital, before what describes them further."""
    cut = _CUT.sub("", text)
    found = re.findall(r"\b[A-Z][\w'’.&-]*", cut)
    return frozenset(word.lower().rstrip(".") for word in found if word.lower() not in SELF) if found else frozenset()


def _content(text: str) -> list[str]:
    """What a value says as one word: two values are compared whole."""
    if not text.isascii():
        return [re.sub(r"[\s的了]|(?:老师|医生|先生|女士|教授)$", "", text)]
    return [" ".join(kept)] if (kept := [term for term in terms(text) if term not in stop_terms()]) else []


def _owner(text: str, aliases: frozenset[str]) -> frozenset[str] | None:
    """Words for whom a relation is about; None where it is somebody nobody named."""
    folded = text.strip().lower().replace("’", "'")
    if folded in ("they", "it", "he and she", "which", "who", "that", "this", "there", "它", "他们", "她们"):
        return None
    if not folded.isascii():
        for alias in sorted(aliases | SELF, key=len, reverse=True):
            if not alias.isascii():
                folded = folded.replace(alias, "")
        rest = re.sub(r"[\s的其它他她我]|现在|目前", "", folded)
        return frozenset([rest]) if rest else frozenset()
    words = [word.removesuffix("'s") for word in re.findall(r"[a-z0-9'-]+", folded)]
    kept = " ".join(word for word in words if word not in aliases and word not in SELF)
    return frozenset(term for term in terms(kept) if term not in stop_terms())
