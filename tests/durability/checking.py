"""What must hold of a store that is opened again after something went wrong."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conftest import elements, forget_progress, left_over, same_as_rebuilt
from failing.comparing import differences, is_new

from durability import operations
from durability.disk import Snapshot
from durability.operations import LATER, NOW, PLAIN, opened
from durability.shimmed import CHANGE, LOCK, LOOK, Nursery
from memctl.doctor.examining import examine
from memctl.storage.files import journal
from memctl.storage.files.layout import UserFolder

Truth = dict[str, str]


@dataclass(frozen=True)
class Reference:
    """A row of steps, done without disturbance.

    Args:
        states: every whole state, in order; the first is that before.
        after: for each step, the place among `states` of the one it ends in.
        known: how many operations the history knows at the beginning, and after each step.
        root: where they were done once more, traced.
        begin, end: that folder before and after.
    """

    steps: tuple[str, ...]
    states: tuple[Truth, ...]
    after: tuple[int, ...]
    known: tuple[int, ...]
    root: Path
    trace: bytes
    begin: Snapshot
    end: Snapshot

    @property
    def several(self) -> bool:
        return len(self.steps) > 1 or self.steps[0] in operations.SEVERAL

    @property
    def file_by_file(self) -> bool:
        return self.steps[0] in operations.FILE_BY_FILE

    @property
    def of_sessions(self) -> bool:
        return bool(set(self.steps) & set(operations.OF_SESSIONS))

    def legal(self, acknowledged: int, *, refused: bool = False) -> tuple[Truth, ...]:
        """The states that may be met when so many steps were acknowledged, and another one may be under way."""
        first = self.after[acknowledged - 1] if acknowledged else 0
        if refused and not self.several:
            return (self.states[first],)
        last = self.after[acknowledged] if acknowledged < len(self.steps) else first
        return self.states[first : last + 1]


_known: dict[tuple[str, ...], Reference] = {}


def reference(nursery: Nursery, template: Path, work: Path, steps: Sequence[str]) -> Reference:
    """Do the steps undisturbed; once for all tests."""
    key = tuple(steps)
    if key not in _known:
        _known[key] = Reference(key, *_states(nursery, template, work, key), *_traced(nursery, template, work, key))
    return _known[key]


def _traced(
    nursery: Nursery, template: Path, work: Path, steps: Sequence[str]
) -> tuple[Path, bytes, Snapshot, Snapshot]:
    root, trace, begin = work / "traced", work / "trace", work / "snapshot"
    operations.copy(template, root)
    told = nursery.run(list(steps), root, kinds=CHANGE | LOOK | LOCK, trace=str(trace), snapshot=str(begin))
    assert told["outcomes"] == [None] * len(steps), told
    end = begin.with_name("snapshot of the end")
    shutil.rmtree(root)
    return root, trace.read_bytes(), pickle.loads(begin.read_bytes()), pickle.loads(end.read_bytes())


def _states(
    nursery: Nursery, template: Path, work: Path, steps: Sequence[str]
) -> tuple[tuple[Truth, ...], tuple[int, ...], tuple[int, ...]]:
    """Each whole state, in which of them each step ends, and the length of the history."""
    root, copies = work / "reference", work / "states"
    operations.copy(template, root)
    copies.mkdir()
    told = nursery.run(list(steps), root, states=str(copies))
    assert told["outcomes"] == [None] * len(steps), told
    states: list[Truth] = []
    after, known = [], []
    if (copies / "001 step 0" / "alice" / "sessions" / "pending").is_dir():
        operations.between(copies / "000 before", copies / "001 step 0", copies / "000 before, and queued")
    for place in sorted(copies.iterdir()):
        if "change" not in place.name and "queued" not in place.name:
            after.append(len(states))
            known.append(len(journal.read(UserFolder(place / "alice"))))
        if set(steps) & set(operations.OF_SESSIONS):
            _settle(place)
        states.append(operations.truth(place))
    if "import over an empty user" in steps:  # the empty one is moved aside first, and may be gone
        states.insert(1, {path: text for path, text in states[0].items() if not path.startswith("dave/")})
        after = [place + 1 for place in after]
    shutil.rmtree(root)
    shutil.rmtree(copies)
    if set(steps) & set(operations.OF_SESSIONS):
        states, places = _with_either_first(states)
        after = [places[place] for place in after]
    return tuple(states), tuple(after[1:]), tuple(known)


def _with_either_first(states: Sequence[Truth]) -> tuple[list[Truth], list[int]]:
    """The states, and those between them: a message is kept before it stands in its window, and leaves the window
    before it is deleted. With them, where each state is found now."""
    found, places = [], []
    for number, state in enumerate(states):
        if number:
            before = states[number - 1]
            found += [mix for mix in (_mixed(before, state), _mixed(state, before)) if mix not in (before, state)]
        places.append(len(found))
        found.append(state)
    return found, places


def _mixed(state: Truth, other: Truth) -> Truth:
    """A state with the transcripts of another."""
    kept = {path: text for path, text in state.items() if "/transcripts/" not in path}
    return kept | {path: text for path, text in other.items() if "/transcripts/" in path}


def _settle(root: Path) -> None:
    forget_progress()
    with opened(root) as store:
        operations.fixed_ids(store)
        store.refresh()
        operations.settle(store)


def check(
    root: Path, whole: Reference, acknowledged: int, *, legal: Sequence[Truth] = (), thorough: bool = True
) -> None:
    """Open a store again and look at all of it.

    Args:
        acknowledged: how many of the steps returned; another one may have been under way.
        legal: the states it may be in, if others than follow from that.
        thorough: also compare the index with a rebuild, and go on writing; of each state once, as most faults end
            in one of few.
    """
    legal = legal or whole.legal(acknowledged)
    forget_progress()
    with opened(root) as store:
        operations.fixed_ids(store)
        answer = store.query("tea", now=NOW)
        if answer.index.state == "fresh":
            there = [record["content"] for record, _ in elements(store.folder.memory_file.read_bytes())]
            assert {m.content for m in store.all()} == set(there), "the index says it is fresh, and is not"
        if whole.of_sessions:
            operations.settle(store)
        found = operations.truth(root)
        if not (whole.file_by_file and _is_mixed(found, legal)):
            assert found in legal, f"half-done:\n{differences(found, legal)}"
        assert journal.unfinished(store.folder) is None
        assert len(store.history.operations()) >= whole.known[acknowledged], "what was done cannot be undone"
        if thorough and answer.index.state == "fresh" and is_new(store):
            same_as_rebuilt(store)
            store.put(replace(store.get(PLAIN), tags=("after",)), now=LATER)
            explained = {problem.path for problem in examine(store)}
            assert set(left_over(store.folder.root)) <= explained, "litter that doctor does not explain"
            store.sessions.flush(now=LATER)
            assert left_over(store.folder.root) == [], "litter that stays"
            same_as_rebuilt(store)


def _is_mixed(found: Truth, legal: Sequence[Truth]) -> bool:
    paths = {path for state in (found, *legal) for path in state}
    return all(found.get(path) in [state.get(path) for state in legal] for path in paths)
