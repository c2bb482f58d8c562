"""The only place that picks a folder, an index and an embedder and puts them together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from memctl import config
from memctl.errors import MemctlError, NotFoundError, RefusedError, StorageError, UsageError
from memctl.memories.asking import Asking
from memctl.providers.base import LLM, Embedder, Reranker
from memctl.providers.cache import FILE_NAME as EMBEDDINGS
from memctl.providers.cache import CachedEmbedder
from memctl.storage.files import layout, signing
from memctl.storage.files.layout import UserFolder
from memctl.storage.folder.storage import FolderStorage
from memctl.storage.index.sqlite import SqliteIndex
from memctl.store import MemoryStore

if TYPE_CHECKING:
    from memctl.trust import Server

INDEX_NAME = "index.sqlite"
LLM_VARIABLE = "MEMCTL_LLM"
LLM_URL_VARIABLE = "MEMCTL_LLM_URL"

MEGABYTE = 1024 * 1024


def open_store(
    store: str | Path | None = None,
    user: str | None = None,
    *,
    create: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> MemoryStore:
    """Open one user's memories.

    Args:
        store: the store's folder; found as the command line finds it when None.
        user: the user's name; when None the one the settings name, else the only one there is.
        create: make the store and the user where they do not exist.

    Raises:
        NotFoundError: no such store or user.
        UsageError: several users and none named, or a name that cannot be one.
        InvalidDataError: `memctl.yaml` is broken.
    """
    root = layout.find_store(store, environment, Path.cwd())
    settings, untrusted = trusted_settings(root, environment)
    name = user or environment.get(layout.USER_VARIABLE) or user_here(root) or settings.user
    folder = layout.create_user(root, name or "me") if create else _existing(root, name)
    folder = replace(folder, key_file=signing.key_file(environment))
    layout.check_private(folder)
    embedder, problem = load_embedder(settings, environment)
    index = open_index(folder, environment)
    if embedder is not None and embedder.slow:
        cache = index.path.with_name(EMBEDDINGS) if index.on_disk else Path(":memory:")
        embedder = CachedEmbedder(embedder, cache, folder.signer.secret(EMBEDDINGS))
    storage = FolderStorage(
        folder,
        index,
        embedder,
        lock_timeout=settings.lock_timeout,
        log_limit=int(settings.log_limit_mb * MEGABYTE),
        spare_indexes=index_paths(folder, environment),
    )
    engine = Asking(
        storage,
        embedder,
        settings,
        embedder_problem=problem,
        untrusted=untrusted,
        llm=lambda: need_llm(settings, environment),
        rerankers=lambda name: need_reranker(settings, name, environment),
    )
    return MemoryStore(engine)


def trusted_settings(root: Path, environment: Mapping[str, str]) -> tuple[config.Settings, tuple[str, ...]]:
    """The settings in force: where a store sets a value that needs this machine's trust and has it not, the default.

    Returns:
        the settings, and a sentence on each value that is not in force.

    Raises:
        InvalidDataError: `memctl.yaml` is broken.
        ProviderError: the list of what is trusted cannot be understood.
    """
    settings = config.load(root)
    risks = config.risks(settings)
    if not risks:
        return settings, ()
    from memctl import trust

    known = trust.values(environment)
    refused = [name for name in risks if trust.value_of(root, name, getattr(settings, name)) not in known]
    default = config.Settings()
    notes = tuple(
        f"memctl.yaml sets {name} to {getattr(settings, name)}, which {risks[name]}: "
        f"{getattr(default, name)} is in force until `memctl config trust {name}`"
        for name in refused
    )
    return replace(settings, **{name: getattr(default, name) for name in refused}), notes


def _existing(root: Path, name: str) -> UserFolder:
    if name:
        return layout.find_user(root, name)
    known = layout.users(root)
    if len(known) == 1:
        return UserFolder(root / known[0])
    if not known and (root / layout.CONFIG_NAME).exists():
        raise NotFoundError(f"the store {root} has no user yet", hint="Add one: `memctl user add NAME`.")
    if not known:
        raise NotFoundError(f"there is no memory store in {root}", hint="Make one with `memctl init`.")
    raise UsageError(f"which user? {root} has {', '.join(known)}", hint="Name one: `--user NAME` or MEMCTL_USER=NAME.")


def user_here(root: Path) -> str:
    """The user in whose folder the command was called, empty elsewhere."""
    here = Path.cwd()
    name = here.relative_to(root).parts[0] if here != root and here.is_relative_to(root) else ""
    return name if name in layout.users(root) else ""


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where what can be made again lies when it cannot lie in the store: models, indexes of read-only folders."""
    base = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "memctl"


def load_embedder(settings: config.Settings, environment: Mapping[str, str]) -> tuple[Embedder | None, str]:
    """The configured model; where it cannot be used, None and a sentence that says why and how to fix it."""
    try:
        return need_embedder(settings, environment), ""
    except UsageError:
        raise
    except MemctlError as problem:
        return None, degraded_note(problem)


