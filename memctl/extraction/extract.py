"""What a conversation tells about its user: proposals with a confidence, by rules or by a language model.

Only what the user said is a fact about the user. Below a threshold a proposal is kept apart as a candidate.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from memctl.core import dates, kinds
from memctl.core.dates import Dated
from memctl.core.models import CANDIDATE, CATEGORIES, Memory
from memctl.core.records import ADDED
from memctl.core.tagged import escaped
from memctl.core.text.terms import terms
from memctl.extraction import clauses, corrections, phrases, reported, statements
from memctl.extraction.clauses import Sentence
from memctl.extraction.correcting import Denial, replaced_value
from memctl.extraction.corrections import Change
from memctl.providers import answers

RULES, MODEL = "rules", "model"
"""Where proposals come from."""

SOURCE = "conversation"

USER_ROLES = frozenset({"user", "human", "me", "i", "用户", "我", "人类"})

LONGEST_MESSAGE = 50_000
"""Characters of one message that are looked at; what a person says about themselves is in far fewer."""

_ECHO_FROM = 12
"""Letters from which a sentence that another wrote before counts as repeated, not as said."""

HIGHEST = 0.97
"""The most a rule is sure of."""


@dataclass(frozen=True)
class Utterance:
    """One message of a conversation; `role` is who wrote it, `user` or the user's own name for the user; `message` its
    id in the transcripts, empty where it is in none; `speaker` the name of who said it, where it was given."""

    role: str
    content: str
    time: datetime | None = None
    message: str = ""
    speaker: str = ""


@dataclass(frozen=True)
class Proposal:
    """Something worth remembering, in the user's words.

    `confidence` lies in [0, 1]. `expires_in_days` counts from `said_at`. `rule` names what found it: a rule of
    `docs/extracting.md`, or `model`. `corrects`: the user says that it is so instead of what was known; `denies` is
    what is not so any more; a `tentative` one counts only where it takes something back that is known.
    """

    content: str
    kind: str
    category: str
    confidence: float
    rule: str
    subcategory: str = ""
    key: str = ""
    value: Any = None
    tags: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    expires_in_days: int | None = None
    said_at: datetime | None = None
    corrects: bool = False
    denies: tuple[Denial, ...] = ()
    tentative: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for two proposals that cannot both stand: the same key, or the same text."""
        return (self.category, self.key) if self.key else ("", "", clauses.squashed(self.content) or self.content)


@dataclass(frozen=True)
class Extracted:
    """A proposal and what became of it.

    `outcome`: `added`, `mentioned`, `updated` or `candidate` as for `Added`; `recalled`: it repeats a memory that was
    shown before; `rejected`: a person rejected this text; `expired`: its day had passed. `memory` is the record
    that was written, None for the last three.
    """

    proposal: Proposal
    outcome: str
    memory: Memory | None = None
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExtractReport:
    """What was found in a conversation. `origin`: `rules` or `model`; `notes` say what went otherwise than asked."""

    proposals: tuple[Extracted, ...] = ()
    notes: tuple[str, ...] = ()
    origin: str = RULES

    def counted(self, outcome: str = ADDED) -> int:
        return sum(proposal.outcome == outcome for proposal in self.proposals)


def is_user(role: str, user: str) -> bool:
    """Whether a message with this role is the user's own."""
    return role.strip().casefold() in USER_ROLES | {user.strip().casefold()}


def rules(
    conversation: Sequence[Utterance], user: str, now: datetime, before: Sequence[Utterance] = ()
) -> tuple[Proposal, ...]:
    """The proposals that rules find, in the order in which they were said; of two with one key the later stands.

    Args:
        user: the store's user, whose name may stand as the role.
        now: when messages without a time were said.
        before: what was said just before; it proposes nothing, and tells what "no, I meant Hanna" is about.
    """
    kept: dict[tuple[str, ...], Proposal] = {}
    latest: list[Proposal] = []  # of this message and the user's one before
    people: set[str] = set()
    heard = len(before)
    for number, utterance, own in _own_sentences([*before, *conversation], user):
        at = utterance.time or now
        earlier, latest = latest, []
        repaired, last, awaited = False, None, False
        for said in own:
            proposals = _of_sentence(said, at, repaired, people)
            people |= {str(one.value) for one in proposals if one.rule == "relation"}
            if corrected := _corrected(said, at, latest or earlier):
                kept.pop(corrected[0].identity, None)
                proposals = [corrected[1]]
            elif statements.points(said.text):  # to the sentence before, or to the next one
                proposals = [_asked_to_keep(last, last.text, at)] if last else []
                awaited = not latest and not proposals
            elif awaited:
                proposals, awaited = proposals or [_asked_to_keep(said, said.text, at)], False
            latest += proposals
            for proposal in proposals if number >= heard else ():
                _keep(kept, proposal)
            repaired, last = corrections.announces(said.text), None if proposals else said
    return tuple(kept.values())


