"""The sayings that extraction knows, in English and Chinese, and what each proposes. `docs/extracting.md` lists them.

A pattern is tried at the beginning of a clause. It must be sure: what it does not see can still be added by hand, what it
sees wrongly is believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from memctl.core import dates
from memctl.core.text.language import has_chinese


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


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


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
_ZH_JOBS = (
    "老师|教师|医生|护士|工程师|程序员|学生|研究生|博士生|硕士生|本科生|大学生|高中生|设计师|律师|会计|会计师|记者|作家|翻译|经理|科学家|研究员|"
    "司机|厨师|教授|开发|开发者|架构师|分析师|公务员|编辑|摄影师|画家|音乐家|顾问|创始人|自由职业者|博士后|药师|警察|军人|农民|店主|"
    "咨询师|建筑师|演员|导演|主播|博主|销售|HR|讲师|辅导员|飞行员|乘务员|店员|教练|技术员|运维|测试|前端|后端|产品"
)


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


def _relation_words(chinese: bool) -> str:
    words = [
        word
        for words in _RELATIONS.values()
        for word in words.split("|")
        if word.isascii() is not chinese or "é" in word
    ]
    return "|".join(sorted(words, key=len, reverse=True))


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


def _skill(match: re.Match[str]) -> Found | None:
    thing = match["x"] if has_chinese(match["x"]) else _plain(match["x"])
    thing = re.sub(r"^(?:the|a|an)\s+", "", thing).strip(_ZH_END)
    category = "work" if re.fullmatch(_TECH, thing, re.IGNORECASE) or match.groupdict().get("tool") else "life"
    return Found("skill", f"skill.{_slug(thing)}", True, "fact", category, "skill", 0.8) if thing else None


def _tool(match: re.Match[str]) -> Found | None:
    name = _plain(match["x"])
    known = re.fullmatch(_TECH, name, re.IGNORECASE) is not None
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

_LANGUAGES = (
    "english|british english|american english|german|french|spanish|italian|portuguese|dutch|russian|polish|ukrainian|czech|"
    "swedish|norwegian|danish|finnish|greek|turkish|arabic|hebrew|hindi|urdu|bengali|tamil|mandarin|cantonese|chinese|"
    "simplified chinese|traditional chinese|japanese|korean|vietnamese|thai|indonesian|malay|persian|farsi|romanian|hungarian|"
    "catalan|basque|welsh|irish|latin|esperanto|swahili"
)
_ZH_LANGUAGES = r"(?:英|日|德|法|俄|韩|葡萄牙|西班牙|意大利|阿拉伯|粤|泰|越南|荷兰|瑞典|波兰|土耳其|希腊|拉丁|印地|汉|外|闽南|上海|四川)(?:语|文|话)|中文|普通话|粤语|日文|英文"
_TECH = (
    r"python(?: \d[\d.]*)?|java|rust|go|golang|c|c\+\+|c#|javascript|typescript|sql|postgres(?:ql)?|mysql|sqlite|mongodb|redis|"
    r"react|vue|angular|svelte|docker|podman|kubernetes|k8s|terraform|ansible|excel|photoshop|figma|latex|r|matlab|julia|haskell|"
    r"ocaml|scala|kotlin|swift|ruby|rails|php|perl|bash|zsh|fish|git|vim|neovim|emacs|vs ?code|pycharm|intellij|linux|ubuntu|fedora|"
    r"debian|arch|macos|windows|django|flask|fastapi|pytorch|tensorflow|pandas|numpy|spark|kafka|aws|gcp|azure|notion|obsidian|"
    r"slack|jira|github|gitlab|tmux|nix|elixir|erlang|clojure|lua|zig|nextjs|next\.js|node(?:\.?js)?"
)
_JOBS = (
    r"(?:[\w/-]+ ){0,3}?(?:engineer|developer|programmer|teacher|doctor|nurse|student|designer|manager|lawyer|scientist|researcher|"
    r"writer|analyst|accountant|architect|consultant|journalist|musician|chef|pilot|professor|electrician|carpenter|therapist|"
    r"pharmacist|dentist|photographer|translator|editor|freelancer|founder|librarian|postdoc|physicist|chemist|biologist|"
    r"mathematician|economist|veterinarian|vet|paramedic|plumber|mechanic|actor|actress|illustrator|administrator|sysadmin|"
    r"devops|recruiter|firefighter|barista|baker|farmer|cto|ceo|phd student|phd candidate|tutor|lecturer|statistician|"
    r"psychologist|surgeon|midwife|physiotherapist|social worker|product owner|data engineer)"
)
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
_ATTRIBUTES = (
    r"e-?mail(?: address)?|time ?zone|nationality|home ?town|job(?: title)?|shoe size|pronouns|github(?: username)?|"
    r"(?:default )?editor|operating system|native language|mother tongue|blood type|shell"
)

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
    Phrase(rf"{_AM}(?:an?|the) {_JOBS} (?:at|for|with)\s+(?P<x>.+)", _employer),
    Phrase(rf"{_ME}在(?P<x>[^，。]{{1,15}}?)(?:工作|上班|任职|就职|供职)", _employer),
    Phrase(rf"{_I}work(?:ing)?(?: at \S+| for \S+)? as\s+(?:an?|the)\s+(?P<x>.+)", _role(0.9)),
    Phrase(rf"{_AM}(?:an?|the)\s+(?P<x>{_JOBS})(?=$|\s(?:at|for|in|with|and|by|from|on|who|working|now|here)\b)", _role(0.9)),
    Phrase(rf"我(?:们)?(?:现在|目前|也|就|已经|以后)*(?:是|做|当)(?:做|当)?(?:一名|一个|一位|一|个|名|位)?(?P<x>[^，。\s]{{0,12}}?(?:{_ZH_JOBS}))(?:的|了|啊|呀)?$", _role(0.9)),
    Phrase(rf"{_ME}在(?P<e>[^，。]{{1,12}}?)(?:当|做|担任|任)(?P<x>[^，。\s]{{0,8}}?(?:{_ZH_JOBS}))(?:了)?$", _role(0.9)),
    Phrase(rf"my (?P<what>{_ATTRIBUTES})(?:'s| is)\s+(?P<x>.+)", _attribute),
    Phrase(r"我的?(?P<what>时区|邮箱|职业|国籍|血型|母语)(?:是|：|为)(?P<x>[^，。]+)", _attribute),
    # People and animals
    Phrase(rf"(?:my|our) (?P<rel>{_relation_words(False)})(?:'s name is|'s called| is called| is named|'s name's)\s+(?P<x>.+)", _relation),
    Phrase(r"(?:my|our) (?P<rel>boss|manager|supervisor|advisor|adviser) is\s+(?P<x>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)$", _relation),
    Phrase(rf"(?:my|our) (?P<rel>{_relation_words(False)}) (?-i:(?P<x>[A-Z][a-zà-ÿ'-]+))(?=$| (?-i:[a-z]))(?! (?:i|we)\b)", _relation),
    Phrase(rf"{_I}have (?:a|an|one)(?: \w+)? (?P<rel>{_relation_words(False)}) (?:named|called)\s+(?P<x>.+)", _relation),
    Phrase(rf"{_AM}married to\s+(?P<x>.+)", _married),
    Phrase(rf"我(?:们|家)?(?:里)?(?:的)?(?P<rel>{_relation_words(True)})(?:的名字)?(?:名叫|是叫|叫做|叫|姓){_ZH_NAME}", _relation),
    Phrase(rf"我(?:们|家)?(?:养了|有)(?:一)?[只条匹个](?P<rel>{_relation_words(True)})(?:名叫|叫做|叫){_ZH_NAME}", _relation),
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
    Phrase(r"(?P<x>[\w-]+(?: [\w-]+)?) (?:make|makes|give|gives|cause|causes) (?:me|my) (?:\w+ ){0,2}?(?:swell|itch|itchy|vomit|throw up|break out|hives|rash|a rash|migraines?|nauseous|cough|wheeze)\b", _reaction),
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
    Phrase(rf"{_I}(?:can )?(?:speak|know)\s+(?:a little |some |fluent |native |basic |a bit of |good )?(?P<x>{_LANGUAGES})\b", _member("language", "skill", 0.85)),
    Phrase(rf"{_AM}(?:fluent|native) in\s+(?P<x>{_LANGUAGES})\b", _member("language", "skill", 0.9)),
    Phrase(rf"{_ME}(?:会|能)(?:说|讲)(?:一点|一些|点|流利的)*(?P<x>{_ZH_LANGUAGES})", _member("language", "skill", 0.85)),
    Phrase(rf"{_I}(?:can )?play (?:the )?(?P<x>cello|violin|piano|guitar|bass|drums|flute|saxophone|trumpet|harp|clarinet|viola|ukulele|banjo|organ|accordion|chess|go)\b", _skill),
    Phrase(rf"{_ME}会(?:拉|弹|吹|打|敲|下)(?P<x>[\u4e00-\u9fff]{{1,5}})(?:了|的)?$", _skill),
    Phrase(rf"{_ME}会(?P<x>游泳|开车|做饭|画画|编程|滑雪|滑冰|摄影|书法|骑马|潜水|唱歌|跳舞|剪辑|修车|理财|织毛衣|木工)$", _skill),
    Phrase(rf"{_ME}(?:精通|擅长|熟悉|掌握|会用|会写)(?P<x>[A-Za-z][A-Za-z0-9+#. ]{{0,20}}|[\u4e00-\u9fff]{{2,8}})$", _skill),
    Phrase(rf"{_I}(?:know|program in|code in|write|work with|am good at)\s+(?P<x>{_TECH})\b(?! (?:code|is|that|how)\b)(?![.\w])", _tool),
    Phrase(rf"{_I}use\s+(?P<x>{_TECH})(?=$|\s(?:for|as|at|on|every|daily|and|with|instead|to|here)\b)", _tool),
    Phrase(rf"{_I}use\s+(?-i:(?P<x>[A-Z][\w+#.]*(?: [A-Z0-9][\w+#.]*)?))(?=$|\s(?:for|as|at|on|every|daily|and|instead)\b)", _tool),
    Phrase(rf"{_ME}(?:都是|在)?(?:用|使用)(?P<x>[A-Za-z][A-Za-z0-9+#.]*(?: \d[\d.]*)?)\s*(?:写|做|编程|开发|办公|记|画|管理|处理|来|当|$)", _tool),
    Phrase(rf"{_AM}(?:learning|studying)\s+(?:how )?(?:to (?:play|speak) )?(?:the )?(?P<x>{_LANGUAGES}|{_TECH}|piano|guitar|violin|cello|drums)\b", _member("learning", "skill", 0.85)),
    Phrase(rf"{_ME}(?:正)?(?:在|开始)(?:学习|学)(?P<x>{_ZH_LANGUAGES}|钢琴|吉他|小提琴|大提琴|古筝|画画|编程|书法|游泳|[A-Z][A-Za-z+#]*)", _member("learning", "skill", 0.85)),
)  # fmt: skip


# Sayings of a whole sentence

_FREQUENTLY = r"every (?:other )?(?:single )?(?:morning|evening|night|day|weekday|week|weekend|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|most (?:mornings|evenings|days|weekends)"
_NO_HABIT = r"(?:get|got|see|saw|receive|fail|have (?:a |the |an )?(?:problem|issue|trouble|error|question)|end up|forget|lose|hear|feel|wonder|think|thought|struggle|run into|hit|wanted|want|knew|need|assume|had|hated|loved|liked|was|were|am|could|would|make mistakes|mess)"
HABIT = (
    rf"(?:i|we) (?:usually|always|normally|typically|generally|often|rarely|never|tend to) (?!\w+ (?:it|that|this|them|you)\b)(?!{_NO_HABIT}\b(?! up\b))(?!\w+ed\b)(?!(?:said|knew|told|went|did|came|met|been|heard|understood|meant|asked|tried|thought)\b)[a-z]+ .+",
    rf"(?:{_FREQUENTLY}),? (?:i|we) (?!{_NO_HABIT}\b)(?!\w+ed\b)[a-z]+.*",
    rf"(?:i|we) (?!{_NO_HABIT}\b)(?!\w+ed\b)(?!(?:went|did|ran|ate|was|were|don't|didn't|can't)\b)[a-z]+ .*(?:{_FREQUENTLY})\b.*",
    r"我(?:们)?(?:一般|平时|从来|都)?(?:每天|每周|每晚|每早|每个月|每年|每逢|每到|通常|平时|一般|习惯|总是|经常|从不)(?!.*(?:报错|出错|失败|遇到|看到|收到|忘|觉得|崩溃|卡住|想|就会卡|不行|要改|被))(?!了).{3,}",
    r"(?:每天|每周[一二三四五六日末天]?|每个?(?:星期|周末|月|早上|晚上)|每晚|每早|每年)[^，。]{0,8}?[，,]?我(?:们)?(?!.*(?:报错|出错|失败|遇到|收到|忘|觉得|崩溃)).{2,}",
)  # fmt: skip

_BEHAVE = (
    r"(?:answer|reply|respond|write|use|keep|give|show|ask|include|explain|format|call|add|run|check|start|end|make|put|send|"
    r"speak|avoid|prefer|stick|remind|commit|push|merge|test|assume|cite|quote|name|tell|mention|read|leave|follow|convert|"
    r"schedule|address|return|output|provide|skip|be|have|do|work|wait|confirm|deploy|delete|review|sign|round|translate|"
    r"summari[sz]e|share|book|store|save|suggest|recommend|touch|change|edit|modify|remove|create|refer|plan|sort|treat|open|print|log)"
)
_ZH_ONCE = (
    r"(?!.*(?:这个|那个|这里|这次|现在|今天|这段|这份|马上|担心|客气|介意|着急|误会|难过|放弃|紧张|[了吧吗呢？?]$))"
)
"""After which a Chinese instruction is about this once, or comforts."""

_PLEASE = r"(?:(?:please|pls|can you|could you|would you|will you|i want you to|i'd like you to|and|so|also|but|ok|okay|then|when you [^,]{3,40}|if you [^,]{3,40}|for [^,]{3,30}(?=,)|in [^,]{3,30}(?=,))[ ,]{1,2}){0,3}"
_LASTING = r"(?:ever|again|any ?more|unless i (?:ask|say|tell)|without (?:asking|my|telling)|in (?:the )?future|from now on|by default|going forward|at all)"
INSTRUCTION = (
    rf"^{_PLEASE}(?:always|never|from now on|in (?:the )?future|going forward|by default)\b,? (?:please )?(?:always |never |don't |do not )?(?!give (?:up|in)\b|be (?:afraid|yourself|happy)\b){_BEHAVE}\b.*",
    rf"^{_PLEASE}you (?:must|should|may|can)(?: not|n't| never| always| only)? {_BEHAVE}\b.*\b(?:unless|without|always|never|every|before|only)\b.*",
    rf"^{_PLEASE}you (?:must|may|should) (?:not|never|always) (?:ever )?{_BEHAVE}\b.{{3,}}",
    rf"^{_PLEASE}(?:as a rule|whenever i [^,]{{3,60}}|every time i [^,]{{3,60}}),? (?:please )?(?:do not |don't |never |always )?{_BEHAVE}\b.*",
    rf"^{_PLEASE}keep (?:all |every |each |your |the )+(?:answers?|repl(?:y|ies)|responses?|messages?|explanations?)\b.*",
    r"^from now on,? (?:please )?no [a-z]+.*",
    r"^(?:未经我|没经我|没有?问过我)[^，。]{0,6}[，,]?(?:都|绝对)?(?:不要|别|不能|不许|不准|不得|禁止).{2,}",
    r"^(?:跟我|和我|对我)(?:说话|聊天|讲话|交流)[^，。]{0,4}[，,]?(?:请|都|要|不要|别).{2,}",
    rf"^{_PLEASE}{_BEHAVE}\b.{{3,}}\b(?:from now on|in (?:the )?future|going forward|by default|at all times|every time)\W*$",
    rf"^{_PLEASE}(?:don't|do not|stop|avoid)(?: ever)? (?:{_BEHAVE}|\w+ing)\b.*\b{_LASTING}\b.*",
    rf"^{_PLEASE}(?:don't|do not|stop) (?:us(?:e|ing)|call(?:ing)?|writ(?:e|ing)|add(?:ing)?|send(?:ing)?|schedul(?:e|ing)) (?!this|that|the|it\b|those|these|them|me (?:back|now|today|tomorrow)|a\b|an\b)(?!.*\b(?:yet|now|for now|today|here|this|that)\b)\w+.*",
    r"^(?:.{0,12}[，,])?(?:请你?|你|麻烦)?(?:以后|今后|从现在起|从现在开始|从今以后|从今天起|往后|日后|永远|始终|一律|每次(?=回答|回复|写|提交|修改))(?:都|请|你|，|,|要|不要|别|一律|就)*.*(?:回答|回复|用|写|不要|别|控制|保持|先|叫我|称呼|提醒|给我|使用|避免|加上|附上|说|问我|解释|提交|运行|列出|按|输出|检查|发).*",
    r"^(?:please|pls) (?:always|never) [a-z]+ .+",
    r"^(?:输出|代码|注释|日期|时间|单位|表格|结果|报告|文档|邮件|变量名)(?:格式)?(?:请|都|一律|统一|要|尽量)*(?:用|使用|采用|写成|保持)(?!过|了|的|什么|哪)[^，。]{2,20}$",
    r"^有(?:事|问题|急事|情况)(?:就|请|都|直接|可以)*(?:发|打|用|找|写)[^，。]{1,10}[，,]?(?:就好|就行|即可)?(?:[，,]?(?:不要|别|不用)[^，。]{1,10})?$",
    r"^(?:.{0,12}[，,])?(?:请|请你|麻烦你?)(?:总是|一直|始终|永远|务必|一定要?|都)(?!帮).*",
    r"^(?:请|请你|麻烦你?|你)?(?:不要|别|千万别|永远不要|绝对不要|切勿)再.*",
    r"^(?:请|请你|麻烦你?)(?:不要|别|千万不要|切勿|避免)(?!.*(?:这个|那个|这里|这次|现在|先|今天|这段|这份|该|它|担心|客气|介意|见怪|误会)).*",
    rf"^(?:你|请你?|记得|注意)?[，,]?(?:千万|绝对|永远|任何时候都?|无论如何都?|不管怎样都?|每次都?)(?:不要|别|不能|不许|不准|不得|不可以|要先?|必须|得先?){_ZH_ONCE}.{{2,}}",
    rf"^你?(?:禁止|严禁|不许|不准|不得|切勿){_ZH_ONCE}.{{3,}}",
    rf"^你?(?:必须|务必|一定要)(?:先|用|使用|经过|按|遵守|写|加|检查|运行|跑|保持|备份|确认|问|提醒){_ZH_ONCE}.{{2,}}",
    r"^(?:没有|没经|未经|没得到)我的?(?:允许|同意|许可|批准)[^，。]{0,3}[，,]?(?:不要|别|不能|不许|不准|不得|禁止).{2,}",
    r"^.{2,16}(?:之前|以前|前)[，,]?(?:都|一定|必须|务必|请)*(?:要|得)?先(?:问|告诉|通知|征求|让)(?:一下)?我.*",
    r"^(?:你的)?(?:回答|回复|答案|输出|解释)(?:内容)?(?:都|请|要|尽量)*(?:不要|别|不能|不得)?(?:超过|控制在|限制在|少于)[^，。]{2,}",
    rf"^(?:不要|别)(?:在)?(?:回答|回复|代码|邮件|注释|文档|用|使用|添加|删除?|改动|修改|提交|推送|合并|部署|发布|运行|执行|上传|分享|公开|透露|叫我|称呼我|替我){_ZH_ONCE}.{{2,}}",
    r"^(?:please )?never\s*[\u4e00-\u9fff].{2,}",
    r"^(?:回答|回复|写代码|提交|说话|称呼)(?:我)?(?:的时候|时)[，,]?(?:请|都|要|不要|别|先|尽量).*",
)  # fmt: skip
ONCE = r"\b(?:for|in|of|with|on) (?:this|these)\b(?! (?:\w+ )?(?:projects?|repo|repository|codebase|team|company|house|household|workspace|app)\b)|\bfor now\b|\buntil (?:tomorrow|tonight|then|monday|next)\b|\b(?:today|tonight|right now)\b"
"""In an instruction that is meant for one occasion."""

ANSWER_LANGUAGE = (
    rf"^{_PLEASE}(?P<always>(?:always|from now on|by default|only)[ ,]+)?(?:please )?(?:always )?(?:answer|reply|respond|write|speak|talk)(?: to me| me| back)?(?: only)? in (?P<x>{_LANGUAGES})\b(?! to (?!me)| for (?!me)).*",
    rf"^(?:.{{0,6}}[，,])?(?P<always>(?:以后|今后|从现在起|总是|一直|始终|一律|都)*)(?:请|请你|麻烦)?(?P<more>(?:以后|总是|一直|始终|一律|都|都要)*)(?:尽量|还是)?(?:改|换成|改为)?用(?P<x>{_ZH_LANGUAGES})(?:来)?(?:回答|回复|和我|跟我|交流|说|写).*",
)  # fmt: skip
_REMEMBER_EN = r"(?:remember|keep in mind|bear in mind|note|take note|make a note|don't forget|do not forget|memori[sz]e|write down|save)"
REMEMBER = (
    rf"^(?:please |pls |also |and |so |can you |could you |i want you to |i need you to |i'd like you to |you should |always )*{_REMEMBER_EN}(?: (?:this|the following|for later|for me|for next time|well))*(?:\s*[:：]\s*|,?\s+that\s+(?!(?:was|is|one|time|day|as|for|to|in|on|when|much|many)\b))(?P<x>.{{4,}})",
    r"^(?:please )?(?:remember|don't forget|do not forget|keep in mind|bear in mind|note)[,\s]+(?=(?:my|our|i|i'm|we|we're|the|dr|mr|mrs|ms|never|always)\b\.?\s)(?!the (?:time|day|one|way|old|good|other)\b)(?=.*\s(?:is|are|am|has|have|can|can't|must|never|only|works?|lives?|needs?|wants?|likes?|hates?|prefers?|starts?|ends?|opens?|closes?|don't|doesn't|will)\b)(?P<x>.{4,})",
    r"^(?:note to self|for (?:future |your )?reference|for your information|fyi|for the record|important|reminder|nota bene|nb)[,:]\s+(?P<x>.{4,})",
    r"^(?:请|请你|你要|帮我|帮忙|麻烦|你|一定要|千万要|也|要|先|顺便|能不能)*(?:记住|记下来|记下|记一下|记录一下|记好|牢记|备忘|别忘了|不要忘了|不要忘记|别忘记|记着)(?:了)?(?:一点|一下|这一?点|这个|这件事)?[：:，,\s]*(?!上次|之前|什么|怎么|了$|吧|带|买|去|给|要)(?P<x>.{3,})",
    rf"^(?P<x>.{{4,}}?)[,;–—-]\s*(?:please |pls |so |and )*{_REMEMBER_EN}(?: (?:that|this|it))?(?: please| for me| for later)*$",
    r"^(?P<x>.{3,}?)[，,]\s*(?:请|帮我|你|麻烦|要|先)*(?:记一下|记住|记下来|记下|记着|别忘了|不要忘了)(?:了|哦|啊|吧|它)*$",
    r"^(?:备注|备忘|注意事项|供参考|提醒一下)[：:]\s*(?P<x>.{3,})",
)  # fmt: skip
REMEMBER_THAT = (
    rf"^(?:please |pls |also |and |so |can you |could you )*{_REMEMBER_EN}(?: (?:that|this|it|these|both|all of (?:this|that)))(?: (?:for me|please|for later|for next time|in (?:the )?future|down))*[\s.!]*$",
    r"^(?:请|请你|你要|帮我|帮忙|麻烦|你|一定要|也|要|都)*(?:记住|记下来|记下|记一下|记好|牢记|别忘了|不要忘记|别忘记|记着)(?:了)?(?:一下|哦|啊|吧)*(?:这一?点|这个|这件事|这些|它|哦|吧|啊)*[。！!.\s]*$",
)  # fmt: skip
CONSTRAINS = r"\b(?:always|never|don't|do not|only|must|mustn't|may not|no|avoid|stop|without|under|at most|instead of|unless)\b|不要|别|必须|不能|不许|禁止|只|永远|一律|务必|避免|总是|始终|控制|以内|不得|千万|切勿|严禁|先(?:问|告诉|通知|征求|让)(?:一下)?我"

DECISION = (
    r"^(?:i|we)(?:'ve| have)?(?: now| just| finally| all| both)* (?:decided|agreed|settled)(?: (?:yesterday|today|this morning|at the meeting|together))? (?:to|on|that|against|not to|in favou?r of)\b (?!(?:go|leave|stay|wait|eat|watch|order|meet|take a|walk|sleep|call it)\b).{4,}",
    r"^(?:我|我们|咱们?|大家)(?:昨天|今天|刚刚?|已经|最后|最终|都|一致|开会)*(?:决定|商定|定下来|敲定|说好)(?:了)?(?!没|吗|怎么|要不要|不了)[^？]{3,}",
)
"""What was decided, whatever it is about."""

_DAY_FIRST = r"(?:(?:just |only |early |late |on |earlier )*(?:(?:last|this) \w+|yesterday|today|\w+ \d{1,2}(?:st|nd|rd|th)?|\d{1,2} \w+|\w+day)(?: morning| evening| night| afternoon)?,? )?"
_SHIPPED = "shipped|released|deployed|launched|fixed|merged|migrated|refactored|completed|finished|solved|resolved|closed|delivered|published|submitted|upgraded|rolled out|went live|signed|won|presented|rewrote"
_LIVED = "ran|visited|met|went to|attended|gave|passed|bought|adopted|married|graduated|hiked|climbed|cooked|saw|flew|travell?ed|got|had|started|quit|sold|celebrated|watched|played|joined|received|moved|broke|hurt|lost|took|became|failed|sprained"
EVENT = (
    rf"^{_DAY_FIRST}(?:i|we)(?:'ve| have| had)?(?: also| just| finally| both| successfully| already)* (?P<did>{_SHIPPED})\b(?! it\b| that\b| this\b).*",
    rf"^{_DAY_FIRST}(?:i|we)(?: also| just| finally| both)* (?P<did>{_LIVED})\b(?! it\b| that\b| this\b| to\b| an? (?:error|message|question|warning)| rid| stuck| confused| invited| asked| told| the (?:error|same|message)).*",
    r"^(?=.*(?:我|咱))(?:.*?)(?P<did>上线|发布|完成|修复|修好|解决|搞定|部署|迁移|重构|通过|跑完|跑|去|参加|拿到|考过|考完|买|看|见|搬|毕业|提交|合并|升级|写完|做完|辞职|结婚|领证|爬|签|答辩|演讲|收到|带|陪|吃|领养|摔)(?:[^，。]{0,12}(?:了|完|好|过).*|(?<=[完好定]).*|(?<=毕业).*)",
)  # fmt: skip
EVENT_AT_WORK = (
    rf"^(?:{_SHIPPED})$|^(?:上线|发布|完成|修复|修好|解决|搞定|部署|迁移|重构|提交|合并|升级|写完|做完|签|答辩)$"
)
JUST_DONE = r"\b(?:finally|just)\b|终于|刚刚|总算"

_OCCASION = (
    r"(?:appointment|exam|test|interview|flight|meeting|train|surgery|deadline|wedding|party|talk|presentation|demo|holiday|vacation|"
    r"trip|check-?up|call|concert|race|marathon|visa|class|lesson|workshop|conference|dinner|lunch|date|review|match|game|operation|move|birthday|day off|defen[cs]e|viva)"
)
_WILL = r"(?:'m| am|'re| are|'ll| will|'ll be| will be| have to| need to| must)?"
APPOINTMENT = (
    rf"\b(?:i|we){_WILL} (?:also |then |both )?(?:fly(?:ing)?|travel(?:l?ing)?|leav(?:e|ing) for|head(?:ing)? to|going to (?-i:[A-Z])|go to (?-i:[A-Z])|visit(?:ing)?|(?:meet(?:ing)?|see(?:ing)?) (?!it|that|this|what|how|if|you)|mov(?:e|ing) (?:to|into|out|house)|"
    rf"giv(?:e|ing) a|speak(?:ing)? at|present(?:ing)? (?:at|to|my|our)|get(?:ting)? married|on (?:holiday|vacation|leave)|off work|"
    rf"(?:start|begin)(?:ing)? (?:my|a|the) (?:new )?(?:job|course|role|internship)|run(?:ning)? (?:the|a|my))\b",
    rf"\b(?:i|we)(?:'ve got| have| have got|'ll have| will have| got)(?: an?| my| our| the| another)? (?:\S+ ){{0,3}}?{_OCCASION}\b",
    rf"\b(?:my|our) (?:\S+ ){{0,2}}?{_OCCASION}(?: (?:to|with|at|from|in) [\w .'-]{{1,30}}?)?(?:'s| is| starts| leaves| begins| takes place| departs)\b(?! (?:not|cancel|over|done|so|very))",
    r"(?:飞|出发|出差|体检|答辩|开会|搬家|看牙|看医生|手术|汇报|演讲|入职|回国|回家|考试|面试|报到|值班|请假|休假|参加|旅行|旅游|航班|高铁|飞机|婚礼|聚餐|聚会|比赛|约了|相亲|复查|签证|有个?(?:一)?[个场节]?(?:会|课|约)|要去[\u4e00-\u9fff]{2}|去[\u4e00-\u9fff]{2,}(?:玩|出差|旅|开会|看))",
)  # fmt: skip
AT_WORK = (
    r"\b(?:work|job|project|deploy\w*|code|coding|api|server|database|release|team|standup|stand-up|meeting|deadline|client|customer|"
    r"office|sprint|ci|repo|branch|commit\w*|tests?|staging|production|interview|demo|conference|presentation|colleagues?|boss|bug)\b"
    r"|工作|项目|部署|代码|接口|服务器|数据库|上线|团队|组会|会议|开会|客户|论文|实验|答辩|面试|汇报|出差|入职|同事|公司|值班|测试|周报"
)


def at_work(text: str) -> str:
    """`work` for a text about work, else `life`."""
    return "work" if _compiled(AT_WORK).search(text) else "life"


def first(patterns: tuple[str, ...], text: str) -> re.Match[str] | None:
    """The first match of any of the patterns."""
    return next((match for pattern in patterns if (match := _compiled(pattern).search(text))), None)


def starts(patterns: tuple[str, ...], text: str) -> re.Match[str] | None:
    """The first match of any of the patterns at the beginning of a text."""
    return next((match for pattern in patterns if (match := _compiled(pattern).match(text))), None)


def constrains(text: str) -> bool:
    """Whether an instruction limits what may be done."""
    return _compiled(CONSTRAINS).search(text) is not None
