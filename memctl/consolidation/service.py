"""Consolidating: merging near-duplicates, making knowledge and strategies of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memctl.consolidation import duplicates, summaries
from memctl.consolidation.made import KNOWLEDGE, PARTS, Made, Rules, Written, marked, rewritten
from memctl.consolidation.plan import Plan
from memctl.consolidation.plan import plan as planned
from memctl.core import fuse, records, times
from memctl.core.formats import reflections
from memctl.core.formats.document import tombstones
from memctl.core.models import ACTIVE, Change, Memory, Reflection
from memctl.core.sensitive import MASK
from memctl.engine import Engine
from memctl.errors import MemctlError, ProviderError, RefusedError, UsageError
from memctl.providers.base import LLM
from memctl.reflections.service import GENERATED_BY, reflection_path, sources_hash
from memctl.reflections.writing import PROPOSED, written
from memctl.reflections.writing import Written as WrittenBody
from memctl.storage.ports.view import View


@dataclass(frozen=True)
class ConsolidationReport:
    """What was consolidated, or would be.

    Args:
        plan: what was found, the records as they are now, or would be; a new one stands there without its id.
        change: the records and files written; ids of new records are drawn anew in each run.
        proposals: files that were laid beside reflections which a person had edited.
        refused: why the real run would be refused; empty where it would not.
        notes: where rules stood in for a language model, and why.
    """

    plan: Plan
    change: Change
    proposals: tuple[str, ...] = ()
    refused: str = ""
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return self.change.empty

    @property
    def made(self) -> tuple[tuple[Made, Memory], ...]:
        """Knowledge and strategies with their records as they were written."""
        written = {m.memory_id: m for m in self.change.puts}
        marks = [written[one.fresh[0].memory_id].metadata[one.mark] for one in self.plan.made]
        return tuple((one, written[mark]) for one, mark in zip(self.plan.made, marks, strict=True))


@dataclass(frozen=True)
class _Advice:
    """What a model said before the lock was taken; it holds for memories that are still as they were."""

    judged: Mapping[str, Memory]
    same: Sequence[tuple[str, str]] = ()
    written: Sequence[tuple[Made, Written]] = ()
    name: str = ""
    notes: tuple[str, ...] = ()


class Consolidation:
    """Merging near-duplicates, and making knowledge and strategies of experience, as `store.consolidation`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def run(
        self,
        *,
        dry_run: bool = False,
        now: datetime | None = None,
        use_model: bool = True,
        only: Iterable[str] = PARTS,
        same: Sequence[tuple[str, str]] = (),
        allow_mass_change: bool = False,
    ) -> ConsolidationReport:
        """Merge near-duplicates, make knowledge of episodes on one target, and strategies of similar successes.

        Args:
            use_model: whether a configured language model judges and writes; rules alone otherwise.
            only: parts to do, of `duplicates`, `knowledge` and `skills`.
            same: pairs of ids that you know to say the same, the kept one first; where given, nothing else is done.

        Raises:
            RefusedError: more than a quarter of at least 20 memories would be superseded at once, or a pair of `same`
                cannot be merged.
        """
        now = now or times.utc_now()
        parts = _parts(only)
        self._engine.refresh()
        told = [(self._engine.full_id(kept), self._engine.full_id(going)) for kept, going in same]
        advice = _Advice({}, told) if told else self._advice(parts, now) if use_model else _Advice({})

        def decide(view: View) -> tuple[Change, ConsolidationReport]:
            found = self._plan(view, now, () if told else parts, told or _standing(view, advice))
            _check_pairs(view, told, found)
            refused = _fuse(found.superseded, view) if not allow_mass_change else None
            if refused and not dry_run:
                raise refused
            found, notes = _with_words(found, advice)
            change, proposals = _change(view, found, now)
            reason = refused.message if refused else ""
            return change, ConsolidationReport(found, change, proposals, reason, notes)

        return self._engine.apply(decide, now, dry_run=dry_run, on_secret=MASK)

    @property
    def rules(self) -> Rules:
        s = self._engine.settings
        return Rules(s.consolidate_least_episodes, s.consolidate_likeness, s.consolidate_skill_likeness)

    def _plan(self, view: View, now: datetime, parts: Sequence[str], same: Sequence[tuple[str, str]]) -> Plan:
        memories = list(view.all())
        held = _reflections(view, memories)
        return planned(
            memories,
            now,
            self.rules,
            only=parts,
            same=same,
            bodies={memory_id: reflection.body for memory_id, reflection in held.items()},
            edited=frozenset(memory_id for memory_id, found in held.items() if reflections.hand_edited(found)),
            buried=frozenset(tombstones(view.header)),
        )

    def _advice(self, parts: Sequence[str], now: datetime) -> _Advice:
        """What the language model says, asked without the lock; it may not answer, then rules stand in for it."""
        try:
            llm = self._engine.llm
        except ProviderError as problem:
            return _Advice({}, notes=(f"rules alone: {problem.message}",))
        if llm is None:
            return _Advice({})
        view = self._engine.view()
        found = self._plan(view, now, parts, ())
        judged = {m.memory_id: m for pair in found.alike for m in (pair.one, pair.other)}
        notes: list[str] = []
        same: Sequence[tuple[str, str]] = ()
        written: list[tuple[Made, Written]] = []
        try:
            same = summaries.judged_same(llm, found.alike)
            made = self._plan(view, now, parts, same).made if same else found.made
            _ask_for_words(llm, made, written, notes)
        except ProviderError as problem:
            notes.append(f"rules stood in for {llm.name}: {problem.message}")
        return _Advice(judged, same, written, llm.name, tuple(notes))


