"""Every call of a write to the system is made to fail, one after the other: the caller is told, and told the truth.

Or it is the last thing the process does: what it was about to do is there as a whole, or not at all.

An operation whose call failed is acknowledged and there, or refused and wholly absent. Where the disk fails at the very
last step, or goes on failing, it may be refused and there as a whole; then the error says that. Nothing but an error of
memctl's own leaves it. When the fault is over, the same process and a new one find a whole store.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import TORTURE, count_cases

from durability import operations
from durability.checking import Reference, check, reference
from durability.disk import events
from durability.shimmed import CHANGE, FAIL_FROM, FAIL_ONCE, KILL, LOCK, LOOK, SHORT, Nursery

ERRORS = {name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EACCES", "EINTR")}
UNSURE = ("certain", "next command")
"""Words of the hints of errors that leave open whether it is done."""

SAMPLED = 2
"""Cases of each operation in the short form."""

MOST = int(os.environ.get("MEMCTL_TORTURE_FAULTS", "100000"))
"""Cases of each operation at most in the long form."""


RETRIED = ("open to write", "open to read", "read", "write", "truncate", "fsync", "flock")
"""Calls that Python makes again when a signal comes between (PEP 475): the caller sees nothing of it."""


@dataclass(frozen=True)
class Fault:
    """One call that fails: the `at`th of its kinds, which was such a `call` when it was counted."""

    kinds: int
    mode: int
    at: int
    call: str
    error: str = ""

    @property
    def order(self) -> dict[str, int]:
        return {"kinds": self.kinds, "mode": self.mode, "at": self.at, "error": ERRORS.get(self.error, 0)}


def faults(calls: Mapping[int, Sequence[str]]) -> Iterator[Fault]:
    """All there are for an operation that makes these calls, by kind."""
    for at, call in enumerate(calls[CHANGE], 1):
        yield from (Fault(CHANGE, FAIL_ONCE, at, call, error) for error in ERRORS)
        yield from (Fault(CHANGE, FAIL_FROM, at, call, error) for error in ("ENOSPC", "EIO"))
        yield Fault(CHANGE, KILL, at, call)
        if call == "write":
            yield Fault(CHANGE, SHORT, at, call)
    for at, call in enumerate(calls[LOOK], 1):
        yield from (Fault(LOOK, FAIL_ONCE, at, call, error) for error in ("EIO", "EACCES", "EINTR"))
    for at, call in enumerate(calls[LOCK], 1):
        yield from (Fault(LOCK, FAIL_ONCE, at, call, error) for error in ("EIO", "EINTR"))


ALL = [*operations.IN_STORE, *operations.IN_FOLDER]


@pytest.mark.parametrize("operation", ALL)
def test_a_call_fails(operation: str, nursery: Nursery, template: Path, fast: Path) -> None:
    whole = reference(nursery, template, fast, [operation])
    cases = list(faults(_calls(whole) | ({LOOK: []} if operation in operations.MAY_WAIT else {})))
    dice, most = (random.Random(), MOST) if TORTURE else (random.Random(operation), SAMPLED)
    cases = dice.sample(cases, min(most, len(cases)))
    count_cases("tests/durability/test_failing_calls.py::test_a_call_fails", len(cases))
    wrong = [said for fault in cases if (said := _wrong(operation, fault, whole, nursery, template, fast))]
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:20])


def _calls(whole: Reference) -> dict[int, list[str]]:
    calls = [event for event in events(whole.trace) if event.what == "call"]
    return {kind: [call.one for call in calls if call.offset == kind] for kind in (CHANGE, LOOK, LOCK)}


def _wrong(operation: str, fault: Fault, whole: Reference, nursery: Nursery, template: Path, fast: Path) -> str:
    """What is wrong after a fault; empty where nothing is."""
    root = fast / "failing"
    operations.copy(template, root)
    told = nursery.run([operation], root, **fault.order)
    outcome = None if told["killed"] else told["outcomes"][0]
    try:
        assert told.get("later") is None, "the process cannot go on"
        _check_outcome(fault, told.get("failed", ""), outcome, root, whole)
    except Exception as problem:
        return f"{fault}: {outcome} {told.get('later') or ''}: {type(problem).__name__}: {str(problem)[:1500]}"
    finally:
        shutil.rmtree(root)
    return ""


def _check_outcome(fault: Fault, failed: str, outcome: list[Any] | None, root: Path, whole: Reference) -> None:
    acknowledged = outcome is None and fault.mode != KILL
    if outcome is not None:
        _, own, _, hint, _ = outcome
        assert own, "not an error of memctl's"
        assert fault.mode != SHORT, "a short write is no error"
        assert fault.error != "EINTR" or failed not in RETRIED, "a signal is no error"
    unsure = outcome is not None and any(word in outcome[3] for word in UNSURE)
    legal = whole.states if unsure else whole.legal(int(acknowledged), refused=outcome is not None)
    check(root, whole, int(acknowledged), legal=legal, thorough=TORTURE or fault.at % 2 == 0)
