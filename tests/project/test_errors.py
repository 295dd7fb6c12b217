"""The tree of exceptions: what each is, what it carries, and that it crosses process boundaries."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import errors
from tfrecs.errors import tf_errors as status

TREE: dict[type[errors.Error], tuple[type[BaseException], ...]] = {
    errors.CorruptRecordError: (errors.Error, status.DataLossError, ValueError),
    errors.TruncatedFileError: (errors.Error, status.DataLossError, EOFError),
    errors.NotTFRecordError: (errors.Error, status.DataLossError, ValueError),
    errors.ParseError: (errors.Error, status.InvalidArgumentError, ValueError),
    errors.SpecError: (errors.Error, status.InvalidArgumentError, ValueError),
    errors.StateError: (errors.Error, status.FailedPreconditionError, ValueError),
    errors.LimitError: (errors.Error, status.ResourceExhaustedError, ValueError),
    errors.OutOfMemoryError: (errors.Error, status.ResourceExhaustedError, MemoryError),
    errors.MissingLibraryError: (errors.Error, ModuleNotFoundError),
    errors.FileError: (errors.Error, OSError),
    errors.MissingFileError: (errors.FileError, status.NotFoundError, FileNotFoundError),
    errors.DirectoryError: (errors.FileError, status.FailedPreconditionError, IsADirectoryError),
    errors.ExistingFileError: (errors.FileError, status.AlreadyExistsError, FileExistsError),
    errors.DeniedFileError: (errors.FileError, status.PermissionDeniedError, PermissionError),
}
ALL: list[type[errors.Error]] = [errors.Error, *TREE]
FIELDS = ("path", "record", "offset", "feature", "reason")


@pytest.mark.parametrize("kind", TREE)
def test_bases(kind: type[errors.Error]) -> None:
    assert kind.__bases__ == TREE[kind]


def test_the_tree_is_whole() -> None:
    found = {value for value in vars(errors).values() if isinstance(value, type)}
    assert {value for value in found if issubclass(value, errors.Error)} == set(ALL)
    public = {kind for kind in ALL if hasattr(tfrecs, kind.__name__)}
    assert public == {kind for kind in ALL if kind.__bases__[0] is not errors.FileError}


positions = st.fixed_dictionaries(
    {},
    optional={
        "path": st.text(),
        "record": st.integers(0, 2**63),
        "offset": st.integers(0, 2**64),
        "feature": st.text(),
        "reason": st.text(),
    },
)


@given(kind=st.sampled_from(ALL), message=st.text(), fields=positions)
def test_attributes_and_copies(
    kind: type[errors.Error], message: str, fields: dict[str, object]
) -> None:
    error = kind(message, **fields)  # type: ignore[arg-type]
    for again in (
        error,
        copy.copy(error),
        copy.deepcopy(error),
        *(pickle.loads(pickle.dumps(error, protocol)) for protocol in range(6)),
    ):
        assert type(again) is kind
        assert str(again) == message
        assert again.args == error.args
        assert again.reason == fields.get("reason", message)
        for name in ("path", "record", "offset", "feature"):
            assert getattr(again, name) == fields.get(name)


def test_a_path_object_becomes_text(tmp_path: Path) -> None:
    assert errors.Error("text", path=tmp_path).path == str(tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in ALL if issubclass(kind, OSError)])
def test_those_of_the_system_have_its_number(kind: type[errors.FileError]) -> None:
    error = kind("text", path="a", errno=5, reason="broken")
    for again in (error, pickle.loads(pickle.dumps(error))):
        assert (again.errno, again.strerror, again.filename) == (5, "broken", "a")
        assert str(again) == "text"


def test_notes_and_causes_survive() -> None:
    error = errors.ParseError("text", record=3)
    error.add_note("while reading")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while reading"]


def test_native_errors_have_their_fields(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(5))
    with pytest.raises(EOFError) as caught:
        list(tfrecs.RecordReader(path))
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, tfrecs.TruncatedFileError)
    assert {name: getattr(error, name) for name in FIELDS} == {
        "path": str(path),
        "record": 0,
        "offset": 0,
        "feature": None,
        "reason": "truncated record: the file ends after 5 of the 12 bytes of a record header",
    }
    assert str(error) == f"{path}: record 0 at byte 0: {error.reason}"


def fail(kind: str, path: str) -> None:
    if kind == "read":
        list(tfrecs.RecordReader(path))
    tfrecs.decode_batch([tfrecs.encode_example({"é": 1}), tfrecs.encode_example({"é": "a"})])


def test_from_another_process(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        read = pool.submit(fail, "read", missing).exception()
        parsed = pool.submit(fail, "parse", missing).exception()
    assert type(read) is errors.MissingFileError
    assert (read.path, read.errno) == (missing, 2)
    assert type(parsed) is errors.ParseError
    assert (parsed.feature, parsed.record) == ("é", 1)


def test_a_quoted_feature_name_is_readable() -> None:
    with pytest.raises(tfrecs.SpecError) as caught:
        tfrecs.encode_example({"größe": [1, "a"]})
    assert "größe" in str(caught.value)
    assert caught.value.feature == "größe"
