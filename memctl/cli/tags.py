"""`tags`."""

from __future__ import annotations

from memctl.cli import paging, render
from memctl.cli.opening import opened


def tags() -> None:
    """List the tags of active memories, with how many each has.

    Example: memctl tags
    """
    with opened() as store:
        store.refresh()
        counts = store.engine.view().tag_counts()
    listed = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    render.document({"tags": dict(listed)})
    with paging.paged():
        render.table(("tag", "memories"), [(tag, f"{number:,}") for tag, number in listed], right=(1,))
