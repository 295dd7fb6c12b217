"""read_events: tensorboard's event files as columns."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from event_wire import (
    FIXED32,
    FIXED64,
    VARINT,
    delimited,
    event,
    metadata,
    number,
    scalar,
    simple,
    summary,
    tag,
    tensor,
    varint,
    write,
)
from frames import frame
from hypothesis import example, given
from hypothesis import strategies as st
from needs import shared_data

import tfrecs

SCALARS = metadata("scalars")
COLUMNS = ["wall_time", "step", "tag", "plugin", "value"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.out.tfevents.1.host"


def rows(batch: tfrecs.Batch) -> list[tuple[int, str, str, float]]:
    """Step, tag, plugin and value of each row."""
    columns = [batch[name].tolist() for name in COLUMNS[1:]]
    return [(step, t.decode(), p.decode(), v) for step, t, p, v in zip(*columns, strict=True)]


def column(batch: tfrecs.Batch, name: str) -> Any:
    """A column whose type the test knows."""
    return batch[name]


def values(path: Path, **options: Any) -> list[float]:
    return [row[3] for row in rows(tfrecs.read_events(path, **options))]


def test_a_row_for_each_scalar(path: Path) -> None:
    write(
        path,
        event(delimited(3, b"brain.Event:2"), wall_time=1.0),
        event(summary(simple("loss", 0.5), simple("acc", 0.25)), step=7, wall_time=2.5),
        event(summary(simple("loss", -1.5)), step=-3, wall_time=3.5),
    )
    batch = tfrecs.read_events(path)
    assert list(batch) == COLUMNS
    assert [str(column(batch, name).dtype) for name in ("wall_time", "step", "value")] == [
        "float64",
        "int64",
        "float64",
    ]
    assert batch["wall_time"].tolist() == [2.5, 2.5, 3.5]
    expected = [(7, "loss", "scalars", 0.5), (7, "acc", "scalars", 0.25)]
    assert rows(batch) == [*expected, (-3, "loss", "scalars", -1.5)]


def test_a_file_without_scalars_has_the_columns(path: Path) -> None:
    write(path, event(delimited(3, b"brain.Event:2")))
    batch = tfrecs.read_events(path)
    assert (batch.num_rows, list(batch)) == (0, COLUMNS)
    assert batch["tag"].tolist() == []
    path.write_bytes(b"")
    assert tfrecs.read_events(path).num_rows == 0


# Of each DataType: its number, the field of its typed list, NumPy's dtype, and a value.
NUMBERS = {
    "float": (1, 5, "<f4", 0.1),
    "double": (2, 6, "<f8", 0.1),
    "int32": (3, 7, "<i4", -5),
    "uint8": (4, 7, "<u1", 200),
    "int16": (5, 7, "<i2", -300),
    "int8": (6, 7, "<i1", -5),
    "int64": (9, 10, "<i8", -(2**53)),
    "bool": (10, 11, "?", 1),
    "uint16": (17, 7, "<u2", 60000),
    "half": (19, 13, "<f2", 0.1),
    "uint32": (22, 16, "<u4", 2**32 - 1),
    "uint64": (23, 17, "<u8", 2**53),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("form", ["content", "list", "packed", "nothing"])
def test_a_tensor_of_any_real_type(
    name: str, shape: tuple[int, ...], form: str, path: Path
) -> None:
    dtype, field, numpy_dtype, value = NUMBERS[name]
    stored = np.array(value, numpy_dtype)
    wire, raw = listed(stored, numpy_dtype)
    parts = {
        "content": delimited(4, stored.tobytes()),
        "list": tag(field, wire) + raw,
        "packed": delimited(field, raw),
        "nothing": b"",
    }
    write(path, event(summary(tensor("t", dtype, parts[form], shape=shape) + SCALARS)))
    assert values(path) == [0.0 if form == "nothing" else float(stored)]


def listed(value: np.ndarray[Any, Any], dtype: str) -> tuple[int, bytes]:
    """How a number stands in its typed list: wire type and bytes."""
    if dtype in {"<f4", "<f8"}:
        return (FIXED32 if dtype == "<f4" else FIXED64), value.tobytes()
    whole = int(value.view("<u2")) if dtype == "<f2" else int(value)
    return VARINT, varint(whole % 2**64)


def test_bfloat16(path: Path) -> None:
    bits = struct.unpack("<I", struct.pack("<f", 1.5))[0] >> 16
    content = delimited(4, struct.pack("<H", bits))
    listed_bits = delimited(13, varint(bits))
    write(path, *(event(summary(tensor("t", 14, part))) for part in (content, listed_bits)))
    assert values(path) == [1.5, 1.5]


ONE = delimited(5, struct.pack("<f", 1.0))
NOT_SCALARS = {
    "two numbers": tensor("t", 1, delimited(5, struct.pack("<ff", 1, 2)), shape=(2,)),
    "no numbers": tensor("t", 1, b"", shape=(0,)),
    "a string": tensor("t", 7, delimited(8, b"text")),
    "a complex number": tensor("t", 8, delimited(9, struct.pack("<ff", 1, 2))),
    "content of another length": tensor("t", 1, delimited(4, bytes(8))),
    "no dtype": tensor("t", 0, ONE),
}


@pytest.mark.parametrize("value", NOT_SCALARS.values(), ids=NOT_SCALARS)
def test_a_tensor_that_is_no_scalar(value: bytes, path: Path) -> None:
    write(path, scalar(0, 1.0), event(summary(value)))
    assert values(path) == [1.0]
    assert rows(tfrecs.read_events(path, plugins=""))[0][:3] == (0, "t", "")
    write(path, scalar(0, 1.0), event(summary(value + SCALARS)))
    with pytest.raises(tfrecs.ParseError, match="tensor is no single number") as caught:
        tfrecs.read_events(path)
    error = caught.value
    assert (error.path, error.record, error.feature) == (str(path), 1, "t")


def test_the_plugin_decides(path: Path) -> None:
    write(
        path,
        event(summary(tensor("a", 1, ONE) + metadata("hparams"))),
        event(summary(tensor("b", 1, ONE) + SCALARS)),
        event(summary(tensor("c", 1, ONE))),
        event(summary(tensor("a", 1, ONE))),  # later ones need not say it again
        event(summary(tensor("a", 1, ONE) + SCALARS)),  # nor can they change it
        event(summary(delimited(9, delimited(1, b"")) + tensor("d", 1, ONE))),
    )
    assert [row[1] for row in rows(tfrecs.read_events(path))] == ["b", "c", "d"]
    others = tfrecs.read_events(path, plugins="hparams")
    assert [row[1] for row in rows(others)] == ["a", "a", "a"]
    assert np.isnan(column(others, "value")).all()


def test_the_plugin_is_remembered_in_the_next_file(tmp_path: Path) -> None:
    write(tmp_path / "a.tfevents", event(summary(tensor("a", 1, ONE) + metadata("custom"))))
    write(tmp_path / "b.tfevents", event(summary(tensor("a", 1, ONE))))
    assert values(tmp_path) == []
    assert len(values(tmp_path, plugins="custom")) == 2


def test_what_else_there_is(path: Path) -> None:
    kinds = {3: "", 4: "images", 5: "histograms", 6: "audio"}
    write(
        path,
        *(event(summary(delimited(1, b"t") + delimited(kind, b"\x08\x01"))) for kind in kinds),
        event(summary(tensor("t2", 7, delimited(8, b"words")) + metadata("text"))),
        event(summary(delimited(1, b"nothing"))),
        scalar(0, 2.0),
    )
    assert values(path) == [2.0]
    found = tfrecs.read_events(path, plugins=None)
    assert found["plugin"].tolist() == [
        b"",
        b"images",
        b"histograms",
        b"audio",
        b"text",
        b"scalars",
    ]
    assert np.isnan(column(found, "value")).tolist() == [True] * 5 + [False]
    assert rows(tfrecs.read_events(path, plugins=["text", "audio"]))[0][2] == "audio"


def test_tags(path: Path) -> None:
    write(path, *(scalar(step, step, name) for step, name in enumerate(["a", "b", "é", "a"])))
    assert values(path, tags="a") == [0.0, 3.0]
    assert values(path, tags=["é", "b"]) == [1.0, 2.0]
    assert values(path, tags=iter(["nothing"])) == []
    assert values(path, tags=[]) == []


def test_the_pieces_of_an_event(path: Path) -> None:
    """As protobuf reads them: messages merge, of a oneof the last counts, unknown is skipped."""
    two = summary(simple("a", 1.0)) + summary(simple("b", 2.0))
    unknown = number(15, 5) + delimited(16, b"?")
    write(
        path,
        event(two),
        event(unknown, summary(unknown + simple("c", 3.0)), unknown),
        event(summary(simple("gone", 4.0)), delimited(3, b"version")),
        event(delimited(3, b"version"), summary(simple("d", 5.0))),
        event(summary(simple("e", 9.0) + tag(2, FIXED32) + struct.pack("<f", 6.0))),
        event(summary(tensor("f", 2, ONE) + delimited(8, number(1, 1)))),
        event(summary(tensor("g", 7, b"") + simple("g", 8.0))),
        number(5, 1) + scalar(0, 9.0, "h"),
    )
    found = [(row[1], row[3]) for row in rows(tfrecs.read_events(path))]
    assert found == [
        *[("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 5.0), ("e", 6.0), ("f", 1.0), ("g", 8.0)],
        ("h", 9.0),
    ]


# --- Files ---


def test_a_directory_is_its_event_files_in_order(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.2.host", scalar(2, 2.0))
    write(tmp_path / "events.out.tfevents.1.host", scalar(1, 1.0))
    (tmp_path / "checkpoint").write_text("something else")
    (tmp_path / "eval").mkdir()
    write(tmp_path / "eval" / "events.out.tfevents.3.host", scalar(3, 3.0))
    assert values(tmp_path) == [1.0, 2.0]
    assert values(tmp_path / "eval") == [3.0]
    assert values([tmp_path / "eval", tmp_path]) == [3.0, 1.0, 2.0]  # type: ignore[arg-type]
    assert values(str(tmp_path / "*.2.*")) == [2.0]  # type: ignore[arg-type]
    assert values(str(tmp_path / "**" / "*tfevents*")) == [3.0, 1.0, 2.0]  # type: ignore[arg-type]


def test_no_event_files(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.FileError, match=r"no event file .* in this directory") as caught:
        tfrecs.read_events(tmp_path)
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(FileNotFoundError, match="No such file"):
        tfrecs.read_events(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        tfrecs.read_events(tmp_path / "*.tfevents")


def test_a_compressed_file(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "a.tfevents.gz") as out:
        out.write(scalar(1, 2.0))
    assert values(tmp_path) == [2.0]


def test_a_file_cut_at_every_byte(path: Path) -> None:
    events = [scalar(step, step) for step in range(3)]
    ends = np.cumsum([0, *(len(frame(event)) for event in events)]).tolist()
    whole = b"".join(map(frame, events))
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        expected = [float(step) for step in range(3) if ends[step + 1] <= cut]
        assert values(path, tolerate_tail=True) == expected
        if cut not in ends:
            with pytest.raises(tfrecs.TruncatedFileError):
                tfrecs.read_events(path)


def test_a_cut_file_does_not_hide_the_next(tmp_path: Path) -> None:
    write(tmp_path / "1.tfevents", scalar(1, 1.0))
    (tmp_path / "2.tfevents").write_bytes(frame(scalar(2, 2.0))[:-1])
    write(tmp_path / "3.tfevents", scalar(3, 3.0))
    assert values(tmp_path, tolerate_tail=True) == [1.0, 3.0]


def test_damage_is_not_tolerated(path: Path) -> None:
    content = bytearray(frame(scalar(1, 1.0)) + frame(scalar(2, 2.0)))
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(tfrecs.CorruptRecordError):
        tfrecs.read_events(path, tolerate_tail=True)


def test_a_record_that_is_no_event(path: Path) -> None:
    write(path, scalar(0, 1.0), b"no event")
    with pytest.raises(tfrecs.ParseError, match=r"record 1 at byte .*: broken protobuf message"):
        tfrecs.read_events(path)


def test_examples_are_no_events(path: Path) -> None:
    """Protobuf alone would not mind, and there would be no rows."""
    write(path, b"", tfrecs.encode_example({"age": 36}))
    with pytest.raises(tfrecs.ParseError, match=r"record 1 .*no event: it has none of the fields"):
        tfrecs.read_events(path)


def test_wrong_use(path: Path) -> None:
    write(path)
    with pytest.raises(tfrecs.SpecError, match="tags must be str, not bytes: b'loss'"):
        tfrecs.read_events(path, tags=[b"loss"])  # type: ignore[list-item]
    with pytest.raises(tfrecs.SpecError, match="tags must be str, not int: 3"):
        tfrecs.read_events(path, tags=3)  # type: ignore[arg-type]
    with pytest.raises(tfrecs.SpecError, match="plugins must be str, not int: 1"):
        tfrecs.read_events(path, plugins=[1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="positional"):
        tfrecs.read_events(path, "loss")  # type: ignore[call-arg]


# --- Any bytes ---

GOOD = event(summary(simple("loss", 0.5), tensor("acc", 1, ONE, shape=(1,)) + SCALARS), step=7)


@given(st.binary(max_size=60))
@example(b"")
def test_any_bytes_are_read_or_refused(record: bytes) -> None:
    decoder = tfrecs._core.EventDecoder(None, None)
    read_or_refuse(decoder, record)


@given(st.data())
def test_damaged_events_are_read_or_refused(data: st.DataObject) -> None:
    record = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    decoder = tfrecs._core.EventDecoder(None, None)
    read_or_refuse(decoder, bytes(record))


def read_or_refuse(decoder: Any, record: bytes) -> None:
    """What came before and comes after is read all the same."""
    decoder.push(tfrecs.Records([GOOD]))
    before = decoder.take().num_rows
    try:
        decoder.push(tfrecs.Records([GOOD, record]))
    except tfrecs.ParseError as error:
        assert error.record == 1
    assert decoder.take().num_rows >= before == 2
    decoder.push(tfrecs.Records([GOOD]))
    assert decoder.take().num_rows == 2


def test_a_long_name_of_a_plugin_is_not_repeated_without_end(path: Path) -> None:
    named = event(summary(tensor("t", 1, ONE) + metadata("x" * 100_000)))
    again = event(summary(*[tensor("t", 1, b"")] * 200))
    write(path, named, again)
    with pytest.raises(tfrecs.ParseError, match="too long to be repeated"):
        tfrecs.read_events(path, plugins=None)
    assert values(path) == []


# --- What others wrote ---

FILES = {
    "janosh__tensorboard-reducer/events.out.tfevents.1622543341.janoshs-mbp.lan.86862.0": 100,
    "janosh__tensorboard-reducer/events.out.tfevents.1622543341.janoshs-mbp.lan.86862.5": 390,
    "tensorflow__lingvo/events.out.tfevents.test": 2520,
    "tensorflow__tfx/events.out.tfevents.1646034751.jiyongjung.c.googlers.com": 20,
}


@pytest.mark.parametrize("file", FILES)
def test_real_files(file: str) -> None:
    path = shared_data() / file
    batch = tfrecs.read_events(path)
    assert batch.num_rows == FILES[file]
    assert np.isfinite(column(batch, "value")).all()
    assert (column(batch, "plugin") == b"scalars").all()
    assert (column(batch, "wall_time") > 1e9).all()
