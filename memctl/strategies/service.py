"""Error-recovery strategies: learned from calls that were mended, asked when a call fails or is about to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memctl.core import records, times
from memctl.core.formats import reflections
from memctl.core.models import Change, Filters, Memory, TextEdit
from memctl.core.records import ADDED, MENTIONED
from memctl.core.sensitive import MASK
from memctl.core.text.language import language_of
from memctl.engine import Engine
from memctl.errors import MemctlError, NotFoundError, UsageError
from memctl.reflections import extractive
from memctl.reflections.service import Reflected, sources_hash
from memctl.reflections.writing import REFRESHED, WRITTEN, written
from memctl.storage.ports.view import View
from memctl.strategies import diagnosis, fixes, patterns, report, rules, wording
from memctl.strategies.fixes import Step
from memctl.strategies.redaction import REDACTED, TOO_LONG, held_secrets, plain, redacted
from memctl.strategies.rules import Failure, Match, Shared, Strategy, Warned

HISTORY, LLM, NONE = "history", "llm", "none"

REPORT = "strategy_report"
"""Tag of the record that refers to a report."""

_REPORTING = "strategy report"
"""Sources that the report's file names; the record names all."""

_RELATED = 3
_CONSIDERED = 5


@dataclass(frozen=True)
class Recorded:
    """What became of a strategy.

    Args:
        outcome: `added`, or `mentioned` where it was known.
        body: the Markdown of this time; of a strategy that was known, its file is left as it is.
    """

    outcome: str
    memory: Memory
    body: str


@dataclass(frozen=True)
class Considered:
    """A strategy that was looked at: its score, and what kept it from being used (empty for the one that was)."""

    match: Match
    problem: str = ""


@dataclass(frozen=True)
class Advice:
    """What to do about a call that failed.

    Args:
        origin: `history`, `llm`, or `none`: nobody knows.
        arguments: those to call with now; None where there is no proposal. The same ones, where trying again is enough.
        match: the strategy, where it comes from history.
        steps: what it does to each argument; empty where a model answered.
        lines: the same in words, with a model's reasons.
        explanations: a model's, by argument.
        considered: the strategies looked at, best first.
        notes: what made the answer worse than it should be.
    """

    origin: str
    arguments: dict[str, Any] | None = None
    match: Match | None = None
    steps: tuple[Step, ...] = ()
    lines: tuple[str, ...] = ()
    reason: str = ""
    explanations: Mapping[str, str] = field(default_factory=dict)
    considered: tuple[Considered, ...] = ()
    notes: tuple[str, ...] = ()


