"""What a conversation tells about its user, by rules: proposals with a confidence.

Only what the user said is a fact about the user. Below a threshold a proposal is kept apart as a candidate.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from memctl.core import kinds
from memctl.core.text.terms import terms
from memctl.extraction import clauses, corrections, phrases, reported, statements
from memctl.extraction.changes import Change
from memctl.extraction.clauses import Sentence
from memctl.extraction.correcting import Denial, is_of_another
from memctl.extraction.proposals import Proposal, Utterance, is_user
from memctl.extraction.restated import contrasted, correction, restated
from memctl.extraction.sayings import Found
from memctl.extraction.stated import ALWAYS, asked_to_keep, proposed, states_plainly
from memctl.extraction.taken_back import MESSAGES_BACK, Stated, corrected, revalued
from memctl.extraction.words import worded

LONGEST_MESSAGE = 50_000
"""Characters of one message that are looked at; what a person says about themselves is in far fewer."""

LOOKED_BACK = 9
"""How many messages of the user, itself included, a correction that names the old value looks back over."""

_ECHO_FROM = 12
"""Letters from which a sentence that another wrote before counts as repeated, not as said."""


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
    recent: deque[list[Stated]] = deque(maxlen=LOOKED_BACK)
    people: set[str] = set()
    everything, heard = [*before, *conversation], len(before)
    for number, utterance, own in _own_sentences(everything, user):
        at = utterance.time or now
        earlier, latest = latest, []
        repaired, last, awaited = False, None, False
        recent.append([])
        answered = everything[number - 1].content if number and not is_user(everything[number - 1].role, user) else ""
        for said in (part for whole in own for part in _by_subject(whole, at)):
            proposals = _of_sentence(said, at, repaired, people, _spoken_of(recent, answered))
            people |= {str(one.value) for one in proposals if one.rule == "relation"}
            near = [one for message in [*recent][-MESSAGES_BACK:] for one in message]
            far = [one for message in [*recent][:-MESSAGES_BACK] for one in message]
            instead = corrected(said, at, latest or earlier) or revalued(said, at, near, answered)
            text = said.text
            if instead:
                kept.pop(instead[0].identity, None)
                proposals = [_after(*instead)]
            elif not any(one.corrects and one.key for one in proposals) and (
                right := _restated(said, at, far, near, answered, people)
            ):
                earlier_one, text, proposals = right
                for one in earlier_one.proposals:
                    kept.pop(one.identity, None)
            elif statements.points(said.text):  # to the sentence before, or to the next one
                proposals = [asked_to_keep(last, last.text, at)] if last else []
                awaited = not latest and not proposals
            elif awaited:
                proposals, awaited = proposals or [asked_to_keep(said, said.text, at)], False
            else:
                proposals = _correcting(said, proposals, at, answered)
            latest += proposals
            recent[-1].append(Stated(text, tuple(proposals)))
            for proposal in proposals if number >= heard else ():
                _keep(kept, proposal)
            repaired, last = corrections.announces(said.text), None if proposals else said
    return tuple(kept.values())


STEERED = 0.3
"""The most confidence in what a message says that tries to steer the assistant."""


def steers(text: str) -> bool:
    """Whether a message tries to steer the assistant against its instructions."""
    return worded("steers").search(text) is not None


def doubted(proposals: Sequence[Proposal], conversation: Sequence[Utterance]) -> tuple[Proposal, ...]:
    """The proposals, with little confidence in those of messages such as "ignore previous instructions and …"."""
    steering = [clauses.squashed(one.content) for one in conversation if steers(one.content)]

    def is_steered(one: Proposal) -> bool:
        texts = (clauses.squashed(text) for text in (one.content, one.content.rpartition(" (")[2]))
        return any(text and text in message for text in texts for message in steering)

    return tuple(
        replace(one, confidence=min(one.confidence, STEERED), corrects=False, denies=()) if is_steered(one) else one
        for one in proposals
    )


_DOUBTFUL = 0.75
"""Share of an earlier statement's confidence below which a later one does not take its place: it is hedged."""


def _keep(kept: dict[tuple[str, ...], Proposal], proposal: Proposal) -> None:
    """Of two proposals with one identity the later stands, unless it is less than sure."""
    known = kept.pop(proposal.identity, None)
    if known and proposal.confidence < known.confidence * _DOUBTFUL:
        kept[known.identity] = known
        kept[*proposal.identity, clauses.squashed(proposal.content)] = proposal
    else:
        kept[proposal.identity] = _after(known, proposal) if known else proposal


