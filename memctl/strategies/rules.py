"""Error-recovery strategies: their records, which one fits a failure, and what an outcome does.

The score of a strategy for a failure: error type +0.5, tool +0.3, similarity of the messages x 0.2; ties are broken by
confidence, then by use count (formulas).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from memctl.core import records
from memctl.core.models import Memory
from memctl.core.text.language import language_of
from memctl.core.text.shortening import cut
from memctl.core.text.terms import similarity as shared_terms
from memctl.core.text.terms import terms
from memctl.errors import UsageError
from memctl.feedback.rules import CONFIDENCE_DOWN, CONFIDENCE_UP
from memctl.strategies import wording
from memctl.strategies.fixes import (
    AT_LEAST,
    AT_MOST,
    CONVERT,
    MISSING,
    Applied,
    Fix,
    applied,
    at_path,
    faulty,
    fixes,
    moved,
    nothing,
)
from memctl.strategies.redaction import held_secrets, plain, redacted, redacted_text

SUBCATEGORY = TAG = "error_recovery"
CATEGORY = KIND = "strategy"
CONFIDENCE = 0.7

ERROR_TYPE, TOOL, MESSAGE = 0.5, 0.3, 0.2
"""What each similarity adds to the score."""

LEAST_CONFIDENCE = 0.3
"""Below this a strategy is kept, but not proposed: from 0.7, four failures in a row."""

_LONGEST_MESSAGE = 1_000
_LONGEST_SCANNED = 20_000
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Failure:
    """A call that failed. `arguments` and `context` are as the caller has them, secrets included."""

    tool: str
    error_type: str
    message: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def secrets(self) -> frozenset[str]:
        """Texts that stand under secret names in the arguments or the context."""
        return held_secrets(plain(self.arguments)) | held_secrets(plain(self.context))

    @cached_property
    def told(self) -> str:
        """The message as it may be stored."""
        return storable(self.message, self.secrets)


@dataclass(frozen=True)
class Strategy:
    """A record read as a strategy. `message` is the error's, empty where nobody kept it."""

    memory: Memory
    tool: str
    error_type: str
    message: str
    fixes: tuple[Fix, ...]

    @property
    def successes(self) -> int:
        return _count(self.memory, "successes")

    @property
    def failures(self) -> int:
        return _count(self.memory, "failures")

    @property
    def proposable(self) -> bool:
        return self.memory.confidence >= LEAST_CONFIDENCE

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for strategies that are the same one, recorded twice."""
        return (self.tool, self.error_type, tuple(sorted(fix.identity for fix in self.fixes)))

    @property
    def language(self) -> str:
        """The language it is told in; names and values may be in another."""
        told = self.memory.content.partition("(")[0]
        return language_of(told.replace(self.tool, "").replace(self.error_type, ""))


@dataclass(frozen=True)
class Match:
    """How well a strategy fits a failure; `similarity` of the messages lies in [0, 1]."""

    strategy: Strategy
    error_type: bool
    tool: bool
    similarity: float

    @property
    def parts(self) -> dict[str, float]:
        """What adds up to the score."""
        return {
            "error_type": ERROR_TYPE * self.error_type,
            "tool": TOOL * self.tool,
            "message": round(MESSAGE * self.similarity, 6),
        }

    @property
    def score(self) -> float:
        return round(sum(self.parts.values()), 6)


def _count(memory: Memory, name: str) -> int:
    found = memory.metadata.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


# Names and messages


def failure(
    tool: str,
    error: BaseException | str,
    message: str = "",
    arguments: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
) -> Failure:
    """A failure as it is told of.

    Args:
        error: the exception, or the name of its type.
        message: its message, where that is not the exception's own.

    Raises:
        UsageError: the tool or the error's type has no usable name.
    """
    if isinstance(error, BaseException):
        message = message or str(error)
        error = type(error).__name__
    return Failure(tool_name(tool), error_name(error), message, arguments or {}, context or {})


def tool_name(name: str) -> str:
    """A tool's name as it stands in the tag.

    Raises:
        UsageError: it is blank, too long, or more than a line.
    """
    return _name(name, "tool")


def error_name(name: str) -> str:
    """The name of an error's type without its module: `requests.exceptions.Timeout` is `Timeout`. Raises as above."""
    name = _name(name, "error type")
    return name.rpartition(".")[2] if re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", name) else name


def _name(name: str, what: str) -> str:
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"a {what} needs a name of one line", hint="Such as `--tool search_documents --error ValueError`."
        )
    return name


