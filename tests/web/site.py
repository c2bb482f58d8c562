"""A site that serves a store on a real socket, and somebody who looks at it without a browser."""

from __future__ import annotations

import html
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from conftest import PATIENCE

from memctl.agent import loopback
from memctl.store import MemoryStore
from memctl.web import server
from memctl.web.app import Site, application
from memctl.web.checks import CHECKS, Checks
from memctl.web.guard import Keys
from memctl.web.pool import Pool


@dataclass
class Visitor:
    """Somebody with a cookie."""

    port: int
    link: str
    site: Site
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=PATIENCE))

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return self.origin + path

    def enter(self) -> Visitor:
        assert self.client.get(self.link).status_code == 200
        return self

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.client.get(self.url(path), **options)

    def page(self, path: str, **options: Any) -> str:
        """A page that must be there."""
        answer = self.get(path, follow_redirects=True, **options)
        assert answer.status_code == 200, (path, answer.status_code, words(answer.text))
        return answer.text

    def checked(self) -> str:
        """The first page, once all checks are made."""
        stamp = self.page("/stamp").rpartition(".")[0]
        for name in CHECKS:
            assert self.site.checks.get(name, stamp, PATIENCE).stamp == stamp, name
        return self.page("/")

    def do(self, action: str, *, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
        """Send a form, as a page of the site would."""
        form = {"token": self.site.keys.form, **fields}
        sent = {"origin": self.origin, "sec-fetch-site": "same-origin", **(headers or {})}
        return self.client.post(self.url(f"/do/{action}"), data=form, headers=sent)

    def done(self, action: str, **fields: Any) -> str:
        """Do something that must work; returns the page that follows."""
        answer = self.do(action, **fields)
        assert answer.status_code == 303, (action, answer.status_code, words(answer.text))
        return self.page(answer.headers["location"].partition("#")[0])

    def version(self, memory_id: str) -> str:
        """The version of a memory that its page carries."""
        found = re.search(r'name="version" value="(\w+)"', self.page(f"/memory/{memory_id}"))
        assert found
        return found[1]


def words(page: str) -> str:
    """What a page says, without its tags."""
    body = re.sub(r"<(script|style|title)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


@contextmanager
def serving(store: MemoryStore, *, read_only: bool = False, where: str = "") -> Iterator[Visitor]:
    """A site of a store, served by a thread of this process; `where` is the store's address, if it is in no folder."""
    listening, keys = loopback.listen(0), Keys()
    port = listening.getsockname()[1]
    where = where or str(store.folder.root.parent)
    site = Site(Pool(store), Checks(where, store.user), keys, port, store.user, read_only)
    running = uvicorn.Server(uvicorn.Config(application(site), log_level="warning", access_log=False, ws="none"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    while not running.started:
        time.sleep(0.005)
    try:
        yield Visitor(port, server.link(keys, listening), site)
    finally:
        running.should_exit = True
        thread.join()
        site.checks.close()
        site.pool.close()
        listening.close()
