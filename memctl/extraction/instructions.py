"""What tells an assistant, in English, how to behave for good: a scope, and words that direct somebody.

The scope says for how long or when: "from now on", "in future, could you …", "whenever I ask …, …", "… unless I say
otherwise", "… with me". The rest directs: an order, "you must …", "could you …", "I'd like you to …", "no bullet
lists". Either may stand first. What is told once ("for now", "this time") is no instruction for good.
"""

from __future__ import annotations

from functools import cache

from memctl.extraction import words
from memctl.extraction.words import ENGLISH
from memctl.judgement import lexicon

ALWAYS, OCCASION = "always", "occasion"
"""Scopes: for good, with any verb or none; on an occasion ("when you …"), or with a limit that only some words take."""


def instructs(text: str) -> bool:
    """Whether an English sentence, in small letters and without its stop, says how to behave for good."""
    text = _opened(text)
    scopes, rest = _without_scope(text)
    scopes |= {scope for scope, pattern in _INSIDE if _found(rest, pattern)}
    if _found(text, _ALONE):
        return True
    if ALWAYS in scopes:
        return _orders(rest, any_verb=True) or _found(rest, _LASTING_WISH) or _is_verbless(rest)
    if not scopes:
        return False
    return (_orders(rest) and not _found(rest, r"\b(?!you(?:r|'re)?\b){pointing}\b")) or _found(rest, _WISH)


def _without_scope(text: str) -> tuple[set[str], str]:
    """The scopes with which a sentence begins, and what stands behind them."""
    scopes: set[str] = set()
    while True:
        begun = ((scope, words.pattern(ENGLISH, pattern).match(text)) for scope, pattern in _LEADING)
        scope, match = next((each for each in begun if each[1]), ("", None))
        if match is None:
            return scopes, text
        scopes.add(scope)
        text = _opened(text[match.end() :])


def _opened(text: str) -> str:
    """A sentence without what merely opens it: "oh, and please …"."""
    return words.pattern(ENGLISH, r"^(?:(?:{please}|{opening})\b[ ,.:;!–—-]+)*").sub("", text)


_LEADING = (
    (ALWAYS, r"(?:as )?(?:\w+ ){0,2}(?:rules?|instructions?|preference)(?: is(?: that)?|[:,.]) +"),
    (ALWAYS, r"(?:(?:every|each|any) ?(?:single )?time|unless|until|whenever)\b[^,]{2,70}, *"),
    (ALWAYS, r"(?:when(?:ever)?|if) i (?:ask|say|write|send|paste|type|mention|request)\b(?!.*\bthe\b)[^,]{2,60}, *(?!{can_you})"),
    (ALWAYS, r"{lasting}\b(?<! i)(?<! you)(?<! we)[\s,:–—-]*"),
    (OCCASION, r"(?:when(?:ever)?|if|before|after|(?:the )?next time)\b{not_once}(?:[^,]{2,70})?, *"),
    (OCCASION, r"{occasions}\b{not_once} (?:you|i)\b(?!'ll)[^,]{2,50}? (?=(?:always|never|{behave})\b)"),
    (OCCASION, r"(?:for|in|on|with) (?:all|any(?:thing)?|every(?:thing)?)\b[^,]{2,40}, *"),
)
_INSIDE = (
    (ALWAYS, r"\b{lasting}(?!\w)"),
    (OCCASION, r"^(?:you (?:\w+ )?)?(?:always|never)\b|^you {duty}(?<!to) |^only (?:ever )?{assist}\b(?!.*\b(?:the|it)\b)"),
    (OCCASION, r"^(?:i |you )?(?:{stopping}|no)\b.*\b(?:{lasting_ban}|all the time)(?!\w)"),
    (OCCASION, r"(?<!as )\b(?:when(?:ever)?|if|before(?= you))\b{not_once} (?:i|you)\b"),
    (OCCASION, r"^(?:(?:you )?(?:{stopping}|{duty})\b.*|(?:use|speak|talk|be|stick to) .{3,})\b(?:with|to) me(?:,.*)?$"),
    (OCCASION, r"\b(?:(?:call|address|refer to|treat)|(?:speak|talk|write) to) me (?:as|by|like|in)\b"),
    (OCCASION, r"\b(?:every|any|all|each)(?: of)?(?: your| my)? {output}\b|\b(?:your|keep) {output}(?<=s)\b"),
    (OCCASION, r"^(?:give|format|write|show|quote|round|put|state) (?:me )?(?:all |any |every )?{measure}\b"),
    (OCCASION, r"\b(?:any|every|what|all)\w* (?:\w+ )?(?:that )?you (?:ever )?{assist}\b"),
)
"""What a sentence begins with, and what else it has, that says for how long it is meant."""