def _restated(
    said: Sentence, at: datetime, far: Sequence[Stated], near: Sequence[Stated], answered: str, people: Set[str]
) -> tuple[Stated, str, list[Proposal]] | None:
    """The earlier statement that a correction changes, its text put right, and what that proposes."""
    answers = answered.rstrip().endswith(("?", "？"))
    found = restated(said, [one.text for one in (*far, *near)], len(far), answers=answers)
    if found is None or not (earlier := [*far, *near][found[0]]).proposals:
        return None
    right = found[1]
    proposals = [*states_plainly(clauses.read(right), at, people)]
    proposals = proposals or [replace(earlier.proposals[-1], key="", value=None, before=())]
    denies = tuple(Denial(content=one.content) for one in earlier.proposals)
    content = right if clauses.squashed(right) in clauses.squashed(said.text) else f"{right} ({said.text})"
    first, *others = (
        replace(one, content=said.text if content == right else content, said_at=at, corrects=True, denies=denies)
        for one in proposals
    )
    before = tuple(each for one in earlier.proposals for each in (*one.before, replace(one, before=())))
    return earlier, right, [replace(first, before=before), *others]


def _correcting(said: Sentence, proposals: list[Proposal], at: datetime, answered: str) -> list[Proposal]:
    """The proposals of a sentence that may correct what was known before the conversation."""
    if said.asks or said.conditional or said.certainty < 1 or any(one.key for one in proposals):
        return proposals
    opened, pair = bool(correction(said.text)), contrasted(said.text)
    if pair and opened and not answered.rstrip().endswith(("?", "？")):
        old, new = pair
        fact = (kinds.FACT, phrases.at_work(said.text), 0.9, TAKEN_BACK)
        return [
            Proposal(said.text, *fact, said_at=at, corrects=True, denies=(Denial(old=old, new=new),), tentative=True)
        ]
    return [replace(one, corrects=True) if opened and one.rule in _LASTING else one for one in proposals]


_LASTING = (statements.STATEMENT, statements.HABIT, statements.DECISION)


def _after(earlier: Proposal, later: Proposal) -> Proposal:
    """A proposal with the one whose place it takes; what says all that the other does needs no other before it."""
    if earlier.value == later.value or later.content.startswith(earlier.content):
        repeated = bool(later.key) and (earlier.identity, earlier.value) == (later.identity, later.value)
        said_at = earlier.said_at if repeated else later.said_at  # a fact holds since it was stated first
        return replace(later, said_at=said_at, before=(*earlier.before, *later.before))
    return replace(later, before=(*earlier.before, replace(earlier, before=()), *later.before))


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


def _by_subject(said: Sentence, at: datetime) -> list[Sentence]:
    """A sentence, or its parts where each says something of its own of another person: "My son is five and I teach".

    A part that states nothing stays with the one before, so that none is lost.
    """
    if said.asks or said.conditional or said.certainty < 1 or corrections.repairs(said.text):
        return [said]
    if statements.requested(said.text) or statements.instructs(said.text):
        return [said]
    kept, text = [0], said.text
    for start, end in pairwise([*clauses.by_subject(text), len(text)]):
        states = (
            any(states_plainly(clauses.read(part), at, frozenset()))
            for part in (text[kept[-1] : start], text[start:end])
        )
        if start and all(states):
            kept.append(start)
    return [said] if len(kept) == 1 else [clauses.read(part) for part in _parted(text, kept)]


_JOINT = re.compile(
    r"[,;\s]*(?:\b(?:and|but|while|whereas)(?: also)?)?\s*$|[，；,;]*(?:而且?|但是?|不过)?$", re.IGNORECASE
)


def _parted(text: str, starts: Sequence[int]) -> list[str]:
    """The parts of a text that begin at these places, without what joins them."""
    ends = [*starts[1:], len(text)]
    return [_JOINT.sub("", text[start:end], count=1) for start, end in zip(starts, ends, strict=True)]


def _spoken_of(recent: Sequence[Sequence[Stated]], answered: str) -> str:
    """The text that may name whom "she" means: the user's last two sentences, else the message that is answered."""
    last = [one.text for message in [*recent][-2:] for one in message][-2:]
    return " ".join(last) or re.sub(r"\byour\b", "my", answered, flags=re.IGNORECASE).replace("你", "我")


