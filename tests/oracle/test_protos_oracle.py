"""Records of other messages beside TensorFlow's own reading of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from frames import frame
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from hypothesis import given, reject
from hypothesis import strategies as st
from proto_types import NUMBERS, SET, Frame, Inner, Numbers
from tensorflow.core.framework import summary_pb2
from tensorflow.core.util import event_pb2

import tfrecs
from oracle.cases import randomly

# --- decode_proto ---

OF_TENSORFLOW = {"bool": tf.bool, "float32": tf.float32, "float64": tf.float64}
OF_TENSORFLOW |= {name: getattr(tf, name) for name in ("int32", "int64", "uint32", "uint64")}


def theirs(
    records: list[bytes], message: str, fields: dict[str, Any]
) -> dict[str, tuple[Any, list[int]]]:
    """The dense values and the sizes of each field, as TensorFlow decodes them."""
    decoded = tf.io.decode_proto(
        tf.constant(records, tf.string),
        message,
        list(fields),
        list(fields.values()),
        descriptor_source=b"bytes://" + SET,
    )
    sizes = decoded.sizes.numpy()
    values = [tensor.numpy().tolist() for tensor in decoded.values]
    places = range(len(fields))
    return {
        name: (values[place], sizes[:, place].tolist())
        for place, name in zip(places, fields, strict=True)
    }


def check(records: list[bytes], message: str, fields: dict[str, Any]) -> None:
    answer = theirs(records, message, fields)
    batch = tfrecs.decode_proto(records, SET, list(fields), message_type=message)
    for name, (dense, sizes) in answer.items():
        ours: Any = batch[name]
        if isinstance(ours, tfrecs.RaggedTensor):
            assert ours.row_lengths().tolist() == sizes
            assert ours.tolist() == [row[:n] for row, n in zip(dense, sizes, strict=True)]
            continue
        # TensorFlow says how many values there are; where there are none, it gives the default.
        assert ours.tolist() == [row[0] for row in dense]


def numbers(dtype: str) -> st.SearchStrategy[Any]:
    if dtype == "bool":
        return st.booleans()
    if dtype.startswith("float"):
        return st.floats(width=int(dtype[-2:]), allow_nan=False)  # type: ignore[arg-type]
    limits = np.iinfo(dtype)
    return st.integers(int(limits.min), int(limits.max))


@st.composite
def number_messages(draw: st.DrawFn) -> bytes:
    message = Numbers()
    for name in draw(st.sets(st.sampled_from(list(NUMBERS)))):
        setattr(message, f"one_{name}", draw(numbers(NUMBERS[name])))
        getattr(message, f"all_{name}").extend(draw(st.lists(numbers(NUMBERS[name]), max_size=3)))
    return bytes(message.SerializeToString())


NUMBER_FIELDS = {
    f"{prefix}_{name}": OF_TENSORFLOW[dtype]
    for name, dtype in NUMBERS.items()
    for prefix in ("one", "all")
}


@randomly(30)
@given(st.lists(number_messages(), min_size=1, max_size=3))
def test_numbers(records: list[bytes]) -> None:
    check(records, "p.Numbers", NUMBER_FIELDS)


FRAME_FIELDS = {"name": tf.string, "data": tf.string, "camera": tf.int32, "many": tf.string}


@randomly(30)
@given(
    st.lists(
        st.builds(
            Frame,
            name=st.text(max_size=3),
            data=st.lists(st.binary(max_size=3), max_size=3),
            camera=st.integers(0, 1),
            many=st.lists(st.builds(Inner, n=st.integers(0, 9)), max_size=2),
        ).map(lambda message: message.SerializeToString()),
        min_size=1,
        max_size=3,
    ),
    st.data(),
)
def test_frames_and_damaged_ones(records: list[bytes], data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(0, 2))):
        record = bytearray(records[-1] + b"\0")
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
        records[-1] = bytes(record[:-1])
    try:
        Frame.FromString(records[-1])
    except Exception:  # noqa: BLE001 - whatever protobuf minds
        with pytest.raises(tfrecs.ParseError, match=f"record {len(records) - 1}: "):
            tfrecs.decode_proto(records, Frame)
        return
    # TensorFlow reads what is unknown to it, or of another type, differently: see decode_proto.
    batch = tfrecs.decode_proto(records, SET, list(FRAME_FIELDS), message_type="p.Frame")
    messages = [Frame.FromString(record) for record in records]
    assert batch["camera"].tolist() == [message.camera for message in messages]
    if all(message.SerializeToString() == r for message, r in zip(messages, records, strict=True)):
        check(records, "p.Frame", FRAME_FIELDS)


def files_of(descriptor: Any) -> Iterator[Any]:
    for dependency in descriptor.dependencies:
        yield from files_of(dependency)
    yield descriptor


def test_the_events_of_tensorflow_by_their_descriptors() -> None:
    files = FileDescriptorSet()
    for file in {file.name: file for file in files_of(event_pb2.DESCRIPTOR)}.values():
        file.CopyToProto(files.file.add())
    image = summary_pb2.Summary.Image(height=2, encoded_image_string=b"png")
    value = summary_pb2.Summary.Value(tag="cat", image=image)
    event = event_pb2.Event(step=3, summary=summary_pb2.Summary(value=[value]))
    path = "summary.value.image.encoded_image_string"
    for message, name in ((files, "tensorflow.Event"), (event_pb2.Event, None)):
        records = [event.SerializeToString(), b""]
        batch = tfrecs.decode_proto(records, message, ["step", path], message_type=name)
        assert batch["step"].tolist() == [3, 0]
        assert batch[path].tolist() == [[b"png"], []]


# --- read_events ---


def answers(path: Path) -> list[tuple[float, int, str, float]]:
    """The scalars in a file, as TensorFlow's own iterator and its tensors have them."""
    found = []
    for event in tf.compat.v1.train.summary_iterator(str(path)):
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            if kind == "simple_value":
                number = value.simple_value
            elif kind == "tensor" and value.metadata.plugin_data.plugin_name in {"", "scalars"}:
                array = tf.make_ndarray(value.tensor)
                if array.size != 1 or array.dtype.kind not in "fiub":
                    continue
                number = float(array.reshape(()))
            else:
                continue
            found.append((event.wall_time, event.step, value.tag, number))
    return found


