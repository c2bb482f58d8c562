"""From a message to what its writer plainly states: clauses without questions, conditions, quotations and hedges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from memctl.core.text.sentences import sentences as sentences_of
from memctl.extraction import statements, words

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
_ABOUT_ONESELF = (
    r"\b(?:i|i'm|i've|me|my|mine|we|our|us|remember|note|notes|reminder|fyi|ps|update|news|background|context|preferences?|"
    r"profile|info|details|facts?|things?|rules?|btw)\b|我|咱|记住|记得|备注|更新|背景|偏好|情况|要求|规则|提醒|注意|补充|另外|信息"
)
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

_SALUTATION = r"^dear\s+(?!assistant\b|ai\b|bot\b|memory\b)[^.?!]{1,40}$|^to whom it may concern\W*$"

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
    text = _re(_LONG_QUOTATION).sub(_hidden_if_spoken, text)
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
    if _re(_SALUTATION).search(line) or (_re(_GIVEN).search(line) and _re(_WORKED_ON).search(line)):
        return True
    introduces = line.endswith((":", "：")) or _re(_HERE_IS).search(line) or _re(_NAME_AND_TIME, 0).search(line)
    return bool(introduces) and not _re(_ABOUT_ONESELF).search(line)


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


_SECRET = (
    r"(?:\b(?:pass(?:word|phrase|code)s?|pin(?: code| number)?|secret|api[ _-]?keys?|access tokens?|private keys?|"
    r"credit card|card number|cvv|social security|ssn|iban)\b|密码|口令|密钥|验证码|信用卡|银行卡|身份证|卡号)"
    r"(?:[^.。？?]{0,30}(?:\b(?:is|are|was|ends?|starts?)\b|[=:：是为]|'s )|[^.。？?]{0,16}\d)"
)
"""A secret and what it is; merely to speak of passwords gives none away."""


def secret(text: str) -> bool:
    """Whether a sentence gives something away that must not be kept, such as a password."""
    return _re(_SECRET).search(text) is not None


# Sentences

_SEMICOLON = r"(?<=;)"

_MATERIAL = (
    r"^\W*(?:(?:please|pls|can you|could you|would you|help me(?: to)?|now)[ ,]+)*"
    r"(?:(?:translate|proofread|rewrite|rephrase|summari[sz]e|paraphrase|polish|role-?play|act as|pretend|imagine|"
    r"correct this|correct the|classify|analy[sz]e this)\b"
    r"|(?:write|make up|tell|compose|draft|generate)\b.{0,30}\b(?:story|poem|song|dialogue|scene|monologue|speech|bio|"
    r"cover letter|profile|toast|vows?|listing|application|statement|obituary|eulogy|joke|tweet|sentences?|examples?|e-?mails?|mail|letter|message|text|reply|note|post|paragraph|essay|caption|script|resignation|announcement)\b)"
    r"|^\W*(?:here(?:'s| is) )?(?:(?:my|the|a|this|first|new) )*(?:draft|letter|script|lyrics|quote|paragraph|essay|story|poem|dialogue|caption|translation|transcript|subject|dear \w+)\s*(?:[:：]|,\s*$)"
    r"|^\W*(?:the|this|an?|following) (?:\w+ )?(?:e-?mail|text|message|sentence|example)\s*[:：]\s"
    r"|^\W*(?:请|帮我|帮忙|麻烦|你|能不能|可以)*(?:翻译|润色|改写|校对|总结一下|概括|扮演|假装|想象|造句|仿写|改一下这|分析一下这)"
    r"|^\W*(?:请|帮我|帮忙|麻烦|你|能不能|可以)*(?:写|编|讲|生成)(?:一?[个首篇段封条份]).{0,8}(?:故事|诗|歌|对话|小说|剧本|演讲|例子|作文|信|邮件|短信|消息|通知|文案|简历|介绍|回复|朋友圈|留言|台词)"
    r"|^\W*(?:请|帮我|帮忙|麻烦|你|能不能|可以)*把[^。！？]{0,14}(?:翻译|改写|润色|缩写|扩写|改成|译成|翻成)"
    r"|^.{0,12}(?:草稿|原文|台词|歌词|例句|作文|文案|译文|面试题|题目|聊天记录|对话|朋友圈|采访|自我介绍)是?[：:]"
    r"|^\W*(?:请|帮我|帮忙|麻烦|给我|你|用第一人称)*(?:写|编|讲|生成|拟|起草|改|检查|缩写|扩写|修改|校对|看看|翻)[^。！？]{0,12}[：:]"
    r"|^\W*(?:is|are) (?:this|the following|these)\b.{0,20}\b(?:sentences?|text|grammar|phrase|correct|right|ok)\b"
    r"|^\W*(?:turn|convert|change) (?:this|it|the following) (?:in)?to\b"
    r"|\brole-?play(?:ing)?\b|^.{0,12}(?:角色扮演|演一下)"
    r"|^\W*(?:make (?:it|this)|shorten|fix|improve|edit|check|review|rhyme|continue|complete|explain|grade|rate)\b[^.?!]{0,40}[:：]\s"
)
_TASK_COLON = (
    r"^(?!.{0,60}\b(?:i|i'm|my|our|we)\b.{0,40}:)[a-z][^.?!:]{0,50}\b(?:this|these|the following|below|(?:in)?to [A-Z]\w+|in [A-Z]\w+|for me|pls|please)\b[^.?!:]{0,20}:\s*\S"
    r"|^[^。！？：:]{0,14}(?:这|下面|以下|下文|[译翻改]|加标点|病句|造句|总结|概括|缩写|扩写|润色|分析)[^。！？：:]{0,10}[：:].*\S"
)
"""A task, a colon, and what it is to be done with."""

_ABOUT_ABOVE = (
    r"(?:这[句段]话?|上面[这那]?[句段]|以上)[^。！？\n]{0,14}(?:怎么|翻|译|语法|改|意思|对吗|润色|哪里|英文|中文)"
    r"|(?:is|are|does|what|can you|could you|please|how)\b[^.?!\n]{0,30}\b(?:this|that|the above|these) (?:sentences?|phrase|line|grammar|paragraph|wording)\b(?! (?:in|of|from) )"
)
"""A question about the language of what stands before it, which is then an example."""

_OWN_STATE = r"\b(?:about me|my)\b|我的?(?:情况|信息|资料|偏好|要求|习惯)"
_ANNOUNCED = r"(?:\b(?:says?|said|wrote|writes|replied|asked|message|e-?mail|text|review|post|lyrics?)\b|说|写道|回复|原文|如下|内容)[^.。]{0,20}[:：]\s*$"


def sentences(text: str, echoes: frozenset[str] = frozenset()) -> Iterator[Sentence]:
    """The sentences of a message up to where it turns into material for a task, such as a text to translate.

    Args:
        echoes: sentences another wrote before, as `squashed` gives them, which the user merely repeats.
    """
    parts = list(split(text))
    if any(_re(_ABOUT_ABOVE).match(said) for said in parts[1:]):
        return
    for said in parts:
        if not statements.requested(said) and _begins_material(said):
            return
        if len(said) <= LONGEST_SENTENCE and not secret(said) and squashed(said) not in echoes:
            yield read(said)


def _begins_material(said: str) -> bool:
    announces = _re(_ANNOUNCED).search(said) and not _re(_OWN_STATE).search(said)
    return bool(_re(_MATERIAL).search(said) or announces or _re(_TASK_COLON).search(said))


def split(text: str) -> Iterator[str]:
    """A text's sentences, and what semicolons part in them, each with what ends it."""
    for sentence in sentences_of(text):
        yield from (part.strip() for part in _re(_SEMICOLON).split(sentence) if part.strip())