_DOUBTFUL = 0.75
"""Share of an earlier statement's confidence below which a later one does not take its place: it is hedged."""


def _keep(kept: dict[tuple[str, ...], Proposal], proposal: Proposal) -> None:
    """Of two proposals with one identity the later stands, unless it is less than sure."""
    known = kept.pop(proposal.identity, None)
    if known and proposal.confidence < known.confidence * _DOUBTFUL:
        kept[known.identity] = known
        kept[*proposal.identity, clauses.squashed(proposal.content)] = proposal
    else:
        kept[proposal.identity] = proposal


def _own_sentences(conversation: Sequence[Utterance], user: str) -> Iterator[tuple[int, Utterance, list[Sentence]]]:
    """The user's messages, numbered, and what they say in them; not what they merely repeat of others' messages."""
    echoes: set[str] = set()
    for number, utterance in enumerate(conversation):
        text = clauses.own_words(utterance.content[:LONGEST_MESSAGE])
        if is_user(utterance.role, user):
            yield number, utterance, [_own(said, user) for said in clauses.sentences(text, frozenset(echoes))]
        else:
            echoes |= {word for said in clauses.split(text) if len(word := clauses.squashed(said)) >= _ECHO_FROM}


def _own(said: Sentence, user: str) -> Sentence:
    """A sentence of users who speak of themselves by name, as they would say it with "I"."""
    named = user and re.match(rf"{re.escape(user)}(?=['’\s]|(?<=[\u4e00-\u9fff]))", said.text, re.IGNORECASE)
    return replace(clauses.read(reported.direct(said.text, (user,))), text=said.text) if named else said


def _of_sentence(said: Sentence, at: datetime, repaired: bool, people: Set[str]) -> list[Proposal]:
    """What one sentence proposes, and what it takes back. `repaired`: the sentence before announced a correction."""
    plain = list(_plain(said, at, people))
    sure = [one.text for one in said.clauses if one.certainty == 1 and not corrections.excepted(one.text)]
    if said.asks or said.conditional or not sure or corrections.jokes(said.text):
        return plain
    marked = [replace(one, corrects=True) if _is_sure(one) and _marked(said, one, repaired) else one for one in plain]
    stated = {(one.category, one.key) for one in plain if one.key}
    changed = [one for change in corrections.changes(sure) for one in _changed(said, change, at, stated)]
    return _united(marked, changed) if changed else marked


def _is_sure(proposal: Proposal) -> bool:
    return bool(proposal.key) and proposal.confidence >= _SURE


_SURE = 0.7
"""Confidence from which a statement with a key may correct another: no hedge leaves as much."""


def _marked(said: Sentence, proposal: Proposal, repaired: bool) -> bool:
    """Whether a sentence says that a fact in it is so now, or is otherwise than was said."""
    lasting = proposal.key == "answer_language" and proposal.confidence >= _ALWAYS
    return repaired or lasting or corrections.marked(said.text)


