"""The history of a conversation in a form that model servers accept, within its part of the window. Pure functions.

Tool calls are followed by their results and nothing else; the question stays where the user asked it. Messages that do
not fit are cut in the middle or left out, oldest first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memctl.context.cut import Cutter, arguments_of, cost, level, text_of
from memctl.context.tokens import Count

FIRST_MESSAGES, LAST_MESSAGES = 2, 5
"""The messages, in addition to system messages, that stay if the history does not fit."""

MOST_OF_NOW, MOST_OF_ONE = 0.8, 0.25
"""Shares of the history's room: the most for the question and the last step if there are other messages, and the most
for any other message before it is cut."""

SYSTEM, USER, ASSISTANT, TOOL = "system", "user", "assistant", "tool"
_KNOWN = {SYSTEM: SYSTEM, "developer": SYSTEM, USER: USER, TOOL: TOOL}
_PARTS = ("text", "image_url", "input_audio", "file")

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "closing": "No result: the run was interrupted before this tool answered. "
        "Whether the call took effect is not known.",
        "empty": "(no output)",
        "opening": "(Earlier messages are left out.)",
    },
    "zh": {
        "closing": "没有结果：运行在该工具返回之前中断，无法确定此次调用是否已经生效。",
        "empty": "（无输出）",
        "opening": "（此前的消息已省略。）",
    },
}
"""Texts added to a history, by language."""


@dataclass(frozen=True)
class Group:
    """Messages that are kept or left out together: one message, or tool calls with their results.

    Args:
        places: the positions of its messages in the given history; none for added ones.
    """

    messages: tuple[Mapping[str, Any], ...]
    places: tuple[int, ...] = ()

    @property
    def role(self) -> str:
        return str(self.messages[0]["role"])

    def cost(self, count: Count) -> int:
        return sum(cost(message, count) for message in self.messages)


@dataclass(frozen=True)
class Fitted:
    """A history that fits its room.

    Args:
        left_out: the positions of messages that did not fit.
        offloads: full texts of cut messages, by the reference in the cut text.
        notes: a note for each cut message.
    """

    messages: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[int, ...] = ()
    offloads: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


# What a server accepts


def groups(messages: Sequence[Mapping[str, Any]], language: str = "en") -> list[Group]:
    """The messages in an order and form that OpenAI's servers accept.

    Results follow their calls; calls made before any result become one message with several calls; ids are unique. A
    call without a result gets one that says so. Results without a call, and messages without content, are left out.
    """
    paired = _Paired(WORDS[language])
    for place, message in enumerate(messages):
        paired.add(message, place)
    return paired.groups()


@dataclass
class _Calls:
    """Calls made together, with their results so far by call id."""

    message: dict[str, Any]
    places: list[int]
    wanted: list[tuple[str, str]] = field(default_factory=list)
    """The original and the unique id of each call."""
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def unanswered(self, given: str) -> str:
        return next((own for came, own in self.wanted if came == given and own not in self.results), "")


class _Paired:
    """Pairs calls with their results."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = words
        self.items: list[_Calls | Group] = []
        self.by_id: dict[str, list[_Calls]] = {}
        self.ids: set[str] = set()

    def add(self, message: Mapping[str, Any], place: int) -> None:
        if message.get("tool_call_id") is not None or message.get("role") == TOOL:
            self._result(message, place)
        elif message.get("tool_calls"):
            self._calls(message, place)
        elif (content := _content(message)) is not None:
            role = str(message.get("role", "")).strip().lower()
            plain = {**message, "role": _KNOWN.get(role, ASSISTANT), "content": content}
            self.items.append(Group(({n: v for n, v in plain.items() if n != "tool_calls"},), (place,)))

    def _result(self, message: Mapping[str, Any], place: int) -> None:
        given = str(message.get("tool_call_id", ""))
        for calls in reversed(self.by_id.get(given, ())):
            if own := calls.unanswered(given):
                output = text_of(message.get("content")).strip() and text_of(message.get("content"))
                calls.results[own] = {"role": TOOL, "tool_call_id": own, "content": output or self.words["empty"]}
                calls.places.append(place)
                return

    def _calls(self, message: Mapping[str, Any], place: int) -> None:
        last = self.items[-1] if self.items else None
        content = _content(message)
        if isinstance(last, _Calls) and not last.results:  # called before any result, so in parallel
            calls = last
            calls.places.append(place)
            texts = "\n".join(filter(None, (text_of(calls.message["content"]), text_of(content))))
            calls.message["content"] = texts or None
        else:
            kept = {name: value for name, value in message.items() if name != "tool_calls"}
            calls = _Calls({**kept, "role": ASSISTANT, "content": content, "tool_calls": []}, [place])
            self.items.append(calls)
        for call in message["tool_calls"]:
            self._call(calls, call if isinstance(call, Mapping) else {})

    def _call(self, calls: _Calls, call: Mapping[str, Any]) -> None:
        came = str(call.get("id") or "")
        own = self._unique(came or "call")
        function = call.get("function")
        name = str(function.get("name") or "") if isinstance(function, Mapping) else ""
        arguments = _valid(arguments_of(call))
        made = {"id": own, "type": "function", "function": {"name": name or "unknown", "arguments": arguments}}
        calls.message["tool_calls"].append(made)
        calls.wanted.append((came, own))
        known = self.by_id.setdefault(came, [])
        if not known or known[-1] is not calls:
            known.append(calls)

    def _unique(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.ids:
            number += 1
            name = f"{wanted}_{number}"
        self.ids.add(name)
        return name

    def groups(self) -> list[Group]:
        return [each if isinstance(each, Group) else self._closed(each) for each in self.items]

    def _closed(self, calls: _Calls) -> Group:
        missing = {"role": TOOL, "content": self.words["closing"]}
        results = [calls.results.get(own, {**missing, "tool_call_id": own}) for _, own in calls.wanted]
        return Group((calls.message, *results), tuple(sorted(calls.places)))


def _valid(arguments: str) -> str:
    """Arguments as a JSON object: servers parse them, and models sometimes write something else."""
    try:
        if isinstance(json.loads(arguments or "{}"), dict):
            return arguments or "{}"
    except (ValueError, RecursionError):
        pass
    return json.dumps({"malformed": arguments}, ensure_ascii=False)


def _content(message: Mapping[str, Any]) -> Any:
    """Content that a server accepts; None if there is none."""
    content = message.get("content")
    if isinstance(content, str):
        return content if content.strip() else None
    parts = [part for part in map(_part, content or ()) if part is not None]
    texts = [part for part in parts if part.get("type") == "text"]
    if message.get("role") != USER:  # only a user's message may contain other parts than text
        return "\n".join(part["text"] for part in texts) or None
    return parts or None


def _part(part: Any) -> dict[str, Any] | None:
    """A part of a user's message in OpenAI's form; images of Anthropic's form are converted. None for unknown parts."""
    if isinstance(part, str):
        part = {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        return None
    kind = part.get("type", "text")
    if kind == "image" and (url := _image_url(part.get("source"))):
        return {"type": "image_url", "image_url": {"url": url}}
    if kind == "text":
        text = part.get("text")
        return {"type": "text", "text": text} if isinstance(text, str) and text.strip() else None
    return dict(part) if kind in _PARTS and part.get(kind) else None


def _image_url(source: Any) -> str:
    if not isinstance(source, Mapping):
        return ""
    if source.get("type") == "base64" and source.get("data"):
        return f"data:{source.get('media_type', 'image/png')};base64,{source['data']}"
    return str(source.get("url") or "")


# The question


def ends_with(question: str, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the history ends with this question of the user, unanswered."""
    turns = [message for message in messages if message.get("role") in (USER, ASSISTANT, TOOL)]
    last = next((at for at in range(len(turns) - 1, -1, -1) if turns[at].get("role") == USER), None)
    if last is None or text_of(turns[last].get("content")).strip() != question.strip():
        return False
    return is_pending(turns[last:])


def is_pending(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether it is the model's turn: the last message is the user's, a tool's, or a call."""
    turns = [message for message in messages if message.get("role") in (USER, ASSISTANT, TOOL)]
    return bool(turns) and (turns[-1].get("role") != ASSISTANT or bool(turns[-1].get("tool_calls")))


def with_question(groups: Sequence[Group], messages: Sequence[Mapping[str, Any]], question: str) -> list[Group]:
    """The history with the question added at its end, unless it is there already."""
    if not question.strip() or ends_with(question, messages):
        return list(groups)
    return [*groups, Group(({"role": USER, "content": question},))]


# What fits


def fitted(groups: Sequence[Group], limit: int, cutter: Cutter) -> Fitted:
    """The messages that fit into `limit` tokens.

    The question (the user's last message) and the last step are kept, cut in the middle if they are too large; then
    system messages, the first two and the last five messages, and the newest before these.
    """
    costs = [group.cost(cutter.count) for group in groups]
    if sum(costs) <= limit:
        return Fitted(tuple(message for group in groups for message in group.messages))
    work = _Fitting(groups, costs, limit, cutter)
    work.keep_now()
    for wanted in (_of_system(groups), _edges(groups), range(len(groups))):
        for at in sorted(wanted, reverse=True):
            work.take(at)
    return work.result()


class _Fitting:
    """Fits a history into its room."""

    def __init__(self, groups: Sequence[Group], costs: Sequence[int], limit: int, cutter: Cutter) -> None:
        self.items, self.costs, self.cutter = groups, costs, cutter
        self.limit = self.left = limit
        self.kept: dict[int, Group] = {}
        self.cuts: dict[int, list[tuple[str, int, int]]] = {}

    def keep_now(self) -> None:
        """Keep the question and the last step; if both do not fit even when cut, only the question."""
        last = len(self.items) - 1
        question = next((at for at in range(last, -1, -1) if self.items[at].role == USER), None)
        for wanted in ({last} | ({question} if question is not None else set()), {question}):
            places = sorted(at for at in wanted if at is not None)
            most = self.limit if len(places) == len(self.items) else int(self.limit * MOST_OF_NOW)
            shorter = self._within(places, most) or self._within(places, self.limit)
            if shorter:
                for at, group in shorter.items():
                    self._keep(at, group)
                return

    def _within(self, places: Sequence[int], room: int) -> dict[int, Group]:
        """These groups, with their largest messages cut so that all fit; empty if that is impossible."""
        messages = [message for at in places for message in self.items[at].messages]
        most = level([cost(message, self.cutter.count) for message in messages], room)
        for share in (1.0, 0.7, 0.4):  # a cut may save less than expected, as names and ids are kept
            cut = {at: self._cut(at, max(1, int(most * share))) for at in places}
            if sum(group.cost(self.cutter.count) for group in cut.values()) <= room:
                return cut
        return {}

    def _cut(self, at: int, most: int) -> Group:
        """A group with its messages cut to `most` tokens each."""
        self.cuts[at] = []
        shorter = tuple(self._cut_message(at, message, most) for message in self.items[at].messages)
        return Group(shorter, self.items[at].places)

    def _cut_message(self, at: int, message: Mapping[str, Any], most: int) -> Mapping[str, Any]:
        if cost(message, self.cutter.count) <= most:
            return message
        cut = self.cutter.message(message, most)
        before, after = _characters(message), _characters(cut)
        if after < before:
            self.cuts[at].append((str(message["role"]), before - after, before))
        return cut

    def take(self, at: int) -> None:
        """Keep one more group if it fits; it is cut if it takes much more than its share."""
        if at in self.kept or self.left <= 0:
            return
        most = max(1, int(self.limit * MOST_OF_ONE))
        group = self._cut(at, most) if self.costs[at] > min(self.left, 2 * most) else self.items[at]
        if group.cost(self.cutter.count) <= self.left:
            self._keep(at, group)

    def _keep(self, at: int, group: Group) -> None:
        self.kept[at] = group
        self.left -= group.cost(self.cutter.count)

    def result(self) -> Fitted:
        kept = [self.kept[at] for at in sorted(self.kept)]
        messages = tuple(message for group in kept for message in group.messages)
        left_out = (place for at, group in enumerate(self.items) if at not in self.kept for place in group.places)
        cuts = [cut for at in sorted(self.kept) for cut in self.cuts.get(at, ())]
        shown = "\n".join(map(_shown, messages))
        offloads = {ref: text for ref, text in self.cutter.offloads.items() if ref in shown}
        return Fitted(messages, tuple(sorted(left_out)), offloads, tuple(_note(*cut) for cut in cuts))


def _shown(message: Mapping[str, Any]) -> str:
    return "\n".join([text_of(message.get("content")), *map(arguments_of, message.get("tool_calls") or ())])


def _characters(message: Mapping[str, Any]) -> int:
    return len(_shown(message))


_OF = {USER: "a message of the user", ASSISTANT: "a message of the assistant", TOOL: "a tool's result"}


def _note(role: str, left: int, whole: int) -> str:
    what = _OF.get(role, "a system message")
    return f"{what} was cut in its middle: {left:,} of {whole:,} characters left out"


def _of_system(groups: Sequence[Group]) -> list[int]:
    return [at for at, group in enumerate(groups) if group.role == SYSTEM]


def _edges(groups: Sequence[Group]) -> set[int]:
    """The groups of the first two and the last five messages, not counting system messages."""
    middle = [at for at, group in enumerate(groups) if group.role != SYSTEM for _ in group.messages]
    return {*middle[:FIRST_MESSAGES], *middle[-LAST_MESSAGES:]}


def total(groups: Iterable[Group], count: Count) -> int:
    """Tokens of a history."""
    return sum(group.cost(count) for group in groups)


def prompt(system: str, room: int, cutter: Cutter) -> tuple[list[Mapping[str, Any]], tuple[str, ...]]:
    """The system prompt as messages, cut in the middle if it is larger than its room, and a note on the cut."""
    if not system.strip():
        return [], ()
    whole = {"role": SYSTEM, "content": system}
    if cost(whole, cutter.count) <= room:
        return [whole], ()
    cut = {"role": SYSTEM, "content": cutter.text(system, max(1, room - cutter.bare(whole)))}
    left = f"{cutter.left:,} of {len(system):,} characters left out"
    return [cut], (f"the system prompt was cut in its middle: {left}",)
