"""Whether two Chinese sentences exclude each other, as `contradiction` says it; Chinese has no forms of words, so that
the classes of words, their order and the lists in `data/` have to tell what is said of what."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import takewhile
from math import inf

from memctl.judgement import lexicon
from memctl.judgement.difference import POLARITY, VALUE, Clash, Pair
from memctl.judgement.segmentation import class_of, says_when
from memctl.judgement.wording import (
    FILLER,
    MODAL,
    NAME,
    NEGATION,
    PRONOUN,
    QUANTIFIER,
    QUANTITY,
    WORD,
    Sentence,
    Word,
    read,
)

_COMPARED = (WORD, NAME, QUANTITY, MODAL)
_CONTENT = (WORD, NAME, QUANTITY)
_MOST = 4
"""So many words more may a sentence have than the one it denies."""


@dataclass(frozen=True)
class _Clause:
    """A part of a sentence between commas, with the subject of the first part where it has none.

    Args:
        only: whether the sentence says that there is no other: `只`, `一律`.
        cleft: whether it names one thing as the one: `用的是`.
        inherited: how many words are of the first part.
    """

    words: tuple[Word, ...]
    whole: Sentence
    only: bool
    cleft: bool
    inherited: int

    def denied(self, without: Sequence[Word] = ()) -> bool:
        words = [word for word in self.words if word not in without]
        return sum(word.kind == NEGATION or _among(word, "denying") for word in words) % 2 == 1


@dataclass(frozen=True)
class _Pair:
    """Two clauses, what they share, and what each has alone."""

    one: _Clause
    other: _Clause
    shared: tuple[Word, ...]
    left: tuple[Word, ...]
    right: tuple[Word, ...]

    def opposed(self, without: Pair = ((), ())) -> bool:
        """Whether one of them denies, apart from some words."""
        return self.one.denied(without[0]) != self.other.denied(without[1])


def chinese_clash(one: Sentence, other: Sentence) -> Clash | None:
    """In what two Chinese sentences exclude each other; None where they may both be true."""
    if _asks(one) or _asks(other):
        return None
    for mine in _clauses(one):
        for theirs in _clauses(other):
            found = _clash(_matched(mine, theirs))
            if found:
                return found
    return None


def meeting(sentence: Sentence) -> frozenset[str]:
    """What two Chinese sentences share if they exclude each other: words that are alike, or a part of a verb."""
    words = [word for word in sentence.words if word.kind in _CONTENT and not _says_little(word)]
    parts = (character for word in words if class_of(word.text) == "v" for character in word.text)
    return frozenset(word.stem for word in words).union(parts)


def _asks(sentence: Sentence) -> bool:
    return sentence.text.endswith(("?", "？")) or any(_among(word, "questions") for word in sentence.words)


@lru_cache(4096)
def _clauses(sentence: Sentence) -> tuple[_Clause, ...]:
    text = sentence.text
    for pattern, instead in _loosened():
        text = pattern.sub(instead, text)
    aliases = frozenset(word.text.lower() for word in sentence.words if word.key == "user")
    parts = [read(part, aliases).words for part in re.split("[，,;；：:](?!\\d)", text) if part.strip("。 ")]
    whole = replace(sentence, words=tuple(word for part in parts for word in part))
    only = any(_among(word, "only") for word in whole.words)
    cleft = "的是" in text
    subject = tuple(word for word in parts[0] if word.subject) if parts else ()
    own = tuple(
        (number == 0 or _names_subject(part)) and not _points_back(number, part) for number, part in enumerate(parts)
    )
    return tuple(
        _Clause(part, whole, only, cleft, 0)
        if is_own
        else _Clause((*subject, *part[_points_back(number, part) :]), whole, only, cleft, len(subject))
        for number, (part, is_own) in enumerate(zip(parts, own, strict=True))
    )


def _points_back(number: int, part: Sequence[Word]) -> bool:
    """Whether a later clause begins with a pronoun for the subject of the first."""
    return number > 0 and bool(part) and part[0].key in ("其", "他", "她", "它")


def _names_subject(words: Iterable[Word]) -> bool:
    return any(word.subject and (word.kind == PRONOUN or _names_something(word)) for word in words)


@cache
def _loosened() -> tuple[tuple[re.Pattern[str], str], ...]:
    listed = (*lexicon.rewritings("zh", "loosened"), *_apart())
    return tuple((re.compile(pattern), instead) for pattern, instead in listed)


def _apart() -> Iterable[tuple[str, str]]:
    """`结了婚`, `加了十次班` say `结婚了`, `加班了十次`."""
    for verb in sorted(lexicon.words("zh", "separable")):
        between = rf"([了过着]|)({_COUNTED}|)(?!(?<={verb[0]}))"
        yield rf"{verb[0]}{between}{verb[1]}", rf"{verb}\1\2"


_COUNTED = "[\\d一二两三四五六七八九十几]+[次年天回个包杯根顿场]"


def _clash(pair: _Pair) -> Clash | None:
    if turned := _converse(pair):
        return None if pair.opposed() else Clash(VALUE, turned[0], turned[1], pair.shared, 0)
    if _apart_from_each_other(pair):
        return None
    for search in (_opposite, _amount, _slot):
        found = search(pair)
        if found:
            return None if pair.opposed(found) else Clash(VALUE, found[0], found[1], pair.shared, 0)
    return _denial(pair) if pair.opposed() else None


# Matching


def _matched(one: _Clause, other: _Clause) -> _Pair:
    left, right = ([word for word in each.words if word.kind in _COMPARED] for each in (one, other))
    shared: list[Word] = []
    kinds = (*([_of_kind] if one.denied() else []), *([_has_kind] if other.denied() else []))
    for alike in (_equal, _of_one_family, *kinds):
        _match(left, right, shared, alike)
    return _Pair(one, other, tuple(shared), _without_remark(one, left), _without_remark(other, right))


def _without_remark(clause: _Clause, alone: Sequence[Word]) -> tuple[Word, ...]:
    """Without what the first clause said of the subject: of `我爸妈感情很好，没离婚` only `我爸妈` is that of both."""
    inherited = clause.words[: clause.inherited]
    known = [at for at, word in enumerate(inherited) if word not in alone and word.kind in (*_CONTENT, PRONOUN)]
    remark = inherited[known[-1] + 1 :] if known else ()
    return tuple(word for word in alone if word not in remark)


def _match(left: list[Word], right: list[Word], shared: list[Word], alike: Callable[[Word, Word], bool]) -> None:
    for word in list(left):
        twin = next((each for each in right if alike(word, each)), None)
        if twin is not None:
            left.remove(word)
            right.remove(twin)
            shared.append(word)


def _equal(one: Word, other: Word) -> bool:
    return one.key == other.key or (one.stem == other.stem and not _excludes(one, other))


def _of_one_family(one: Word, other: Word) -> bool:
    """Whether one verb begins the other: `毕业` and `毕业证`, `开` and `开出`; not opposites."""
    if one.kind != WORD or other.kind != WORD or _excludes(one, other):
        return False
    short, long = sorted((one.text, other.text), key=len)
    return class_of(short) == "v" and long.startswith(short) and (len(short) > 1 or long[1:] in _RESULTS)


def _of_kind(kind: Word, word: Word) -> bool:
    """Whether who denies a kind of things denies this one."""
    return kind.text in lexicon.kinds().get(word.text, ())


def _has_kind(word: Word, kind: Word) -> bool:
    return _of_kind(kind, word)


_RESULTS = frozenset("出 到 完 好 掉 上 下 来 去 起 开 成 进 过 站".split())


def _excludes(one: Word, other: Word) -> bool:
    names = {other.text, other.stem}
    return any(names & _excluded(name) for name in {one.text, one.stem})


@cache
def _excluded(word: str) -> frozenset[str]:
    return lexicon.opposites().get(word, frozenset()) | lexicon.exclusive().get(word, frozenset())


# Two things, two times, wishes


def _apart_from_each_other(pair: _Pair) -> bool:
    shared = any(word.kind in (WORD, NAME) and not _says_little(word) for word in pair.shared)
    if not shared and not _of_one(pair):
        return True
    return _about_two(pair) or _at_two_times(pair) or _uncertain(pair)


def _about_two(pair: _Pair) -> bool:
    if any(word.subject and _says_which(word) for side in (pair.left, pair.right) for word in side):
        return True
    persons = {_person(pair.one), _person(pair.other)}
    if len(persons) == 2 and ("另" in persons or "" not in persons):
        return True
    if _of_two_subjects(pair.one, pair.other):
        return True
    if _pointers(pair.one) != _pointers(pair.other) and all(map(_pointers, (pair.one, pair.other))):
        return True
    return all(any(word.subject and _names_something(word) for word in side) for side in (pair.left, pair.right))


def _says_which(word: Word) -> bool:
    return _among(word, "relatives") or word.text in ("外", "下", "前", "后")


def _of_two_subjects(one: _Clause, other: _Clause) -> bool:
    """Whether both have a subject and share none; what is the subject of one may be the object of the other."""
    mine, theirs = _subject(one), _subject(other)
    if not mine or not theirs or any(_akin(a, b) for a in mine for b in theirs):
        return False
    words = [{word.stem for word in clause.words} for clause in (one, other)]
    return not (mine <= words[1] and theirs <= words[0])


def _subject(clause: _Clause) -> set[str]:
    named = {word.stem for word in clause.words if word.subject and _names_something(word) and not says_when(word.text)}
    return named | ({_person(clause)} - {""})


def _akin(one: str, other: str) -> bool:
    return one in other or other in one


def _pointers(clause: _Clause) -> set[str]:
    return {word.text for word in clause.words if word.subject and word.text in "这那"}


def _names_something(word: Word) -> bool:
    timed = word.quantity is not None and word.quantity.type in (*_DATES, "duration", "months")
    return word.kind in _CONTENT and not timed and not _says_little(word)


def _of_one(pair: _Pair) -> bool:
    return _person(pair.one) == _person(pair.other) != ""


def _person(clause: _Clause) -> str:
    """The pronoun that is the subject; the user speaks of themselves as "I"."""
    if any(_among(word, "others") for word in clause.words if word.subject):
        return "另"
    person = next(
        (word.text if word.key != "user" else "我" for word in clause.words if word.subject and word.kind == PRONOUN),
        "",
    )
    return "我" if person in lexicon.words("zh", "persons") else person


def _at_two_times(pair: _Pair) -> bool:
    if _has(pair.one, "past") != _has(pair.other, "past"):
        return True
    times = [[word for word in side if _says_when(word)] for side in (pair.left, pair.right)]
    return all(times) and not any(_excludes(a, b) for a in times[0] for b in times[1] if not (a.subject and b.subject))


def _says_when(word: Word) -> bool:
    return word.kind != QUANTITY and says_when(word.text) and not _among(word, "frequencies")


def _uncertain(pair: _Pair) -> bool:
    """Whether one of them tells of some, of a wish or of a condition."""
    if any(_has(clause, "partial") for clause in (pair.one, pair.other)):
        return True
    return any(_has(clause, "conditional") for clause in (pair.one, pair.other))


def _has(clause: _Clause, name: str) -> bool:
    return any(_among(word, name) for word in clause.whole.words)


def _among(word: Word, name: str) -> bool:
    return word.text in lexicon.words("zh", name)


def _says_little(word: Word) -> bool:
    return word.kind == MODAL or any(_among(word, name) for name in ("weak", "light", "adverbs", "bounds"))


# What differs


def _converse(pair: _Pair) -> Pair | None:
    """A comparison turned around: `甲比乙大` and `乙比甲大`."""
    if pair.left or pair.right:
        return None
    sides = [_compared(clause) for clause in (pair.one, pair.other)]
    if sides[0] and sides[1] and sides[0] == sides[1][::-1]:
        return pair.one.words[:1], pair.other.words[:1]
    return None


def _compared(clause: _Clause) -> tuple[str, ...]:
    words = [word.key for word in clause.words]
    at = words.index("比") if "比" in words[1:-1] else 0
    return (words[at - 1], words[at + 1]) if at else ()


def _opposite(pair: _Pair) -> Pair | None:
    compared = [_compared(clause) for clause in (pair.one, pair.other)]
    if compared[0] and compared[0] == compared[1][::-1]:
        return None
    for word in pair.left:
        for other in pair.right:
            said = _excludes(word, other) and not (word.subject and other.subject)
            if said and _little_else(pair, word, other) and _holds_of_subject(pair, word, other):
                return (word,), (other,)
    return None


def _holds_of_subject(pair: _Pair, word: Word, other: Word) -> bool:
    """Whether the two are said of the subject: a person may like red and like white, but a thing is red or white."""
    if word.text.startswith(("每", "隔")):
        return True
    if other.text not in lexicon.exclusive().get(word.text, ()) and len(word.text) > 1:
        return True
    if pair.one.only or pair.other.only:
        return True
    return not any(_acts(each) for each in pair.shared)


def _acts(word: Word) -> bool:
    return word.kind == WORD and not word.subject and class_of(word.text) == "v" and not _among(word, "single")


def _little_else(pair: _Pair, *differing: Word) -> bool:
    """Whether the sentences say the same but for what differs, and one of them may say a little more."""
    costs = [_cost(side, differing) for side in (pair.left, pair.right)]
    return min(costs) == 0 and max(costs) <= 2


def _cost(words: Iterable[Word], without: Sequence[Word]) -> int:
    return sum(1 for word in words if word not in without and not _says_little(word))


def _amount(pair: _Pair) -> Pair | None:
    if _tells_of_then(pair.left) != _tells_of_then(pair.right):
        return None
    for word in pair.left:
        for other in pair.right:
            if not (word.quantity and other.quantity) or not _disjoint(pair, word, other):
                continue
            if _little_else(pair, word, other, *(_moments(pair) if word.quantity.type in _DATES else ())):
                return (word,), (other,)
    return None


def _tells_of_then(words: Iterable[Word]) -> bool:
    return any(_among(word, "then") for word in words)


_DATES = ("date", "lunar date", "weekday", "clock")


def _moments(pair: _Pair) -> tuple[Word, ...]:
    """Dates and times of both: where one differs, all may."""
    return tuple(word for word in (*pair.left, *pair.right) if word.quantity and word.quantity.type in _DATES)


def _disjoint(pair: _Pair, word: Word, other: Word) -> bool:
    if word.quantity is None or other.quantity is None or word.quantity.type != other.quantity.type:
        lengths = [_length(each) for each in (word, other)]
        return all(lengths) and _ranges_apart(pair, word, other, lengths[0], lengths[1])
    one, two = word.quantity.value, other.quantity.value
    if word.quantity.type in _DATES:
        return _is_once(pair) and len(one) == len(two) and _moments_apart(word.quantity.type, one, two)
    return _ranges_apart(pair, word, other, float(one[0]), float(two[0]))


def _is_once(pair: _Pair) -> bool:
    """Whether what they share has one time: an attribute, or a lesson of which something is said."""
    if any(_among(word, "single") or _among(word, "attributes") for word in pair.shared):
        return True
    clauses = (pair.one, pair.other)
    return any(word.subject and _among(word, "events") for clause in clauses for word in clause.words)


def _length(word: Word) -> float:
    """Seconds of a duration, however it is measured."""
    factor = {"duration": 1.0, "months": 2_629_800.0}.get(word.quantity.type, 0.0) if word.quantity else 0.0
    return factor * float(word.quantity.value[0]) if word.quantity else 0.0


def _moments_apart(kind: str, one: Sequence[str | float], two: Sequence[str | float]) -> bool:
    if kind == "clock":
        return abs(float(one[0]) - float(two[0])) not in (0, 720)
    return any(a and b and a != b for a, b in zip(one, two, strict=True)) or (kind == "weekday" and one != two)


def _ranges_apart(pair: _Pair, word: Word, other: Word, one: float, two: float) -> bool:
    a, b = _range(pair.one.words, word, one), _range(pair.other.words, other, two)
    rounded = 0.05 * max(one, two) if _unit(word) != _unit(other) else 0.0
    return (a[1] < b[0] or b[1] < a[0]) and abs(one - two) > rounded


def _unit(word: Word) -> str:
    return word.quantity.type if word.quantity else ""


def _range(words: Sequence[Word], word: Word, value: float) -> tuple[float, float]:
    at = words.index(word)
    near = [each.text for each in words[max(0, at - 3) : at + 2]]
    if any(text in lexicon.words("zh", "upper") for text in near):
        return -inf, value
    return (value, inf) if any(text in lexicon.words("zh", "lower") for text in near) else (value, value)


def _slot(pair: _Pair) -> Pair | None:
    """Two values of something of which there is one."""
    a, b = (_value(side) for side in (pair.left, pair.right))
    if not (0 < len(a) <= 3 and 0 < len(b) <= 3) or any(word.subject for word in (*a, *b)):
        return None
    if not (_little_else(pair, *a, *b) and _adjacent(pair.one, a) and _adjacent(pair.other, b)):
        return None
    ruler = _ruler(pair.one, a[0]), _ruler(pair.other, b[0])
    if not all(ruler) or (ruler[0] != "是" and _counts(a) != _counts(b)):
        return None
    single = _single(pair, *ruler) or _is_named(pair, a, b, *ruler) or _of_one_sort(pair, a, b, *ruler)
    return (a, b) if single else None


def _value(words: Iterable[Word]) -> tuple[Word, ...]:
    """What may be a value: words up to the next verb."""
    return tuple(takewhile(lambda word: not _is_verb(word), filter(_is_value, words)))


def _is_value(word: Word) -> bool:
    return word.kind in _CONTENT and not _says_little(word) and not _says_when(word)


def _adjacent(clause: _Clause, words: Sequence[Word]) -> bool:
    begin, end = clause.words.index(words[0]), clause.words.index(words[-1])
    return all(word in words or word.kind in (FILLER, QUANTIFIER) for word in clause.words[begin:end])


def _counts(words: Iterable[Word]) -> bool:
    return any(word.kind == QUANTITY for word in words)


def _is_verb(word: Word) -> bool:
    return word.kind == WORD and class_of(word.text) == "v"


def _ruler(clause: _Clause, value: Word) -> str:
    """The word whose value stands behind it: a verb, `是`, a preposition or an attribute."""
    before = [word for word in clause.words[: clause.words.index(value)] if not _passed_over(word)]
    before = [word for word in before if word.kind != QUANTIFIER and word.text not in _SMALL]
    if not before:
        return ""
    return "是" if before[-1].subject and not _among(before[-1], "single") else before[-1].stem


def _passed_over(word: Word) -> bool:
    return word.kind == MODAL or _among(word, "weak") or _among(word, "adverbs")


_SMALL = frozenset("这 那 个 位 名 只 条 家 了 着 过 的".split())


def _single(pair: _Pair, one: str, two: str) -> bool:
    shared = {word.stem for word in pair.shared} | {word.text for word in pair.shared}
    if one == two and one in lexicon.words("zh", "single"):
        return True
    if {one, two} <= _PLACED and shared & lexicon.words("zh", "single"):
        return one == two
    named = [word for word in pair.shared if _among(word, "attributes")]
    if named and all(_is_attribute(clause, named) for clause in (pair.one, pair.other)):
        return {one, two} <= {"是", "为", "叫", "在", "用", *(word.stem for word in named)}
    return one == two and (one == "由" or ((pair.one.only or pair.other.only) and class_of(one) == "v"))


def _is_named(pair: _Pair, a: Sequence[Word], b: Sequence[Word], one: str, two: str) -> bool:
    """Whether the sentences name the one thing there is: `返回的是JSON`."""
    cleft = pair.one.cleft + pair.other.cleft
    return one == two != "是" and (cleft == 2 or (cleft == 1 and len(a) == len(b) == 1))


def _of_one_sort(pair: _Pair, a: Sequence[Word], b: Sequence[Word], *ruler: str) -> bool:
    """Whether something owned is two things of one sort: `我的键盘是机械键盘` and `是薄膜键盘`."""
    if ruler != ("是", "是") or not all("是" in clause.whole.text for clause in (pair.one, pair.other)):
        return False
    subject = [word for word in pair.one.words if word.subject and word.kind in (WORD, NAME, PRONOUN)]
    if len(subject) < 2 or any(_among(word, "several") or _among(word, "relatives") for word in subject):
        return False
    sorts = {_head(pair.one, a)[-1], _head(pair.other, b)[-1]}
    return len(sorts) == 1 and not sorts & set("人员师生者家的")


def _head(clause: _Clause, value: Sequence[Word]) -> str:
    """The noun that a value ends in."""
    behind = clause.words[clause.words.index(value[-1]) + 1 :]
    return next((word.text for word in behind if word.kind == WORD), value[-1].text)


_PLACED = frozenset(("在", "从", "由", "于", "到", "向", "朝"))


def _is_attribute(clause: _Clause, named: Sequence[Word]) -> bool:
    """Whether the sentence is about the attribute: it is the last word of the subject."""
    subject = [word.stem for word in clause.words if word.subject and word.kind == WORD]
    return bool(subject) and subject[-1] in {word.stem for word in named}


def _denial(pair: _Pair) -> Clash | None:
    """What one sentence denies, the other claims, be it in more detail."""
    no, yes = (pair.left, pair.right) if pair.one.denied() else (pair.right, pair.left)
    denying = pair.one if pair.one.denied() else pair.other
    claiming = pair.other if pair.one.denied() else pair.one
    no = tuple(word for word in no if not _among(word, "denying"))
    no = tuple(word for word in no if not (word.quantity and word.quantity.type in ("duration", "months")))
    in_parts = tuple(word for word in no if _in_parts(word, claiming))
    no = tuple(word for word in no if word not in in_parts)
    if not _says_enough(pair, in_parts, yes) or _cost(no, ()) or _cost(yes, ()) > _MOST or _before(claiming, denying):
        return None
    marks = tuple(word for word in denying.words if word.kind == NEGATION or _among(word, "denying"))
    found = (marks, ()) if pair.one.denied() else ((), marks)
    return Clash(POLARITY, found[0], found[1], pair.shared, _cost(yes, ()))


def _in_parts(word: Word, clause: _Clause) -> bool:
    """Whether a clause has the verb and the object of a word apart: `开车` in `开货车`."""
    if len(word.text) != 2 or class_of(word.text[0]) != "v":
        return False
    texts = [each.text for each in clause.words]
    return word.text[0] in texts and any(text.endswith(word.text[1]) for text in texts)


def _says_enough(pair: _Pair, in_parts: Sequence[Word], more: Sequence[Word]) -> bool:
    """Whether the sentences share so much that they are about one thing: a verb of one character says little."""
    shared = [word for word in (*pair.shared, *in_parts) if word.kind in _CONTENT and not _says_little(word)]
    weight = sum(0.5 if class_of(word.stem) == "v" and len(word.stem) == 1 else 1.0 for word in shared) + _of_one(pair)
    return bool(shared) and weight >= (1 if _cost(more, ()) == 0 else 2)


def _before(claiming: _Clause, denying: _Clause) -> bool:
    """Whether what is claimed was once, and what is denied is now."""
    once = any(word.text == "过" for word in claiming.words)
    return once and not any(word.text in ("过", "从没", "从未", "没", "没有") for word in denying.words)