def degraded_note(problem: MemctlError) -> str:
    """One sentence on a model that cannot be used, with both ways out."""
    hint = problem.hint.rstrip(".")
    ways = f"{hint}, or " if hint else ""
    return f"full text only: {problem.message.rstrip('.')}. {ways}`memctl model use builtin`."


def need_embedder(settings: config.Settings, environment: Mapping[str, str]) -> Embedder | None:
    """The configured model, None for `none`.

    Raises:
        ProviderError: it cannot be used.
        UntrustedError: the store names its server, and nobody on this machine has said that it may be used.
        UsageError: there is no such model.
    """
    from memctl.providers.registry import load_embedder as load

    on_server = settings.model.startswith("openai:")
    key = _trusted_key("model_url", settings, environment) if on_server else ""
    return load(
        settings.model,
        cache_dir=cache_directory(environment) / "models",
        base_url=settings.model_url,
        api_key=key,
        timeout=settings.model_timeout,
    )


def need_llm(settings: config.Settings, environment: Mapping[str, str]) -> LLM | None:
    """The configured language model, None for `none`; `MEMCTL_LLM` and `MEMCTL_LLM_URL` go before the settings.

    Raises:
        ProviderError: its address or key cannot be one.
        UntrustedError: the store names its server, and nobody on this machine has said that it may be used.
        UsageError: there is no such model.
    """
    from memctl.providers.registry import load_llm

    name = environment.get(LLM_VARIABLE) or settings.llm
    own_url, key = environment.get(LLM_URL_VARIABLE, ""), ""
    if name.startswith("openai:"):
        key = _own_key(own_url, settings, environment) if own_url else _trusted_key("llm_url", settings, environment)
    return load_llm(
        name,
        base_url=own_url or settings.llm_url,
        api_key=key,
        timeout=settings.llm_timeout,
    )


def need_reranker(settings: config.Settings, name: str, environment: Mapping[str, str]) -> Reranker | None:
    """The reranker of that name, None for `none`.

    Raises:
        ProviderError: it cannot be used.
        UntrustedError: the store names its server, and nobody on this machine has said that it may be used.
        UsageError: there is no such reranker.
    """
    from memctl.providers.registry import load_reranker

    on_server = name.partition(":")[0] == "server"
    key = _trusted_key("rerank_url", settings, environment) if on_server else ""
    return load_reranker(
        name,
        cache_dir=cache_directory(environment) / "models",
        base_url=settings.rerank_url,
        api_key=key,
        timeout=settings.rerank_timeout,
    )


def _trusted_key(setting: str, settings: config.Settings, environment: Mapping[str, str]) -> str:
    """The key for a server that may be used; empty where it gets none."""
    from memctl import trust

    named = servers(settings)[setting]
    trust.need(setting, named, environment)
    return trust.key(named, environment)


def _own_key(url: str, settings: config.Settings, environment: Mapping[str, str]) -> str:
    """The key for the server that the environment names: a store must not choose another one for it."""
    from memctl import trust

    variable = settings.llm_key_variable
    if variable == config.Settings().llm_key_variable:
        return environment.get(variable, "")
    return trust.key(trust.server(url, variable), environment)


def servers(settings: config.Settings) -> dict[str, Server]:
    """The servers a store's settings name, by the setting."""
    from memctl.trust import KEY_VARIABLE, URL, server

    values = vars(settings)
    return {
        name: server(str(value), str(values.get(name.removesuffix(URL) + KEY_VARIABLE, "")))
        for name, value in values.items()
        if name.endswith(URL)
    }


def index_paths(folder: UserFolder, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where a user's index may lie, the usual place first."""
    return (folder.cache / INDEX_NAME, _outside(folder, environment))


def open_index(folder: UserFolder, environment: Mapping[str, str]) -> SqliteIndex:
    """The user's index: in the folder, else (read-only, somebody else's) in the user's own cache, else in memory."""
    for path in index_paths(folder, environment):
        try:
            if path.is_relative_to(folder.root):
                folder.resolve(str(path.relative_to(folder.root)))
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True, mode=0o700)
                if path.is_relative_to(folder.private):
                    layout.ensure_private(folder)
            if os.access(path.parent, os.W_OK):
                with suppress(StorageError):
                    folder.signer.prepare()
                return SqliteIndex(path, _identity(folder))
        except (OSError, StorageError, RefusedError, UnicodeEncodeError):  # SQLite takes no path that is not UTF-8
            continue
    return SqliteIndex(Path(":memory:"))


def _identity(folder: UserFolder) -> str:
    """What tells this folder from a copy of it, and an index of this machine's user's from one that came with it."""
    status = folder.root.stat()
    place = f"{status.st_dev}:{status.st_ino}:{folder.name}"
    return f"{place}:{folder.signer.secret(place)}"


def _outside(folder: UserFolder, environment: Mapping[str, str]) -> Path:
    key = blake2b(os.fsencode(folder.root.resolve()), digest_size=8).hexdigest()
    return cache_directory(environment) / "indexes" / f"{folder.name}-{key}" / INDEX_NAME
