"""The rolling summary that stands for messages which left the window, made by rules or asked of a language model.

It is built on the summary before it and takes at most 30 % of all that it and those before it replaced: decisions
and their reasons, facts and figures, preferences and corrections, and how the task stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from memctl.core.messages import ASSISTANT, SYSTEM, TOOL, USER, Count, Message
from memctl.core.tagged import as_json
from memctl.core.text.language import language_of
from memctl.core.text.sentences import sentences
from memctl.core.text.shortening import shortened
from memctl.core.text.stopwords import stop_terms
from memctl.core.text.terms import terms
from memctl.providers.asking import conversation

LEAST_SHARE = 0.2
"""A summary by rules is filled up to this share of what it replaces, even by lines that are cut."""

LONGEST_LINE = {"en": 300, "zh": 120}
_LEAST_CUT = 12

HEADS = {"en": "Summary so far:", "zh": "前情摘要："}
_NAMES = {
    "en": {USER: "User", ASSISTANT: "Assistant", TOOL: "Tool"},
    "zh": {USER: "用户", ASSISTANT: "助手", TOOL: "工具"},
}

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

_SIGNS: Sequence[tuple[float, re.Pattern[str]]] = tuple(
    (weight, re.compile(pattern, re.IGNORECASE))
    for weight, pattern in (
        (3.0, r"\b(?:decid\w*|chose|we(?:'ll| will) (?:use|go)|agreed|instead of|rather than|because|therefore|so that|"
              r"the reason)\b|决定|选择|改用|采用|因为|所以|由于|原因|方案"),
        (3.0, r"\b(?:prefer\w*|always|never|don't|do not|must|please use|i (?:like|hate|want|need)|no,|actually|wrong|"
              r"correction|i meant|not .{1,30} but)\b|喜欢|偏好|不要|必须|以后|总是|从不|其实|更正|纠正|不对|应该是"),
        (2.0, r"\b(?:done|finished|completed|fixed|deployed|failed|failing|error|blocked|todo|next step|remaining|"
              r"works now|still)\b|完成|已经|修复|上线|失败|报错|错误|待办|下一步|剩下|还没|成功"),
        (1.5, r"\d"),
        (1.0, r"\b(?:my|our|i'm|i am|is called|name is|deadline|budget)\b|我叫|我是|我的|我们的|截止|预算"),
    )
)  # fmt: skip
_OF_ROLE = {USER: 1.0, ASSISTANT: 0.0, TOOL: -1.0}
_EARLIER = 1.5
"""What a line of the summary before counts more: it was chosen once."""


def telling(text: str) -> frozenset[str]:
    """The terms of a text that say something. Single Chinese characters say too little."""
    found = frozenset(terms(text)) - stop_terms()
    return frozenset(term for term in found if len(term) > 1 or term.isascii())


# By rules


def by_rules(previous: str, replaced: Sequence[Message], budget: int, count: Count) -> str:
    """The sentences that matter most, in their order, within a budget of tokens; empty where nothing fits.

    Args:
        previous: the summary before, whose lines compete with the new ones.
        replaced: the messages that go.
    """
    told = "\n".join([previous, *(message.text for message in replaced)])
    language = language_of(told)
    lines = _lines(previous, replaced, language)
    ranked = sorted(range(len(lines)), key=lambda at: (-lines[at][0], at))
    chosen: dict[int, str] = {}
    held = 0
    for at in ranked:
        if held + count(lines[at][1]) > budget + 1:  # not even its own words fit: no need to count the whole again
            continue
        tried = {**chosen, at: lines[at][1]}
        if (tokens := count(_written(tried, language))) <= budget:
            chosen, held = tried, tokens
    if chosen and count(_written(chosen, language)) >= LEAST_SHARE * budget:
        return _written(chosen, language)
    return _filled(chosen, [(at, lines[at][1]) for at in ranked if at not in chosen], language, budget, count)


def _filled(chosen: dict[int, str], others: Sequence[tuple[int, str]], language: str, budget: int, count: Count) -> str:
    """The lines chosen, and the best of the others cut so that it fits."""
    for at, line in others:
        low, high = 0, len(line)
        while low < high:
            middle = (low + high + 1) // 2
            fits = count(_written({**chosen, at: shortened(line, middle)}, language)) <= budget
            low, high = (middle, high) if fits else (low, middle - 1)
        if low >= _LEAST_CUT:
            return _written({**chosen, at: shortened(line, low)}, language)
    return _written(chosen, language) if chosen else ""


def _written(chosen: dict[int, str], language: str) -> str:
    return "\n".join([HEADS[language], *(f"- {chosen[at]}" for at in sorted(chosen))])


def _lines(previous: str, replaced: Sequence[Message], language: str) -> list[tuple[float, str]]:
    """Each line with its weight: those of the summary before, then a sentence each of the messages."""
    kept = [line.removeprefix("- ").strip() for line in previous.splitlines()]
    found = [(_weight(line) + _EARLIER, line) for line in kept if line and line not in HEADS.values()]
    seen = {line for _, line in found}
    for message in replaced:
        name = _NAMES[language].get(message.role, message.role)
        for said in sentences(_told(message)):
            line = f"{name}{'：' if language == 'zh' else ': '}{shortened(said, LONGEST_LINE[language])}"
            if line not in seen:
                seen.add(line)
                found.append((_weight(said) + _OF_ROLE.get(message.role, 0.0), line))
    return found


def _told(message: Message) -> str:
    """What of a message a summary may take: texts, calls of tools, and what these answered first."""
    if message.role == SYSTEM:
        return ""
    calls = [f"{call.name}({shortened(_compact(call.input), 120)})" for call in message.calls]
    results = [shortened(result.output, 200) for result in message.results]
    return "\n".join([message.text, *calls, *results])


def _weight(text: str) -> float:
    return sum(weight for weight, sign in _SIGNS if sign.search(text)) + min(len(telling(text)), 12) / 12


# By a language model

SUMMARY_TASK = """Write the summary that takes the place of these messages in an agent's window.
Keep, in this order: decisions and their reasons; facts and figures; the user's preferences and corrections; how the
task stands. Build on `previous`, the summary before; nothing in it that still holds may be lost. Use at most {limit}
tokens, no heading, one point a line beginning with "- ". Write in the language of the conversation. Use only what
stands there: no number or name of your own."""


def asked(previous: str, replaced: Sequence[Message], budget: int) -> list[dict[str, str]]:
    """What a model is asked."""
    about = {"previous": previous, "messages": told_as_data(replaced)}
    return conversation(SUMMARY_TASK.format(limit=budget), as_json("conversation", about))


def told_as_data(messages: Sequence[Message], longest: int = 2_000) -> list[dict[str, str]]:
    """Messages as a prompt shows them, long ones cut."""
    return [
        {"role": message.role, "text": shortened(text, longest)} for message in messages if (text := _told(message))
    ]


def from_model(answer: Any, previous: str, replaced: Sequence[Message], budget: int, count: Count) -> str:
    """A model's summary in its form.

    Raises:
        ValueError: it is empty or too long, has a number of its own, or is about something else.
    """
    if not isinstance(answer, str) or not answer.strip():
        raise ValueError("it is empty")
    source = "\n".join([previous, *(m.whole_text + _compact([c.input for c in m.calls]) for m in replaced)])
    lines = (line.strip() for line in answer.splitlines() if line.strip())
    text = "\n".join([HEADS[language_of(answer)], *lines])
    invented = set(NUMBER.findall(answer)) - set(NUMBER.findall(source))
    if count(text) > budget or invented or not telling(answer) & telling(source):
        raise ValueError("it is too long, has a number of its own, or is about something else")
    return text


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