def storable(message: str, secrets: frozenset[str] = frozenset()) -> str:
    """A message on one line, without secrets, cut to what is kept of it."""
    text = " ".join(str(plain(message[:_LONGEST_SCANNED])).split())
    text = redacted_text(text, secrets)
    return cut(text, _LONGEST_MESSAGE)


_QUOTED = re.compile(
    r"(?<!\w)'([^'\n]*)'(?!\w)|\"([^\"\n]*)\"|`([^`\n]*)`"
    r"|“([^”\n]{0,500})”|‘([^’\n]{0,500})’|「([^」\n]{0,500})」|《([^》\n]{0,500})》"
)
"""What opens otherwise than it closes is bounded: of many that are never closed, each would be read to the end."""
_PLACE = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,30}+://\S+|(?:[A-Za-z]:|(?<![\w.~-]))[\w.~-]*+(?:[/\\][\w.@~+-]+)+[/\\]?"
)
_NUMBERED = re.compile(r"(?<![A-Za-z_])[A-Za-z_]*+\d[A-Za-z0-9_]*")
"""Words are read from their beginnings alone: from each letter on, a long word would take quadratic time."""


def signature(message: str, names: Iterable[str] = ()) -> frozenset[str]:
    """The terms of a message without its values: numbers, paths, ids and what stands in quotes are of one call alone.

    Args:
        names: of arguments, which stay: `'query'` in quotes tells what is wrong.
    """
    known = set(names)

    def kept(found: re.Match[str]) -> str:
        inner = next((group for group in found.groups() if group is not None), "")
        return f" {inner} " if inner in known else " "

    text = _QUOTED.sub(kept, message)
    return frozenset(terms(_NUMBERED.sub(" ", _PLACE.sub(" ", text))))


def similarity(one: str, other: str, names: Iterable[str] = ()) -> float:
    """How alike two messages are, in [0, 1]: the share of terms their signatures have in common."""
    names = set(names)
    if not one.strip() or not other.strip():
        return 0.0
    if one == other:
        return 1.0
    first, second = signature(one, names), signature(other, names)
    return shared_terms(first, second) if first or second else 1.0


def named_in(message: str, names: Iterable[str]) -> frozenset[str]:
    """The arguments that a message names as words of their own."""
    return frozenset(
        name for name in names if name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message, re.IGNORECASE)
    )


# Records


def is_strategy(memory: Memory) -> bool:
    return memory.kind == KIND and memory.subcategory == SUBCATEGORY


def read(memory: Memory, message: str = "") -> Strategy | None:
    """A record as a strategy; None where it is none, or its metadata cannot be understood.

    Args:
        message: the error's, where the metadata does not hold it.
    """
    about = memory.metadata
    tool, error, pattern = about.get("tool_name"), about.get("error_type"), about.get("fix_pattern")
    if not (is_strategy(memory) and isinstance(tool, str) and isinstance(error, str) and isinstance(pattern, Mapping)):
        return None
    try:
        found = fixes(pattern)
    except ValueError:
        return None
    kept = about.get("error_message")
    return Strategy(memory, tool, error, kept if isinstance(kept, str) and kept else message, found)


def in_words(found: Strategy) -> list[str]:
    """A line on each fix."""
    lines = [wording.explained(fix, found.language) for fix in found.fixes]
    return lines or [wording.WORDS[found.language]["again"]]


def language_of_most(found: Sequence[Strategy]) -> str:
    """`zh` where most of the strategies are told in Chinese, else `en`."""
    return "zh" if sum(strategy.language == "zh" for strategy in found) * 2 > len(found) else "en"


def tags(tool: str, error_type: str) -> tuple[str, ...]:
    return (TAG, f"tool:{tool}", f"error:{error_type}")


def record(failed: Failure, pattern: Mapping[str, Any], memory_id: str, language: str, now: datetime) -> Memory:
    """A new record, in the form of formulas.md."""
    metadata = {
        "error_type": failed.error_type,
        "tool_name": failed.tool,
        "error_message": failed.told,
        "fix_pattern": pattern,
        "success": True,
    }
    return Memory(
        memory_id=memory_id,
        content=wording.content(failed.tool, failed.error_type, fixes(pattern), language),
        kind=KIND,
        category=CATEGORY,
        subcategory=SUBCATEGORY,
        tags=tags(failed.tool, failed.error_type),
        confidence=CONFIDENCE,
        importance=records.IMPORTANCE[KIND],
        source="task_result",
        created_at=now,
        metadata={name: value for name, value in metadata.items() if value != ""},
    )


