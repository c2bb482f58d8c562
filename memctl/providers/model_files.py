"""The files of models that fastembed runs on this machine: where they lie, whether they are whole, fetching them.

Only `install` downloads. It leaves a note of the files it got, so that everything else can tell without the network and
without fastembed (450 ms to import) whether a model is there and whole, and can load it by its path.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from memctl import distribution
from memctl.errors import ProviderError, StorageError, UsageError, argument

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
"""Where a local folder has its network, unless it is named: the first of these."""

PREFIX = "fastembed:"

LOADING = threading.Lock()
"""fastembed keeps the folders it was told of in a list of its class."""

_NEEDED = ("config.json", "tokenizer.json", "tokenizer_config.json")
_OPTIONAL = ("special_tokens_map.json",)


@dataclass(frozen=True)
class Files:
    """A model's files, known to be there; `key` is fastembed's name for it, for a local folder the identity.

    `dimensions` of a model that gives no vectors is 0.
    """

    key: str
    folder: Path
    model_file: str
    dimensions: int
    identity: str


def fastembed_class(module: str, name: str) -> Any:
    """One of fastembed's classes. Importing it takes 450 ms.

    Raises:
        ProviderError: it cannot be imported.
    """
    # onnxruntime reads this while it is imported. What its own function switches off later has begun: a device id in
    # the user's cache, and a connection to Microsoft ten seconds on.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise ProviderError(f"fastembed cannot be imported: {error}", hint=distribution.REINSTALL) from error


@dataclass(frozen=True)
class Family:
    """One of fastembed's kinds of models.

    Args:
        load: imports fastembed and gives its class of these models.
        verify: loads an installed model and tries it; ProviderError where it does not work. Returns its folder.
    """

    load: Callable[[], Any]
    verify: Callable[[str, Path], Path]

    def offers(self) -> list[dict[str, Any]]:
        """fastembed's own list, without the local folders it was told of."""
        return [offer for offer in self.load().list_supported_models() if not offer["model"].startswith(PREFIX)]

    def offer(self, model: str) -> dict[str, Any]:
        """What fastembed says of a model.

        Raises:
            UsageError: it has none of that name.
        """
        offers = {offer["model"].lower(): offer for offer in self.offers()}
        if model.lower() in offers:
            return offers[model.lower()]
        near = [offers[name]["model"] for name in difflib.get_close_matches(model.lower(), offers, cutoff=0.5)]
        hint = f"Did you mean {' or '.join(near)}?" if near else "A local folder begins with `/`, `.` or `~`."
        raise UsageError(f"fastembed has no model {model!r}", hint=hint)

    def install(self, model: str, cache_dir: Path) -> Path:
        """Download a model unless a working copy is there, check that it works, and return its folder.

        A local folder is only checked.

        Raises:
            ProviderError: it cannot be downloaded, or does not work.
            StorageError: the cache folder cannot be written.
            UsageError: fastembed has no such model.
        """
        if is_folder(model):
            return self.verify(model, cache_dir)
        offer = self.offer(model)
        try:
            return self._settle(offer, cache_dir)
        except ProviderError:
            self._download(offer, cache_dir)
        return self._settle(offer, cache_dir)

    def _settle(self, offer: dict[str, Any], cache_dir: Path) -> Path:
        """Note the files of a download and try them; without a note again where they do not work."""
        name, folder = f"{PREFIX}{offer['model']}", _cached(offer, cache_dir)
        if folder is None:
            raise broken(name, f"its files in {cache_dir} are not complete")
        sizes = {str(file.relative_to(folder)): _size(file) for file in sorted(folder.rglob("*")) if file.is_file()}
        note = {"model": offer["model"], "model_file": offer["model_file"], "dimensions": offer.get("dim", 0)}
        note |= {"folder": str(folder.relative_to(cache_dir)), "sizes": sizes}
        _write(_note_path(offer["model"], cache_dir), note)
        try:
            return self.verify(offer["model"], cache_dir)
        except ProviderError:
            _note_path(offer["model"], cache_dir).unlink()
            raise

    def _download(self, offer: dict[str, Any], cache_dir: Path) -> None:
        """Fetch a model once, without fastembed's own retries (39 s of sleep) that hide the reason.

        A half-finished download is continued; one that is complete and yet does not work is fetched from the start.
        """
        from huggingface_hub.utils.tqdm import disable_progress_bars

        if not sys.stderr.isatty():
            disable_progress_bars()
        files = [offer["model_file"], *offer["additional_files"]]
        damaged = _cached(offer, cache_dir) is not None
        try:
            source = offer["sources"]["hf"]
            self.load().download_files_from_huggingface(source, str(cache_dir), files, force_download=damaged)
        except Exception as error:  # requests, httpx and the hub each raise their own
            hint = "Check the network and the free space, or name a mirror in HF_ENDPOINT; then run the command again."
            reason = " ".join(str(error).split())[:300]
            raise ProviderError(f"cannot download fastembed:{offer['model']}: {reason}", hint=hint) from error