def _united(plain: Sequence[Proposal], changed: Sequence[Proposal]) -> list[Proposal]:
    """The proposals of one sentence, each fact once; what it takes back goes with one that has a key."""
    facts = {one.identity: one for one in plain if one.key}
    for one in changed:
        if one.key and one.rule != TAKEN_BACK:
            known = facts.get(one.identity)
            facts[one.identity] = replace(one, denies=(*one.denies, *known.denies)) if known else one
    alone = [one for one in changed if one.rule == TAKEN_BACK]
    denies = tuple(denial for one in alone for denial in one.denies)
    sure = [one for one in facts.values() if _is_sure(one)]
    if not alone:
        return [*facts.values()]
    if sure:
        first = replace(sure[0], denies=(*sure[0].denies, *denies), corrects=sure[0].corrects or not alone[0].tentative)
        return [*({one.identity: one for one in facts.values()} | {first.identity: first}).values()]
    whole = next((one for one in plain if one.rule in ("remembered", "instruction")), None)
    tentative = all(one.tentative for one in alone)
    if whole or (tentative and plain):
        return [replace(one, denies=(*one.denies, *denies)) for one in ([whole] if whole else plain[:1])] + [
            one for one in plain if one is not (whole or plain[0])
        ]
    happened = next((one.occurred_at for one in plain if one.expires_in_days is None), None)
    return [replace(alone[0], denies=denies, tentative=tentative, occurred_at=happened), *facts.values()]


TAKEN_BACK = "correction"
"""The rule of a proposal that only says what is not so any more."""


def _changed(said: Sentence, change: Change, at: datetime, stated: Set[tuple[str, str]]) -> list[Proposal]:
    """What a change proposes: the facts that hold now, and a record of what does not.

    Args:
        stated: category and key of what the sentence states anyway; a plain denial of that is no correction.
    """
    held = next(filter(None, ([*phrases.facts(text)] for text in change.holds)), [])
    facts = [_proposal(said, fact, 1, at) for fact in held if fact.value != change.old]
    gone = [(text, fact) for text in change.gone if text for fact in phrases.facts(text) if _is_whole(text, fact)]
    gone = [each for each in gone if change.firm or (each[1].category, each[1].key) not in stated]
    denies = [Denial(fact.category, fact.key, fact.value, clause=text) for text, fact in gone]
    if change.firm:
        denies += [Denial(clause=text) for text in change.gone if text and not any(text == known for known, _ in gone)]
    if change.thing:
        denies.append(Denial(thing=change.thing))
    if change.key:
        category = "work" if change.key in ("employer", "role") else "life"
        denies.append(Denial(category, change.key, loose=not change.firm))
    if change.firm and (change.old or change.frame) and (change.new or (change.old and change.holds)):
        denies.append(
            Denial(old=change.old, new=change.new, frame=change.frame, holds=change.holds[0] if change.holds else "")
        )
    if facts:
        return [replace(one, corrects=True, denies=tuple(denies)) for one in facts]
    if not denies:
        return []
    own = re.match(r"(?:i|i'\w+|we|we'\w+|my|our)\b|我", clauses.opened(said.text), re.IGNORECASE) is not None
    opposite = next((fact for _, fact in gone if isinstance(fact.value, bool)), None)
    named = next((fact for _, fact in gone), None)
    taken = Proposal(
        said.text,
        named.kind if named else kinds.FACT,
        named.category if named else next((d.category for d in denies if d.key), phrases.at_work(said.text)),
        0.9,
        TAKEN_BACK,
        named.subcategory if named else "",
        opposite.key if opposite else "",
        not opposite.value if opposite else None,
        said_at=at,
        corrects=True,
        denies=tuple(denies),
        tentative=not (own and change.firm) and not any(denial.loose for denial in denies),
    )
    return [taken]


def _is_whole(clause: str, fact: phrases.Found) -> bool:
    """Whether a clause that is denied says nothing beyond the fact: not "I work at Acme on Fridays"."""
    words = terms(clause)
    said = {*terms(str(fact.value)), *terms(fact.key.replace(".", " ").replace("_", " "))}
    return not clause.isascii() or fact.rule == "birthday" or (bool(words) and words[-1] in said)


def _plain(said: Sentence, at: datetime, people: Set[str]) -> Iterator[Proposal]:
    """What one sentence states: what it asks to remember, how to behave, else its facts with a key, else the sentence
    itself where it states something that lasts, happens or happened.

    Args:
        people: names of those near the user.
    """
    stated = _remembered(said, at) or _instructed(said, at)
    if stated or statements.unserious(said.text):
        yield from stated
        return
    proposals = [
        _proposal(said, fact, clause.certainty, at) for clause in said.clauses for fact in phrases.facts(clause.text)
    ]
    if proposals:
        yield from proposals
    elif one := _decided(said, at) or _happened(said, at) or _planned(said, at) or _lasts(said, at, people):
        yield one


