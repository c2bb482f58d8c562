"""Which of the things that a user said are taken back or changed by what the same user said later. Pure.

This decides nothing about what is known: it only finds what should be read together, and prefers to show a correction
too often rather than an old value alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from memctl.core.provenance import SAID
from memctl.index.stopwords import is_stop
from memctl.index.text import terms
from memctl.lifecycle.correcting import is_of_another, value_kinds
from memctl.models import LAYER_MESSAGE, Memory

CLOSE = 3
"""A correction that names nothing ("No, seven.") is about one of so many messages of the user's before it."""

SIMILAR, LEAST_LETTERS = 0.6, 4
"""How like each other two names are of which one is a slip of the other, and from how many letters on."""

LONGEST = 240
"""Characters of what counts as a correction: a longer message tells something new."""

AGENT = "agent"
"""Source of a memory that an agent corrected: its message says what was so before."""

_TAKES_BACK = re.compile(
    r"^\W*(?:no|nope|nah|wait|hold on|actually|correction|scratch that|strike that|sorry|oops|rather|"
    r"my (?:mistake|bad)|make (?:that|it)|i (?:meant|mean|misspoke|was wrong|got it wrong)|"
    r"(?:that|it)(?:'s| is| was) (?:wrong|not right)|not \w+)\b|^\s*\*\s?\w"
    r"|^\W*(?:哦|啊|噢|呃|哎)?\W*(?:不对|不是|不,|不，|错了|更正|纠正|等等|等一下|应该是|其实|准确地说|口误|抱歉|对不起|"
    r"我?(?:刚才|之前|上次)?(?:说|打|写|记|搞|弄|讲)错)",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:now|no longer|any ?more|instead|moved|changed|switched|renamed|cancell?ed|called off|postponed|rescheduled|"
    r"brought forward|pushed back|used to|quit|left|sold|died|passed away|back to|this time|"
    r"not [^.?!]{1,40} but)\b"
    r"|改(?:成|为|到|回|了|叫|用|喝|吃|去)|换(?:成|了|到|回|老|工)|不再|搬(?:到|回|去)|取消|推迟|提前|延[期到]|现在|已经不|"
    r"[不没][^，。？！]{0,6}了|去世|离职|辞[职了]|分手|离婚|戒了|又[^，。]{0,8}回|是[^，。]{1,12}了",
    re.IGNORECASE,
)
_ENDS = re.compile(r"不再|[不没][^，。？！]{0,6}了|戒了|取消")
"""What somebody does no more: where a Chinese word is shared, one is enough."""

_ADDS = re.compile(r"\b(?:also|too|as well|another|in addition)\b|[还也]|另外", re.IGNORECASE)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
_QUESTION = re.compile(r"[?？]\s*$|[吗呢]\s*$")
_COUNT = re.compile(r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")


def takes_back(later: str, earlier: str) -> bool:
    """Whether a message right behind another takes it back: it begins as corrections do, and names a word of the other,
    another number or day, or a name that is spelt almost alike."""
    if not _is_statement(later) or not _TAKES_BACK.search(later):
        return False
    return bool(telling(later) & telling(earlier)) or _of_one_kind(later, earlier) or _slip(later, earlier)


def changes(later: str, earlier: str) -> bool:
    """Whether something that was said at any later time changes what was said before: a sentence of it says that
    something has changed, of the same person, and shares words with what was said before."""
    words, own = telling(earlier), not is_of_another(earlier)
    return any(_shares(each, words, earlier) for each in _changing(later) if not (own and is_of_another(each)))


@lru_cache(maxsize=4_096)
def _changing(text: str) -> tuple[str, ...]:
    """The sentences that say that something has changed."""
    found = [sentence for sentence in _SENTENCES.split(text) if _is_statement(sentence)] if _is_statement(text) else []
    return tuple(each for each in found if _CHANGES.search(each) and not _ADDS.search(each))


def _shares(sentence: str, words: frozenset[str], earlier: str) -> bool:
    shared = telling(sentence) & words
    ends = _ENDS.search(sentence) and any(not word.isascii() for word in shared)
    return len(shared) >= 2 or (len(shared) == 1 and (len(words) <= 3 or _of_one_kind(sentence, earlier) or bool(ends)))


@lru_cache(maxsize=4_096)
def telling(text: str) -> frozenset[str]:
    """The words that tell what a text is about: no stop words, and no single Chinese characters, which many share."""
    return frozenset(term for term in terms(text) if not is_stop(term) and (len(term) > 1 or term.isascii()))


def source_of(memory: Memory) -> str:
    """The id of the message that something is, or was made from alone; empty for none."""
    if memory.layer == LAYER_MESSAGE:
        return memory.memory_id
    span = memory.metadata.get(SAID)
    single = isinstance(span, list) and span and span[0] == span[-1]
    return str(span[0]) if single and isinstance(span, list) else ""


def later_ones(shown: Sequence[Memory], following: Mapping[str, Sequence[Memory]]) -> dict[str, Memory]:
    """What takes back, or changes, what is shown, by the id of this: what the user said last of it, else a memory that
    an agent corrected.

    Args:
        shown: memories and messages.
        following: what was said right behind a message, in order, by the id of the message.
    """
    updates = [memory for memory in shown if _is_users(memory) and _changing(memory.content)]
    amended = [m for m in shown if m.layer != LAYER_MESSAGE and m.source == AGENT and m.updated_at]
    found: dict[str, Memory] = {}
    for memory in shown:
        if memory.layer == LAYER_MESSAGE and not _is_users(memory):
            continue
        behind = [m for m in following.get(source_of(memory), ()) if _is_users(m)][:CLOSE]
        taking = [m for m in behind if takes_back(m.content, memory.content)]
        taking = taking or [m for m in updates if _is_later(m, memory) and changes(m.content, memory.content)]
        taking = taking or [m for m in amended if _was_before(memory, m)]
        if taking:
            found[memory.memory_id] = max(taking, key=lambda m: (m.when is not None, m.when))
    return found


def _is_users(memory: Memory) -> bool:
    return memory.layer == LAYER_MESSAGE and memory.metadata.get("role") == "user"


def _was_before(message: Memory, amended: Memory) -> bool:
    """Whether a message of the user's says what a memory said before it was corrected: all of it but for one word."""
    if not _is_users(message) or not message.when or not amended.updated_at or message.when > amended.updated_at:
        return False
    words, said = telling(amended.content), telling(message.content)
    return len(words - said) == 1 and len(words & said) >= 2


def _is_later(message: Memory, memory: Memory) -> bool:
    itself = message.memory_id == source_of(memory)
    return bool(message.when and memory.when and message.when > memory.when and not itself)


def _is_statement(text: str) -> bool:
    return len(text) <= LONGEST and not _QUESTION.search(text)


def _of_one_kind(one: str, other: str) -> bool:
    return any(kind.search(one) and kind.search(other) for kind in (_COUNT, *value_kinds()))


def _slip(later: str, earlier: str) -> bool:
    return any(
        word != other and SequenceMatcher(None, word, other).ratio() >= SIMILAR
        for word in _names(later)
        for other in _names(earlier)
    )


def _names(text: str) -> Iterable[str]:
    """Words with a capital letter that are long enough to be told apart."""
    return {word for word in _WORD.findall(text) if len(word) >= LEAST_LETTERS and word[0].isupper()}