def ours(path: Path) -> list[tuple[float, int, str, float]]:
    batch = tfrecs.read_events(path)
    columns = [batch[name].tolist() for name in ("wall_time", "step", "tag", "value")]
    return [(w, s, tag.decode(), value) for w, s, tag, value in zip(*columns, strict=True)]


def same(path: Path, count: int) -> None:
    expected = answers(path)
    assert len(expected) == count
    np.testing.assert_equal(ours(path), expected)


def metadata(plugin: str) -> summary_pb2.SummaryMetadata:
    data = summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin)
    return summary_pb2.SummaryMetadata(plugin_data=data)


def test_what_tf_summary_writes(tmp_path: Path) -> None:
    """tf.summary.write is what tf.summary.scalar and the like, which need tensorboard, call."""
    writer = tf.summary.create_file_writer(str(tmp_path))
    scalars = metadata("scalars")
    with writer.as_default():
        for step in range(5):
            tf.summary.write("loss", 0.1 * step, step, scalars)
            tf.summary.write("ids", tf.constant(2**40 + step), step, scalars)
            tf.summary.write("acc/é", tf.constant(step / 3, tf.float64), step, scalars)
            tf.summary.write("half", tf.constant(0.1, tf.float16), step)
            tf.summary.write("cat", [b"2", b"2", b"png"], step, metadata("images"))
            tf.summary.write("weights", tf.zeros([3, 3]), step, metadata("histograms"))
    writer.close()
    (path,) = tmp_path.iterdir()
    same(path, 20)
    others: list[bytes] = tfrecs.read_events(path, plugins=None)["plugin"].tolist()
    assert {name: others.count(name) for name in set(others)} == {
        b"scalars": 20,
        b"images": 5,
        b"histograms": 5,
    }