def _proposal(said: Sentence, fact: phrases.Found, certainty: float, at: datetime) -> Proposal:
    return Proposal(
        said.text,
        fact.kind,
        fact.category,
        _rounded(fact.confidence * certainty),
        fact.rule,
        fact.subcategory,
        fact.key,
        fact.value,
        fact.tags,
        said_at=at,
    )


def _rounded(confidence: float) -> float:
    return round(max(0.0, min(HIGHEST, confidence)), 3)


# What a whole sentence says


def _remembered(said: Sentence, at: datetime) -> list[Proposal]:
    """ "Remember that …": the facts in it, else itself."""
    text = said.text.rstrip(".!?。！？ ")
    wanted = "" if statements.points(text) else statements.requested(text, said.asks)
    if not wanted:
        return []
    sure = [clause for clause in clauses.read(wanted).clauses if clause.certainty == 1]
    proposals = [_proposal(said, fact, 1, at) for clause in sure for fact in phrases.facts(clause.text)]
    if proposals:
        return [replace(one, confidence=_rounded(one.confidence + 0.05)) for one in proposals]
    return [_asked_to_keep(said, wanted, at)]


def _asked_to_keep(said: Sentence, wanted: str, at: datetime) -> Proposal:
    """A sentence that is kept because the user wants it to be, whatever it says."""
    if statements.constrains(wanted):
        return _whole(said, "remembered", "preference", 0.85, "preference", "instruction", ("constraint",), at)
    one = _stating(said, "remembered", wanted, 0.85, at)
    dated = None if statements.is_yearly(wanted) else dates.find(wanted, at.date(), past=False)
    return _with_end(one, dated, at) if dated and dated.first >= at.date() else one


_ALWAYS = 0.9
"""Confidence of an instruction that is meant for good."""


def _instructed(said: Sentence, at: datetime) -> list[Proposal]:
    """How the assistant is to behave from now on."""
    text = said.text.rstrip(".!?。！？ ")
    language = phrases.starts(phrases.ANSWER_LANGUAGE, text)
    if language:
        lasting = language["always"] or language.groupdict().get("more") or re.match("please|请", text, re.IGNORECASE)
        confidence = _ALWAYS if language["always"] or language.groupdict().get("more") else 0.7
        one = _whole(said, "instruction", "preference", confidence, "preference", "instruction", ("constraint",), at)
        value = language["x"] if not language["x"].islower() else language["x"].title()
        return [replace(one, key="answer_language", value=value)] if lasting else []
    if not statements.instructs(clauses.typed(text), said.asks):
        return []
    tags = ("constraint",) if statements.constrains(text) else ()
    confidence = _rounded(0.85 * said.certainty)
    return [_whole(said, "instruction", "preference", confidence, "preference", "instruction", tags, at)]


def _decided(said: Sentence, at: datetime) -> Proposal | None:
    """What was decided: "we decided to use Postgres because …"."""
    decided = next((clause.text for clause in said.clauses if statements.decides(clause.text)), "")
    return _stating(said, "decision", decided, 0.85 * said.certainty, at, "decision") if decided else None


def _lasts(said: Sentence, at: datetime, people: Set[str]) -> Proposal | None:
    """A state, a habit, a possession of somebody known; nothing that is hedged."""
    for clause in () if said.asks and statements.is_exercise(said.text) else said.clauses:
        if clause.certainty == 1 and (rule := statements.read(clause.text, people)):
            return _stating(said, rule, clause.text, 0.8, at, "habit" if rule == statements.HABIT else "")
    return None


def _stating(
    said: Sentence, rule: str, clause: str, confidence: float, at: datetime, subcategory: str = ""
) -> Proposal:
    """A sentence as a fact without a key, in the category of what a clause of it is about."""
    category, topic = statements.about(clause)
    kind = "preference" if category == "preference" else "fact"
    category = category or phrases.at_work(said.text)
    return _whole(said, rule, kind, _rounded(confidence), category, subcategory or topic, (), at)