def is_folder(model: str) -> bool:
    """Told by the first character: a folder that happens to be called like a model must not stand in for it."""
    return model.startswith(("/", ".", "~"))


def clean(text: str, most: int) -> str:
    """The beginning of a text, which a model reads, as UTF-8 can hold it: the tokenizer refuses lone surrogates."""
    return text[:most].encode("utf-8", "ignore").decode("utf-8")


def broken(name: str, reason: str) -> ProviderError:
    """The error for a model that cannot be used as it is."""
    hint = f"Run `memctl model install {argument(name)}`: it fetches what is missing or damaged."
    if is_folder(name.removeprefix("fastembed:")):
        hint = (
            "Complete the folder (the ONNX network, config.json, tokenizer.json, tokenizer_config.json), "
            f"then run `memctl model install {argument(name)}` to check it."
        )
    return ProviderError(f"model {name} does not work: {' '.join(reason.split())[:300]}", hint=hint)


def local_files(model: str, model_file: str, options: object, *, vectors: bool = True) -> Files:
    """A local folder's files.

    Args:
        options: what else decides what the model gives; a part of its identity.
        vectors: whether it has to say how long its vectors are.

    The identity has to change when the network is replaced, for no more than a query can afford: it covers the size
    and time of the network and of weights beside it (`model.onnx_data`), and the content of the small files. A copy
    with new times costs embedding again, but vectors of two models are never compared. Where the folder lies is no part
    of it.
    """
    name, folder = f"fastembed:{model}", Path(model).expanduser().resolve()
    wanted = (model_file,) if model_file else MODEL_FILES
    network = next((file for file in wanted if (folder / file).is_file()), wanted[0])
    missing = [file for file in (network, *_NEEDED) if not (folder / file).is_file()]
    if missing:
        raise broken(name, f"{folder} has no {', '.join(missing)}")
    try:
        dimensions = json.loads((folder / "config.json").read_bytes()).get("hidden_size")
        digest = _digest([*_big_files(folder / network), *_small_files(folder), network, options])
    except (OSError, ValueError, AttributeError) as error:
        raise broken(name, f"cannot read {folder}: {error}") from error
    if vectors and not isinstance(dimensions, int):
        raise broken(name, f"{folder / 'config.json'} has no `hidden_size`, the length of the vectors")
    identity = f"fastembed:{folder.name}:{digest}"
    return Files(identity, folder, network, dimensions if vectors else 0, identity)


def _big_files(network: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of the network and of weights beside it."""
    files = sorted(file for file in network.parent.iterdir() if file.name.startswith(network.name))
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def _small_files(folder: Path) -> list[tuple[str, str]]:
    """Name and content hash of the files that decide how a text is cut into tokens."""
    files = [folder / name for name in (*_NEEDED, *_OPTIONAL)]
    return [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files if file.is_file()]


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _note_path(model: str, cache_dir: Path) -> Path:
    return cache_dir / "installed" / f"{model.lower().replace('/', '--')}.json"


def noted_files(model: str, cache_dir: Path) -> Files:
    """The files `install` noted.

    The identity covers their sizes, the revision, and fastembed's release, which decides the pooling.
    """
    name = f"fastembed:{model}"
    try:
        note = json.loads(_note_path(model, cache_dir).read_bytes())
        folder, sizes = cache_dir / note["folder"], note["sizes"]
        changed = [file for file, size in sizes.items() if _size(folder / file) != size]
        identity = f"fastembed:{note['model']}:{_digest([sizes, folder.name, _release()])}"
        files = Files(note["model"], folder, note["model_file"], note["dimensions"], identity)
    except FileNotFoundError:
        hint = f"Run `memctl model install {argument(name)}` to download it, once."
        raise ProviderError(f"model {name} is not installed in {cache_dir}", hint=hint) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise broken(name, f"cannot read {_note_path(model, cache_dir)}: {error!r}") from error
    if changed:
        raise broken(name, f"missing or damaged in {folder}: {', '.join(changed)}")
    return files


def _size(file: Path) -> int:
    """A file's size in bytes, -1 where there is none."""
    return file.stat().st_size if file.is_file() else -1


def _release() -> str:
    """fastembed's version as far as its results may depend on it, such as `0.9`."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("fastembed").rpartition(".")[0]
    except PackageNotFoundError:  # fastembed-gpu offers the same module
        return ""


def _cached(offer: dict[str, Any], cache_dir: Path) -> Path | None:
    """The folder of a complete download, in the layout of Hugging Face's cache."""
    repository = cache_dir / f"models--{offer['sources']['hf'].replace('/', '--')}"
    try:
        folder = repository / "snapshots" / (repository / "refs" / "main").read_text()
    except OSError:
        return None
    files = (offer["model_file"], *offer["additional_files"], "tokenizer.json")
    return folder if all((folder / file).is_file() for file in files) else None


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write a note as a whole or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(content, indent=1))
        temporary.replace(path)
    except OSError as error:
        hint = "Check the folder's permissions and the free space."
        raise StorageError(f"cannot write {path}: {error.strerror}", hint=hint) from error
