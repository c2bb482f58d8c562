"""The shape of a `memory.json` gives back its bytes, whatever a person did to them, and keeps what still fits."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memctl.core.formats import document
from memctl.storage.files import shape

_SPACE = st.text(" \t\r\n", max_size=3)
_HEADER = st.dictionaries(st.sampled_from(["format", "mine", "ключ"]), st.just("memctl/1"))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A valid file, with odd white space and the list of records anywhere among the fields."""
    ids = draw(st.lists(st.text('ab小"\\', min_size=1, max_size=4), unique=True, max_size=5))
    words = st.text("x\u2028é,]}", min_size=1, max_size=4)
    records = [
        json.dumps({"memory_id": name, "content": draw(words), "created_at": f"202{n}-01-01"})
        for n, name in enumerate(ids)
    ]
    array = "[" + ",".join(draw(_SPACE) + record + draw(_SPACE) for record in records) + draw(_SPACE) + "]"
    fields = [f"{json.dumps(name)}{draw(_SPACE)}:{draw(_SPACE)}{json.dumps(v)}" for name, v in draw(_HEADER).items()]
    fields.insert(draw(st.integers(0, len(fields))), f'"memories"{draw(_SPACE)}:{draw(_SPACE)}{array}')
    text = draw(_SPACE) + "{" + draw(_SPACE) + f"{draw(_SPACE)},{draw(_SPACE)}".join(fields) + "}" + draw(_SPACE)
    return text.encode("utf-8", "surrogatepass")


def carried(data: bytes) -> tuple[dict[str, object], dict[str, bytes], bytes | None]:
    parsed = shape.checked(data)
    return dict(parsed.header), shape.in_time_order(shape.raws(parsed)), shape.shape_of(data, parsed)


@given(files())
def test_every_byte_comes_back(data: bytes) -> None:
    assert shape.rebuilt(*carried(data)) == data


@given(files(), st.data())
def test_what_changed_meanwhile_is_in_the_file_and_nothing_else(data: bytes, draws: st.DataObject) -> None:
    header, raws, form = carried(data)
    stay = {name: raw for name, raw in raws.items() if draws.draw(st.booleans())}
    stay["new"] = json.dumps({"memory_id": "new", "content": "x", "created_at": "2024-06-01"}).encode()
    header = header | draws.draw(_HEADER)

    parsed = document.parse(shape.rebuilt(header, shape.in_time_order(stay), form))

    assert shape.raws(parsed) == stay
    assert parsed.header == header