def _parts(only: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(only)
    if unknown := sorted(set(wanted) - set(PARTS)):
        raise UsageError(f"there is no part {', '.join(unknown)!r}", hint=f"Parts: {', '.join(PARTS)}.")
    return wanted


def _reflections(view: View, memories: Iterable[Memory]) -> dict[str, Reflection]:
    """Reflections of active summaries; one that cannot be read is passed over."""
    found: dict[str, Reflection] = {}
    for memory in memories:
        if memory.sources and memory.status == ACTIVE and reflections.is_reference(memory.summary_md_ref):
            try:
                held = view.reflection(memory.summary_md_ref)
            except MemctlError:
                continue
            if held is not None:
                found[memory.memory_id] = held
    return found


def _ask_for_words(llm: LLM, made: Iterable[Made], written: list[tuple[Made, Written]], notes: list[str]) -> None:
    for one in made:
        answer = summaries.summary(llm, one)
        if answer.value:
            written.append((one, answer.value))
        notes += answer.notes(f"rules wrote {_named(one)}")


def _standing(view: View, advice: _Advice) -> list[tuple[str, str]]:
    """Pairs a model judged the same that still are what it judged."""
    return [pair for pair in advice.same if all(_still(view, memory_id, advice) for memory_id in pair)]


def _still(view: View, memory_id: str, advice: _Advice) -> bool:
    held = view.get(memory_id)
    return held is not None and held.content == advice.judged[memory_id].content


def _with_words(found: Plan, advice: _Advice) -> tuple[Plan, tuple[str, ...]]:
    """The plan in the words of a model, where it wrote some and their sources are still the same."""
    texts = {(one.part, tuple(m.memory_id for m in one.sources)): (one, text) for one, text in advice.written}
    notes, made = list(advice.notes), []
    for one in found.made:
        earlier, text = texts.get((one.part, tuple(m.memory_id for m in one.sources)), (None, None))
        if text and earlier and _contents(earlier) == _contents(one):
            made.append(rewritten(one, text, advice.name))
            continue
        if text:
            notes.append(f"rules wrote {_named(one)}: its sources were changed while {advice.name} was asked")
        made.append(one)
    return replace(found, made=tuple(made)), tuple(notes)


def _contents(made: Made) -> list[str]:
    return [summaries.evidence(memory) for memory in made.sources]


def _named(made: Made) -> str:
    what = "the knowledge on" if made.part == KNOWLEDGE else "the strategy for"
    return f"{what} {made.record.metadata['topic']!r}"


def _check_pairs(view: View, told: Sequence[tuple[str, str]], found: Plan) -> None:
    """Refuse where a pair that was asked for cannot be merged: a silent nothing would look like done."""
    done = {(merge.kept.memory_id, gone.memory_id) for merge in found.merges for gone in merge.merged}
    for kept, going in told:
        if (kept, going) not in done:
            raise RefusedError(
                f"{going} cannot be merged into {kept}: {_obstacle(view.need(kept), view.need(going), found)}",
                hint="`memctl show` shows them; nothing was changed.",
            )


def _obstacle(kept: Memory, going: Memory, found: Plan) -> str:
    for memory in (kept, going):
        if memory.status != ACTIVE:
            return f"{memory.memory_id} is {memory.status}"
        if memory.memory_id in found.recalled:
            return f"{memory.memory_id} holds recalled text"
        if not duplicates.mergeable(memory):
            return f"{memory.memory_id} is a summary, or in conflict with another"
    if kept.memory_id == going.memory_id:
        return "they are one memory"
    if going.pinned:
        return "it is pinned"
    return "it has a reflection of its own" if going.summary_md_ref else "it is named in two pairs"


def _fuse(going: int, view: View) -> RefusedError | None:
    """Why so much must not be superseded at once without being told to."""
    active = sum(memory.status == ACTIVE for memory in view.all()) if going else 0
    return fuse.refusal(going, active, "merged into others", "memctl consolidate")


def _change(view: View, found: Plan, now: datetime) -> tuple[Change, tuple[str, ...]]:
    """The change that carries a plan out, and the proposals in it."""
    puts = {m.memory_id: m for merge in found.merges for m in (merge.kept, *merge.merged, *merge.marked)}
    bodies: list[WrittenBody] = []
    for one in found.made:
        record = one.record if one.refreshed else replace(one.record, memory_id=view.new_id(now))
        record = replace(record, summary_md_ref=reflection_path(record))
        fixed = {**records.front_matter(record), "sources_hash": sources_hash(one.sources), GENERATED_BY: one.by}
        bodies.append(written(view, record, one.draft.body, now, fixed, beside_broken=True))
        for source in one.fresh:
            held = puts.get(source.memory_id, source)
            puts[source.memory_id] = marked(held, one.mark, record.memory_id, now)
        puts[record.memory_id] = record
    proposals = tuple(body.path for body in bodies if body.outcome == PROPOSED)
    files = tuple(edit for body in bodies for edit in body.edits)
    return Change("consolidate", tuple(puts.values()), texts=files), proposals