def again(held: Strategy, new: Mapping[str, Any], now: datetime) -> Memory:
    """The record of a strategy that was recorded again; the newest figures of its bounds count."""
    metadata, content = dict(held.memory.metadata), held.memory.content
    if any(fix.kind in (AT_LEAST, AT_MOST) for fix in held.fixes):
        metadata["fix_pattern"] = new
        if content == wording.content(held.tool, held.error_type, held.fixes, held.language):
            content = wording.content(held.tool, held.error_type, fixes(new), held.language)
    mentions = held.memory.mentions + 1
    more = replace(held.memory, content=content, mentions=mentions, metadata=metadata, updated_at=now)
    return _believed(more, held.memory.confidence + CONFIDENCE_UP * (1 - held.memory.confidence))


def outcome(memory: Memory, success: bool, now: datetime, reason: str = "") -> Memory:
    """A strategy after it was tried: the confidence moves a share of the way to 1 (success) or to 0 (failure).

    The shares are those of feedback, 0.1 and 0.2. A success counts as a use. Below `LEAST_CONFIDENCE` the strategy is
    marked for revision, and no longer when it comes back.
    """
    name = "successes" if success else "failures"
    metadata = {**memory.metadata, name: _count(memory, name) + 1}
    if not success and reason:
        metadata["last_failure"] = storable(reason)
    tried = replace(memory, metadata=metadata, updated_at=now)
    if not success:
        return _believed(tried, memory.confidence - CONFIDENCE_DOWN * memory.confidence)
    used = replace(tried, access_count=memory.access_count + 1, last_accessed_at=now)
    return _believed(used, memory.confidence + CONFIDENCE_UP * (1 - memory.confidence))


def _believed(memory: Memory, confidence: float) -> Memory:
    confidence = round(min(1.0, max(0.0, confidence)), 4)
    fell = confidence < LEAST_CONFIDENCE
    crossed = fell != (memory.confidence < LEAST_CONFIDENCE)
    return replace(memory, confidence=confidence, needs_revision=fell if crossed else memory.needs_revision)


def detail(
    failed: Failure, fixed: Mapping[str, Any], found: Sequence[Fix], explanations: Mapping[str, str], language: str
) -> str:
    """The Markdown of a strategy: the error, the arguments before and after, and why."""
    word = wording.WORDS[language]
    secrets = failed.secrets | held_secrets(plain(fixed))
    lines = [
        f"- **{word['type']}**: {failed.error_type}",
        f"- **{word['message']}**: {failed.told or word['none']}",
    ]
    why = {name: storable(text, secrets) for name, text in explanations.items()}
    reasons = [wording.explained(fix, language, why.get(fix.name, why.get(fix.path[0], ""))) for fix in found]
    reasons += [f"`{name}`: {text}" for name, text in why.items() if not _about(name, found)]
    parts = [
        f"# {word['title'].format(tool=failed.tool)}",
        f"## {word['error']}\n" + "\n".join(lines),
        f"## {word['original']}\n{_block(failed.arguments, secrets)}",
        f"## {word['fixed']}\n{_block(fixed, secrets)}",
        f"## {word['explanation']}\n" + "\n".join(f"- {line}" for line in reasons or [word["again"]]),
    ]
    return "\n\n".join(parts)


def _about(name: str, found: Sequence[Fix]) -> bool:
    return any(name in (fix.name, fix.path[0]) for fix in found)


def _block(arguments: Mapping[str, Any], secrets: frozenset[str]) -> str:
    shown = json.dumps(redacted(plain(arguments), secrets), ensure_ascii=False, indent=2)
    return f"```json\n{shown}\n```"


