"""Sentence models that fastembed runs on this machine: those it lists, or a local folder with an ONNX model.

Only `install` downloads. It leaves a note of the files it got, so that everything else can tell without the network and
without fastembed (450 ms to import) whether a model is there and whole, and can load it by its path.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memctl.errors import ProviderError, StorageError, UsageError

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.common.types import NumpyArray

POOLINGS = ("mean", "cls", "last_token", "disabled")

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
"""Where a local folder has its network, unless it is named: the first of these."""

MAX_CHARACTERS = 20_000
"""Only this much of a text's beginning is embedded: one memory may hold 10 MB."""

_NEEDED = ("config.json", "tokenizer.json", "tokenizer_config.json")
_OPTIONAL = ("special_tokens_map.json",)
_LOADING = threading.Lock()  # fastembed keeps the folders it was told of in a list of its class


@dataclass(frozen=True)
class ModelInfo:
    """A model fastembed offers: its name, the length of its vectors, its download in GB, languages and other facts."""

    name: str
    dimensions: int
    size_gb: float
    description: str


@dataclass(frozen=True)
class _Files:
    """A model's files, known to be there; `key` is fastembed's name for it, for a local folder the identity."""

    key: str
    folder: Path
    model_file: str
    dimensions: int
    identity: str


class FastembedEmbedder:
    """Embeds texts with one of fastembed's models or a local one; imports fastembed at the first text.

    Texts run one by one: on a CPU that is as fast as padded batches, and a quantised model gives a text another vector
    (cosine down to 0.98) in every other company.

    Args:
        model: a name from `catalogue()`, or a folder, which begins with `/`, `.` or `~`.
        cache_dir: where `install` puts models; a local folder needs none.
        pooling: how a local folder's token vectors become one, from `POOLINGS`; fastembed knows it for its own models.
        normalize: bring a local folder's vectors to length 1.
        model_file: the network within a local folder; empty for the first of `MODEL_FILES`.
        lexical_weight, vector_weight: how a search blends full text and vectors; they add up to 1.

    Raises:
        ProviderError: the model is not installed, or a file is missing or not of the size that was installed.
        UsageError: there is no such pooling.
    """

    slow = True

    def __init__(
        self,
        model: str,
        *,
        cache_dir: Path,
        pooling: str = "mean",
        normalize: bool = True,
        model_file: str = "",
        lexical_weight: float = 0.4,
        vector_weight: float = 0.6,
    ) -> None:
        if pooling not in POOLINGS:
            raise UsageError(f"no pooling {pooling!r}", hint=f"Choose one of: {', '.join(POOLINGS)}.")
        self.name = f"fastembed:{model}"
        self.lexical_weight, self.vector_weight = lexical_weight, vector_weight
        self._local = (pooling, normalize) if _is_folder(model) else None
        self._files = _local_files(model, model_file, self._local) if self._local else _noted_files(model, cache_dir)
        self.identity, self.dimensions, self.folder = self._files.identity, self._files.dimensions, self._files.folder
        self._loaded: TextEmbedding | None = None

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Vectors of memories, `dimensions` floats each; only the first `MAX_CHARACTERS` of a text count.

        Raises:
            ProviderError: the model cannot be loaded or gives no usable vectors.
        """
        if not texts:
            return []
        return self._vectors(self._model().passage_embed([_clean(text) for text in texts], batch_size=1))

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question, as the model wants questions treated. Raises as `embed` does."""
        return self._vectors(self._model().query_embed([_clean(text)], batch_size=1))[0]

    def verify(self) -> None:
        """Load the model and embed a word.

        Raises:
            ProviderError: that does not work.
        """
        if not any(self.embed_query("memory")):
            raise _broken(self.name, "its vectors are all zeros")

    def _model(self) -> TextEmbedding:
        with _LOADING:
            if self._loaded is None:
                self._loaded = self._load(_fastembed())
            return self._loaded

    def _load(self, fastembed: type[TextEmbedding]) -> TextEmbedding:
        """Load from the known folder, so that fastembed neither searches nor downloads."""
        folder = str(self._files.folder)
        try:
            if self._local:
                _register(fastembed, self._files, *self._local)
            return fastembed(self._files.key, cache_dir=folder, specific_model_path=folder, local_files_only=True)
        except Exception as error:  # tokenizers and onnxruntime raise bare Exception
            raise _broken(self.name, str(error)) from error

    def _vectors(self, found: Iterable[NumpyArray]) -> list[Sequence[float]]:
        """Run the model, which works only while `found` is read, and check what it gives."""
        try:
            vectors: list[Sequence[float]] = [vector.tolist() for vector in found]
        except Exception as error:  # as in _load
            raise _broken(self.name, str(error)) from error
        for vector in vectors:
            if len(vector) != self.dimensions:
                raise _broken(self.name, f"its vectors have {len(vector)} numbers, not {self.dimensions}")
            if not all(map(math.isfinite, vector)):
                raise _broken(self.name, "its vectors hold numbers that are not finite")
        return vectors