class Strategies:
    """Learning from failed calls, as `store.strategies`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record(
        self,
        tool: str,
        error: BaseException | str,
        *,
        original: Mapping[str, Any],
        fixed: Mapping[str, Any],
        message: str = "",
        context: Mapping[str, Any] | None = None,
        explanations: Mapping[str, str] | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Recorded:
        """Remember how a failed call was mended.

        The same way again (tool, error type, shape of the fix) is the same record: its confidence and mentions rise.
        Nothing that looks secret is stored.

        Args:
            error: the exception, or the name of its type with `message`.
            original, fixed: all arguments of the call that failed, and of the one that succeeded. Equal ones say that
                trying again was enough.
            context: what the agent knew. A value found in it is kept as a reference, and so carries over to others.
            explanations: why an argument was changed, by its name.

        Raises:
            UsageError: the tool or the error has no usable name.
        """
        now = now or times.utc_now()
        failed = rules.failure(tool, error, message, original, context)
        new = _prepared(failed, plain(fixed), explanations or {})

        def decide(view: View) -> tuple[Change, Recorded]:
            return _recorded(view, new, self._engine.settings.categories, now)

        return self._engine.apply(decide, now, dry_run=dry_run, on_secret=MASK)

    def suggest(
        self,
        tool: str,
        error: BaseException | str,
        *,
        message: str = "",
        arguments: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        definition: Mapping[str, Any] | None = None,
        exclude: Collection[str] = (),
        use_model: bool = True,
        now: datetime | None = None,
    ) -> Advice:
        """What to do about a call that failed: what helped before, else what a model says, where one is configured.

        Of the strategies whose score reaches the setting `strategy_threshold` the best that fits the arguments is used.

        Args:
            context: what the agent knows now, to take values from.
            definition: the tool's, for the model.
            exclude: ids of strategies that have been tried for this call.
        """
        now = now or times.utc_now()
        failed = rules.failure(tool, error, message, arguments, context)
        self._engine.refresh()
        matches = rules.ranked(self.candidates(failed, now), failed)
        threshold = self._engine.settings.strategy_threshold
        considered = []
        for match in matches:
            if match.score < threshold or match.strategy.memory.memory_id in exclude:
                continue
            advice, problem = _from_history(match, failed)
            considered.append(Considered(match, problem))
            if advice:
                return replace(advice, considered=tuple(considered[-_CONSIDERED:]))
        known = tuple(considered[:_CONSIDERED])
        related = [match.strategy.memory for match in matches[:_RELATED]]
        asked = self._asked(failed, related, definition or {}) if use_model else Advice(NONE)
        return replace(asked, considered=known)

    def outcome(
        self, memory_id: str, success: bool, *, reason: str = "", dry_run: bool = False, now: datetime | None = None
    ) -> Memory:
        """Note whether a strategy helped: its confidence rises or falls; a success counts as a use.

        Raises:
            NotFoundError: there is no such memory.
            UsageError: it is no error-recovery strategy.
        """
        now = now or times.utc_now()
        self._engine.refresh()
        wanted = self._engine.full_id(memory_id)

        def decide(view: View) -> tuple[Change, Memory]:
            held = view.need(wanted)
            if not rules.is_strategy(held):
                raise UsageError(f"{wanted} is no error-recovery strategy", hint="`memctl strategy list` shows them.")
            tried = rules.outcome(held, success, now, reason)
            return Change("strategy outcome", (tried,)), tried

        return self._engine.apply(decide, now, dry_run=dry_run, on_secret=MASK)

    def all(self, *, tool: str = "", error: str = "", now: datetime | None = None) -> list[Strategy]:
        """The strategies there are, the most trusted first; also those that are no longer proposed."""
        self._engine.refresh()
        tags = [f"tool:{rules.tool_name(tool)}"] if tool else []
        tags += [f"error:{rules.error_name(error)}"] if error else []
        found = self._tagged(now or times.utc_now(), rules.TAG, *tags)
        return sorted(found.values(), key=lambda s: (-s.memory.confidence, -s.memory.access_count, s.memory.memory_id))

    def shared(self, *, now: datetime | None = None) -> list[Shared]:
        """What mends the same type of error in two or more tools."""
        return rules.shared(self.all(now=now))

    def report(
        self, *, tool: str = "", title: str = "", dry_run: bool = False, now: datetime | None = None
    ) -> Reflected:
        """Write or refresh the narrative over all strategies, or over those of one tool.

        It is a reflection with a record of its own. A body that a person edited is never overwritten: the new one is
        laid beside it as a proposal.

        Raises:
            NotFoundError: there are no strategies.
        """
        now = now or times.utc_now()
        tool = rules.tool_name(tool) if tool else ""

        def decide(view: View) -> tuple[Change, Reflected]:
            return _report(view, tool, " ".join(title.split()), self._engine.settings.categories, now)

        return self._engine.apply(decide, now, dry_run=dry_run, on_secret=MASK)

    def warn(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        context: Mapping[str, Any] | None = None,
        now: datetime | None = None,
    ) -> list[Warned]:
        """What history says against a call before it is made, the surest first; nothing where it says nothing."""
        self._engine.refresh()
        found = self._tagged(now or times.utc_now(), rules.TAG, f"tool:{rules.tool_name(tool)}")
        return rules.warnings(found.values(), arguments, context or {})

    # Finding

    def _tagged(self, now: datetime, *tags: str) -> dict[str, Strategy]:
        view = self._engine.view()
        return self._engine.healed(lambda: tagged(view, now, *tags))

    def candidates(self, failed: Failure, now: datetime) -> list[Strategy]:
        """Every strategy that can reach the threshold: nothing but the message in common gives at most 0.2."""
        found = {
            **self._tagged(now, rules.TAG, f"error:{failed.error_type}"),
            **self._tagged(now, rules.TAG, f"tool:{failed.tool}"),
        }
        if self._engine.settings.strategy_threshold <= rules.MESSAGE:
            found |= self._tagged(now, rules.TAG)
        return list(found.values())

    # Asking a model

    def _asked(self, failed: Failure, related: Sequence[Memory], definition: Mapping[str, Any]) -> Advice:
        """A model's advice; `none` where there is no model, or it does not answer."""
        asked = diagnosis.messages(_for_model(failed, definition), related)
        answer = self._engine.ask(asked, diagnosis.read, diagnosis.SCHEMA, attempts=1)
        if answer.value is None:
            return Advice(NONE, notes=answer.notes("the language model gave no advice"))
        return _from_model(answer.value, failed)


