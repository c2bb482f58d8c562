"""Routing a question: what its wording says about intent and domain, before any search.

A route is advice: `rank.routed` follows it only where that cannot hide a good answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from memctl.core.models import LAYER_RECORD, LAYER_REFLECTION, Route

INTENTS: Mapping[str, str] = {
    "reflect": r"\b(reflect|lessons?|learn(?:ed|t)|in hindsight|look(?:ing)? back|retrospective|pattern|overall|summar(?:y|ise|ize))\b"
    r"|反思|复盘|总结|教训|回顾|经验|规律",
    "decide": r"\b(should|shall|choose|decide|decision|better|best way|recommend|which (?:one|option)|how (?:do|to|can)|plan|approach)\b"
    r"|应该|该不该|要不要|选择|决定|怎么办|如何|推荐|建议|哪个好|方案",
}

DOMAINS: Mapping[str, str] = {
    "preference": r"\b(prefer\w*|favou?rites?|likes?|dislikes?|hates?|loves?|enjoys?|allerg\w+|taste)\b|喜欢|讨厌|偏好|爱吃|爱喝|过敏|口味|习惯",
    "emotion": r"\b(feel\w*|felt|mood|happy|sad|angry|afraid|anxious|worr\w+|stress\w*|upset|excited|proud)\b"
    r"|心情|感觉|感受|情绪|开心|难过|焦虑|担心|生气|压力|高兴|害怕",
    "strategy": r"\b(strateg\w+|approach\w*|method\w*|workaround|fix(?:ed|es)?|recover\w*|retry|error|fail\w*|mistake)\b"
    r"|策略|方法|办法|失败|错误|报错|修复|恢复|重试|技巧",
    "work": r"\b(work|job|project|deploy\w*|code|api|server|database|bug|release|team|meeting|deadline|client|service|ci)\b"
    r"|工作|项目|部署|代码|接口|服务|数据库|上线|团队|会议|客户|论文|实验|导师",
    "life": r"\b(family|sister|brother|mother|father|parents?|home|holiday|trip|travel\w*|weekend|birthday|dinner|lunch|friend|"
    r"live|lives|city|pet|cat|dog|run|running|marathon|doctor)\b|家人|家里|父母|妈妈|爸爸|姐姐|妹妹|哥哥|弟弟|周末|旅行|生日|晚饭|"
    r"朋友|住在|城市|猫|狗|跑步|医生|吃饭|做饭",
}

PRESENT = r"\b(now|nowadays|current(?:ly)?|at the moment|these days|today|latest|still|at present)\b|现在|目前|如今|眼下|最近|最新|当前|还在"

LAYERS: Mapping[str, tuple[str, ...]] = {
    "ask": (LAYER_RECORD,),
    "decide": (LAYER_RECORD, LAYER_REFLECTION),
    "reflect": (LAYER_REFLECTION, LAYER_RECORD),
}

CATEGORIES_OF_INTENT: Mapping[str, tuple[str, ...]] = {"decide": ("preference", "strategy"), "reflect": ("strategy",)}
"""Categories that count for an intent whatever the domain: decisions need constraints and what worked before."""


@cache
def _pattern(cues: str) -> re.Pattern[str]:
    return re.compile(cues, re.IGNORECASE)


def route(question: str) -> Route:
    """The intent (ask, decide, reflect), layers and categories a question points to; none when no cue is found."""
    cues: list[str] = []
    intent = next((name for name, pattern in INTENTS.items() if _seen(pattern, question, cues)), "ask")
    domains = [name for name, pattern in DOMAINS.items() if _seen(pattern, question, cues)]
    categories = (*domains, *CATEGORIES_OF_INTENT.get(intent, ())) if domains else ()
    present = _pattern(PRESENT).search(question) is not None
    return Route(intent, tuple(dict.fromkeys(categories)), LAYERS[intent], tuple(cues), present)


def _seen(cue_pattern: str, question: str, cues: list[str]) -> bool:
    match = _pattern(cue_pattern).search(question)
    if match:
        cues.append(match[0])
    return match is not None