_ALONE = (
    r"^(?:(?:all|every|any|only) |(?:\w+ )?(?:{output}|{measure}) (?:in|as|with|without|by|under|for|to) )[^,]{2,50}(?:,? (?:please|always|thanks))+$"
    r"|^(?:every|any|all|each)\w*\b.{0,40}\byou (?:ever )?{assist}\b.{0,30}\b(?:should|must|shouldn't|ha(?:s|ve) to|needs? to)\b"
    r"|^(?:when(?:ever)?|if) i (?:say|write|type|mention|ask)\b.{2,60}?[ ,]i (?:mean|want|expect|need) (?!to\b)"
    r"|^you (?:may|can) (?!always\b|come\b).*\bwith me\b"
)
_WISH = (
    r"^i(?:'d| would| should)?(?: don't)? (?:\w+ly |much |also |always )*(?:rather|prefer|like|want|need|expect|hate it|like it)\b"
    r".*\b(?:you|your|you're|{output}|to be (?:called|addressed|told|asked))\b(?!.*\b(?:this|that|it)$)"
    r"|^no (?!{idle_no}\b)[a-z]"
)
_LASTING_WISH = _WISH + r"|^i(?:'d| would)? (?:like|want|prefer|need|appreciate) (?!to\b)"
"""What its speaker wants of somebody's behaviour; for good also what they want to be so."""


def _orders(rest: str, any_verb: bool = False) -> bool:
    """Whether what is left of a sentence tells somebody what to do, or not to do.

    Args:
        any_verb: any verb may be an order, not only one of what an assistant does.
    """
    if _found(rest, r"^(?:you ?{duty}|{can_you} (?!(?:be (?:interested|able)|(?:always )?see|like|want|have|know|say|agree|think)\b))"):
        return not _found(rest, r"^you \w+ (?:be|have) ")
    if any_verb and _found(rest, r"^you (?:may|can|{behave})\b(?! always\b)"):
        return True
    match = words.pattern(ENGLISH, _ORDER).match(rest)
    if match is None or _found(rest, r"^{stopping}(?! {not_idle})"):
        return False
    verb, forbids, any_verb = match["verb"], match["stop"] is not None, any_verb or _found(rest, r"^(?:always|never) ")
    return _found(verb, r"^{behave}$") or (any_verb and verb in _verbs()) or (forbids and verb.endswith("ing"))


_ORDER = (
    r"(?:(?P<stop>{stopping})|always|only|just|please|do\b|double-?)?(?:(?: |(?<=-))(?:{stopping}|always|only|just|please|ever))* ?"
    r"(?!{no_command}\b)(?P<verb>[a-z]+)\b(?!\s*(?:of|{finite})\b|'|,|$| {behave}ing\b)"
)


@cache
def _verbs() -> frozenset[str]:
    """Verbs as in an order."""
    every = lexicon.verbs()
    return frozenset(verb for verb in every if lexicon.third_person(verb) in every) - lexicon.adjectives()


def _is_verbless(rest: str) -> bool:
    """Whether a sentence names a thing, or says that it is fine: "dates as day-month, please", "first names are fine"."""
    if not _found(rest, r"^(?!{no_thing}\b|{stopping}\b|\w+ing\b|\w+ed\b)(?:[\w'-]+,? ){1,5}(?:(?:{placed}|fine|ok|okay|enough)\b|please$)"):
        return False
    return not _found(rest, r"\b(?:{finite}\b(?! (?:fine|ok|okay|enough|best|better)\b)|n't\b|\w+ed\b|{pointing}\b)")


def _found(text: str, pattern: str) -> bool:
    return words.pattern(ENGLISH, pattern).search(text) is not None
