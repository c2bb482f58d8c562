"""Carrying out a purge: in every file of the folder, and in what is derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memctl.conversations import derived
from memctl.core import times
from memctl.core.models import Memory
from memctl.memories.asking import Asking
from memctl.providers.cache import FILE_NAME as EMBEDDINGS
from memctl.purge import planning
from memctl.sessions.service import Sessions
from memctl.storage.files.erase import Erasure
from memctl.storage.folder.view import FolderView
from memctl.storage.index import database


class Purging:
    """Really forgetting, in a folder."""

    def __init__(self, engine: Asking) -> None:
        self._engine = engine

    def run(
        self,
        ids: Sequence[str],
        *,
        dry_run: bool = False,
        look: bool = True,
        expected: planning.PurgeReport | None = None,
        now: datetime | None = None,
    ) -> planning.PurgeReport:
        """See `MemoryStore.purge`."""
        now = now or times.utc_now()
        self._engine.refresh()

        files = self._engine.files

        def decide(view: FolderView) -> tuple[Erasure, planning.Plan]:
            said = [replace(m, session_id="") for m in self._named_messages(ids)]
            made = [memory.memory_id for memory in derived.made_from(view, (m.memory_id for m in said), now)]
            beside = [*(t.memory for t in self._engine.storage.trashed()), *said]
            plan = planning.planned(view, [*ids, *made], beside)
            if expected is not None:
                planning.check_expected(plan.report(ids), expected)
            return replace(plan.erasure, changes=plan.changes), plan if dry_run else replace(plan, changes={})

        if dry_run:
            plan = decide(files.view())[1]
            return self._purge_report(plan, ids) if look else plan.report(ids)
        if said := [memory.memory_id for memory in self._named_messages(ids)]:
            decide(files.view())  # what is refused must take nothing out of a window
            Sessions(self._engine).drop_messages(said, now)
        plan = files.healed(lambda: files.gateway.purge(decide, now))
        for path in files.spare_indexes:
            if path != files.index.path:
                database.delete(path)
            database.delete(path.with_name(EMBEDDINGS))
        files.healed(files.renew_index)
        return self._purge_report(plan, ids)

    def _named_messages(self, ids: Sequence[str]) -> list[Memory]:
        """The messages among some ids, each passage of a long one by itself."""
        return [match.memory for given in ids for match in self._engine.search.message(given)]

    def _purge_report(self, plan: planning.Plan, ids: Sequence[str]) -> planning.PurgeReport:
        """What a purge did, or would do, and what it leaves in the files and in git."""
        advice = planning.git_advice(self._engine.files.folder, plan.erasure.ids)
        return plan.report(ids, planning.left(self._engine.files.folder, plan), advice)