def catalogue() -> list[ModelInfo]:
    """The models fastembed can download, in its order. Imports fastembed."""
    return [ModelInfo(offer["model"], offer["dim"], offer["size_in_GB"], offer["description"]) for offer in _offers()]


def installed(model: str, cache_dir: Path) -> bool:
    """Whether the files of a model or of a local folder are there, judged by names and sizes alone."""
    try:
        FastembedEmbedder(model, cache_dir=cache_dir)
    except ProviderError:
        return False
    return True


def install(model: str, cache_dir: Path) -> Path:
    """Download a model unless a working copy is there, check that it works, and return its folder.

    A local folder is only checked.

    Raises:
        ProviderError: it cannot be downloaded, or does not work.
        StorageError: the cache folder cannot be written.
        UsageError: fastembed has no such model.
    """
    if _is_folder(model):
        return _verified(model, cache_dir)
    offer = _offer(model)
    try:
        return _settle(offer, cache_dir)
    except ProviderError:
        _download(offer, cache_dir)
    return _settle(offer, cache_dir)


def _is_folder(model: str) -> bool:
    """Told by the first character: a folder that happens to be called like a model must not stand in for it."""
    return model.startswith(("/", ".", "~"))


def _clean(text: str) -> str:
    """The part of a text that is embedded, as something UTF-8 can hold: the tokenizer refuses lone surrogates."""
    return text[:MAX_CHARACTERS].encode("utf-8", "ignore").decode("utf-8")


def _fastembed() -> type[TextEmbedding]:
    try:
        import onnxruntime
        from fastembed import TextEmbedding

        onnxruntime.disable_telemetry_events()  # no network, and no device id left in the user's cache
    except ImportError as error:
        raise ProviderError(f"fastembed cannot be imported: {error}", hint="Reinstall memctl to restore it.") from error
    return TextEmbedding


def _broken(name: str, reason: str) -> ProviderError:
    """The error for a model that cannot be used as it is."""
    hint = f"Run `memctl model install {name}`: it fetches what is missing or damaged."
    if _is_folder(name.removeprefix("fastembed:")):
        hint = (
            "Complete the folder (the ONNX network, config.json, tokenizer.json, tokenizer_config.json), "
            f"then run `memctl model install {name}` to check it."
        )
    return ProviderError(f"model {name} does not work: {' '.join(reason.split())[:300]}", hint=hint)


def _local_files(model: str, model_file: str, options: tuple[str, bool]) -> _Files:
    """A local folder's files.

    The identity has to change when the network is replaced, for no more than a query can afford: it covers the size
    and time of the network and of weights beside it (`model.onnx_data`), and the content of the small files. A copy
    with new times costs embedding anew, but vectors of two models are never compared. Where the folder lies is no part
    of it.
    """
    name, folder = f"fastembed:{model}", Path(model).expanduser().resolve()
    wanted = (model_file,) if model_file else MODEL_FILES
    network = next((file for file in wanted if (folder / file).is_file()), wanted[0])
    missing = [file for file in (network, *_NEEDED) if not (folder / file).is_file()]
    if missing:
        raise _broken(name, f"{folder} has no {', '.join(missing)}")
    try:
        dimensions = json.loads((folder / "config.json").read_bytes()).get("hidden_size")
        digest = _digest([*_big_files(folder / network), *_small_files(folder), network, options])
    except (OSError, ValueError, AttributeError) as error:
        raise _broken(name, f"cannot read {folder}: {error}") from error
    if not isinstance(dimensions, int):
        raise _broken(name, f"{folder / 'config.json'} has no `hidden_size`, the length of the vectors")
    identity = f"fastembed:{folder.name}:{digest}"
    return _Files(identity, folder, network, dimensions, identity)


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


