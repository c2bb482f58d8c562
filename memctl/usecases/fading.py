"""Fading: counting what was used, and archiving what no longer matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memctl import times
from memctl.engine import Engine
from memctl.errors import RefusedError
from memctl.files import receipts
from memctl.files.layout import UserFolder
from memctl.gateway import View
from memctl.lifecycle import decay
from memctl.models import ACTIVE, Change, FileEdit, Memory
from memctl.sync import FUSE_LEAST, FUSE_SHARE

COUNTED = ".memctl/state/counted"
"""File that holds the last receipt whose uses are in `memory.json`."""


class Fading(Engine):
    """The fading of memories."""

    @property
    def half_life(self) -> decay.HalfLife:
        s = self.settings
        return decay.HalfLife(s.decay_half_life_days, s.decay_from_days, s.decay_threshold)

    def decay(
        self, *, dry_run: bool = False, now: datetime | None = None, allow_mass_change: bool = False
    ) -> list[decay.Forecast]:
        """Archive the episodes that have faded, after counting how memories were used.

        Returns:
            the forecast of every memory that can fade; those with `faded` were archived, or would be under `dry_run`.

        Raises:
            RefusedError: more than a quarter of at least 20 memories would be archived at once.
        """
        now = now or times.utc_now()
        self.refresh()
        result: list[decay.Forecast] = []

        def decide(view: View) -> Change:
            used, edits = counted_uses(view, self.folder)
            memories = [used.get(memory.memory_id, memory) for memory in view.all()]
            result[:] = decay.forecasts(memories, now, self.half_life)
            gone = {f.memory.memory_id: decay.archived(f.memory, f.reason, now) for f in result if f.faded}
            if not dry_run:
                check_fuse(len(gone), sum(m.status == ACTIVE for m in memories), allow_mass_change)
            return Change("decay", tuple((used | gone).values()), files=edits)

        if dry_run:
            decide(self.view())
        else:
            self._apply(decide, now)
        return result

    def uncounted_uses(self, memory_id: str) -> int:
        """How often a memory was in an answer since uses were last counted (by `decay`)."""
        return sum(memory_id in receipt.used for receipt in uncounted(self.view(), self.folder))


def counted_uses(view: View, folder: UserFolder) -> tuple[dict[str, Memory], tuple[FileEdit, ...]]:
    """Records with the uses that receipts tell of added to their counts, and the note of how far was counted."""
    before = view.read(COUNTED)
    new = uncounted(view, folder)
    if not new:
        return {}, ()
    used: dict[str, Memory] = {}
    for receipt in new:
        for memory_id in receipt.used:
            if memory := used.get(memory_id) or view.get(memory_id):
                last = max(filter(None, (memory.last_accessed_at, receipt.at)))
                used[memory_id] = replace(memory, access_count=memory.access_count + 1, last_accessed_at=last)
    return used, (FileEdit(COUNTED, before, new[-1].receipt.encode() + b"\n"),)


def check_fuse(going: int, active: int, allowed: bool) -> None:
    """Refuse to archive more than a quarter of the memories at once without being told to."""
    if active >= FUSE_LEAST and going > FUSE_SHARE * active and not allowed:
        raise RefusedError(
            f"{going} of {active} memories would be archived at once; nothing was changed",
            hint="Look at them with `memctl decay --dry-run`; go on with --allow-mass-change.",
        )


def uncounted(view: View, folder: UserFolder) -> Sequence[receipts.Receipt]:
    """Receipts whose uses are not in `memory.json` yet."""
    last = (view.read(COUNTED) or b"").decode("utf-8", "replace").strip()
    written = list(receipts.read(folder.receipts))
    position = next((at for at, receipt in enumerate(written) if receipt.receipt == last), -1)
    return written[position + 1 :]