def test_what_the_older_writer_writes(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        writer = tf.compat.v1.summary.FileWriter(str(tmp_path))
        for step in range(5):
            value = summary_pb2.Summary.Value(tag="loss", simple_value=0.1 * step)
            writer.add_summary(summary_pb2.Summary(value=[value]), step)
            writer.flush()
        (path,) = tmp_path.iterdir()
        (batch,) = tfrecs.follow_events(tmp_path, timeout=0)
        assert batch["step"].tolist() == [0, 1, 2, 3, 4]
        writer.close()
    same(path, 5)


DTYPES = [
    *("float16", "float32", "float64", "bfloat16", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[], [1], [1, 1]])
def test_every_tensor_that_tensorflow_makes(dtype: str, shape: list[int], tmp_path: Path) -> None:
    tensor = tf.cast(tf.fill(shape, 1.75 if "float" in dtype else 1), dtype)
    made = tf.make_tensor_proto(np.reshape(tensor.numpy(), shape), dtype, shape)
    protos = [made, type(made).FromString(tf.io.serialize_tensor(tensor).numpy())]
    values = [summary_pb2.Summary.Value(tag="t", tensor=proto) for proto in protos]
    event = event_pb2.Event(step=1, summary=summary_pb2.Summary(value=values))
    path = tmp_path / "a.tfevents"
    path.write_bytes(frame(event.SerializeToString()))
    assert [row[3] for row in ours(path)] == [float(tf.cast(tf.reshape(tensor, []), "float64"))] * 2


@st.composite
def events(draw: st.DrawFn) -> bytes:
    values = []
    for _ in range(draw(st.integers(0, 3))):
        value = summary_pb2.Summary.Value(tag=draw(st.text(max_size=3)))
        kind = draw(st.sampled_from(["simple", "tensor", "list", "image", "nothing"]))
        if kind == "simple":
            value.simple_value = draw(st.floats(width=32))
        elif kind in {"tensor", "list"}:
            number = np.float32(draw(st.floats(width=32)))
            value.tensor.CopyFrom(tf.make_tensor_proto(number))
            if kind == "list":
                value.tensor.tensor_content = b""
                value.tensor.float_val[:] = [number]
        elif kind == "image":
            value.image.height = 3
        values.append(value)
    event = event_pb2.Event(
        wall_time=draw(st.floats(allow_nan=False)),
        step=draw(st.integers(-(2**63), 2**63 - 1)),
        summary=summary_pb2.Summary(value=values),
    )
    if draw(st.booleans()):
        event.source_metadata.writer = "somebody"
    return bytes(event.SerializeToString())


@randomly(10)
@given(st.lists(events(), max_size=4))
def test_random_events(records: list[bytes]) -> None:
    decoder = tfrecs._core.EventDecoder(None, ["scalars"])
    decoder.push(tfrecs.Records(records))
    batch = tfrecs.Batch(decoder.take())
    expected = []
    for event in map(event_pb2.Event.FromString, records):
        for value in event.summary.value:
            if value.HasField("simple_value"):
                expected.append((event.wall_time, event.step, value.tag, value.simple_value))
            elif value.HasField("tensor"):
                number = float(tf.make_ndarray(value.tensor))
                expected.append((event.wall_time, event.step, value.tag, number))
    columns = [batch[name].tolist() for name in ("wall_time", "step", "tag", "value")]
    found = [(w, s, tag.decode(), value) for w, s, tag, value in zip(*columns, strict=True)]
    np.testing.assert_equal(found, expected)


def damaged(record: bytes, data: st.DataObject) -> bytes:
    changed = bytearray(record)
    for _ in range(data.draw(st.integers(1, 3)) if record else 0):
        changed[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    return bytes(changed)


@randomly(3)
@given(events(), st.data())
def test_damaged_events(record: bytes, data: st.DataObject) -> None:
    """What protobuf takes is read as protobuf reads it."""
    record = damaged(record, data)
    try:
        event = event_pb2.Event.FromString(record)
    except Exception:  # noqa: BLE001 - tfrecs may still read it: it looks at fewer fields
        reject()
    decoder = tfrecs._core.EventDecoder(None, ["scalars"])
    try:
        decoder.push(tfrecs.Records([record]))
    except tfrecs.ParseError as error:
        assert error.reason.startswith("no event")
        assert not event.ListFields()
        return
    batch = tfrecs.Batch(decoder.take())
    simple = [value for value in event.summary.value if value.HasField("simple_value")]
    found = dict(zip(batch["tag"].tolist(), batch["value"].tolist(), strict=True))
    for value in simple:
        assert value.tag.encode() in found
    if not any(value.HasField("tensor") for value in event.summary.value):
        np.testing.assert_equal(batch["value"].tolist(), [value.simple_value for value in simple])
        np.testing.assert_equal(batch["wall_time"].tolist(), [event.wall_time] * len(simple))


# --- parse_example_list ---


def test_example_lists_as_protobuf_has_them() -> None:
    """The examples and the context of a list parse as TensorFlow parses each alone."""
    rows = [[{"x": [0.5, 1.0]}, {"x": [2.0, 3.0]}], [], [{"x": [4.0, 5.0]}]]
    spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
    records = [tfrecs.encode_example_list(row, {"n": len(row)}) for row in rows]
    flat = [tfrecs.encode_example(example) for row in rows for example in row]
    answer = tf.io.parse_example(tf.constant(flat), spec)["x"].numpy()
    _, lists, lengths = tfrecs.parse_example_list(
        records, None, {"x": tfrecs.FixedLenFeature([2], "float32")}
    )
    ragged: Any = lists["x"]
    np.testing.assert_array_equal(ragged.values, answer)
    built = tf.RaggedTensor.from_row_lengths(answer, lengths)
    assert ragged.tolist() == built.to_list()
