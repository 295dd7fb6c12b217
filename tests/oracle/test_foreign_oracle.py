"""Lines and records of one length beside tf.data's, and buckets padded to their boundaries."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from oracle.cases import randomly

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "GZIP": gzip.compress,
    "ZLIB": zlib.compress,
}
PIECES = st.sampled_from(
    [b"\n", b"\r\n", b"\r", b"a", b"some text", b"\0", b"\xff", b"\xe2\x80\xa8"]
)
CONTENTS = st.lists(st.lists(PIECES, max_size=9).map(b"".join), min_size=1, max_size=4)
COMPRESSIONS = st.sampled_from(sorted(PACK))


def written(folder: str, contents: list[bytes], compression: str) -> list[str]:
    paths = [Path(folder) / str(number) for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(PACK[compression](content))
    return [str(path) for path in paths]


@randomly(150)
@given(CONTENTS, COMPRESSIONS, st.integers(1, 3), st.integers(1, 3))
def test_lines(contents: list[bytes], compression: str, cycle: int, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = written(folder, contents, compression)
        theirs = tf.data.Dataset.from_tensor_slices(paths).interleave(
            lambda path: tf.data.TextLineDataset(path, compression), cycle, block
        )
        ours = tfrecs.Dataset.from_lines(
            paths, compression_type=compression, cycle_length=cycle, block_length=block
        )
        assert list(ours) == list(theirs.as_numpy_iterator())


@randomly(150)
@given(
    st.binary(max_size=20), st.integers(1, 4), st.integers(0, 3), st.integers(0, 3), COMPRESSIONS
)
def test_records_of_one_length(
    content: bytes, record: int, header: int, footer: int, compression: str
) -> None:
    """The same records, before the same refusal."""
    with tempfile.TemporaryDirectory() as folder:
        (path,) = written(folder, [content], compression)
        sizes = {"header_bytes": header, "footer_bytes": footer}
        ours = tfrecs.Dataset.from_fixed_length(
            path, record, header_bytes=header, footer_bytes=footer, compression_type=compression
        )
        theirs = tf.data.FixedLengthRecordDataset(
            path, record, **sizes, compression_type=compression
        )
        assert outcome(ours, tfrecs.TruncatedFileError) == outcome(
            theirs.as_numpy_iterator(), tf.errors.OpError
        )


def outcome(records: Iterable[bytes], refusal: type[Exception]) -> tuple[list[bytes], bool]:
    given: list[bytes] = []
    try:
        given.extend(records)
    except refusal:
        return given, False
    return given, True


@randomly(60)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=20), st.sets(st.integers(1, 10), min_size=1)
)
def test_buckets_padded_to_boundaries(lengths: list[int], edges: set[int]) -> None:
    boundaries = sorted(edges)
    sizes = [3] * (len(boundaries) + 1)
    rows = [np.arange(length) for length in lengths]
    theirs = tf.data.Dataset.from_generator(
        lambda: iter(rows), output_signature=tf.TensorSpec([None], tf.int64)
    ).bucket_by_sequence_length(
        lambda row: tf.shape(row)[0], boundaries, sizes, pad_to_bucket_boundary=True
    )
    ours = tfrecs.Dataset([b"%d" % place for place in range(len(rows))]).map(
        lambda record: rows[int(record)]
    )
    made = ours.bucket_by_length(len, boundaries, sizes, pad_to_bucket_boundary=True)
    if max(lengths) >= boundaries[-1]:
        for refused, error in ((made, tfrecs.SpecError), (theirs, tf.errors.OpError)):
            try:
                list(refused)
            except error:
                continue
            raise AssertionError("a length after all boundaries was not refused")
        return
    expected = [batch.tolist() for batch in theirs.as_numpy_iterator()]
    assert [batch.tolist() for batch in made] == expected
