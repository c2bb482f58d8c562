"""From a message to what its writer plainly states: clauses without questions, conditions, quotations and hedges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile, zip_longest

from memctl.core.text.language import has_chinese
from memctl.core.text.sentences import sentences as sentences_of
from memctl.extraction import statements, words
from memctl.extraction.words import worded

LONGEST_SENTENCE = 400
"""Characters; a longer one is pasted material, not something a person says about themselves."""

HIDDEN = "\ufffc"
"""Stands for a quotation that holds somebody's words."""

STRONG_HEDGE, WEAK_HEDGE = 0.45, 0.6
"""By what confidence is multiplied: "maybe", "可能" and their like; "I think", "好像" and theirs."""


@dataclass(frozen=True)
class Clause:
    """A piece of a sentence that states something, without what opens it ("well, I think").

    `certainty` in (0, 1]: the product of its hedges.
    """

    text: str
    certainty: float = 1.0


@dataclass(frozen=True)
class Sentence:
    """A sentence of the user's: as said, and its clauses that state something.

    `asks`: it ends in a question, whatever it states before; `conditional`: a part of it holds under a condition only.
    """

    text: str
    clauses: tuple[Clause, ...]
    asks: bool
    conditional: bool

    @property
    def certainty(self) -> float:
        return hedged(self.text)