def squashed(text: str) -> str:
    """A text's letters and digits alone, to tell whether two say the same word for word."""
    return "".join(character for character in text.lower() if character.isalnum())


# Clauses

_BREAK = (
    r"(?:(?<!\d),\s|(?<=\d),\s(?!\d{4}\b)|[，；（）—–]|[;:()]\s|\s[-(]\s?|：)"
    r"|\s+(?:and|but|so|because|since|though|although|while|whereas|which is why)\s+"
    r"(?=(?:i|i'm|i've|we|we're|my|our|please|don't|then)\b)"
    r"|\s+(?=and\s+(?:work|live|speak|love|like|hate|prefer|use|play|am)\b)"
)
_FILLER = (
    r"^(?:(?:hi|hey|hello|well|so|actually|also|oh|ok|okay|yes|yeah|yep|no|and|but|because|btw|by the way|fyi|honestly|"
    r"personally|in fact|sorry|thanks|thank you|just so you know|for context|for the record|note that|these days|nowadays|"
    r"currently|right now|to be clear|to be honest|anyway|plus|of course|sure|right|there(?=,)|then|since|though|as you know|"
    r"as i said|like i said|(?:it |as it )?turn(?:s|ed) out(?: that)?|(?:so )?(?:a )?(?:quick|small|little) update|update|good news|bad news|long story short|i should mention(?: that)?|in my free time)\b[\s,!.]*"
    r"|(?:嗯|哦|啊|对了|其实|另外|还有|而且|不过|但是|但|因为|由于|所以|是的|你好|顺便说一下|顺便说|顺便|话说|补充一下|说实话|目前|现在|最近|"
    r"那个|就是|这样|好的|比起[^，]{1,8}[，,])[，,！\s]*)+"
)
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
_HEDGED_START = (
    r"^(?:(?:maybe|perhaps|possibly|probably|presumably|apparently|i (?:kind of |sort of )?(?:think|guess|suppose|believe|"
    r"assume|suspect|feel like)(?: that)?|it seems(?: that| like)?|as far as i know|afaik|i'm not (?:really |entirely |quite )?sure,? but)[\s,]+"
    r"|(?:可能|也许|或许|大概|好像|似乎|估计|说不定|没准|应该是|我觉得|我猜|我想是|貌似)[，,\s]*)+"
)
_CONDITION_EN = (
    r"\b(?:if|unless|suppose|supposing|imagine|pretend|assuming|wish|whether|let's say|in case|say i|would have|"
    r"were i|had i|as though|as if|hypothetically)\b"
)
_CONDITION_ZH = r"如果|要是|假如|假设|假装|万一|除非|倘若|假使|的话|若是|想象|比如说我|例如我|就好了"
_REPORT = (
    r"^(?!i\b|i'|we\b|we').*(?<!\bi )\b(?:says?|said|told|tells|thinks?|thought|claims?|wrote|asks?|asked|believes?|insists?)\b"
    r"|\baccording to\b|\bfor example\b|\be\.g\.|\bas .{1,20} says?\b|^(?:quote|example|title|subject|lyrics?)$"
    r"|(?:^|[^我们])(?:(?<![小传学])说(?![日英法德俄中韩粤汉文话得服明法好定])|认为|以为|告诉|写道|声称|问我|问：|听说)"
    r"|^(?!我觉|我也觉).*觉得|^例如|^比如|根据"
)
_OWN_REPORT = r"^(?:我|我们)(?:也|还|都|就|刚|早|不)*(?:说|会说|能说|告诉|认为|以为)"
_SUBJECT_LEFT_OUT_EN = r"^and\s+(?=(?:work|live|speak|love|like|hate|prefer|use|play|am)\b)"
_SUBJECT_LEFT_OUT_ZH = r"^(?=(?:也|还|平时|一直|不|最|特别|很|更|非常)*(?:住在|搬[到去回来]|喜欢|讨厌|爱吃|爱喝|会说|会弹|对.{1,12}过敏|在.{1,15}工作|在.{1,10}上班|在.{1,10}(?:当|做)))"
_STATES_NOW = r"^(?:i|we)(?:'m| am|'re| are| (?:\w+ )?(?:work|live|speak|love|like|hate|prefer|use|play|enjoy))\b|^我"
"""A clause after which "and love …" has the same subject."""

