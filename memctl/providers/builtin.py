"""The embedder that ships with memctl: a static model, read by memory map and summed in integers.

`data/builtin.bin` holds a row of 256 signed 8-bit weights per token, all of one scale; `data/builtin-vocab.txt` holds
the tokens, one a line, in row order. A text's vector is the sum of the rows of its tokens, so one text, a batch and
another machine all give the same bits. `scripts/build_builtin_model.py` makes both files.

`builtin.bin` is a little-endian `HEADER`, then `rows * dimensions` bytes, each a weight + `BIAS`. Within a row the even
bytes are components 0 to 127 and the odd bytes are components 128 to 255.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from functools import cache
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from memctl import distribution
from memctl.errors import ProviderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DATA = Path(__file__).parent / "data"
ROWS_FILE = "builtin.bin"
VOCABULARY_FILE = "builtin-vocab.txt"

HEADER = struct.Struct("<8sIIIf32s")
"""Magic, format version, rows, dimensions, the float a weight of 1 stands for, `digest` of all the rest."""

MAGIC = b"MEMCTLVE"
VERSION = 1
DIMENSIONS = 256
BIAS = 128

MAX_CHARACTERS = 20_000
"""Only the beginning of a text is embedded: one memory may hold 10 MB."""

_LANE_ROWS = 256  # as many rows as a 16-bit lane can hold the sum of
_LANES = sum(1 << 16 * lane for lane in range(DIMENSIONS))
_EVEN_BYTES = 0xFF * (_LANES & ((1 << 8 * DIMENSIONS) - 1))
_SUMS = struct.Struct(f"<{DIMENSIONS}h")


def digest(head: bytes, rows: bytes, vocabulary: bytes) -> bytes:
    """SHA-256 of all that decides a vector: the header up to its digest, the stored rows, the vocabulary file."""
    from hashlib import sha256  # 3 ms that no embedding needs

    return sha256(head + rows + vocabulary).digest()


class BuiltinEmbedder:
    """Embeds texts with the shipped static model; imports `tokenizers` at the first text.

    Args:
        folder: where the two data files are.

    Raises:
        ProviderError: a data file is missing, or `builtin.bin` is not what its name says.
    """

    name = "builtin"
    dimensions = DIMENSIONS
    slow = False
    lexical_weight = 0.5
    vector_weight = 0.5

    def __init__(self, folder: Path = DATA) -> None:
        self._vocabulary = folder / VOCABULARY_FILE
        if not self._vocabulary.is_file():
            raise _broken(self._vocabulary, "no such file")
        self._data, self._digest = _open(folder / ROWS_FILE)
        self._rows = _Rows(self._data)
        self.identity = f"builtin:{self._digest.hex()[:12]}"

    def embed(self, texts: Sequence[str]) -> list[list[int]]:
        """The sum of the token rows of each text: 256 integers a text, not normalised, zeros if no token is known."""
        encodings = _tokenizer(self._vocabulary).encode_batch_fast([_clean(text) for text in texts])
        return [self._sum(encoding.ids) for encoding in encodings]

    def embed_query(self, text: str) -> list[int]:
        """As `embed`, for one question."""
        return self.embed([text])[0]

    def verify(self) -> None:
        """Read both data files, about 8 MB; raises ProviderError if a byte differs from what was built."""
        head = self._data[: HEADER.size - len(self._digest)]
        if digest(head, self._data[HEADER.size :], self._vocabulary.read_bytes()) != self._digest:
            raise _broken(self._vocabulary.parent, "checksum does not match")

    def _sum(self, tokens: list[int]) -> list[int]:
        """Sum the rows of any number of tokens."""
        rows = [self._rows[token] for token in tokens]
        total = _sum_lanes(rows[:_LANE_ROWS])
        for start in range(_LANE_ROWS, len(rows), _LANE_ROWS):
            total = list(map(add, total, _sum_lanes(rows[start : start + _LANE_ROWS])))
        return total


@cache
def _tokenizer(vocabulary: Path) -> Tokenizer:
    """Built from the vocabulary alone, which loads faster than a tokenizer's JSON; one for all stores of a process."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.WordPiece.from_file(str(vocabulary), unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


class _Rows(dict[int, int]):
    """Token id to its row as one little-endian integer; keeps each row once used, at most about 12 MB."""

    def __init__(self, data: mmap.mmap) -> None:
        super().__init__()
        self._data = data

    def __missing__(self, token: int) -> int:
        start = HEADER.size + token * DIMENSIONS
        row = self[token] = int.from_bytes(self._data[start : start + DIMENSIONS], "little")
        return row


def _sum_lanes(rows: list[int]) -> list[int]:
    """Sum up to `_LANE_ROWS` rows in the 16-bit lanes of one big integer."""
    even = sum([row & _EVEN_BYTES for row in rows])
    odd = (sum(rows) - even) >> 8
    # Swap the rows' bias for 2**15, so that no lane borrows from its neighbour; less that, a lane is two's complement.
    biased = even + (odd << 8 * DIMENSIONS) + _LANES * (0x8000 - BIAS * len(rows))
    return list(_SUMS.unpack((biased ^ _LANES * 0x8000).to_bytes(_SUMS.size, "little")))


def _clean(text: str) -> str:
    """The part of a text that is embedded, less any lone surrogates, which the tokenizer refuses."""
    return text[:MAX_CHARACTERS].encode("utf-8", "ignore").decode("utf-8")


def _open(path: Path) -> tuple[mmap.mmap, bytes]:
    """Map a rows file for reading and take the digest from its header."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, rows, dimensions, _, expected = HEADER.unpack_from(data)
    except (OSError, ValueError, struct.error) as error:
        raise _broken(path, str(error)) from error
    if (magic, version, dimensions) != (MAGIC, VERSION, DIMENSIONS) or len(data) != HEADER.size + rows * dimensions:
        raise _broken(path, "not a model file of this version")
    return data, expected


def _broken(path: Path, reason: str) -> ProviderError:
    return ProviderError(f"built-in model {path}: {reason}", hint=distribution.REINSTALL)
