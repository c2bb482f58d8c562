"""The sayings that extraction knows, in English and Chinese, and what each proposes. `docs/extracting.md` lists them.

A pattern is tried at the beginning of a clause. It must be sure: what it does not see can still be added by hand, what it
sees wrongly is believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from memctl.core import dates
from memctl.core.text.language import has_chinese
from memctl.extraction import words


@dataclass(frozen=True)
class Found:
    """What a clause says about its speaker: one fact or preference with a key."""

    rule: str
    key: str
    value: Any
    kind: str = "fact"
    category: str = "life"
    subcategory: str = ""
    confidence: float = 0.9
    tags: tuple[str, ...] = ()


Read = Callable[[re.Match[str]], "Found | None"]


@dataclass(frozen=True)
class Phrase:
    pattern: str
    read: Read

    def match(self, clause: str) -> re.Match[str] | None:
        return _compiled(self.pattern).match(clause)


def _compiled(pattern: str) -> re.Pattern[str]:
    return words.pattern(words.CHINESE if has_chinese(pattern) else words.ENGLISH, pattern)


def facts(clause: str) -> Iterator[Found]:
    """Every fact and preference a clause states; one for each kind of saying."""
    seen: set[str] = set()
    for phrase in _PHRASES:
        if (match := phrase.match(clause)) and (found := phrase.read(match)) and found.rule not in seen:
            seen.add(found.rule)
            yield found


# The values

_CUT_EN = (
    r"[,;.!?(]|\s[-–—]\s|\s(?:because|but|when|while|if|since|so|which|who|whose|as|at the moment|these days|in general|a lot|very much|"
    r"the most|more than|most of|instead|too|though|especially|mostly|anymore|any more|now|right now|for (?:\d|a |two|three|"
    r"many|years|ages|everything|now|work)|with|and|than|over|rather|by the way|lol|haha|nowadays|today|currently|at all|"
    r"that|last|this|next|every|again|lately|recently|sometimes|often|originally|myself|fluently|well|pretty|quite|just|since|until|without)\b.*"
)
_NOT_A_THING = (
    r"^(?:it|its|that|this|these|those|them|him|her|you|your|yours|me|us|one|ones|how|what|when|where|why|who|which|if|"
    r"whether|being|not|to (?:be|think|know|say|see|ask|hear|have|do|get|try|add|make|point|use|keep|go with|start|stop|stay)|"
    r"the|his|their|our|my|mine|both|all|everything|anything|nothing|something|having|seeing|hearing|knowing|either|neither|"
    r"option|version|another|same|such|more|less|most|here|there|as|about|of|in|on|at|for|with|and|or|but|is|are|was|"
    r"so|too|very|just|only|no|yes)\b"
)
_LEFT_OPEN = (
    r"(?:^|\s)(?:to|of|in|at|for|on|from|about|by|into|like|a|an|the|my|your|their|our|everywhere|them|it|him|her|you|me|us)$"
    r"|^(?:making|working|doing|having|being|getting|going|starting|using|trying|seeing|help|helping|things|stuff|people|holding|taking)$"
)
_LEADING_EN = r"^(?:a|an|some|any|all kinds of|all sorts of|lots of|good|to|the taste of|drinking|eating)\s+"
_NOT_A_PLACE = (
    r"^(?:a|an|my|your|his|her|our|their|this|that|it|one|two|here|there|fear|denial|hope|peace|constant|an?|town|"
    r"mom|dad|someone|somewhere|the (?:same|city|country|countryside|middle|suburbs|past|moment|office|house|area|"
    r"mountains|woods|village|sea|coast|center|centre|future|present|new)|student|shared|small|big|rural|eternal|sin|"
    r"harmony|poverty|exile|luxury|terror|squalor|and|with|next|just|different|separate)\b"
)
_NOT_A_NAME = (
    r"^(?:not|a|an|the|my|your|on|in|at|so|very|too|tomorrow|today|later|back|when|if|again|now|soon|after|before|whenever|"
    r"anytime|any|what|whatever|crazy|old|hard|easy|too|mr|sir|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"january|february|march|april|june|july|august|september|october|november|december|i|we|he|she|they|it|this|that|"
    r"just|only|to|for|out|up|is|was|all|and|or|about|by|via|german|french|english|american|indian|chinese|japanese|"
    r"italian|spanish|ok|okay|please|maybe)\b"
)
_NOT_A_JOB = r"^(?:a |an |the )?(?:team|pair|group|charm|hobby|expected|intended|usual|well|planned|designed|hell|long|far|soon|fast|hard|if|a whole|i|we|it|part)\b"


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" .,;:!?\"'“”‘’")


def _thing(text: str) -> str:
    """What is liked, eaten or known, without what the sentence goes on with; empty where it only points at something."""
    cut = _plain(_compiled(_CUT_EN).sub("", _plain(text), count=1))
    if _compiled(_NOT_A_THING).match(cut):
        return ""
    bare = _plain(_compiled(_LEADING_EN).sub("", cut))
    if _compiled(_LEFT_OPEN).search(bare):
        return ""
    return bare if bare and len(bare.split()) <= 6 and not _compiled(_NOT_A_THING).match(bare) else ""


def _slug(text: str) -> str:
    """A text as a part of a key: lower case, without spaces."""
    return "_".join(text.lower().split())[:60]


def _proper(text: str, refused: str, *, most: int = 4, lower: int = 2) -> str:
    """A proper name at the beginning of a text.

    Args:
        lower: how many words may be written in lower case, where that is all there is.
    """
    words = _plain(re.split(r"[,;(]| - ", text)[0]).split()
    if not words or _compiled(refused).match(" ".join(words)):
        return ""
    upper = [
        word[:1].isupper() or word[:1].isdigit() or word in ("de", "of", "da", "the", "&", "del", "la")
        for word in words
    ]
    if upper[0] and (words[0][:1].isupper() or (len(words) > 1 and words[1][:1].isupper())):
        count = upper.index(False) if False in upper else len(words)
        named = words[: min(count, most)]
        while named and named[-1] in ("de", "of", "da", "the", "&", "del", "la"):
            named.pop()
        return " ".join(named)
    cut = _plain(_compiled(_CUT_EN).sub("", " ".join(words), count=1)).split()
    return (
        " ".join(cut) if 0 < len(cut) <= lower and all(re.fullmatch(r"[^\W\d_][\w'-]*", word) for word in cut) else ""
    )


_ZH_END = "了啊呀哦呢哈的啦嘛哟噢喔。！~～.! "
_ZH_NOT_A_THING = r"^(?:你|您|他|她|它|我|这|那|的|不|没|是|上了|到|过|得|着|什么|怎么|一个人的|大家|咱|人$|情|就|也|都|还|得|去年|哪|谁|把|被|在|让|和你|跟你|第|下|上|啥|完|死)"
_ZH_NAME = r"(?P<x>[A-Za-z][\w .'-]{0,30}|[\u4e00-\u9fff·]{1,5})(?:了|哦|啊|呀|哈)?$"
_ZH_NOT_A_NAME = "[我你您他她它了得着过不个去来吃喝做说话醒停起回外车帮买看开加叫想要别这那什么谁就也都还]"
_ZH_NOT_A_PLACE = (
    r"^(?:这|那|哪|一|二|三|四|五|六|七|八|九|十|\d|我|你|他|她|朋友|学校|公司|宿舍|酒店|宾馆|楼|郊区|市区|城里|乡下|附近|隔壁|外面|家里|校|单位|"
    r"出租|父母|爸|妈|新|老家|旧|小区|合租|农村|山|海边|别|里面|上面|下面|月球|火星|医院)|[楼层室号]$|小区|公寓|花园|家园|酒店|宾馆|旅馆|旅店|民宿|客栈|青旅"
)
_ZH_NOT_AT_WORK = (
    r"(?:努力|认真|家|家里|远程|这里|那里|外面|加班|正常|拼命|线上|线下|周末|晚上|白天|一起|这|那|哪里|哪儿|这边|那边|国外|国内|公司|单位|外地|地|他|她|你|以前|曾经|"
    r"北京|上海|广州|深圳|杭州|南京|成都|武汉|西安|重庆|天津|苏州|长沙|青岛|厦门|大连|郑州|宁波|香港|澳门|台北|东京|伦敦|纽约|巴黎|新加坡)市?$"
)
_ZH_GENERIC = r"^(?:一[家个所]|某)|^(?:医院|学校|公司|银行|工厂|外企|国企|大学|高校|中学|小学|政府|机关|餐厅|事务所|互联网|互联网公司)$"


def _zh_thing(text: str) -> str:
    cut = (
        re.split(r"[，,。！；;（(]|因为|但|所以|尤其|特别是|而且|的时候|多一点|多过|胜过|超过|比.{1,8}多", text)[0]
        .strip()
        .rstrip(_ZH_END)
    )
    if not cut or len(cut) > 14 or re.search("[你您]|的是", cut) or _compiled(_ZH_NOT_A_THING).match(cut):
        return ""
    return re.sub(r"^(?:吃|喝)(?=..|.$)", "", cut)


def _zh_name(text: str) -> str:
    return "" if re.search(_ZH_NOT_A_NAME, text) else text.rstrip(_ZH_END)


def _zh_place(text: str) -> str:
    place = re.sub(
        r"(?:这边|那边|那里|这里|附近|生活|工作|上班|读书|上学|定居|长大|一带|[这那]儿)*$", "", text.rstrip(_ZH_END)
    )
    place = re.split(r"[，,。\s]|已经|快|有|很多|好几|两年|三年|\d", place)[0]
    return place if 2 <= len(place) <= 10 and not re.search(_ZH_NOT_A_PLACE, place) else ""


# What each saying proposes

_RELATIONS = {
    "partner": "wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|spouse|老婆|妻子|太太|爱人|老公|丈夫|先生|女朋友|男朋友|女友|男友|未婚妻|未婚夫|媳妇|对象",
    "mother": "mother|mom|mum|妈妈|母亲|妈",
    "father": "father|dad|爸爸|父亲|爸",
    "sister": "sister",
    "brother": "brother",
    "older_sister": "older sister|elder sister|big sister|姐姐|姐",
    "younger_sister": "younger sister|little sister|妹妹|妹",
    "older_brother": "older brother|elder brother|big brother|哥哥|哥",
    "younger_brother": "younger brother|little brother|弟弟|弟",
    "son": "son|儿子",
    "daughter": "daughter|女儿|闺女",
    "boss": "boss|manager|supervisor|team lead|老板|领导|上司|经理|主管|组长",
    "advisor": "advisor|adviser|phd supervisor|导师",
    "dog": "dog|puppy|狗|狗狗|小狗",
    "cat": "cat|kitten|猫|猫咪|小猫",
    "horse": "horse",
    "roommate": "roommate|flatmate|室友",
    "best_friend": "best friend|闺蜜|最好的朋友",
    "teacher": "teacher",
    "doctor": "doctor|gp",
    "therapist": "therapist",
}
_AT_WORK = ("boss", "advisor")


def _relation(match: re.Match[str]) -> Found | None:
    said = match["rel"].lower()
    key = next((key for key, words in _RELATIONS.items() if re.fullmatch(words, said)), "")
    name = _zh_name(match["x"]) if has_chinese(match["x"]) else _proper(match["x"], _NOT_A_NAME, most=3, lower=0)
    category = "work" if key in _AT_WORK else "life"
    return Found("relation", key, name, "fact", category, "relationship", 0.9) if key and name else None


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ZH_NUMBERS = "零一二三四五六七八九十"
_COUNTED = {
    "kids": "kids?|child|children|孩子|小孩|娃",
    "sons": "sons?|儿子",
    "daughters": "daughters?|女儿",
    "cats": "cats?|猫",
    "dogs": "dogs?|狗",
    "sisters": "sisters?|姐妹",
    "brothers": "brothers?|兄弟",
    "siblings": "siblings?|兄弟姐妹",
}


def _counted(match: re.Match[str]) -> Found | None:
    """How many children, siblings or animals there are."""
    key = next((key for key, words in _COUNTED.items() if re.fullmatch(words, match["what"].lower())), "")
    said = match["x"].lower().replace("两", "二").replace("a ", "one")
    given = _NUMBERS.index(said) if said in _NUMBERS else _ZH_NUMBERS.find(said) if len(said) == 1 else -1
    number = int(said) if said.isdecimal() else given
    return Found("count", key, number, "fact", "life", "relationship", 0.85) if key and number >= 0 else None


def _married(match: re.Match[str]) -> Found | None:
    name = _proper(match["x"], _NOT_A_NAME, most=3, lower=0)
    return Found("relation", "partner", name, subcategory="relationship") if name else None


def _named(key: str) -> Read:
    def read(match: re.Match[str]) -> Found | None:
        chinese = has_chinese(match["x"])
        name = _zh_name(match["x"]) if chinese else _proper(match["x"], _NOT_A_NAME, lower=1 if key == "name" else 0)
        return Found(key, key, name, subcategory="identity", confidence=0.95) if name else None

    return read


def _introduced(match: re.Match[str]) -> Found | None:
    """ "I'm Darryl", but not "I'm German": what ends as such words do is left alone."""
    if re.search(
        r"(?:an|ish|ese|ic|ist|ian|ed|ing|er|im|ew|ch|ay|ne|ut|ot|re|ly|ir|te|ck|ss|ure|ve|ab)(?: |$)", match["x"]
    ):
        return None
    named = _named("name")(match)
    return replace(named, confidence=0.75) if named else None


def _place(key: str, confidence: float = 0.9) -> Read:
    def read(match: re.Match[str]) -> Found | None:
        text = match["x"]
        place = _zh_place(text) if has_chinese(text) else _proper(text, _NOT_A_PLACE)
        if place and place.islower() and place.isascii():
            return Found(key, key, place, subcategory="home", confidence=confidence - 0.1)
        return Found(key, key, place, subcategory="home", confidence=confidence) if place else None

    return read


def _from_there(match: re.Match[str]) -> Found | None:
    """我是…人, of a place and not of a sort of people."""
    text = match["x"]
    if re.search("[个种类的男女好坏老年轻主负责当事发候选唯一第什么有没不相关工商军病证诗艺文私爱机客]", text):
        return None
    return Found("origin", "origin", text, subcategory="home", confidence=0.85)


def _employer(match: re.Match[str]) -> Found | None:
    text = re.split(r"\s(?:as|in|on)\s", match["x"])[0]
    if has_chinese(text):
        name = "" if re.search(_ZH_NOT_AT_WORK, text) or re.search(_ZH_GENERIC, text) else text.strip()
        name = "" if re.search(r"[我你他她了]|^的|时候", name) else name
    else:
        name = _proper(
            text,
            _NOT_A_PLACE
            + r"|^(?:home|night|nights|least|weekends?|noon|work|day|school|university|most|best|once|first|all|times?)\b",
        )
    return Found("employer", "employer", name, "fact", "work", "role", 0.9) if name else None


def _role(confidence: float) -> Read:
    def read(match: re.Match[str]) -> Found | None:
        text = match["x"]
        if has_chinese(text):
            bad = re.search(r"^[他她你这那哪谁什在]|[他她你]的|觉得|不|想|[是当做]", text)
            job = "" if bad else text.strip(_ZH_END)
        else:
            job = _plain(
                re.split(
                    r"[,;(]|\s(?:at|for|in|with|and|on|by|from|who|here|now|since|these|mostly|but|myself)\b", text
                )[0]
            )
            job = "" if _compiled(_NOT_A_JOB).match(job) or len(job.split()) > 4 else job
        return Found("role", "role", job, "fact", "work", "role", confidence) if job else None

    return read


def _birthday(match: re.Match[str]) -> Found | None:
    day = dates.month_and_day(match["x"])
    return Found("birthday", "birthday", day, subcategory="identity", confidence=0.95) if day else None


def _likes(yes: bool, confidence: float = 0.85) -> Read:
    def read(match: re.Match[str]) -> Found | None:
        text = re.split(r"\sto\s|\sover\s", match["x"])[0] if match.groupdict().get("prefer") else match["x"]
        thing = _zh_thing(text) if has_chinese(text) else _thing(text)
        return (
            Found("likes", f"likes.{_slug(thing)}", yes, "preference", "preference", "taste", confidence)
            if thing
            else None
        )

    return read


def _eats(match: re.Match[str]) -> Found | None:
    thing = _zh_thing(match["x"]) if has_chinese(match["x"]) else _thing(match["x"])
    if not thing or re.search(
        r"^(?:下|惯|起|饭|早|午|晚|动|完|到|药|消|meals?|lunch|dinner|breakfast|much|enough|like)", thing
    ):
        return None
    tags = ("constraint", "food")
    return Found("eats", f"eats.{_slug(thing)}", False, "preference", "preference", "food", 0.85, tags)


def _favourite(match: re.Match[str]) -> Found | None:
    what, text = match["what"], match["x"]
    value = (
        _zh_thing(text)
        if has_chinese(text)
        else _plain(re.split(r"[,;(]|\s(?:because|but|and|so|since|by far)\b", text)[0])
    )
    if not value or len(value.split()) > 6 or re.match(_NOT_A_THING.replace(r"the|", ""), value, re.IGNORECASE):
        return None
    return Found("favorite", f"favorite_{_slug(what)}", value, "preference", "preference", "taste", 0.9)


def _member(rule: str, subcategory: str, confidence: float, tags: tuple[str, ...] = ()) -> Read:
    """A fact whose key names one of several things, such as an allergy; its value is true."""

    def read(match: re.Match[str]) -> Found | None:
        text = match["x"]
        thing = _zh_thing(text) if has_chinese(text) else _thing(text)
        thing = re.sub(r"^(?:the|all|most) ", "", thing)
        if not thing:
            return None
        return Found(rule, f"{rule}.{_slug(thing)}", True, "fact", "life", subcategory, confidence, tags)

    return read


def _reaction(match: re.Match[str]) -> Found | None:
    """ "Peanuts make my throat swell": what its speaker cannot stand."""
    thing = _thing(match["x"])
    tags = ("constraint", "allergy")
    return Found("reaction", f"reaction.{_slug(thing)}", True, "fact", "life", "health", 0.85, tags) if thing else None


def _diet(match: re.Match[str]) -> Found:
    said = match["x"].lower()
    value = {"vegan": "vegan", "纯素": "vegan", "全素": "vegan", "pescatarian": "pescatarian"}.get(said, "vegetarian")
    return Found("diet", "diet", value, "fact", "life", "health", 0.9, ("constraint", "food"))


def _is_technology(thing: str) -> bool:
    return words.pattern(words.ENGLISH, "{technology}").fullmatch(thing) is not None


def _skill(match: re.Match[str]) -> Found | None:
    thing = match["x"] if has_chinese(match["x"]) else _plain(match["x"])
    thing = re.sub(r"^(?:the|a|an)\s+", "", thing).strip(_ZH_END)
    category = "work" if _is_technology(thing) or match.groupdict().get("tool") else "life"
    return Found("skill", f"skill.{_slug(thing)}", True, "fact", category, "skill", 0.8) if thing else None


def _tool(match: re.Match[str]) -> Found | None:
    name = _plain(match["x"])
    known = _is_technology(name)
    if not known and (not name[:1].isupper() or _compiled(_NOT_A_NAME).match(name) or len(name.split()) > 3):
        return None
    return Found("skill", f"skill.{_slug(name)}", True, "fact", "work", "skill", 0.8)


def _attribute(match: re.Match[str]) -> Found | None:
    key = re.sub(r"[\s-]+", "_", match["what"].lower())
    key = {"timezone": "time_zone", "e_mail": "email", "email_address": "email", "e_mail_address": "email"}.get(
        key, key
    )
    key = {
        "时区": "time_zone",
        "邮箱": "email",
        "职业": "role",
        "工作": "role",
        "老家": "origin",
        "家乡": "origin",
    }.get(key, key)
    key = {
        "job": "role",
        "job_title": "role",
        "hometown": "origin",
        "nationality": "nationality",
        "国籍": "nationality",
    }.get(key, key)
    value = _plain(re.split(r"[,，;(]\s|\s(?:and|but|because|so)\s", match["x"])[0])
    vague = re.match(
        r"(?:not|very|so|too|a bit|going|the same|on|in|at|wrong|here|below|easy|hard|boring|fine|great|don|为|不|很|太|挺|好|忙)\b|[不很太挺]",
        value,
        re.IGNORECASE,
    )
    if not value or len(value) > 60 or vague or len(value.split()) > 5:
        return None
    category = "work" if key == "role" else "life"
    return Found(key, key, re.sub(r"^(?:a|an)\s+", "", value), "fact", category, "identity", 0.9)


# The tables

_ADV = (
    r"(?:(?:really|also|just|still|currently|now|actually|mostly|usually|absolutely|particularly|especially|definitely|"
    r"generally|truly|always|personally|honestly|secretly|both|quite|rather|kind of|sort of|kinda|probably|maybe|possibly|"
    r"perhaps|do|have|recently|originally|only|finally|much|strongly|totally|simply|generally|normally|typically|mainly|"
    r"might|may|apparently|genuinely|deeply|officially|live and)\s+){0,3}"
)
_ZH_ADV = (
    r"(?:也|都|还|就|是|真的|真|特别|非常|很|最|比较|更|挺|超级|超|一直|现在|目前|平时|从小|其实|本来|可能|好像|大概|也许|或许|似乎|应该是|应该|"
    r"估计|一般|通常|总是|太|尤其|蛮|的确|确实|主要|已经|刚刚|刚|个人|从来|一向|向来|完全|实在|真心|基本|基本上|有点|有些|"
    r"上个月|上周|去年|今年|最近|昨天|前年|年初|月初|春天|夏天|秋天|冬天|今天|严重|对|今年初|去年底|\d{4}年|\d{1,2}月|几年前|平常|日常|工作中|通常|在家|老|格外|特|当然|绝对){0,4}"
)
_I = rf"(?:i|we)\s+{_ADV}"
_AM = rf"(?:i'm|i am|we're|we are)\s+{_ADV}"
_ME = rf"(?:我们|我){_ZH_ADV}"
_PHRASES: tuple[Phrase, ...] = (
    # Who
    Phrase(r"my (?:full |real |first )?name(?:'s| is)\s+(?P<x>.+)", _named("name")),
    Phrase(r"(?:you can |please |just |everyone |everybody |people |friends |my friends )?(?:can |may )?calls? me\s+(?P<x>.+)", _named("nickname")),
    Phrase(r"(?:i'm|i am)\s+(?-i:(?P<x>[A-Z][a-zà-ÿ]{2,}(?: [A-Z][a-zà-ÿ]+)?))$", _introduced),
    Phrase(rf"i (?:{_ADV})go by\s+(?P<x>.+)", _named("nickname")),
    Phrase(rf"我(?:的)?(?:本名|全名|名字|大名)?(?:就)?(?:叫做|叫|是叫|的名字是|名字是){_ZH_NAME}", _named("name")),
    Phrase(r"(?:你|您|你们)?(?:可以|以后|就|直接)?(?:叫|喊|称呼)我(?P<x>[\u4e00-\u9fff]{1,5}?|[A-Za-z]\w{0,20})(?:就好|就行|吧|即可|好了|就可以)(?:了|啦)?$", _named("nickname")),
    Phrase(r"my birthday(?:'s| is)\s+(?P<x>.+)", _birthday),
    Phrase(r"(?:i was|i'm) born\s+(?:on )?(?P<x>.+)", _birthday),
    Phrase(r"我(?:的)?生日(?:是|在|：)?(?P<x>.+)", _birthday),
    Phrase(r"我(?:是)?(?:生于|出生于)(?P<x>\d.+)", _birthday),
    Phrase(r"我(?:是)?(?P<x>\d.{3,12})(?:出生|生的)", _birthday),
    # Where
    Phrase(rf"{_I}live(?: and work)? in\s+(?P<x>.+)", _place("city")),
    Phrase(rf"{_AM}(?:based|living|residing) in\s+(?P<x>.+)", _place("city")),
    Phrase(rf"(?:i've|we've|{_I})\s*{_ADV}(?:moved|relocated) (?:back )?(?:from \w+ )?to\s+(?P<x>.+)", _place("city", 0.97)),
    Phrase(rf"(?:{_ME}(?:住在|住|定居在|定居|搬到|搬去|搬来|搬回|落户)|我家(?:现在)?(?:住)?在)(?:了)?(?P<x>[^，。]+)", _place("city")),
    Phrase(rf"(?:{_AM}|i {_ADV}come )\s*from\s+(?P<x>.+)", _place("origin", 0.85)),
    Phrase(rf"{_ME}(?:来自|老家在|家乡在|老家是)(?P<x>[^，。]+)", _place("origin", 0.85)),
    Phrase(r"我(?:老家|家乡)(?:在|是)(?P<x>[^，。]+)", _place("origin", 0.85)),
    Phrase(r"我(?:们)?(?:也|都)?是(?:地道的|土生土长的)?(?P<x>[\u4e00-\u9fff]{2,4})人$", _from_there),
    # Work
    Phrase(rf"{_I}work(?:ing)? (?:full[- ]time |part[- ]time )?(?:at|for)\s+(?P<x>.+)", _employer),
    Phrase(rf"{_AM}(?:working|employed) (?:at|for|by)\s+(?P<x>.+)", _employer),
    Phrase(rf"{_AM}(?:an?|the) (?:[\w/-]+ ){{0,3}}?{{job}} (?:at|for|with)\s+(?P<x>.+)", _employer),
    Phrase(rf"{_ME}在(?P<x>[^，。]{{1,15}}?)(?:工作|上班|任职|就职|供职)", _employer),
    Phrase(rf"{_I}work(?:ing)?(?: at \S+| for \S+)? as\s+(?:an?|the)\s+(?P<x>.+)", _role(0.9)),
    Phrase(rf"{_AM}(?:an?|the)\s+(?P<x>(?:[\w/-]+ ){{0,3}}?{{job}})(?=$|\s(?:at|for|in|with|and|by|from|on|who|working|now|here)\b)", _role(0.9)),
    Phrase(r"我(?:们)?(?:现在|目前|也|就|已经|以后)*(?:是|做|当)(?:做|当)?(?:一名|一个|一位|一|个|名|位)?(?P<x>[^，。\s]{0,12}?(?:{job}))(?:的|了|啊|呀)?$", _role(0.9)),
    Phrase(rf"{_ME}在(?P<e>[^，。]{{1,12}}?)(?:当|做|担任|任)(?P<x>[^，。\s]{{0,8}}?(?:{{job}}))(?:了)?$", _role(0.9)),
    Phrase(r"my (?P<what>{attribute})(?:'s| is)\s+(?P<x>.+)", _attribute),
    Phrase(r"我的?(?P<what>时区|邮箱|职业|国籍|血型|母语)(?:是|：|为)(?P<x>[^，。]+)", _attribute),
    # People and animals
    Phrase(r"(?:my|our) (?P<rel>{relation})(?:'s name is|'s called| is called| is named|'s name's)\s+(?P<x>.+)", _relation),
    Phrase(r"(?:my|our) (?P<rel>boss|manager|supervisor|advisor|adviser) is\s+(?P<x>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)$", _relation),
    Phrase(r"(?:my|our) (?P<rel>{relation}) (?-i:(?P<x>[A-Z][a-zà-ÿ'-]+))(?=$| (?-i:[a-z]))(?! (?:i|we)\b)", _relation),
    Phrase(rf"{_I}have (?:a|an|one)(?: \w+)? (?P<rel>{{relation}}) (?:named|called)\s+(?P<x>.+)", _relation),
    Phrase(rf"{_AM}married to\s+(?P<x>.+)", _married),
    Phrase(rf"我(?:们|家)?(?:里)?(?:的)?(?P<rel>{{relation}})(?:的名字)?(?:名叫|是叫|叫做|叫|姓){_ZH_NAME}", _relation),
    Phrase(rf"我(?:们|家)?(?:养了|有)(?:一)?[只条匹个](?P<rel>{{relation}})(?:名叫|叫做|叫){_ZH_NAME}", _relation),
    Phrase(rf"{_I}(?:have|have got|'ve got|got) (?:only |just )?(?P<x>no|one|two|three|four|five|six|seven|eight|nine|ten|\d{{1,2}}) (?:\w+ )?(?P<what>kids?|child|children|sons?|daughters?|cats?|dogs?|sisters?|brothers?|siblings?)(?=$|\s(?:now|and|who|named|called|at home|aged|in)\b)", _counted),
    Phrase(r"我(?:们)?(?:家)?(?:现在|一共|总共|就|只|还|家里|已经)*有(?P<x>[一二两三四五六七八九十]|\d{1,2})(?:个|只|条|位|名)(?P<what>孩子|小孩|娃|儿子|女儿|猫|狗|姐妹|兄弟|兄弟姐妹)(?:了|啦|啊)?$", _counted),
    # Tastes
    Phrase(rf"{_I}(?:like|love|enjoy|adore)\s+(?P<x>.+)", _likes(True)),
    Phrase(rf"{_I}(?P<prefer>prefer)\s+(?P<x>.+)", _likes(True)),
    Phrase(rf"{_AM}(?:a )?(?:big |huge |great )?(?:fan of|fond of|into|crazy about|keen on)\s+(?P<x>.+)", _likes(True, 0.8)),
    Phrase(rf"{_I}(?:hate|dislike|detest|despise|loathe|can't stand|cannot stand|can't bear)\s+(?!to )(?P<x>.+)", _likes(False)),
    Phrase(rf"{_I}(?:don't|do not|never) (?:really |particularly |much )?(?:like|enjoy|care for)\s+(?P<x>.+)", _likes(False)),
    Phrase(rf"{_AM}not (?:really |exactly )?(?:a )?(?:big |huge |great )?(?:fan of|fond of|into|keen on)\s+(?P<x>.+)", _likes(False, 0.8)),
    Phrase(rf"(?:比起(?P<prefer>\S{{1,8}}?)[，,]?)?{_ME}(?:喜欢|喜爱|热爱|偏爱|偏好|钟爱|爱吃|爱喝|爱看|爱听|爱玩)(?!.{0,2}的)(?!.*的.{1,6}是)(?P<x>.+)", _likes(True)),
    Phrase(rf"{_ME}爱(?![吃喝看听玩人你您他她它情们妻])(?P<x>.{{2,}})", _likes(True, 0.8)),
    Phrase(rf"{_ME}(?:不太喜欢|不怎么喜欢|不是很喜欢|不喜欢|不爱吃|不爱喝|不爱|讨厌|受不了|反感|厌恶|最烦|很烦|接受不了)(?P<x>.+)", _likes(False)),
    Phrase(rf"{_I}(?:don't|do not|never|can't|cannot|mustn't|must not|may not|shouldn't|am not allowed to|(?:'m|am|are) not allowed to) (?:eat|drink)\s+(?P<x>.+)", _eats),
    Phrase(rf"{_I}(?:can't|cannot|mustn't|must not) have\s+(?P<x>(?:any )?(?:gluten|dairy|lactose|(?:pea|tree )?nuts?|peanuts|sugar|salt|alcohol|caffeine|meat|pork|beef|fish|seafood|shellfish|milk|eggs?|soy|wheat|bread|cheese|chocolate|coffee|spicy food|grapefruit|aspirin|ibuprofen|penicillin|antibiotics))$", _eats),
    Phrase(r"(?P<x>[\w-]+(?: [\w-]+)?) (?:always |usually |really )?(?:make|give|cause|bring|send|trigger|set off)s? (?:me|my)\b.*\b{symptom}\b", _reaction),
    Phrase(rf"{_ME}(?:不吃|不喝|不能吃|不能喝|吃不了|喝不了)(?P<x>.+)", _eats),
    Phrase(r"my (?:all-time )?favou?rite (?P<what>\w+(?: \w+)?)(?:'s| is| are| has always been)\s+(?P<x>.+)", _favourite),
    Phrase(r"我(?:个人|现在|目前|如今)*最(?:喜欢|爱)(?:吃|喝|看|听|玩|用)?的(?P<what>[^是，。不]{1,6})(?:就)?是(?P<x>.+)", _favourite),
    # Health
    Phrase(rf"{_AM}(?:severely |badly |mildly |very |highly |deadly |slightly )?allergic to\s+(?P<x>.+)", _member("allergy", "health", 0.95, ("constraint", "allergy"))),
    Phrase(rf"{_I}(?:have|suffer from) an? (?:\w+ )?allergy to\s+(?P<x>.+)", _member("allergy", "health", 0.95, ("constraint", "allergy"))),
    Phrase(rf"{_I}have an? (?P<x>[\w-]+(?: [\w-]+)?) allergy\b", _member("allergy", "health", 0.95, ("constraint", "allergy"))),
    Phrase(rf"{_ME}对(?P<x>[^，。不没]{{1,10}}?)(?:严重|特别|有点|有些|也|都|会)?过敏", _member("allergy", "health", 0.95, ("constraint", "allergy"))),
    Phrase(rf"{_ME}(?:有)?(?P<x>花粉|尘螨|海鲜|花生|坚果|牛奶|鸡蛋|芒果|酒精|青霉素|乳胶|猫毛|狗毛|小麦|麸质)过敏", _member("allergy", "health", 0.95, ("constraint", "allergy"))),
    Phrase(rf"{_AM}(?:an? )?(?:strict |lifelong )?(?P<x>vegetarian|vegan|pescatarian)\b(?! (?:option|food|dish|recipe|restaurant))", _diet),
    Phrase(rf"{_ME}(?:吃|是|一名|个)*(?P<x>纯素|全素|素食主义者|素食者|素)(?:食)?(?:的|了|主义者|很多年|多年)?$", _diet),
    Phrase(rf"{_AM}(?P<x>lactose|gluten|fructose)[- ]intolerant", _member("intolerance", "health", 0.95, ("constraint", "food"))),
    Phrase(rf"{_ME}(?:有)?(?P<x>乳糖|麸质|果糖)不耐(?:受)?", _member("intolerance", "health", 0.95, ("constraint", "food"))),
    Phrase(rf"{_I}(?:have|suffer from|was diagnosed with)\s+(?P<x>(?:type [12] )?diabetes|asthma|celiac disease|coeliac disease|adhd|epilepsy|migraines?|hypertension|high blood pressure)\b", _member("condition", "health", 0.9, ("health",))),
    Phrase(rf"{_ME}(?:有|患有|得了)(?P<x>糖尿病|哮喘|高血压|低血糖|偏头痛|癫痫|抑郁症|焦虑症|胃病|鼻炎|关节炎)", _member("condition", "health", 0.9, ("health",))),
    # Skills
    Phrase(rf"{_I}(?:can )?(?:speak|know)\s+(?:a little |some |fluent |native |basic |a bit of |good )?(?P<x>{{tongue}})\b", _member("language", "skill", 0.85)),
    Phrase(rf"{_AM}(?:fluent|native) in\s+(?P<x>{{tongue}})\b", _member("language", "skill", 0.9)),
    Phrase(rf"{_ME}(?:会|能)(?:说|讲)(?:一点|一些|点|流利的)*(?P<x>{{tongue}})", _member("language", "skill", 0.85)),
    Phrase(rf"{_I}(?:can )?play (?:the )?(?P<x>cello|violin|piano|guitar|bass|drums|flute|saxophone|trumpet|harp|clarinet|viola|ukulele|banjo|organ|accordion|chess|go)\b", _skill),
    Phrase(rf"{_ME}会(?:拉|弹|吹|打|敲|下)(?P<x>[\u4e00-\u9fff]{{1,5}})(?:了|的)?$", _skill),
    Phrase(rf"{_ME}会(?P<x>游泳|开车|做饭|画画|编程|滑雪|滑冰|摄影|书法|骑马|潜水|唱歌|跳舞|剪辑|修车|理财|织毛衣|木工)$", _skill),
    Phrase(rf"{_ME}(?:精通|擅长|熟悉|掌握|会用|会写)(?P<x>[A-Za-z][A-Za-z0-9+#. ]{{0,20}}|[\u4e00-\u9fff]{{2,8}})$", _skill),
    Phrase(rf"{_I}(?:know|program in|code in|write|work with|am good at)\s+(?P<x>{{technology}})\b(?! (?:code|is|that|how)\b)(?![.\w])", _tool),
    Phrase(rf"{_I}use\s+(?P<x>{{technology}})(?=$|\s(?:for|as|at|on|every|daily|and|with|instead|to|here)\b)", _tool),
    Phrase(rf"{_I}use\s+(?-i:(?P<x>[A-Z][\w+#.]*(?: [A-Z0-9][\w+#.]*)?))(?=$|\s(?:for|as|at|on|every|daily|and|instead)\b)", _tool),
    Phrase(rf"{_ME}(?:都是|在)?(?:用|使用)(?P<x>[A-Za-z][A-Za-z0-9+#.]*(?: \d[\d.]*)?)\s*(?:写|做|编程|开发|办公|记|画|管理|处理|来|当|$)", _tool),
    Phrase(rf"{_AM}(?:learning|studying)\s+(?:how )?(?:to (?:play|speak) )?(?:the )?(?P<x>{{tongue}}|{{technology}}|piano|guitar|violin|cello|drums)\b", _member("learning", "skill", 0.85)),
    Phrase(rf"{_ME}(?:正)?(?:在|开始)(?:学习|学)(?P<x>{{tongue}}|钢琴|吉他|小提琴|大提琴|古筝|画画|编程|书法|游泳|[A-Z][A-Za-z+#]*)", _member("learning", "skill", 0.85)),
)  # fmt: skip


# Sayings of a whole sentence

JUST_DONE = r"\b(?:finally|just)\b|终于|刚刚|总算"

_AT_WORK_WORDS = ((words.ENGLISH, r"\b{work}\b"), (words.CHINESE, r"{work}"))

ANSWER_LANGUAGE = (
    r"^(?:{please}[ ,]+){0,4}(?P<always>(?:always|from now on|by default|only)[ ,]+)?(?:please )?(?:always )?(?:answer|reply|respond|write|speak|talk)(?: to me| me| back)?(?: only)? in (?P<x>{tongue})\b(?! to (?!me)| for (?!me)).*",
    r"^(?:.{0,6}[，,])?(?P<always>(?:以后|今后|从现在起|总是|一直|始终|一律|都)*)(?:请|请你|麻烦)?(?P<more>(?:以后|总是|一直|始终|一律|都|都要)*)(?:尽量|还是)?(?:改|换成|改为)?用(?P<x>{tongue})(?:来)?(?:回答|回复|和我|跟我|交流|说|写(?![\u4e00-\u9fff])).*",
)  # fmt: skip


def at_work(text: str) -> str:
    """`work` for a text about work, else `life`."""
    known = any(words.pattern(language, form).search(text) for language, form in _AT_WORK_WORDS)
    return "work" if known else "life"


def starts(patterns: tuple[str, ...], text: str) -> re.Match[str] | None:
    """The first match of any of the patterns at the beginning of a text."""
    return next((match for pattern in patterns if (match := _compiled(pattern).match(text))), None)