def _happened(said: Sentence, at: datetime) -> Proposal | None:
    """Something that was done: "we shipped it yesterday", "上周日跑完了"."""
    if said.asks or said.conditional:
        return None
    text, deed = next(((text, deed) for text in _with_day(said) if (deed := statements.happened(text))), ("", ""))
    dated = dates.find(text, at.date(), past=True)
    if not deed or (dated and (dated.first > at.date() or _SPAN_BEFORE.search(text[: dated.start]))):
        return None
    work = statements.is_work(deed)
    if dated is None and not (work and re.search(phrases.JUST_DONE, text, re.IGNORECASE)):
        return None
    category = "work" if work else phrases.at_work(said.text)
    one = _whole(said, "event", "episode", _rounded(0.8 * said.certainty), category, "", (), at)
    return replace(one, occurred_at=_start(dated.first) if dated else at)


_SPAN_BEFORE = re.compile(r"\b(?:since|by|until|till|before|after)\s+(?:the )?$", re.IGNORECASE)
"""Before a day that something was not done on."""


def _with_day(said: Sentence) -> list[str]:
    """The clauses of a sentence, each with the one before where that is short, as days are ("last week, I …")."""
    texts = [clause.text for clause in said.clauses]
    before = ["", *(text if len(text) <= 16 else "" for text in texts)]
    return [f"{first} {text}".strip() for first, text in zip(before, texts, strict=False)]


def _planned(said: Sentence, at: datetime) -> Proposal | None:
    """Something with a day to come: "next Tuesday I fly to Rome", "下周三飞北京"."""
    for text in _with_day(said):
        dated = dates.find(text, at.date(), past=False)
        if dated and dated.last >= at.date() and statements.plans(text) and not _CALLED_OFF.search(text):
            confidence = _rounded(0.85 * said.certainty)
            one = _whole(said, "appointment", "episode", confidence, phrases.at_work(text), "", (), at)
            return _with_end(one, dated, at)
    return None


_CALLED_OFF = re.compile(r"\b(?:not|cancel\w*|never|no longer)\b|n't\b|取消|不用|不去|没有|不开|不是|别", re.IGNORECASE)


def _whole(
    said: Sentence,
    rule: str,
    kind: str,
    confidence: float,
    category: str,
    subcategory: str,
    tags: tuple[str, ...],
    at: datetime,
) -> Proposal:
    """A proposal without a key: the sentence itself."""
    return Proposal(said.text, kind, category, confidence, rule, subcategory, tags=tags, said_at=at)


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _with_end(proposal: Proposal, dated: Dated, at: datetime) -> Proposal:
    """Something that happens on a day, and is over on the day after."""
    days = max(1, (dated.last - at.date()).days + 1)
    return replace(proposal, occurred_at=_start(dated.first), expires_in_days=days)


_CORRECTION = (
    r"^(?:no|nope|sorry|wait|oops|correction|actually|hm+|ah|oh)?[,.!\s]*(?:no|sorry|wait)?[,.!\s]*"
    r"(?:i mean(?:t)?|make that|that should be|it should be|i should have said|correction:|it's|it is)\s+(?P<x>.+)$",
    r"^(?:不对|不是|说错了|我说错了|写错了|我写错了|打错了|记错了|抱歉|更正一下|更正|纠正一下|哦不|等等|搞错了)[，,。\s]*"
    r"(?:我(?:是说|的意思是|指的是|说的是)|应该是|应该叫|是叫|应该|是|叫|姓)(?P<x>.+)$",
    r"^我(?:是说|指的是|说的是)(?P<x>.+)$",
)


def _corrected(said: Sentence, at: datetime, before: Sequence[Proposal]) -> tuple[Proposal, Proposal] | None:
    """A proposal of before, and the same with what the user takes back in it replaced: "no, I meant Tuesday"."""
    if said.asks or not before:
        return None
    for change in corrections.changes([clause.text for clause in said.clauses if clause.certainty == 1]):
        if change.old and change.new and not change.frame:
            meant = next((one for one in reversed(before) if one.value == change.old), None)
            if meant and isinstance(meant.value, str):
                return meant, _instead(meant, change.new, said)
    match = phrases.starts(_CORRECTION, said.text)
    if match is None:
        return None
    last = before[-1]
    given = re.split(r"[.。!！]\s*(?=\S)", match["x"])[0].strip(" .!。！")
    if last.occurred_at and (dated := _meant(given, last, at)):
        moved = replace(last, content=f"{last.content} ({said.text})", **_taking_back(last))
        on = _with_end(moved, dated, at) if last.expires_in_days else replace(moved, occurred_at=_start(dated.first))
        return last, on
    if last.key and isinstance(last.value, str) and _is_name(given) and not dates.find(given, at.date(), past=False):
        return last, _instead(last, given, said)
    return None


