"""Sentences by which the user corrects what was said before: what holds now, and what does not any more.

A correction is rewritten into plain clauses ("I'm not a nurse any more" denies "I'm a nurse"), which the rules for facts
then read. What they do not know is compared by its words: see `memctl.extraction.correcting`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache


@dataclass(frozen=True)
class Change:
    """What one or two clauses say has changed.

    `holds` and `gone` are plain clauses for what is so now and what is not, in wordings of which the rules may know one.
    `old` and `new` are the two values where a contrast names them, and `frame` is what they are values of: empty where
    only the context tells ("no, not Porto but Braga"). `thing` is what the user gave up. `firm`: the wording itself
    speaks of a change; a plain denial ("I'm not a nurse") does not.
    """

    holds: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    old: str = ""
    new: str = ""
    frame: str = ""
    thing: str = ""
    key: str = ""
    firm: bool = True


_Read = Callable[[re.Match[str]], Change | None]


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# Words that mark a correction

_REPAIR = (
    r"^\W*(?:(?:no|nope|sorry|wait|oops|ah|oh|hm+|well|ok|okay|hang on|hold on|my bad|my mistake)[\s,.!—–-]+){0,3}"
    r"(?:(?:no|nope|wait|oops|correction|actually|scratch that|not quite|strike that)(?=[\s,.!:;—–-])|sorry(?=[,.:;—–-])|"
    r"i (?:mis(?:spoke|typed|wrote|stated|remembered)|was wrong|made a (?:mistake|typo)|meant|mean\b|got (?:that|it) wrong|said (?:that|it) wrong)|"
    r"(?:that|this|it)(?:'s| is| was) (?:wrong|not right|incorrect|not correct|a mistake|outdated|out of date|no longer (?:true|right|correct))|"
    r"you(?:'ve| have)? (?:got|have|had|wrote|remember(?:ed)?) (?:that|it|my .{1,20}?|me) (?:wrong|incorrectly)|you(?:'re| are) (?:wrong|mistaken)|"
    r"let me (?:correct|fix)|to correct (?:myself|that|you)|i (?:have|need|want|should) to correct|small correction|one correction)"
    r"|^\W*(?:哦|啊|嗯|等等|等一下|抱歉|不好意思|对不起|诶|哎)*[，,。！\s]*(?:不对|不是(?=[，,。！\s]|的[，,。])|错了|不不|(?:我)?(?:刚才|刚刚|之前|上次)?(?:说|写|打|记|弄|搞|讲)错了|更正|纠正|"
    r"更改一下|你(?:说|记|写|弄|搞)错了|你记的不对|其实|准确(?:地|来)?说|应该是|我(?:的意思)?是说|我指的是)"
)
_NOW = (
    r"\b(?:now|nowadays|these days|as of|no longer|any ?more|any longer|instead|actually|recently|finally|moved|relocated|new|changed|switched|"
    r"renamed|became|turned out|since (?:last|this|yesterday|today|january|february|march|april|may|june|july|august|september|october|november|december))\b"
    r"|现在|如今|目前|已经|改|换|搬|不再|从今|以后|刚(?=[搬换入加到])|其实|变成|新"
)
_FURTHER = (
    r"\b(?:other|another|second|also|too|as well|both|either)\b|另一|另外|还有|我(?:们)?(?:也|还)|还(?=在|用|养|会)"
)
_JOKES = r"\b(?:kidding|joking|j/k|pretend|for example|april fool\w*)\b|开玩笑|逗你|例如|假装"


def repairs(text: str) -> bool:
    """Whether a sentence opens as one that sets something right."""
    return _re(_REPAIR).search(text) is not None


def announces(text: str) -> bool:
    """Whether a sentence says nothing but that the next one sets something right."""
    match = _re(_REPAIR).search(text)
    return match is not None and len(text[match.end() :].strip(" .!,。！，了:：一下")) <= 6


def marked(text: str) -> bool:
    """Whether a sentence says that something is otherwise than it was, or than it was said."""
    return repairs(text) or _re(_NOW).search(text) is not None


def excepted(text: str) -> bool:
    """Whether a clause speaks of something further ("my other sister"): nothing is taken back by it."""
    return _re(_FURTHER).search(text) is not None


def jokes(text: str) -> bool:
    """Whether a sentence is not said in earnest."""
    return _re(_JOKES).search(text) is not None


# Changes


def changes(clauses: Sequence[str]) -> Iterator[Change]:
    """The changes that the clauses of one sentence speak of."""
    texts = [text for each in clauses if (text := _spaced(each)) and not _re(_INTERJECTION).match(text)]
    number = 0
    while number < len(texts):
        here, after = texts[number], texts[number + 1] if number + 1 < len(texts) else ""
        both = _contrast(here, after) if after else None
        change = both or _single(here)
        if change and not both and after and change.gone and not change.holds:
            change = _with_next(change, here, after)
        if change:
            yield change
        number += 2 if both else 1


_INTERJECTION = r"^(?:no|nope|sorry|wait|oops|ah|oh|hm+|well|ok|okay|hang on|hold on|my bad|my mistake|等等|等一下|抱歉|不好意思|对不起|不对|错了|哦|啊|嗯|诶)$"


def _spaced(text: str) -> str:
    """A clause with one form of apostrophes and spaces, and without what closes it."""
    return " ".join(text.replace("’", "'").split()).strip(" .!。！~～")


_LINK = r"(?:(?:in|on|at|from|called|named|to|by|for|with|a|an|the|my)\s+)?"
_COPULA = r"(?:\s+(?:is|are|was|were|be|called|named|in|on|at|from)|'s|'m|'re)\b"
_EN_NOT = rf"^(?:and |but )?not\s+{_LINK}(?P<x>[^\s].{{0,50}})$"
_EN_BUT = rf"^(?:but |rather |it's |it is |that's |they're |he's |she's |i mean(?:t)? |make that |should be |it should be )+(?:now )?{_LINK}(?P<y>[^\s].{{0,60}})$"
_ZH_V = "是|叫做|叫|在|用|姓|住在|住"
_ZH_NOT = rf"^(?P<f>.{{0,16}}?)(?:并|已经|现在)?不(?:再)?(?P<v>{_ZH_V})(?P<x>.{{1,20}}?)(?:了|的)?$"
_ZH_BUT = rf"^(?:而|应该|现在|改|就)*(?P<v>{_ZH_V})(?P<y>.{{1,30}}?)(?:了|啦|吧|才对)?$"
_ZH_NOT_AFTER = r"^(?:而)?不(?:是|叫|在|用|姓)(?P<x>.{1,20}?)(?:了|的)?$"
_ZH_IS = rf"^(?P<f>.{{1,16}}?)(?:应该|现在)?(?P<v>{_ZH_V})(?P<y>.{{1,30}}?)(?:了|的)?$"


_IT_IS = r"^(?:(?:it|that|this|he|she|they)(?:'s| is| was|'re| are| should be)(?: now| actually)?|i mean(?:t)?|i said|make that) (?P<y>.{1,40})$"
_RENEWED = (
    (r"^(?:i|we)(?:'ve| have)?(?: got| just got)? a new (?P<s>[\w' -]{2,40})$", _IT_IS),
    (r"^(?P<s>(?:my|our) [\w' -]{2,40}?)(?:'s| has)?(?: just| recently)? changed$", _IT_IS),
    (
        r"^(?P<s>我(?:们)?的?[^，。]{1,8}?)(?:已经)?(?:变|换|改)了$",
        r"^(?:新的?|现在)?(?:是|叫|改成|变成)(?P<y>.{1,30}?)(?:了)?$",
    ),
    (
        r"^我(?:们)?换(?:了)?(?:个|新|一个)*(?P<s>[^，。了]{1,8}?)(?:了)?$",
        r"^(?:新的?|现在)?(?:是|叫|改成|变成)(?P<y>.{1,30}?)(?:了)?$",
    ),
)


def _renewed(here: str, after: str) -> Change | None:
    """ "I have a new locker number, it's 21", "我的工号变了，现在是9921"."""
    for renewed, value in _RENEWED:
        if (what := _re(renewed).match(here)) and (given := _re(value).match(after)):
            thing = re.sub(r"^(?:my|our) |^我(?:们)?的?", "", what["s"], flags=re.IGNORECASE)
            frame = f"my {thing} is" if thing.isascii() else f"我的{thing}是"
            return Change(
                (f"{frame} {given['y']}" if thing.isascii() else frame + given["y"],), new=given["y"], frame=frame
            )
    return None


def _contrast(here: str, after: str) -> Change | None:
    """Two clauses that set a value against another: "on Thursday, not Tuesday", "不是昆明，是曲靖"."""
    if (
        _re(r"^(?:and |but )?not\b").match(here)
        and (no := _re(_EN_NOT).match(here))
        and (yes := _re(_EN_BUT).match(after))
    ):
        return Change(old=_bare(no["x"]), new=_bare(yes["y"]))
    if no := _re(_EN_NOT).match(after):
        if value := _it_is(here):
            return Change(old=_bare(no["x"]), new=_bare(value))
        affirmed = _single(here)
        holds = affirmed.holds if affirmed and affirmed.holds else (_now_less(here),)
        return Change(holds, old=_bare(no["x"]), frame=here)
    if renewed := _renewed(here, after):
        return renewed
    if no := _re(_ZH_NOT_AFTER).match(after):
        affirmed = _single(here)
        if affirmed and affirmed.holds:
            return replace(affirmed, old=no["x"])
        yes = _re(_ZH_IS).match(here) or _re(_ZH_BUT).match(here)
        frame = yes.groupdict().get("f") or "" if yes else ""
        return Change((here,), old=no["x"], new=yes["y"] if yes else "", frame=frame)
    no = _re(_ZH_NOT).match(here)
    yes = _re(_ZH_BUT).match(after) if no else None
    if no and yes:
        frame = no["f"] if no["f"] not in ("它", "他", "她", "那", "这", "名字") else ""
        holds = (f"{frame}{yes['v']}{yes['y']}", f"{frame}{no['v']}{yes['y']}") if frame else ()
        gone = (f"{frame}{no['v']}{no['x']}",) if frame else ()
        return Change(holds, gone, no["x"], yes["y"], frame)
    return None


def _it_is(text: str) -> str:
    """The value of a clause that says nothing else: "it's Thursday"."""
    match = _re(_IT_IS).match(text)
    return match["y"] if match else ""


def _with_next(change: Change, here: str, after: str) -> Change:
    """A denial whose next clause gives the value that holds: "the code isn't 4711 any more, it's 8020"."""
    if (yes := _it_is(after)) and change.frame:
        return replace(change, holds=(f"{change.frame} {yes}",), new=_bare(yes))
    if change.gone and (
        moved := _re(
            r"^(?:i|we)(?:'ve| have)? (?:moved|switched|changed|gone over|migrated)(?: over)? to (?P<y>.+)$"
        ).match(after)
    ):
        return replace(change, holds=(f"I use {moved['y']}",), new=moved["y"])
    return change


def _bare(value: str) -> str:
    return re.sub(
        rf"^{_LINK}|\s+(?:any ?more|any longer|now|though|please|anyway)$",
        "",
        value.strip(" .!\"'"),
        flags=re.IGNORECASE,
    )


def _single(text: str) -> Change | None:
    """A change that one clause speaks of."""
    for pattern, read in _RULES:
        if (match := _re(pattern).match(text)) and (change := read(match)):
            return change
    return None


def _now_less(text: str) -> str:
    """A clause as it would be said where nothing had changed: without "now" and "new"."""
    return _spaced(
        re.sub(
            r"\b(?:now|actually|as of (?:today|now|this \w+)|my)\s+(?=new\b)|\b(?:now|actually)\b|(?<=my )new\b|(?<=our )new\b",
            lambda m: "my " if m[0].startswith("my") else "",
            text,
            flags=re.IGNORECASE,
        )
    )


# English

_FIRM = r"\b(?:any ?more|any longer|no longer|after all)\b"
_WHEN = (
    r"\s+(?:since|because|as|so|due to|thanks to|for (?:health|medical|good|now|a |an |the |\d|two|three|four|five|many|some|several|years|months|weeks)"
    r"|last|this|two|three|four|five|several|a few|some|a couple|\d+|in (?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|fall|winter|\d)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|recently|lately|today|already|ago|either|completely|altogether|entirely|earlier|after \w+ (?:years|months|weeks))\b.*"
)
_MARKS = r"[\s,]*\b(?:any ?more|any longer|these days|now|at all|after all|either)\b\s*"


def _core(text: str) -> str:
    """What a denial denies, without the words that mark it and without when and why."""
    text = re.sub(_MARKS, " ", text, flags=re.IGNORECASE).strip()
    return _spaced(re.sub(rf"{_WHEN}$", "", text, flags=re.IGNORECASE))


def _denied(template: str) -> _Read:
    """A reader of denials; `{v}` in the template is what is denied."""

    def read(match: re.Match[str]) -> Change | None:
        groups = match.groupdict()
        firm = _re(_FIRM).search(match.string) is not None
        core = _core(match["v"])
        if not core:
            return None
        clause = template.format(v=core, s=groups.get("s") or "")
        frame = f"{groups['s']} is" if "{s} is" in template and groups.get("s") else ""
        but = _re(r"^(?P<x>.{1,40}?) but (?:rather |instead )?(?P<y>.{1,60})$").match(core)
        if but and not _re(r"^(?:i|we|not|only|it)\b").match(but["y"]):
            held, gone = (template.format(v=value, s=groups.get("s") or "") for value in (but["y"], but["x"]))
            return Change((held,), (gone,), _bare(but["x"]), _bare(but["y"]), frame or held)
        return Change((), (clause,), _bare(core) if frame else "", "", frame, firm=firm)

    return read


def _given_up(match: re.Match[str]) -> Change | None:
    thing = _core(match["v"])
    doing = _re(r"^(?P<verb>[a-z]+ing)(?:\s+(?P<what>.+))?$").match(thing)
    what = doing["what"] if doing and doing["what"] else thing
    if (
        not what
        or _re(r"^(?:at|by|in|on|over|for|to|with|it|that|this|there|here|off|and)\b").match(what)
        or len(what.split()) > 4
    ):
        return None
    gone = (
        (f"I'm {thing}", f"I am {thing}")
        if doing
        else (f"I like {thing}", f"I use {thing}", f"I play {thing}", f"I'm {thing}")
    )
    return Change((), gone, thing=thing)


def _after_all(match: re.Match[str]) -> Change:
    """ "I eat meat again": it was not so before."""
    return Change((), (f"I don't {match['verb']} {match['v']}",))


def _left(match: re.Match[str]) -> Change | None:
    """ "I left Acme (for Borax)": the employer of that name."""
    name = match["x"].strip()
    to = match.groupdict().get("y")
    if not _re(r"(?-i:[A-Z0-9])").match(name):
        return None
    return Change((f"I work at {to.strip()}",) if to else (), (f"I work at {name}", f"I live in {name}"))


def _switched(match: re.Match[str]) -> Change | None:
    old, new = (match.groupdict().get(name) or "" for name in ("x", "y"))
    holds, gone = (
        (f"I use {_core(new)}",) if new else (),
        (f"I use {_core(old)}", f"I work with {_core(old)}") if old else (),
    )
    return Change(holds, gone, _core(old), _core(new), thing=_core(old)) if old else None


_MEASURED = r"\d|day\b|\b(?:noon|midnight|one|two|three|four|five|six|seven|eight|nine|ten|january|february|march|april|may|june|july|august|september|october|november|december)\b|[一二三四五六七八九十]|周|月"
"""What a value has that only replaces one of its kind: a day, a time, a number."""


def _became(match: re.Match[str]) -> Change | None:
    """ "My time zone has changed to JST", "the sync moved from Tuesday to Thursday": a value of something."""
    subject, old = match["s"].strip(), match.groupdict().get("x") or ""
    subject = re.sub(r"^(my|our) new\b", r"\1", subject, flags=re.IGNORECASE)
    new = _core(match["y"])
    if not new or _re(r"^(?:i|we|it|that|this|he|she|they|you|everything|something|there|who|which)\b").match(subject):
        return None
    swapped = _re(r"\b(?:changed|switched|renamed)\b").search(match[0]) is not None
    if not swapped and not _re(_MEASURED).search(new):
        return None
    return Change(
        (f"{subject} is {new}", f"{subject} is called {new}" if swapped else ""),
        (f"{subject} is {old}",) if old else (),
        _bare(old),
        _bare(new),
        f"{subject} is",
    )


def _now_is(match: re.Match[str]) -> Change | None:
    subject = re.sub(r"^(my|our) new\b", r"\1", match["s"].strip(), flags=re.IGNORECASE)
    verb = match["verb"].strip().replace("'s", "is")
    return Change(
        (f"{subject} {verb} {_core(match['y'])}",),
        new=_bare(_core(match["y"])),
        frame=f"{subject} {verb}" if _re(_MEASURED).search(match["y"]) else "",
    )


def _over(match: re.Match[str]) -> Change | None:
    """ "I broke up with Mia", "we got divorced": the partner of that name, or whatever the name is."""
    name = (match.groupdict().get("x") or "").strip()
    named = _re(r"(?-i:[A-Z])").match(name) is not None
    if name and not named and not _re(r"^my (?:girlfriend|boyfriend|wife|husband|partner|fianc)").match(name):
        return None
    return Change((), (f"My partner is called {_core(name)}",), key="") if named else Change(key="partner")


def _quit(match: re.Match[str]) -> Change:
    return Change(key="employer")


def _address(match: re.Match[str]) -> Change:
    """ "We moved house": it identifies the city, but does not say what it is now."""
    return Change(key="city", firm=False)


def _called(match: re.Match[str]) -> Change:
    return Change((), (f"call me {_core(match['v'])}",))


def _renamed(match: re.Match[str]) -> Change:
    return Change((f"my name is {_core(match['y'])}",))


_S = r"(?P<s>(?!i\b|i'|we\b|we'|you\b|it\b|that\b|this\b|there\b)[\w'’. -]{2,60}?)"
_WE = r"(?:i|we)"
_HAVE = r"(?:'ve| have)?(?: (?:just|finally|recently|now|already|also))?"

_DO = r"(?:don't|do not|doesn't|does not|no longer|never again)"

_ENGLISH: tuple[tuple[str, _Read], ...] = (
    (rf"^(?P<s>{_WE})(?:'m|'re| am| are) (?:now )?(?:no longer|not) (?!sure\b|going\b|a fan\b|saying\b|asking\b|talking\b)(?P<v>.+)$", _denied("I'm {v}")),
    (rf"^(?P<s>{_WE}) ain't (?P<v>.+)$", _denied("I'm {v}")),
    (rf"^(?P<s>{_WE}) (?:really |just |now )?{_DO} (?:really |even )?(?!think\b|know\b|mean\b|want\b|believe\b|understand\b|care\b|mind\b|remember\b|see\b)(?P<v>.+)$", _denied("I {v}")),
    (rf"^(?P<s>{_WE}) (?:can't|cannot|can no longer|am unable to) (?P<v>.+)$", _denied("I can {v}")),
    (rf"^(?P<s>{_WE}) used to (?!it\b|be able\b)(?P<v>.+)$", lambda match: Change((), (f"I {_core(match['v'])}", f"I'm {_core(match['v'][3:])}" if match["v"].startswith("be ") else ""), firm=False)),
    (rf"^(?P<s>{_WE}){_HAVE} (?:given up(?: on)?|gave up(?: on)?|quit|stopped|gone off|went off|dropped|sworn off|kicked|cut out) (?!my job|the job|work\b|the company)(?=[a-z])(?P<v>(?-i:[a-z]).+)$", _given_up),
    (rf"^{_WE}(?:'m|'re| am| are) (?:done with|over|through with|off) (?P<v>(?-i:[a-z]).+)$", _given_up),
    (rf"^{_WE}(?: can)?(?: now)? (?P<verb>eat|drink|like|enjoy|love) (?P<v>.+?) (?:again|now|after all)$", _after_all),
    (rf"^{_WE}{_HAVE} (?:left|quit|resigned from) (?P<x>(?-i:[A-Z0-9])[\w&.'-]*(?: (?-i:[A-Z0-9])[\w&.'-]*){{0,3}})(?: (?:for|to join) (?P<y>(?-i:[A-Z0-9])[\w&.'-]*(?: (?-i:[A-Z0-9])[\w&.'-]*){{0,3}}))?(?:{_WHEN}|,.*)?$", _left),
    (rf"^{_WE}{_HAVE} (?:quit|left|lost|resigned from)(?: (?:my|the|that|our) (?:old |last |current )?(?:job|company|employer|firm|position))(?:\s.*)?$", _quit),
    (rf"^{_WE}{_HAVE} (?:resigned|retired|been (?:fired|laid off|let go|made redundant)|got (?:fired|laid off)|was (?:fired|laid off|let go|made redundant)|were laid off)\b(?! from (?:the|a|an|this|that) (?:board|committee|race|game)).*$", _quit),
    (r"^(?:i am|i'm|we're)(?: now)? (?:retired|unemployed|between jobs|out of work)\b.*$", _quit),
    (rf"^{_WE}{_HAVE} (?:started|begun|began)(?: working| work| a (?:new )?(?:job|position|role))? (?:at|for|with) (?P<y>(?-i:[A-Z]).+)$", lambda match: Change((f"I work at {_core(match['y'])}",))),
    (rf"^{_WE}{_HAVE} (?:got|found|took|landed|accepted|start|started|have) (?:a |my )?(?:new )?(?:job|position|role) (?:at|with) (?P<y>(?-i:[A-Z]).+)$", lambda match: Change((f"I work at {_core(match['y'])}",))),
    (r"^(?:my|our) new (?:employer|company|job) is (?:at |with )?(?P<y>(?-i:[A-Z]).+)$", lambda match: Change((f"I work at {_core(match['y'])}",))),
    (rf"^{_WE}{_HAVE} (?:moved|relocated) (?:away|out) (?:from|of) (?P<v>.+)$", _denied("I live in {v}")),
    (rf"^{_WE}{_HAVE} left (?P<v>.+?) (?:for good|behind)$", _denied("I live in {v}")),
    (rf"^{_WE}{_HAVE} (?:moved|relocated)(?: house| home| flat| apartment| again| recently| last \w+| this \w+)*$", _address),
    (rf"^{_WE}{_HAVE} (?:broken up|broke up|split up|separated|split) (?:with|from) (?P<x>.+)$", _over),
    (rf"^{_WE}(?:'re| are)?{_HAVE} (?:got |getting )?(?:divorced|separated|broke up|broken up|split up)\b(?! (?:the|a|my|our)\b).*$", _over),
    (r"^i(?:'m| am) (?:now )?single(?: again| now| these days)*$", _over),
    (rf"^{_WE}{_HAVE} (?:switched|changed|moved|migrated|gone) (?:over )?from (?P<x>.+?) to (?P<y>.+)$", lambda match: None if re.match("moved", match[0].split(" ", 1)[-1]) and _is_place(match["y"]) else _switched(match)),
    (rf"^{_WE}{_HAVE} (?:replaced|swapped|traded) (?:my |our |the )?(?P<x>.+?) (?:with|for|by) (?:a |an |the )?(?P<y>.+)$", _switched),
    (rf"^{_WE}{_HAVE} (?:switched|changed|migrated) (?:over )?to (?P<y>.+)$", lambda match: Change((f"I use {_core(match['y'])}",))),
    (rf"^{_WE} (?:now )?use (?P<y>.+?)(?: now)? (?:instead of|rather than) (?P<x>.+)$", _switched),
    (rf"^{_WE}{_HAVE} changed my name to (?P<y>.+)$", _renamed),
    (r"^(?:please )?(?:don't|do not|stop) call(?:ing)? me (?P<v>.+)$", _called),
    (rf"^{_WE}{_HAVE} changed (?P<s>my [\w' -]{{2,40}}?)(?: from (?P<x>.+?))? to (?P<y>.+)$", _became),
    (rf"^{_S}(?:'s| has| have| was| were| is| got| been| being)* (?:changed|moved|switched|renamed|rescheduled|postponed|pushed(?: back)?|brought forward|updated|corrected|raised|lowered)(?: over| back)?(?: from (?P<x>.+?))? to (?P<y>.+)$", _became),
    (rf"^{_S}(?:'s| is| are)(?:n't| not| no longer| not actually) (?P<v>.+)$", _denied("{s} is {v}")),
    (rf"^{_S} (?:aren't|isn't) (?P<v>.+)$", _denied("{s} is {v}")),
    (rf"^{_S} (?:{_DO}) (?P<v>.+)$", _denied("{s} {v}")),
    (rf"^{_S}(?P<verb>'s| is| are) (?:now|actually) (?P<y>.+)$", _now_is),
    (rf"^{_S} (?:now|actually) (?P<verb>\w+s) (?P<y>.+)$", _now_is),
    (r"^(?P<s>(?:my|our) new [\w' -]{2,40}?)(?P<verb>'s| is| are)(?: called| named)? (?P<y>.+)$", _now_is),
    (rf"^{_S}(?P<verb>'s| is| are) (?P<y>.+?) (?:now|these days|instead)$", _now_is),
)  # fmt: skip


def _is_place(text: str) -> bool:
    return _re(r"(?-i:[A-Z])").match(text) is not None


# Chinese

_AGO = r"(?:已经|早就|早已|现在|目前|最近|终于|刚刚?|上个月|上周|去年|今年|前几天|昨天|真的|都|也|就|其实|,|，)*"
_WO = r"我(?:们)?"


def _zh(text: str) -> str:
    return re.sub(r"^(?:都|也|就)|(?:了|啦|的了|呢|吧|啊)+$", "", text.strip())


def _zh_denied(match: re.Match[str]) -> Change | None:
    subject, verb = match["s"] or "", _zh(match["v"])
    subject = re.sub(rf"{_AGO}$", "", subject)
    firm = match["no"] != "不" or match.string.endswith(("了", "啦"))
    if len(verb) < 1 or _re(
        r"^(?:知道|确定|明白|懂|记得|清楚|想|要|好|行|太|是说|同意|认为|觉得|错|过(?!敏)|对(?!.*过敏)|用(?:谢|客气|管)?$|敢|必|如|仅|但|管|论|少|同|久|得|可|能说|会吧)"
    ).match(verb):
        return None
    inside = _re(r"^在(?P<x>.+?)(?P<do>住|生活|定居)$").match(verb)
    clauses = [f"{subject}住在{inside['x']}"] if inside else [f"{subject}{verb}"]
    if _re(r"^(?:学|做|当|练|用|教|养)").match(verb):
        clauses.append(f"{subject}在{verb}")
    own = _re(rf"^{_WO}(?:现在|已经)?$").match(subject)
    is_it = _re(r"^(?:是|叫|在|用|姓|住)").match(verb)
    frame = subject if not own and is_it else ""
    return Change((), tuple(clauses), verb[1:] if frame else "", "", frame, firm=firm)


def _zh_topic(match: re.Match[str]) -> Change:
    return Change((), tuple(f"我{middle}{_zh(match['v'])}{match['o']}" for middle in ("", "在", "喜欢")))


def _zh_given_up(match: re.Match[str]) -> Change:
    thing = match.groupdict().get("x") or match.groupdict().get("y") or ""
    return Change((), (f"我喜欢{thing}",), thing=_zh(thing))


def _zh_switched(match: re.Match[str]) -> Change:
    old, new = match["x"], _zh(match["y"])
    new = re.sub(r"(?:写代码|办公|开发|编程|记笔记|工作|上班)$", "", new)
    return Change((f"我用{new}",), (f"我用{old}", f"我使用{old}"), old, new, thing=old)


def _zh_uses(match: re.Match[str]) -> Change:
    return Change((f"我用{_zh(match['y'])}",))


def _zh_employer(match: re.Match[str]) -> Change:
    groups = match.groupdict()
    holds = (f"我在{_zh(groups['y'])}工作",) if groups.get("y") else ()
    gone = (f"我在{groups['x']}工作",) if groups.get("x") else ()
    return Change(holds, gone, key="" if holds or gone else "employer")


_ZH_NOT_SUBJECT = r"^(?:这|那|请|帮|你|把这|他|她|它)|^我(?:们)?(?:想|要|会|能|可以|可能|打算|准备|考虑|正|在|就|先|也|还|没|得|该|应该|需要|希望|把|将|都|已|又|再|去|来|从)|想|打算|准备|希望|可能"


def _zh_became(match: re.Match[str]) -> Change | None:
    subject, new, old = match["s"], _zh(match["y"]), match.groupdict().get("x") or ""
    subject = re.sub(rf"^把|{_AGO}$", "", subject)
    if (
        not subject
        or _re(r"^(?:我|我们|你|这|那|它|他|她|就|再|先|请|帮|能|要|别|可以)?$").match(subject)
        or _re(_ZH_NOT_SUBJECT).match(subject)
    ):
        return None
    swapped = _re(r"(?:改|换|变更?)(?:成|为|叫|用)").search(match.string) is not None
    if not swapped and not _re(_MEASURED).search(new):
        return None
    holds = tuple(f"{subject}{verb}{new}" for verb in (("是", "叫") if swapped else ("在", "是")))
    return Change(holds, (f"{subject}是{old}",) if old else (), old, new, subject)


def _zh_after_all(match: re.Match[str]) -> Change:
    return Change((), (f"我不{match['verb']}{match['v']}",))


def _zh_over(match: re.Match[str]) -> Change:
    name = match.groupdict().get("x") or ""
    who = _re(r"^(?:我)?(?:女朋友|男朋友|女友|男友|老公|老婆|丈夫|妻子|对象|他|她)?$").match(name)
    return Change(key="partner") if who else Change((), (f"我老婆叫{name}",))


def _zh_called(match: re.Match[str]) -> Change:
    return Change((), (f"叫我{_zh(match['v'])}就好", f"叫我{_zh(match['v'])}"))


def _zh_left(match: re.Match[str]) -> Change:
    return Change((), (f"我住在{match['x']}",))


_CHINESE: tuple[tuple[str, _Read], ...] = (
    (rf"^{_WO}{_AGO}(?:从)?(?P<x>[^，。从不]{{1,12}}?){_AGO}(?:离职|辞职|离开)(?:了|并|后)*(?:去|到|加入)(?:了)?(?P<y>[^，。]{{2,12}}?)(?:上班|工作)?(?:了)?$", _zh_employer),
    (rf"^{_WO}{_AGO}从(?P<x>[^，。不想]{{1,12}}?){_AGO}(?:离职|辞职|跳槽|退休)(?:了)?$", _zh_employer),
    (rf"^{_WO}{_AGO}(?:从(?P<x>[^，。]{{1,12}}?))?(?:跳槽到?|跳到|入职|转到|转去|跳槽去)(?:了)?(?P<y>[^，。了]{{2,12}}?)(?:上班|工作)?(?:了)?$", _zh_employer),
    (rf"^{_WO}{_AGO}(?:离职|辞职|失业|退休|被裁|被辞退|被开除|不上班|辞掉工作|把工作辞)(?:了|啦)?$", _zh_employer),
    (rf"^(?:{_WO})?{_AGO}换(?:了)?(?:新)?工作(?:了)?$", _zh_employer),
    (rf"^{_WO}{_AGO}(?:搬走|搬家|换地方住|搬出来)(?:了|啦)?$", _address),
    (rf"^{_WO}{_AGO}从(?P<x>[^，。不]{{2,8}}?){_AGO}搬(?:走|出来|出去)(?:了|啦)?$", _zh_left),
    (rf"^{_WO}{_AGO}搬离(?:了)?(?P<x>[^，。]{{2,8}}?)(?:了)?$", _zh_left),
    (rf"^{_WO}{_AGO}(?:和|跟|与)(?P<x>[^，。]{{1,8}}?){_AGO}(?:分手|离婚|离|分)(?:了|啦)$", _zh_over),
    (rf"^{_WO}{_AGO}(?:分手|离婚|恢复单身|单身)(?:了|啦)$", _zh_over),
    (rf"^{_WO}{_AGO}(?:把(?P<x>[^，。]{{1,6}}?)(?:都|也|给|彻底)*戒(?:掉|断)?(?:了|啦)?|戒(?:掉|断)?(?:了)?(?P<y>[^，。了掉断]{{1,6}}?)(?:了|啦|好.*|.{{1,3}}年了)?)$", _zh_given_up),
    (rf"^(?P<x>[^，。我你他她]{{1,6}}?)我?{_AGO}戒(?:掉|断)?(?:了|啦)$", _zh_given_up),
    (rf"^{_WO}{_AGO}(?:从|由)(?P<x>[^，。]{{1,16}}?)(?:换|转|改|切换|迁移|切)(?:成|到|为|用|向)(?:了)?(?P<y>[^，。]{{1,16}}?)(?:了|啦)?$", _zh_switched),
    (rf"^{_WO}{_AGO}(?:把|将)(?P<x>[^，。]{{1,16}}?)(?:换|改)成(?:了)?(?P<y>[^，。]{{1,16}}?)(?:了|啦)?$", _zh_switched),
    (rf"^{_WO}{_AGO}改(?:名)?叫(?:做)?(?P<v>[^，。]{{1,10}}?)(?:了|啦)?$", lambda match: Change((f"我叫{match['v']}",))),
    (rf"^{_WO}{_AGO}(?:把)?(?:名字|姓名)(?:改成|改为|换成)(?:了)?(?P<v>[^，。]{{1,10}}?)(?:了|啦)?$", lambda match: Change((f"我叫{match['v']}",))),
    (rf"^(?:{_WO})?{_AGO}(?:改用|换成|换用|改成用|转用)(?:了)?(?P<y>[A-Za-z][^，。]{{0,16}}?)(?:写代码|办公|开发|编程|记笔记)?(?:了|啦)?$", _zh_uses),
    (r"^(?:请)?(?:别|不要|不用)(?:再)?叫我(?P<v>[^，。]{1,8}?)(?:了)?$", _zh_called),
    (rf"^{_WO}(?:现在|又|重新|已经|开始|可以|能)+(?P<verb>吃|喝)(?P<v>[^，。了]{{1,8}}?)(?:了|啦)$", _zh_after_all),
    (rf"^(?P<o>[^我，。是在的]{{1,8}}){_WO}{_AGO}不(?:再)?(?P<v>[^，。]{{1,3}}?)了$", _zh_topic),
    (r"^(?P<s>[^，。]{0,20}?)(?P<no>不再|再也不|没再|不会再|没有再|不)(?P<v>(?!对$|是吗|过$)[^，。]{1,24})$", _zh_denied),
    (r"^(?P<s>[^，。]{1,20}?)(?:从(?P<x>[^，。]{1,16}?))?(?:改|换|变更?|调整?|挪|推迟|延期|提前|搬|升级?)(?:成|为|到|至|在)(?:了)?(?P<y>[^，。]{1,24}?)(?:了|啦)?$", _zh_became),
)  # fmt: skip

_RULES = (*_ENGLISH, *_CHINESE)