_QUOTES = r"“([^”]*)”|「([^」]*)」|『([^』]*)』|\"([^\"]*)\"|(?<!\w)'([^']*\s[^']*)'(?!\w)|‘([^’]*)’"
_SOMEBODYS_WORDS = r"\b(?:i|i'm|my|me|we|you)\b|我|你"


_TYPED = r"\b(i(?=m\b|ve\b)|(?:do|does|did|is|are|was|ca|wo)n(?=t\b))(m|ve|t)\b"
"""Short forms as they are typed in haste, without their apostrophe."""


def read(said: str) -> Sentence:
    """A sentence and what it states."""
    text = _plainer(typed(_re(_QUOTES).sub(_without_quotation, said)))
    asks = text.rstrip(' "”」)').endswith(("?", "？"))
    conditional = _re(_CONDITION_EN).search(text) or _re(_CONDITION_ZH).search(text)
    return Sentence(said, tuple(_stated(text, asks)), asks, conditional is not None)


def typed(text: str) -> str:
    """A text with the apostrophes of its short forms."""
    return _re(_TYPED).sub(lambda found: f"{found[1]}'{found[2]}", text)


_KIN = r"(?:my|our) (?:[\w-]+ ){0,2}?{kin}"
_PLAINER = (
    (rf"(?<!\w)(?-i:([A-Z]\w+)), ({_KIN}),(?= )", r"\2 \1"),
    (rf"\b({_KIN}), (?-i:([A-Z]\w+)),(?= )", r"\1 \2"),
    (rf"\b{_KIN}(?: (?-i:[A-Z]\w+))? and i\b", "we"),
    (
        r"^(?:my|the|our) (?:doctor|doc|gp|consultant|dentist|specialist|nurse)s? (?:says?|said|told me|tells me)(?: that)? (?=(?:i|my)\b)",
        "",
    ),
)
"""Wordings that come to the same: "Mia, my daughter, …" is "my daughter Mia …"; a doctor's word counts."""