def tagged(view: View, now: datetime, *tags: str) -> dict[str, Strategy]:
    """The active strategies with all these tags, by id."""
    read = (rules.read(memory) for memory in view.matching(Filters(kinds=(rules.KIND,), tags=tags), now))
    kept = [s if s is None or s.message else rules.read(s.memory, _message(view, s.memory)) for s in read]
    return {strategy.memory.memory_id: strategy for strategy in kept if strategy is not None}


def _message(view: View, memory: Memory) -> str:
    """The error's message where only the Markdown has it; that is what a model of then may have written."""
    return rules.message_in(_body(view, memory))


def _body(view: View, memory: Memory) -> str:
    """The Markdown of a strategy; empty where there is none that can be read."""
    if not reflections.is_reference(memory.summary_md_ref):
        return ""
    try:
        found = view.reflection(memory.summary_md_ref)
    except MemctlError:
        return ""
    return found.body if found else ""


# Recording


@dataclass(frozen=True)
class _New:
    """A strategy to be: what failed, all arguments that worked, its pattern, and why, in what may be stored."""

    failed: Failure
    mended: Mapping[str, Any]
    pattern: Mapping[str, Any]
    explanations: Mapping[str, str]


def _prepared(failed: Failure, mended: Mapping[str, Any], explanations: Mapping[str, str]) -> _New:
    secrets = failed.secrets | held_secrets(mended)
    failed = replace(failed, message=rules.storable(failed.message, secrets))
    pattern = patterns.pattern(plain(failed.arguments), mended, plain(failed.context), secrets)
    return _New(failed, mended, pattern, {str(name): text for name, text in explanations.items() if text.strip()})


def _recorded(view: View, given: _New, categories: Sequence[str], now: datetime) -> tuple[Change, Recorded]:
    failed, language = given.failed, _language(view, given, now)
    new = records.check(rules.record(failed, given.pattern, view.new_id(now), language, now), categories)
    fresh = rules.read(new)
    if fresh is None:
        raise UsageError("the arguments cannot be kept as a fix pattern")
    body = rules.detail(failed, given.mended, fresh.fixes, given.explanations, language)
    near = tagged(view, now, *rules.tags(failed.tool, failed.error_type))
    held = next((s for s in near.values() if s.identity == fresh.identity), None)
    if held:
        again = rules.again(held, given.pattern, now)
        return Change("strategy record", (again,)), Recorded(MENTIONED, again, body)
    path = reflections.path_for(new.memory_id)
    linked = replace(new, summary_md_ref=path)
    data = reflections.render_generated(records.front_matter(linked), body)
    change = Change("strategy record", (linked,), texts=(TextEdit(path, view.read(path), data),))
    return change, Recorded(ADDED, linked, body)


def _language(view: View, given: _New, now: datetime) -> str:
    """The language of a strategy: that of the message or the explanations where it is Chinese, else of the others."""
    if language_of(given.failed.message, *given.explanations.values()) == "zh":
        return "zh"
    others = [*view.matching(Filters(kinds=(rules.KIND,), tags=(rules.TAG,)), now)]
    last = [s for memory in others[-_RELATED:] if (s := rules.read(memory))]
    return rules.language_of_most(last) if last else language_of(str(plain(given.failed.arguments)))


# Advice


def _from_history(match: Match, failed: Failure) -> tuple[Advice | None, str]:
    """The advice of a strategy, or why it has none for this call."""
    language = match.strategy.language
    if not match.strategy.fixes:
        again = (wording.WORDS[language]["again"],)
        return Advice(HISTORY, dict(failed.arguments), match, lines=again, reason=match.strategy.memory.content), ""
    found = rules.proposed(match, failed)
    lines = tuple(wording.step(step, language) for step in found.steps)
    if not found.usable:
        return None, "; ".join(lines)
    return Advice(HISTORY, found.arguments, match, found.steps, lines, match.strategy.memory.content), ""


def _for_model(failed: Failure, definition: Mapping[str, Any]) -> dict[str, Any]:
    """The failure as a model may see it."""
    told = {
        "tool": failed.tool,
        "error_type": failed.error_type,
        "error_message": failed.told,
        "arguments": redacted(plain(failed.arguments), failed.secrets),
        "context": redacted(plain(failed.context), failed.secrets),
        "definition": redacted(plain(definition), failed.secrets),
    }
    return {name: value for name, value in told.items() if value}


