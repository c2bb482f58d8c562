"""The port `Revisions` of a storage without version control."""

from __future__ import annotations

from datetime import datetime

from memctl.errors import NotFoundError
from memctl.storage.ports.storage import Revision


class NoRevisions:
    """No revisions: only the operation log has the past."""

    def head(self) -> Revision | None:
        return None

    def find(self, text: str) -> Revision | None:
        return None

    def last_before(self, moment: datetime) -> Revision | None:
        return None

    def records(self, revision: Revision) -> tuple[dict[str, bytes], int]:
        raise NotFoundError(f"{revision} is not known: a database is not under version control")

    def texts(self, revision: Revision, names: tuple[str, ...]) -> dict[str, bytes | None]:
        return {}
