"""What tells an assistant, in English, how to behave for good: a scope, and words that direct somebody.

The scope says for how long or when: "from now on", "in future, could you …", "whenever I ask …, …", "… unless I say
otherwise". The rest directs: an order, "you must …", "could you …", "I'd like you to …", "no bullet lists". Either may
stand first. What is told once ("for now", "this time") is no instruction for good.
"""

from __future__ import annotations

import re
from functools import cache

from memctl.extraction import words
from memctl.extraction.words import ENGLISH
from memctl.judgement import lexicon

ALWAYS, NEVER, OCCASION = "always", "never", "occasion"
"""Scopes: for good; for good where it forbids ("… ever again"); on an occasion ("when you …")."""

ORDER, DUTY, WISH, BAN, THING = "order", "duty", "wish", "ban", "thing"
"""Directions: an imperative; what you must do; what I want; "no …"; something without a verb."""


def instructs(text: str) -> bool:
    """Whether an English sentence, in small letters and without its stop, says how to behave for good."""
    scopes, rest = _without_scope(text)
    inside = _scope_inside(rest)
    scopes |= {inside} if inside else set()
    direction = _direction(rest, lasts=ALWAYS in scopes)
    if ALWAYS in scopes:
        return bool(direction)
    if direction in (ORDER, DUTY):
        return bool(scopes) and not _found(rest, r"\b{pointing}\b")
    return bool(scopes) and direction in (BAN, WISH)


def _without_scope(text: str) -> tuple[set[str], str]:
    """The scopes with which a sentence begins, and what stands behind them."""
    scopes: set[str] = set()
    while True:
        text = _pattern(r"^(?:(?:{please}|{opening})\b[ ,.:;!–—-]+)*").sub("", text)
        for pattern, scope in _LEADING:
            if match := _pattern(pattern).match(text):
                scopes.add(scope)
                text = text[match.end() :]
                break
        else:
            return scopes, text


_LEADING = (
    (r"(?:(?:every|each|any) ?(?:single )?time|unless|until)\b[^,]{2,70}, *", ALWAYS),
    (r"{lasting}\b[\s,:–—-]*", ALWAYS),
    (r"(?:when(?:ever)?|if|before|after)\b(?! i (?:\w+ed|{irregular_past})\b)[^,]{2,70}, *", OCCASION),
    (r"(?:when(?:ever)?|if|before|after) you\b[^,]{2,50}? (?=(?:always|never|{behave})\b)", OCCASION),
    (r"(?:for|in|on|with) (?:all|any(?:thing)?|every(?:thing)?|each)\b[^,]{2,40}, *", OCCASION),
)


def _scope_inside(rest: str) -> str:
    """The scope that stands behind or within what is directed."""
    if _found(rest, r"\b{lasting}(?!\w)"):
        return ALWAYS
    if _found(rest, r"^(?:{stopping}|no)\b.*\b(?:{lasting_ban}|all the time)(?!\w)"):
        return NEVER
    if _found(rest, r"^(?:you (?:\w+ )?)?(?:always|never)\b"):
        return ALWAYS
    return (
        OCCASION
        if _found(rest, r"(?<!as )\b(?:when(?:ever)?|if) (?:i|you)\b(?! (?:were|can|could|need|want)\b)")
        else ""
    )


def _direction(rest: str, *, lasts: bool) -> str:
    """How what is left of a sentence directs; empty where it does not.

    Args:
        lasts: its scope is for good; then any verb may be an order, and it may have no verb.
    """
    if _found(
        rest, r"^you (?:must|should|may|need|needn't|mustn't|shouldn't|are|have|(?:can|will) (?:always|never|only))\b"
    ):
        return DUTY
    if _found(rest, r"^(?:can|could|would|will) you (?:mind )?(?:please )?\w+"):
        return ORDER
    if _is_order(rest, lasts):
        return ORDER
    if _found(rest, r"^no (?!{idle_no}\b)[a-z]"):
        return BAN
    if _found(rest, _WISH):
        return WISH
    return THING if lasts and _is_verbless(rest) else ""


_WISH = (
    r"^i(?:'d| would| should)? (?:\w+ly |much |also |always )*(?:rather|prefer|like|want|need|expect|hate it|like it)\b"
    r".*\b(?:you|your|you're|{output}|to be (?:called|addressed|told|asked))\b(?!.*\b(?:this|that|it)$)"
)


def _is_order(rest: str, lasts: bool) -> bool:
    """Whether a sentence begins with an order, or forbids something."""
    match = _pattern(r"(?:(?:{stopping}|always|only|just|please|do)(?: ever)? )*(?P<verb>[a-z]+)\b(?P<after>.*)").match(
        rest
    )
    if match is None or _found(match["after"], r"^(?:\s*(?:of|{finite})\b|'|,|$)"):
        return False
    verb, forbids = match["verb"], _found(rest, r"^{stopping}\b")
    if _found(verb, r"^{no_command}$") or (forbids and not _found(rest, r"^{stopping} {not_idle}")):
        return False
    any_verb = lasts or _found(rest, r"^always ")
    return _found(verb, r"^{behave}$") or (any_verb and verb in _verbs()) or (forbids and verb.endswith("ing"))


@cache
def _verbs() -> frozenset[str]:
    """Verbs as in an order."""
    return frozenset(verb for verb in lexicon.verbs() if lexicon.third_person(verb) in lexicon.verbs())


def _is_verbless(rest: str) -> bool:
    """Whether a sentence names a thing, or says that it is fine: "dates as day-month, please", "first names are fine"."""
    if (
        _found(rest, r"^(?:i|we|he|she|they|it|my|our|this|that|there|the|his|her|mine|thanks?|\w+ing)\b")
        or len(rest) < 8
    ):
        return False
    return not _found(rest, r"\b(?:{finite}\b(?! (?:fine|ok|okay|enough|best|better)\b)|n't\b|\w+ed\b|{pointing}\b)")


def _pattern(text: str) -> re.Pattern[str]:
    return words.pattern(ENGLISH, text)


def _found(text: str, pattern: str) -> bool:
    return _pattern(pattern).search(text) is not None