def _instead(last: Proposal, value: str, said: Sentence) -> Proposal:
    """A proposal with another value, in its words with that value in the place of the old one."""
    content = replaced_value(last.content, str(last.value), value)
    return replace(last, content=f"{content} ({said.text})", value=value, **_taking_back(last))


def _taking_back(last: Proposal) -> dict[str, Any]:
    return {"corrects": True, "denies": (Denial(content=last.content),)}


def _meant(given: str, last: Proposal, at: datetime) -> Dated | None:
    """The day a correction names; a bare weekday lies in the week that was spoken of."""
    past = last.expires_in_days is None
    dated = dates.find(given, at.date(), past=past)
    if dated is None or len(given) - (dated.end - dated.start) > 4:
        return None
    if last.occurred_at and re.fullmatch(r"(?:on )?[a-z]+day|(?:周|星期|礼拜).", given, re.IGNORECASE):
        spoken_of = last.occurred_at.date()
        dated = dates.find(given, spoken_of - timedelta(spoken_of.weekday() + 1), past=False)
    return dated


def _is_name(text: str) -> bool:
    """Whether a correction is nothing but a name, and does not point at something ("the other one")."""
    short = re.fullmatch(r"[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*){0,2}|[\u4e00-\u9fff]{2,6}", text)
    return short is not None and not re.match(r"[这那第你我他她它上下前后]|(?:The|That|This|It)\b", text)


# What is known without a key

CUES: Mapping[str, str] = {
    "city": "live lives living based moved 住 搬",
    "employer": "work works working employed 工作 上班",
    "role": "works work job nurse engineer teacher developer 是 当",
    "diet": "vegetarian vegan pescatarian 素",
    "name": "name called 叫",
}
"""Words by which memories without a key are looked up that may state a fact with this key."""


def states(content: str, user: str) -> list[phrases.Found]:
    """The facts about the user that the text of a memory states, also in the third person: "Alice lives in Berlin"."""
    text = content.strip(" .!。！")
    for pattern, form in _THIRD_PERSON:
        text = re.sub(pattern.format(user=re.escape(user)), form, text, count=1, flags=re.IGNORECASE)
    return [] if len(content) > clauses.LONGEST_SENTENCE else [*phrases.facts(clauses.opened(text))]


_THIRD_PERSON = (
    (r"^(?:the )?(?:user|{user})(?:'s| is) (?=\w)(?!name\b|sister\b|brother\b)", "I'm "),
    (r"^(?:the )?(?:user|{user}) (?=(?:now |currently )?(?:live|work|like|love|prefer|hate|enjoy|speak)s\b)", "I "),
    (r"^(I (?:now |currently )?(?:live|work|like|love|prefer|hate|enjoy|speak))s\b", r"\1"),
    (r"^(?:用户|{user})(?=[住在是叫喜不对])", "我"),
)


# As records


def memory(proposal: Proposal, threshold: float, now: datetime) -> Memory:
    """The record of a proposal, without an id. Below the threshold it is a candidate."""
    said = proposal.said_at or now
    ends = said + timedelta(days=proposal.expires_in_days) if proposal.expires_in_days else None
    fields: dict[str, Any] = {"status": CANDIDATE} if proposal.confidence < threshold else {}
    if proposal.kind != kinds.EPISODE and said < now:
        fields["valid_from"] = said
    return Memory(
        "",
        proposal.content,
        kind=proposal.kind,
        category=proposal.category,
        subcategory=proposal.subcategory,
        tags=proposal.tags,
        key=proposal.key,
        value=proposal.value,
        confidence=proposal.confidence,
        source=SOURCE,
        occurred_at=proposal.occurred_at,
        expires_at=ends,
        **fields,
    )


# With a language model