def _from_model(answer: diagnosis.Diagnosis, failed: Failure) -> Advice:
    if answer.arguments is None:
        return Advice(LLM, reason=answer.reason)
    arguments = _given_back(plain(answer.arguments), failed.arguments)
    changed = list(fixes.differences(plain(failed.arguments), plain(arguments)))
    if not changed:
        return Advice(LLM, reason=answer.reason, notes=("the language model changed nothing",))
    language = language_of(answer.reason, failed.message)
    lines = []
    for path, before, after in changed:
        new = wording.WORDS[language]["dropped"] if after is fixes.MISSING else wording.shown(after, language)
        line = f"`{'.'.join(path)}`: {wording.shown(before, language)} → {new}"
        why = answer.explanations.get(".".join(path)) or answer.explanations.get(path[0], "")
        lines.append(f"{line}{wording.WORDS[language]['because']}{why}" if why else line)
    return Advice(LLM, arguments, lines=tuple(lines), reason=answer.reason, explanations=answer.explanations)


def _given_back(proposed: Any, original: Any) -> Any:
    """A model's arguments with what it was not shown put back; what it shortened otherwise is left as it was."""
    if isinstance(proposed, dict):
        held = original if isinstance(original, Mapping) else {}
        parts = {name: _given_back(part, held.get(name, fixes.MISSING)) for name, part in proposed.items()}
        return {name: part for name, part in parts.items() if part is not fixes.MISSING}
    if isinstance(proposed, str) and (REDACTED in proposed or proposed == TOO_LONG):
        return original
    return original if fixes.same(proposed, original) else proposed


# The report


def _report(view: View, tool: str, title: str, categories: Sequence[str], now: datetime) -> tuple[Change, Reflected]:
    scope = (f"tool:{tool}",) if tool else ()
    found = sorted(tagged(view, now, rules.TAG, *scope).values(), key=lambda s: s.memory.memory_id)
    if not found:
        what = f"of {tool} " if tool else ""
        raise NotFoundError(f"there are no strategies {what}to report on", hint="`memctl strategy record` makes one.")
    told = {s.memory.memory_id: rules.explanations_in(_body(view, s.memory)) for s in found}
    held = _held_report(view, scope, now)
    kept = held.metadata.get("title") if held else ""
    draft = report.draft(found, told, title or (kept if isinstance(kept, str) else ""), tool)
    memories = [strategy.memory for strategy in found]
    record = records.check(_report_record(view, held, draft, memories, scope, now), categories)
    return _written(view, record, draft.body, sources_hash(memories), now)


def _held_report(view: View, scope: tuple[str, ...], now: datetime) -> Memory | None:
    """The record of the report on this tool, or on all."""
    reports = view.matching(Filters(tags=(REPORT, *scope)), now)
    known = [m for m in reports if reflections.is_reference(m.summary_md_ref)]
    return next((m for m in known if {tag for tag in m.tags if tag.startswith("tool:")} == set(scope)), None)


def _report_record(
    view: View,
    held: Memory | None,
    draft: extractive.Draft,
    found: Sequence[Memory],
    scope: tuple[str, ...],
    now: datetime,
) -> Memory:
    new_id = held.memory_id if held else view.new_id(now)
    blank = Memory(
        memory_id=new_id,
        content=draft.summary,
        kind="knowledge",
        category=rules.CATEGORY,
        tags=("reflection", REPORT, *scope),
        source="reflection",
        created_at=now,
        summary_md_ref=reflections.path_for(new_id),
    )
    record = replace(held, content=draft.summary, updated_at=now) if held else blank
    return replace(
        record,
        sources=tuple(memory.memory_id for memory in found),
        confidence=round(sum(memory.confidence for memory in found) / len(found), 2),
        metadata={**record.metadata, "title": draft.title},
    )


def _written(view: View, record: Memory, body: str, digest: str, now: datetime) -> tuple[Change, Reflected]:
    """The report's record and file; beside a file that a person edited, a proposal alone."""
    made = written(view, record, body, now, {"sources_hash": digest})
    puts = (record,) if made.outcome in (WRITTEN, REFRESHED) else ()
    return Change(_REPORTING, puts, texts=made.edits), Reflected(made.outcome, record, made.path, body)