def _plainer(text: str) -> str:
    for form, plain in _PLAINER:
        text = words.pattern(words.ENGLISH, form).sub(plain, text)
    return _re(r"^(?:医生|大夫)(?:说|讲|告诉我|诊断)(?=我)").sub("", text)


_LONG_QUOTATION = r"(?<![\w\"])\"[^\"\n]{30,2000}\"(?!\w)|“[^“”]{30,2000}”|「[^「」]{30,2000}」|『[^『』]{30,2000}』"
"""Of several sentences, perhaps: it must go before these are told apart."""


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
    if condition := _re(_CONDITION_EN).search(text):
        text = text[: condition.start()]
    parts = [part.strip(' .!。！…"~～') for part in _re(_BREAK).split(text.rstrip("?？")) if part and part.strip()]
    if asks:
        parts = parts[: _first_question(parts)]
    subject = False
    for number, part in enumerate(parts):
        clause = _opened(part, subject)
        if _asking(clause) or (_re(_REPORT).search(clause) and not _re(_OWN_REPORT).search(clause)):
            return
        subject = _re(_STATES_NOW).match(clause) is not None
        bare = opened(clause)
        if bare:
            around = " ".join(near for near in parts[max(0, number - 1) : number + 2] if _only_hedges(near))
            yield Clause(bare, hedged(clause if around in clause else f"{clause} {around}"))


def _only_hedges(part: str) -> bool:
    """Whether a clause says nothing but that its neighbour is not certain: "I live here, I think"."""
    return (
        hedged(part) < 1
        and len(_re("|".join(words for words, _ in _HEDGES)).sub("", part).split()) <= 1
        and len(part) < 24
    )


def _opened(part: str, subject: bool) -> str:
    """A clause without what opens it, and with the subject that the one before gave it."""
    if subject and _re(_SUBJECT_LEFT_OUT_EN).search(part):
        return _re(_SUBJECT_LEFT_OUT_EN).sub("I ", part)
    part = _re(_FILLER).sub("", part).strip()
    return f"我{part}" if subject and _re(_SUBJECT_LEFT_OUT_ZH).search(part) else part


def opened(text: str) -> str:
    """A sentence without what opens it."""
    start = _re(_HEDGED_START).match(text)
    return _re(_FILLER).sub("", text[start.end() :] if start else text).strip()


def hedged(text: str) -> float:
    """The certainty that a text's hedges leave, 1 where there are none."""
    certainty = 1.0
    for pattern, factor in _HEDGES:
        if _re(pattern).search(text):
            certainty *= factor
    return certainty


# Questions

_ASKS_EN = (
    r"^(?:and |but |so |or |then )?(?:what|how|can|could|should|shall|is|are|am|do|does|did|where|which|who|whose|why|when|"
    r"any|would|will|have you|has|may|might i|isn't|aren't|don't you|doesn't|can't you|won't|was|were)\b"
)
_ASKS_ZH = (
    r"什么|怎么|怎样|如何|哪|谁|多少|几[个点时岁号]|是否|能不能|可不可以|要不要|是不是|有没有|会不会|该不该|好不好|对不对|为何|为什么|吗|"
    r"^(?:请问|能|能否|可以|可否)"
)
_TAG_QUESTION = (
    r"^(?:right|correct|no|yes|ok|okay|isn't it|don't i|do i|am i|aren't i|eh|huh|remember|true|or not|you know"
    r"|对吧|对吗|是吧|是吗|不是吗|没错吧|好吗|吧|对不对|是不是)$"
)


def _first_question(parts: list[str]) -> int:
    """How many clauses before the one that asks, which is the last where none is known to; none where only a tag asks."""
    if not parts or _re(_TAG_QUESTION).search(parts[-1]) or len(parts) == 1:
        return 0
    for number, part in enumerate(parts):
        if _asking(_re(_FILLER).sub("", part)):
            return number
    return len(parts) - 1


def _asking(clause: str) -> bool:
    return _re(_ASKS_EN).search(clause) is not None or _re(_ASKS_ZH).search(clause) is not None