KINDS = (kinds.FACT, kinds.PREFERENCE, kinds.EPISODE)

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "proposals": {
            "type": "array",
            "maxItems": 100,
            "items": {
                "type": "object",
                "properties": {
                    "message": {"type": "integer", "description": "The number of the user message."},
                    "quote": {"type": "string", "description": "The sentence of that message, word for word."},
                    "kind": {"enum": list(KINDS)},
                    "category": {"enum": list(CATEGORIES)},
                    "subcategory": {"type": "string"},
                    "key": {"type": "string", "description": "Empty where there is no single value."},
                    "value": {"type": ["string", "number", "boolean", "null"]},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                    "occurred_at": {"type": ["string", "null"], "description": "A day, such as 2026-11-03."},
                    "expires_in_days": {"type": ["integer", "null"], "minimum": 1, "maximum": 36500},
                },
                "required": ["message", "quote", "kind", "category", "key", "value", "confidence"],
            },
        }
    },
    "required": ["proposals"],
}

_TASK = """You extract what is worth remembering about the user of an assistant from a conversation.

The conversation is one JSON object a line.

Propose only what the user says about themselves, plainly: facts, preferences, wishes how the assistant is to behave \
from now on, appointments, and what they did. Nothing from the assistant's messages, nothing about other people except \
their relation to the user, no questions, no conditions, no quotations, no requests for this moment, no passwords or \
other secrets. Do not infer. An empty list is a good answer.

- quote: the whole sentence, word for word as the user wrote it.
- key: a short name in English, snake_case, for what has one value at a time: name, nickname, birthday (MM-DD or \
YYYY-MM-DD), city, origin, employer, role, partner, boss, sister, diet, time_zone, answer_language, favorite_COLOUR. \
For one of several: likes.THING, eats.THING, allergy.THING, language.NAME, skill.NAME, learning.NAME with true or \
false as the value. Empty, with value null, for everything else.
- subcategory: identity, home, role, relationship, taste, food, health, skill, habit, instruction, or empty.
- confidence: 0.9 for what is said plainly; below 0.6 for what is hedged (maybe, I think, 好像, 可能).
- occurred_at: the day of an appointment or event, counted from the message's time; expires_in_days: days after which \
it is of no use, such as an appointment that is over; null for what lasts."""

PIECE = 24_000
"""Characters of a conversation that go to a model at once."""


def pieces(conversation: Sequence[Utterance]) -> list[tuple[Utterance, ...]]:
    """The conversation in parts a model can take, each of whole messages."""
    parts: list[list[Utterance]] = [[]]
    room = PIECE
    for utterance in conversation:
        size = min(len(utterance.content), PIECE)
        if size > room and parts[-1]:
            parts.append([])
            room = PIECE
        parts[-1].append(replace(utterance, content=utterance.content[:PIECE]))
        room -= size
    return [tuple(part) for part in parts if part]


def prompt(conversation: Sequence[Utterance], user: str, now: datetime) -> list[dict[str, str]]:
    """The messages that ask a model for proposals.

    Each message of the conversation is one line of JSON with `<` escaped, so that no text in it can end the data.
    """
    lines = [
        escaped(
            json.dumps(
                {
                    "message": number,
                    "role": "user" if is_user(utterance.role, user) else "other",
                    "time": f"{utterance.time or now:%Y-%m-%d (%A)}",
                    "text": clauses.own_words(utterance.content),
                },
                ensure_ascii=False,
            )
        )
        for number, utterance in enumerate(conversation)
    ]
    data = "\n".join(["<conversation>", *lines, "</conversation>"])
    return answers.conversation(_TASK, data)


def from_model(answer: Any, conversation: Sequence[Utterance], user: str, now: datetime) -> tuple[Proposal, ...]:
    """The proposals of a model's answer that can be believed.

    Dropped is what quotes no sentence of a user message, what speaks of a secret, and what has fields of a wrong kind.
    A hedge in the sentence lowers the confidence, whatever the model says.
    """
    given = answer.get("proposals") if isinstance(answer, Mapping) else answer
    kept: dict[tuple[str, ...], Proposal] = {}
    for item in given if isinstance(given, list) else []:
        proposal = _checked(item, conversation, user, now) if isinstance(item, Mapping) else None
        if proposal:
            kept.pop(proposal.identity, None)
            kept[proposal.identity] = proposal
    return tuple(kept.values())


def completed(proposals: Iterable[Proposal], ruled: Sequence[Proposal]) -> tuple[Proposal, ...]:
    """What a model and the rules found: all of it, and once what both did."""
    kept = list(proposals)
    for one in ruled:
        known = next((at for at, proposal in enumerate(kept) if _is_same(proposal, one)), None)
        if known is None:
            kept.append(one)
        else:
            kept[known] = _joined(kept[known], one)
    return tuple(kept)