@cache
def _re(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(pattern, flags)


# What is not the user's own

_TAG = r"[<\uff1c\ufe64]\s*+(?:/\s*+)?long_term_memory\b[^>\uff1e\ufe65]*[>\uff1e\ufe65]?"
_FENCE = r"(?s)" + _TAG + r".*?(?:[<\uff1c\ufe64]\s*+/\s*+long_term_memory\s*[>\uff1e\ufe65]?|\Z)"
_CODE = r"(?s)(?P<ticks>`{3,}|~{3,}).*?(?:(?P=ticks)|\Z)"
_RECALLED_ITEM = r"(?m)^[^\S\n]*[-*]\s*\[[^\]\n]*\bmem_\d{8}_[0-9a-f]+\][^\n]*(?:\n[ \t]{2,}\S[^\n]*)*"
_QUOTED_LINE = r"(?m)^[^\S\n]*[>\uff1e].*$"
_TRIPLE_QUOTES = r"(?s)(?P<quotes>\"{3}|'{3}).*?(?:(?P=quotes)|\Z)"
_HERE_IS = r"^\s*(?:here(?:'s| is| are)\b|below is\b|以下是|下面是)"
_LONGEST_INTRODUCTION = 120

_GIVEN = (
    r"\b(?:this|these|that|the following|below|the)\b[^.?!\n]{0,20}\b(?:letters?|e-?mails?|mail|messages?|notes?|texts?|guide|"
    r"readme|documents?|docs?|policy|contract|articles?|posts?|ad|advert|reviews?|snippet|paragraphs?|passage|transcript|"
    r"log|thread|chat|cv|resume|profile|description|rules|guidelines|instructions?|prompt|memo|notice|leaflet|flyer|brief|"
    r"ticket|comments?|quote|poem|speech|bio|reply|statement|answers?|essay|draft|translation|script|agreement|form)\b"
    r"|(?:这|那|下面|以下)[^。？！\n]{0,8}(?:信|邮件|消息|短信|留言|通知|文章|帖子|评论|合同|文档|说明|规则|守则|简历|段|句|便条|字条|公告|介绍|回复|聊天)"
)
_GIVEN_BELOW = r"\b(?:this|these|the following|below|here(?:'s| is| are))\b|(?:这|那|以下|下面)(?:一|几)?[份篇封段张个则首条句]|请(?:总结|翻译|润色|修改|概括)"
"""Before an empty line or a list, it may be anything that is given."""

_WORKED_ON = (
    r"[?？]|\b(?:turn|make|clean up|correct|fix|shorten|improve|polish|proofread|rewrite|rephrase|rate|grade)\b|[:：]\s*$|\b(?:tell me|explain|check|review|read|look at|help|reply|answer|summari[sz]e|translate|what do you think)\b"
    r"|帮我|看看|怎么回|什么意思|翻译|总结|解释"
)
"""A line with both gives something to work on: what follows it is not what the user says."""

_PARTS = r"(?<=[.!?]\s)|(?<=[。！？，])"


_BULLET = r"(?m)^[^\S\n]*(?:[-*•·]|\d{1,2}[.)])[^\S\n]+(?=\S)"
_NAMED = r"(?m)^[^\S\n]*(?:\[?\d{1,2}:\d\d\]?[^\S\n]*)?(?:[A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?|[\u4e00-\u9fff]{1,6})\s?[:：][^\S\n]*(?=\S)"
"""How a line of a conversation begins: perhaps the time, and a name."""

_NAME_AND_TIME = r"^(?:[A-Z][\w.'-]{0,20}|[\u4e00-\u9fff]{1,6})[,，]?\s+\d{1,2}:\d\d$"

_TURN = r"(?m)^[^\S\n]*(?:\[?\d{1,2}:\d\d\]?[^\S\n]*)?(?:[A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?|[\u4e00-\u9fff]{1,6})\s?[:：][^\S\n]*(?=\S)[^\n]*(?:\b(?:I|I'm|I've|my|we)\b|我)[^\n]*$"
"""A line of a conversation: a name, and what its bearer says of themselves."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\xad]"
)


def own_words(message: str) -> str:
    """A message without recalled memories that were put into it, code, quoted lines, what stands between tags, what
    somebody says in a conversation that was pasted, and the text behind a line that announces one."""
    text = _INVISIBLE.sub("", message.replace("’", "'").replace("\r", "\n"))
    for pattern in (_FENCE, _CODE, _TRIPLE_QUOTES, _RECALLED_ITEM, _QUOTED_LINE):
        text = _re(pattern).sub("\n", text)
    text = worded("long_quotation").sub(_hidden_if_spoken, text)
    text = _re(_BULLET).sub("", text)
    if len(_re(_NAMED, 0).findall(text)) > 1:
        text = _re(_TURN, 0).sub("\n", text)
    text = _before_material(text)
    return _without_elements(text) if "</" in text else text


def _before_material(text: str) -> str:
    """A text up to a line that announces what others wrote, if there is such a line: it ends in a colon or begins with
    "here is", and says nothing of the user; or it gives something to work on, and may say something before. Then the
    sentence that gives it goes, the others stay."""
    lines = text.split("\n")
    last = max((number for number, line in enumerate(lines) if line.strip()), default=0)
    after = [*lines[1:], ""]
    cut = next((n for n, line in enumerate(lines[:last]) if _announces(line.strip(), after[n])), None)
    return text if cut is None else "\n".join([*lines[:cut], _before_giving(lines[cut])])


def _before_giving(line: str) -> str:
    """What a line says before it gives something to work on."""
    parts = _re(_PARTS).split(line)
    gives = (_GIVEN, _WORKED_ON, _GIVEN_BELOW)
    return "".join(takewhile(lambda part: not any(_re(each).search(part) for each in gives), parts))


def _announces(line: str, after: str = "-") -> bool:
    if not line or len(line) > _LONGEST_INTRODUCTION:
        return False
    below = not after.strip() or line.endswith((":", "："))
    if below and _re(_GIVEN_BELOW).search(line) and _re(_WORKED_ON).search(line):
        return True
    if worded("salutation").search(line) or (_re(_GIVEN).search(line) and _re(_WORKED_ON).search(line)):
        return True
    introduces = line.endswith((":", "：")) or _re(_HERE_IS).search(line) or _re(_NAME_AND_TIME, 0).search(line)
    return bool(introduces) and not worded("about_oneself").search(line)


_MARKUP = r"<\s*(?P<ends>/?)\s*(?P<name>[a-z][\w.:-]{0,40})\b[^<>\n]{0,300}>"


def _without_elements(text: str) -> str:
    """A text without what stands between a tag and the one that ends it, such as `<email>` and `</email>`: it was put
    there to be worked on."""
    opened: dict[str, int] = {}
    spans: list[tuple[int, int]] = []
    for tag in _re(_MARKUP).finditer(text):
        name = tag["name"].lower()
        if not tag["ends"]:
            opened.setdefault(name, tag.start())
        elif name in opened:
            begin = opened.pop(name)
            while spans and spans[-1][0] > begin:  # it stands inside of this one
                spans.pop()
            spans.append((begin, tag.end()))
    kept, at = [], 0
    for begin, end in spans:
        kept.append(text[at:begin])
        at = max(at, end)
    return "\n".join([*kept, text[at:]])


def secret(text: str) -> bool:
    """Whether a sentence gives something away that must not be kept, such as a password."""
    return worded("secret").search(text) is not None


# Sentences

_SEMICOLON = r"(?<=;)"


_WHOM_IT_IS_FOR = r"^(?:it|this|that)(?:'s| is| goes| will go) (?:for|to) (?:my|our)\b"
"""Behind such a task it is still the user who speaks."""


_OWN_STATE = r"\b(?:about me|my)\b|我的?(?:情况|信息|资料|偏好|要求|习惯)"


def sentences(text: str, echoes: frozenset[str] = frozenset()) -> Iterator[Sentence]:
    """The sentences of a message up to where it turns into material for a task, such as a text to translate.

    Args:
        echoes: sentences another wrote before, as `squashed` gives them, which the user merely repeats.
    """
    parts = list(split(text))
    if any(worded("about_above").match(said) for said in parts[1:]):
        return
    for said, after in zip_longest(parts, parts[1:], fillvalue=""):
        if not (statements.requested(said) or statements.leaves_out_subject(said)) and _begins_material(said):
            if _re(_WHOM_IT_IS_FOR).match(after):
                yield read(after)
            return
        if len(said) <= LONGEST_SENTENCE and not secret(said) and squashed(said) not in echoes:
            yield read(said)


def _begins_material(said: str) -> bool:
    announces = worded("announced").search(said) and not _re(_OWN_STATE).search(said)
    return bool(worded("material").search(said) or announces or worded("task_colon").search(said))


def split(text: str) -> Iterator[str]:
    """A text's sentences, and what semicolons part in them, each with what ends it."""
    for sentence in sentences_of(text):
        yield from (part.strip() for part in _re(_SEMICOLON).split(sentence) if part.strip())


def squashed(text: str) -> str:
    """A text's letters and digits alone, to tell whether two say the same word for word."""
    return "".join(character for character in text.lower() if character.isalnum())


# Clauses

_HEDGES: tuple[tuple[str, float], ...] = (
    (
        r"\b(?:maybe|perhaps|possibly|might|may be|not (?:really |entirely |quite )?sure|unsure|no idea|who knows)\b"
        r"|可能|也许|或许|说不定|不确定|不太确定|没准|搞不好|兴许",
        STRONG_HEDGE,
    ),
    (
        r"\b(?:i (?:kind of |sort of )?(?:think|guess|suppose|believe|assume|suspect)|probably|presumably|apparently|"
        r"(?:sort|kind) of|kinda|sorta|it seems|seems? (?:like|to)|as far as i know|afaik|if i remember|i feel like|more or less)\b"
        r"|好像|大概|似乎|应该是|应该(?=[喜对是会住])|估计|我觉得|我想是|我猜|貌似|八成|我感觉",
        WEAK_HEDGE,
    ),
)
_CONDITION_ZH = r"如果|要是|假如|假设|假装|万一|除非|倘若|假使|的话|若是|想象|比如说我|例如我|就好了"
_OWN_REPORT = r"^(?:我|我们)(?:也|还|都|就|刚|早|不)*(?:说|会说|能说|告诉|认为|以为)"
_SUBJECT_LEFT_OUT_EN = r"^and\s+(?=(?:work|live|speak|love|like|hate|prefer|use|play|am)\b)"

_SOMEBODYS_WORDS = r"\b(?:i|i'm|my|me|we|you)\b|我|你"


_TYPED = r"\b(i(?=m\b|ve\b)|(?:do|does|did|is|are|was|ca|wo)n(?=t\b))(m|ve|t)\b"
"""Short forms as they are typed in haste, without their apostrophe."""


def read(said: str) -> Sentence:
    """A sentence and what it states."""
    text = _plainer(typed(worded("quotes").sub(_without_quotation, said)))
    asks = text.rstrip(' "”」)').endswith(("?", "？"))
    conditional = worded("condition_en").search(text) or _re(_CONDITION_ZH).search(text)
    return Sentence(said, tuple(_stated(text, asks)), asks, conditional is not None)


def typed(text: str) -> str:
    """A text with the apostrophes of its short forms."""
    return _re(_TYPED).sub(lambda found: f"{found[1]}'{found[2]}", text)


_KIN = r"(?:(?:my|our) (?:[\w-]+ ){0,2}?{kin}|the {the_one})"
_KIN_ZH = r"我(?:们|家)*的?{kin}|{named_kin}"
_NAME = "{person_name}"
_PLAINER = (
    (rf"(?<!\w)({_NAME}), ({_KIN}),(?= )", r"\2 \1"),
    (rf"\b({_KIN}), ({_NAME}),(?= )", r"\1 \2"),
    (rf"\b{_KIN}(?: (?-i:[A-Z]\w+))? and i\b", "we"),
    (r"\b((?:my|our) [\w'-]+), (?:the|my|our|both|which|a|an)\b [^,]{2,30},(?= (?:is|are|has|have|was|wants?|needs?|can't)\b)", r"\1"),
    (r"(for (?:\w+ ){1,2}(?:years?|months?|decades?)|\b(?:called|named|lives?|works?) [^,.]{2,30}) now(?=$|[,.!;])", r"\1"),
)  # fmt: skip
"""Wordings that come to the same: "Mia, my daughter, …" is "my daughter Mia …"."""


def _plainer(text: str) -> str:
    for form, plain in _PLAINER:
        text = words.pattern(words.ENGLISH, form).sub(plain, text)
    return text


_RELATIVE = rf"(?<!\w)({_KIN}(?: {_NAME})?),? who (?=(?:'s|is|has|can't|never|only|[a-z]+s|[a-z]+ed)\b)([^,.;?!]{{4,}})"
"""What is said of somebody near by the way, whatever the sentence asks."""

_PRONOUN = r"^(?:(?:he|she|they|it)(?=(?:'s|'ve|'re)?\s)|[他她它]们?)"


_BEGINS_EN = rf"(?:,? (?:and|but|while|whereas) (?:also )?|[,;] )(?P<who>{_KIN}(?= )|(?:i|we)(?='| ))"
_BEGINS_ZH = rf"[，,；;](?:而且?|但是?|不过)?(?P<who>{_KIN_ZH}|我(?!们?的?{{kin}}))"
_POINTS_BACK = r"\b(?:he|she|him|her|his|they|them|their|it|there)\b|[他她它]|那[里儿边]"


def by_subject(said: str) -> list[int]:
    """Where in a sentence something is said of another person than before; first its beginning.

    A part about the user that points back ("my aunt is deaf and I write to her") belongs to what it points to.
    """
    language, form = (words.CHINESE, _BEGINS_ZH) if has_chinese(said) else (words.ENGLISH, _BEGINS_EN)
    begun = [(match.start("who"), match["who"].casefold()) for match in words.pattern(language, form).finditer(said)]
    starts, subject = [0], ""
    for at, (start, who) in enumerate(begun):
        end = begun[at + 1][0] if at + 1 < len(begun) else len(said)
        points_back = who in _ONESELF and _re(_POINTS_BACK).search(said[start:end])
        if who != (subject or _subject(said, language)) and not points_back:
            starts.append(start)
            subject = who
    return starts


_ONESELF = ("i", "we", "我")


def _subject(said: str, language: str) -> str:
    """The person whom a sentence begins with; empty for none."""
    match = words.pattern(language, rf"^(?:{_KIN_ZH if language == words.CHINESE else _KIN}|i\b|we\b|我)").match(said)
    return match[0].casefold() if match else ""


def _relatives(text: str) -> Iterator[Clause]:
    for match in words.pattern(words.ENGLISH, _RELATIVE).finditer(text):
        yield Clause(f"{match[1]} {match[2]}", hedged(match[0]))


def of_somebody(clause: str, before: str) -> str:
    """A clause about "him" as one about the only person near that was spoken of before it in the sentence."""
    if not _re(_PRONOUN).match(clause):
        return clause
    language, form = (words.CHINESE, _KIN_ZH) if has_chinese(before) else (words.ENGLISH, rf"{_KIN}(?: {_NAME})?(?!\w)")
    near = {match[0] for match in words.pattern(language, form).finditer(before)}
    return _re(_PRONOUN).sub(near.pop(), clause) if len(near) == 1 else clause


def _hidden_if_spoken(match: re.Match[str]) -> str:
    return HIDDEN if _re(_SOMEBODYS_WORDS).search(match[0]) else match[0]


def _without_quotation(match: re.Match[str]) -> str:
    inner = next(filter(None, match.groups()), "")
    long = len(inner.split()) > 4 or len(inner) > 30
    return HIDDEN if long or _re(_SOMEBODYS_WORDS).search(inner) else f" {inner} " if inner.isascii() else inner


def _stated(text: str, asks: bool) -> Iterator[Clause]:
    """The clauses up to the first that asks, sets a condition or reports what others say."""
    if _re(_CONDITION_ZH).search(text):
        return
    if condition := worded("condition_en").search(text):
        text = text[: condition.start()]
    yield from _relatives(text)
    parts = [part.strip(' .!。！…"~～') for part in worded("break").split(text.rstrip("?？")) if part and part.strip()]
    if asks:
        parts = parts[: _first_question(parts)]
    subject = False
    for number, part in enumerate(parts):
        clause = of_somebody(_opened(part, subject, number == 0), " ".join(parts[:number]))
        if _asking(clause) or _reports(clause):
            return
        subject = worded("states_now").match(clause) is not None
        bare = opened(clause)
        if bare:
            around = " ".join(near for near in parts[max(0, number - 1) : number + 2] if _only_hedges(near))
            certainty = hedged(clause if around in clause else f"{clause} {around}")
            yield Clause(bare, certainty)
            if advised := statements.advised(bare):
                yield Clause(bare[advised:], certainty)


def _reports(clause: str) -> bool:
    """Whether a clause says what others say, of whom nobody asked it: a vet's word counts."""
    return worded("report").search(clause) is not None and not (
        statements.advised(clause, of_anybody=True) or _re(_OWN_REPORT).search(clause)
    )


def _only_hedges(part: str) -> bool:
    """Whether a clause says nothing but that its neighbour is not certain: "I live here, I think"."""
    return (
        hedged(part) < 1
        and len(_re("|".join(words for words, _ in _HEDGES)).sub("", part).split()) <= 1
        and len(part) < 24
    )


def _opened(part: str, subject: bool, first: bool) -> str:
    """A clause without what opens it, and with the subject that the one before gave it, or that is the writer."""
    if subject and _re(_SUBJECT_LEFT_OUT_EN).search(part):
        return _re(_SUBJECT_LEFT_OUT_EN).sub("I ", part)
    part = worded("filler").sub("", part).strip()
    if (first or subject) and statements.leaves_out_subject(part):
        return f"I {part[0].lower()}{part[1:]}"
    return f"我{part}" if subject and worded("subject_left_out_zh").search(part) else part


def opened(text: str) -> str:
    """A sentence without what opens it."""
    start = worded("hedged_start").match(text)
    return worded("filler").sub("", text[start.end() :] if start else text).strip()


def hedged(text: str) -> float:
    """The certainty that a text's hedges leave, 1 where there are none."""
    certainty = 1.0
    for pattern, factor in _HEDGES:
        if _re(pattern).search(text):
            certainty *= factor
    return certainty


# Questions


def _first_question(parts: list[str]) -> int:
    """How many clauses before the one that asks, which is the last where none is known to; none where only a tag asks."""
    if not parts or worded("tag_question").search(parts[-1]) or len(parts) == 1:
        return 0
    for number, part in enumerate(parts):
        if _asking(worded("filler").sub("", part)):
            return number
    return len(parts) - 1


def _asking(clause: str) -> bool:
    return worded("asks_en").search(clause) is not None or worded("asks_zh").search(clause) is not None