def _of_sentence(said: Sentence, at: datetime, repaired: bool, people: Set[str], before: str) -> list[Proposal]:
    """What one sentence proposes, and what it takes back.

    Args:
        repaired: the sentence before announced a correction.
        before: what tells who "she" is.
    """
    plain = list(states_plainly(said, at, people))
    here = [one.text for one in said.clauses]
    sure = [
        _whole(one.text, " ".join(here[:at]) or before)
        for at, one in enumerate(said.clauses)
        if one.certainty == 1 and not corrections.excepted(one.text)
    ]
    if said.asks or said.conditional or not sure or corrections.jokes(said.text):
        return plain
    marked = [replace(one, corrects=True) if _is_sure(one) and _marked(said, one, repaired) else one for one in plain]
    stated = {(one.category, one.key) for one in plain if one.key}
    changed = [one for change in corrections.changes(sure) for one in _changed(said, change, at, stated)]
    if named := next((text for text in sure if _HE_OR_SHE.match(said.text) and not _HE_OR_SHE.match(text)), ""):
        changed = [replace(one, content=f"{named[0].upper()}{named[1:]} ({said.text})") for one in changed]
    return _united(marked, changed) if changed else marked


_HE_OR_SHE = re.compile(r"(?:he|she)\b|[他她](?!们)", re.IGNORECASE)
_UNNAMED_ZH = re.compile(
    r"(?:已经|早就|现在|最近|终于|刚|上个?[月周]|去年|今年|昨天|也|都)*(?:不再|再也不|离职|辞职|退休|分手|离婚|失业|戒)"
)


def _whole(clause: str, before: str) -> str:
    """A clause that may take something back, with the subject that it leaves open: whom "she" means; in Chinese, whom
    the sentence before was about, or the user."""
    if _HE_OR_SHE.match(clause):
        return clauses.of_somebody(clause, before)
    if _UNNAMED_ZH.match(clause):
        return clauses.of_somebody(f"她{clause}", before) if is_of_another(before) else f"我{clause}"
    return clause


def _is_sure(proposal: Proposal) -> bool:
    return bool(proposal.key) and proposal.confidence >= _SURE


_SURE = 0.7
"""Confidence from which a statement with a key may correct another: no hedge leaves as much."""


def _marked(said: Sentence, proposal: Proposal, repaired: bool) -> bool:
    """Whether a sentence says that a fact in it is so now, or is otherwise than was said."""
    lasting = proposal.key == "answer_language" and proposal.confidence >= ALWAYS
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
    facts = [proposed(said, fact, 1, at) for fact in held if fact.value != change.old]
    gone = [(text, fact) for text in change.gone if text for fact in phrases.facts(text) if _is_whole(text, fact)]
    gone = [each for each in gone if change.firm or (each[1].category, each[1].key) not in stated]
    denies = [Denial(fact.category, fact.key, fact.value, clause=text) for text, fact in gone]
    if change.firm:
        denies += [Denial(clause=text) for text in change.gone if text and not any(text == known for known, _ in gone)]
    if change.thing:
        denies.append(Denial(thing=change.thing))
    if change.ending:
        denies.append(Denial(ending=change.ending))
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


def _is_whole(clause: str, fact: Found) -> bool:
    """Whether a clause that is denied says nothing beyond the fact: not "I work at Acme on Fridays"."""
    words = terms(clause)
    said = {*terms(str(fact.value)), *terms(fact.key.replace(".", " ").replace("_", " "))}
    return not clause.isascii() or fact.rule == "birthday" or (bool(words) and words[-1] in said)


# What is known without a key

CUES: Mapping[str, str] = {
    "city": "live lives living based moved 住 搬",
    "employer": "work works working employed 工作 上班",
    "role": "works work job nurse engineer teacher developer 是 当",
    "diet": "vegetarian vegan pescatarian 素",
    "name": "name called 叫",
}
"""Words by which memories without a key are looked up that may state a fact with this key."""


def states(content: str, user: str) -> list[Found]:
    """The facts about the user that the text of a memory states, also in the third person: "Alice lives in Berlin"."""
    text = content.strip(" .!。！")
    for pattern, form in _THIRD_PERSON:
        text = re.sub(pattern.format(user=re.escape(user)), form, text, count=1, flags=re.IGNORECASE)
    return [] if len(content) > clauses.LONGEST_SENTENCE else [*phrases.facts(clauses.opened(text))]


_THIRD_PERSON = (
    (r"^(?:the )?(?:user|{user})(?:'s| is) (?=\w)(?!name\b|sister\b|brother\b)", "I'm "),
    (r"^(?:the )?(?:user|{user}) (?=(?:now |currently )?(?:live|work|like|love|prefer|hate|enjoy|speak)s\b)", "I "),
    (r"^(?=(?:now |currently )?(?:live|work|like|love|prefer|hate|enjoy|speak)s\b)", "I "),
    (r"^(I (?:now |currently )?(?:live|work|like|love|prefer|hate|enjoy|speak))s\b", r"\1"),
    (r"^(?:用户|{user})(?=[住在是叫喜不对])", "我"),
)
