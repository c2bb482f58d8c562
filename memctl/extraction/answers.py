"""Short answers to what the other side asked of the user: "Where do you live?" – "In a village outside Hexham."."""

from __future__ import annotations

import re

from memctl.core.text.language import has_chinese
from memctl.core.text.sentences import sentences
from memctl.extraction import clauses
from memctl.extraction.clauses import Sentence

LONGEST, LONGEST_QUESTION = 80, 120
"""Characters of an answer that needs its question, and of the question, which is kept though another wrote it."""

_ASKS_OF_USER = re.compile(
    r"\bwhere (?:do you (?:live|work|study|come from)|are you (?:from|based|living|located))\b"
    r"|\bwhat do you (?:do(?: for (?:work|a living))?|teach|study|play|drive)\b|\bwhat(?:'s| is| are) your\b"
    r"|\bhow (?:many [\w ]+ (?:do you have|have you got)|old (?:are you|is your|are your))\b"
    r"|\bwhich languages? do you\b|\bwho (?:do you (?:live|work) (?:with|for)|is your)\b|\bwhen(?:'s| is) your\b"
    r"|\b(?:do you have|have you got|are there) any (?:\w+ ){0,2}?(?:allerg\w+|intolerances|conditions|pets|kids"
    r"|children|siblings|brothers|sisters|dietary \w+|food \w+)"
    r"|\bare you (?:allergic|vegetarian|vegan|married|single|religious)\b"
    r"|[你您](?:现在|目前|平时)?(?:住(?:在)?哪|(?:在)?哪(?:儿|里|个城市|家公司)?(?:工作|上班|上学|读书|住)|老家(?:在|是)?哪"
    r"|是?哪里人|是?做什么(?:工作|的)|多大|几岁|叫什么|有(?:几|多少)个?|养(?:了)?(?:什么|几|宠物)|会(?:说)?(?:什么|哪些|几))"
    r"|[你您]的?(?:名字|职业|生日|工作|专业|血型|家乡|孩子|爱人)[^，。]{0,4}(?:什么|哪|几|多)"
    r"|有(?:没有)?(?:什么|哪些|啥)?(?:食物)?(?:忌口|过敏|不吃的|慢性病|病史|宠物|孩子)",
    re.IGNORECASE,
)
"""What asks for something lasting of somebody: their home, trade, people, health, name, days."""

_ONE_TASK = re.compile(
    r"\b(?:question|budget for|plan for (?:this|today)|goal|deadline|thoughts?)\b|这次|这个任务", re.IGNORECASE
)
_SECRET = re.compile(
    r"pass ?(?:word|code|phrase|port)|\b(?:pin|keys?|tokens?|cards?|cvv|cvc|secrets?|credentials?|log-?in|iban|seed|ssn"
    r"|(?:account|security|insurance|id) numbers?|security (?:question|answer)|maiden)\b"
    r"|密码|口令|卡号|账号|帐号|身份证|验证码",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(
    r"^(?:(?:yes|no|yeah|yep|nope|ok|okay|sure|maybe|none|thanks?|thank you|not sure|no idea|i don't know|why"
    r"|never ?mind|skip|pass|rather not say|是的?|不是|有|没有?|嗯|好的?|对|不知道|不想说|谢谢|保密)[\s,.!，。！]*)+$",
    re.IGNORECASE,
)


def completed(answer: Sentence, asked: str) -> str:
    """A short answer with the question that it answers; empty where it is none, or not of the user's own life.

    Args:
        asked: the message before, of the other side.
    """
    question = next(iter([*sentences(asked)][::-1]), "").strip()
    text = answer.text.strip()
    if not question.endswith(("?", "？")) or not _ASKS_OF_USER.search(clauses.typed(question)):
        return ""
    silent = answer.asks or answer.certainty < 1 or len(text) > LONGEST or _SAYS_NOTHING.match(text)
    if silent or len(question) > LONGEST_QUESTION or _ONE_TASK.search(question) or _SECRET.search(question):
        return ""
    return f"{question}{'' if has_chinese(question) else ' '}{text}"