_MESSAGE_LINE = re.compile(r"^- \*\*(?:Error message|错误消息)\*\*: (.*)$", re.MULTILINE)
_EXPLANATIONS = re.compile(r"^## (?:Explanation|修正说明)\s*\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)


def message_in(body: str) -> str:
    """The error's message as it stands in the Markdown of a strategy (older strategies have it only there)."""
    found = _MESSAGE_LINE.search(body)
    return found[1].strip() if found else ""


def explanations_in(body: str) -> list[str]:
    """The lines that explain the arguments, as they, or the person who edited them, put it."""
    found = _EXPLANATIONS.search(body)
    lines = found[1].splitlines() if found else []
    return [line.lstrip("-* ").strip() for line in lines if line.strip().startswith(("-", "*"))]


# Matching


def match(strategy: Strategy, failed: Failure) -> Match:
    """How well a strategy fits a failure."""
    names = {fix.path[-1] for fix in strategy.fixes} | {str(name) for name in failed.arguments}
    alike = similarity(strategy.message, failed.told, names)
    return Match(strategy, strategy.error_type == failed.error_type, strategy.tool == failed.tool, alike)


def ranked(found: Iterable[Strategy], failed: Failure) -> list[Match]:
    """All that may be proposed, best first: by score, then confidence, then use count."""
    matches = [match(strategy, failed) for strategy in found if strategy.proposable]
    return sorted(matches, key=lambda m: (-m.score, *_standing(m.strategy)))


def _standing(strategy: Strategy) -> tuple[Any, ...]:
    memory = strategy.memory
    return (-memory.confidence, -memory.access_count, memory.memory_id)


def proposed(found: Match, failed: Failure) -> Applied:
    """What a strategy does to the arguments of the failed call."""
    names = named_in(failed.message, [fix.path[-1] for fix in found.strategy.fixes])
    return applied(found.strategy.fixes, failed.arguments, failed.context, names=names, known=found.tool)


# Before a call


@dataclass(frozen=True)
class Warned:
    """Why a call may fail: it has the fault of one that did.

    Args:
        sure: whether the fault alone makes it fail (an empty argument, one of the wrong type, one that the error's
            message named); another value may well do for another call.
        applied: what would mend it.
    """

    strategy: Strategy
    causes: tuple[Fix, ...]
    sure: bool
    applied: Applied

    @property
    def why(self) -> str:
        """What happened then, in a sentence."""
        s = self.strategy
        return wording.failed_when(s.tool, s.error_type, s.message, self.causes, s.language)


def warnings(found: Iterable[Strategy], arguments: Mapping[str, Any], context: Mapping[str, Any]) -> list[Warned]:
    """What history says against a call that has not been made, the surest first.

    Every argument that the error's message named must have the fault of then; where it named none, every one that was
    changed. What was mended by trying again tells nothing of the next call.
    """
    warned = []
    for strategy in sorted(found, key=_standing):
        names = named_in(strategy.message, [fix.path[-1] for fix in strategy.fixes]) | moved(strategy.fixes)
        causes = tuple(fix for fix in strategy.fixes if fix.path[-1] in names) or strategy.fixes
        if causes and all(_shown(fix, arguments, names) for fix in causes):
            sure = all(_sure(fix, names) for fix in causes)
            warned.append(Warned(strategy, causes, sure, applied(strategy.fixes, arguments, context, names=names)))
    return sorted(warned, key=lambda one: not one.sure)


def _sure(fix: Fix, names: frozenset[str]) -> bool:
    empty = nothing(fix.before) and fix.before is not MISSING
    return empty or fix.kind == CONVERT or fix.path[-1] in names


def _shown(fix: Fix, arguments: Mapping[str, Any], names: frozenset[str]) -> bool:
    return faulty(fix, at_path(arguments, fix.path), strict=True, named=fix.path[-1] in names)


# Across tools


@dataclass(frozen=True)
class Shared:
    """One way to mend one type of error that worked for several tools. `fix` is None where trying again was enough."""

    error_type: str
    tools: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    fix: Fix | None

    @property
    def words(self) -> str:
        """The fix, as the most trusted of the strategies has it."""
        language = self.strategies[0].language
        return wording.explained(self.fix, language) if self.fix else wording.WORDS[language]["again"]


def shared(found: Iterable[Strategy]) -> list[Shared]:
    """The same error type mended by a fix of the same shape in two or more tools, the most widely shared first."""
    groups: dict[tuple[Any, ...], list[tuple[Strategy, Fix | None]]] = {}
    for strategy in sorted(found, key=_standing):
        shapes: dict[tuple[str, ...], Fix | None] = {fix.shape: fix for fix in strategy.fixes} or {(): None}
        for shape, fix in shapes.items() if strategy.proposable else ():
            groups.setdefault((strategy.error_type, shape), []).append((strategy, fix))
    kept = [
        Shared(error, tuple(sorted({s.tool for s, _ in group})), tuple(s for s, _ in group), group[0][1])
        for (error, _), group in groups.items()
        if len({s.tool for s, _ in group}) > 1
    ]
    return sorted(kept, key=lambda each: (-len(each.tools), each.error_type, each.tools, each.words))