def _register(fastembed: type[TextEmbedding], files: _Files, pooling: str, normalize: bool) -> None:
    """Tell fastembed of a local folder, once: it refuses a name it knows."""
    from fastembed.common.model_description import ModelSource, PoolingType

    if any(offer["model"] == files.key for offer in fastembed.list_supported_models()):
        return
    fastembed.add_custom_model(
        files.key,
        pooling=PoolingType(pooling.upper()),
        normalization=normalize,
        sources=ModelSource(hf=files.key),
        dim=files.dimensions,
        model_file=files.model_file,
    )


def _note_path(model: str, cache_dir: Path) -> Path:
    return cache_dir / "installed" / f"{model.lower().replace('/', '--')}.json"


def _noted_files(model: str, cache_dir: Path) -> _Files:
    """The files `install` noted.

    The identity covers their sizes, the revision, and fastembed's release, which decides the pooling.
    """
    name = f"fastembed:{model}"
    try:
        note = json.loads(_note_path(model, cache_dir).read_bytes())
        folder, sizes = cache_dir / note["folder"], note["sizes"]
        changed = [file for file, size in sizes.items() if _size(folder / file) != size]
        identity = f"fastembed:{note['model']}:{_digest([sizes, folder.name, _release()])}"
        files = _Files(note["model"], folder, note["model_file"], note["dimensions"], identity)
    except FileNotFoundError:
        hint = f"Run `memctl model install {name}` to download it, once."
        raise ProviderError(f"model {name} is not installed in {cache_dir}", hint=hint) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _broken(name, f"cannot read {_note_path(model, cache_dir)}: {error!r}") from error
    if changed:
        raise _broken(name, f"missing or damaged in {folder}: {', '.join(changed)}")
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


def _offers() -> list[dict[str, Any]]:
    """fastembed's own list, without the local folders it was told of."""
    return [offer for offer in _fastembed().list_supported_models() if not offer["model"].startswith("fastembed:")]


def _offer(model: str) -> dict[str, Any]:
    offers = {offer["model"].lower(): offer for offer in _offers()}
    if model.lower() in offers:
        return offers[model.lower()]
    near = [offers[name]["model"] for name in difflib.get_close_matches(model.lower(), offers, cutoff=0.5)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "A local folder begins with `/`, `.` or `~`."
    raise UsageError(f"fastembed has no model {model!r}", hint=hint)


def _cached(offer: dict[str, Any], cache_dir: Path) -> Path | None:
    """The folder of a complete download, in the layout of Hugging Face's cache."""
    repository = cache_dir / f"models--{offer['sources']['hf'].replace('/', '--')}"
    try:
        folder = repository / "snapshots" / (repository / "refs" / "main").read_text()
    except OSError:
        return None
    files = (offer["model_file"], *offer["additional_files"], "tokenizer.json")
    return folder if all((folder / file).is_file() for file in files) else None


def _settle(offer: dict[str, Any], cache_dir: Path) -> Path:
    """Note the files of a download and try them; without a note again where they do not work."""
    name, folder = f"fastembed:{offer['model']}", _cached(offer, cache_dir)
    if folder is None:
        raise _broken(name, f"its files in {cache_dir} are not complete")
    sizes = {str(file.relative_to(folder)): _size(file) for file in sorted(folder.rglob("*")) if file.is_file()}
    note = {"model": offer["model"], "model_file": offer["model_file"], "dimensions": offer["dim"]}
    _write(_note_path(offer["model"], cache_dir), note | {"folder": str(folder.relative_to(cache_dir)), "sizes": sizes})
    try:
        return _verified(offer["model"], cache_dir)
    except ProviderError:
        _note_path(offer["model"], cache_dir).unlink()
        raise


def _verified(model: str, cache_dir: Path) -> Path:
    embedder = FastembedEmbedder(model, cache_dir=cache_dir)
    embedder.verify()
    return embedder.folder


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


def _download(offer: dict[str, Any], cache_dir: Path) -> None:
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
        _fastembed().download_files_from_huggingface(source, str(cache_dir), files, force_download=damaged)
    except Exception as error:  # requests, httpx and the hub each raise their own
        hint = "Check the network and the free space, or name a mirror in HF_ENDPOINT; then run the command again."
        reason = " ".join(str(error).split())[:300]
        raise ProviderError(f"cannot download fastembed:{offer['model']}: {reason}", hint=hint) from error