def _is_same(proposal: Proposal, ruled: Proposal) -> bool:
    """Whether a model proposed what the rules did: words of the same sentence, and no other value of another fact."""
    words, others = clauses.squashed(proposal.content), clauses.squashed(ruled.content)
    keyed = proposal.key and ruled.key
    if keyed and str(proposal.value).casefold() != str(ruled.value).casefold():
        return False
    return words in others or others in words or (bool(keyed) and proposal.identity == ruled.identity)


def _joined(proposal: Proposal, ruled: Proposal) -> Proposal:
    """What both found: as the model has it, with the key, the day, tags and certainty that only the rules saw."""
    if ruled.key and not proposal.key:
        proposal = replace(
            proposal,
            kind=ruled.kind,
            category=ruled.category,
            subcategory=ruled.subcategory,
            key=ruled.key,
            value=ruled.value,
        )
    if ruled.occurred_at and not proposal.occurred_at:
        proposal = replace(proposal, occurred_at=ruled.occurred_at, expires_in_days=ruled.expires_in_days)
    return replace(
        proposal,
        content=max(proposal.content, ruled.content, key=len),
        confidence=max(proposal.confidence, ruled.confidence),
        tags=tuple(dict.fromkeys((*proposal.tags, *ruled.tags))),
        corrects=ruled.corrects,
        denies=ruled.denies,
        tentative=proposal.tentative and ruled.tentative,
    )


def _checked(item: Mapping[str, Any], conversation: Sequence[Utterance], user: str, now: datetime) -> Proposal | None:
    quote, kind, confidence = item.get("quote"), item.get("kind"), item.get("confidence")
    if not isinstance(quote, str) or kind not in KINDS or isinstance(confidence, bool):
        return None
    if not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return None
    quoted = _quoted(quote, item.get("message"), conversation, user)
    if quoted is None or clauses.secret(quoted[1]):
        return None
    utterance, sentence = quoted
    key, value = _keyed(item)
    return Proposal(
        sentence,
        kind,
        _category(item.get("category"), kind),
        _rounded(min(float(confidence), HIGHEST * clauses.hedged(sentence))),
        MODEL,
        _text(item.get("subcategory")),
        key,
        value,
        ("constraint",) if item.get("subcategory") == "instruction" and statements.constrains(sentence) else (),
        _day(item.get("occurred_at")),
        _days(item.get("expires_in_days")),
        utterance.time or now,
        bool(key) and corrections.marked(sentence) and clauses.hedged(sentence) == 1,
    )


def _quoted(quote: str, number: object, conversation: Sequence[Utterance], user: str) -> tuple[Utterance, str] | None:
    """The user message a quotation is in, and its words as they stand there."""
    wanted = " ".join(clauses.own_words(quote).split())
    if len(clauses.squashed(wanted)) < 2:
        return None
    own = [utterance for utterance in conversation if is_user(utterance.role, user)]
    if isinstance(number, int) and 0 <= number < len(conversation):
        own.sort(key=lambda utterance: utterance is not conversation[number])
    for utterance in own:
        if wanted in " ".join(clauses.own_words(utterance.content).split()):
            return utterance, wanted
    return None


def _keyed(item: Mapping[str, Any]) -> tuple[str, Any]:
    key, value = item.get("key"), item.get("value")
    if not isinstance(key, str) or not key.strip() or value is None or not isinstance(value, str | int | float | bool):
        return "", None
    named = "_".join(_text(key).lower().split())[:80]
    plain = _text(value) if isinstance(value, str) else value
    endless = isinstance(value, float) and not math.isfinite(value)
    return ("", None) if not named or plain == "" or endless else (named, plain)


def _category(given: object, kind: str) -> str:
    return given if isinstance(given, str) and given in CATEGORIES else "preference" if kind == "preference" else "life"


def _text(given: object) -> str:
    """A short text without what a file could not hold."""
    return " ".join(clauses.own_words(given).split())[:200] if isinstance(given, str) else ""


def _day(given: object) -> datetime | None:
    try:
        return _start(date.fromisoformat(given[:10])) if isinstance(given, str) else None
    except ValueError:
        return None


def _days(given: object) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= 36500 else None
