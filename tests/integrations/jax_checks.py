"""Datasets as JAX's arrays: test_jax.py runs this in a process of its own."""

from __future__ import annotations

import doctest
import importlib
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import ml_dtypes
import needs
import numpy as np
import pytest
from loading import PLANS, SPEC, dealt, elements, expected, numbers, plain, write

import tfrecs
import tfrecs.testing
from tfrecs import RaggedTensor, SparseTensor, SpecError
from tfrecs.features import Features

jax = needs.optional("jax")

DTYPES = ["int32", "int16", "int8", "uint32", "uint8", "bool", "float16", "float32"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("examples") / "some.tfrecord")


@pytest.fixture
def ds(path: Path) -> tfrecs.Dataset:
    return tfrecs.Dataset(path, {"number": SPEC["number"]}, num_threads=2).shuffle(5)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = "tfrecs.integrations.jax"
    for module, examples in {"elements": 3, "loader": 9}.items():
        found = doctest.testmod(importlib.import_module(f"{folder}.{module}"))
        assert found == (0, examples), module


# --- What becomes of what ---


def one(path: Path, spec: Features, **options: Any) -> Any:
    """The first batch of a few records."""
    return next(iter(tfrecs.Dataset(path, spec).batch(4).to_jax(**options)))


def test_batches_become_arrays(path: Path) -> None:
    batch = one(path, SPEC)
    assert isinstance(batch["number"], jax.Array)
    assert batch["number"].dtype == "int32"
    assert batch["number"].tolist() == [0, 1, 2, 3]
    values, splits = batch["rows"]
    assert (values.tolist(), splits.tolist()) == ([1.5, 2.5, 2.5], [0, 0, 1, 3, 3])
    assert batch["name"].tolist() == [b"0", b"1", b"2", b"3"]


def test_strings(path: Path) -> None:
    name: Features = {"name": SPEC["name"], "number": SPEC["number"]}
    assert isinstance(one(path, name)["name"], tfrecs.BytesArray)
    assert one(path, name, strings="list")["name"] == [b"0", b"1", b"2", b"3"]
    assert one(path, name, strings="str")["name"] == ["0", "1", "2", "3"]
    assert list(one(path, name, strings="drop")) == ["number"]
    with pytest.raises(SpecError, match="strings must be one of array, list, str, drop, not 'no'"):
        one(path, name, strings="no")
    records = tfrecs.Dataset(path)
    first = records.take(1).batch(1)
    assert next(iter(first.to_jax(strings="list"))) == [*records.take(1)]
    with pytest.raises(SpecError, match="leaves nothing"):
        next(iter(records.to_jax(strings="drop")))
    assert next(iter(records.map(len).to_jax())) > 0
    sparse = one(path, {"name": tfrecs.VarLenFeature("string")}, strings="list")
    assert sparse["name"] == [[b"0"], [b"1"], [b"2"], [b"3"]]
    texts = tfrecs.Dataset(path).map(lambda _: np.array(["a"])).to_jax(strings="list")
    assert next(iter(texts)) == ["a"]


def test_ragged_and_sparse(path: Path) -> None:
    sparse: Features = {"rows": tfrecs.VarLenFeature("float32")}
    wanted = [[0, 0], [1.5, 0], [2.5, 2.5], [0, 0]]
    found = one(path, sparse)["rows"]
    assert type(found).__name__ == "BCOO"
    assert found.todense().tolist() == wanted
    assert one(path, sparse, sparse="padded")["rows"].tolist() == wanted
    ragged: Features = {"rows": SPEC["rows"]}
    assert one(path, ragged, ragged="padded")["rows"].tolist() == wanted


def made_of(value: Any, **options: Any) -> Any:
    """What becomes of a value, without files."""
    elements_of = importlib.import_module("tfrecs.integrations.jax.elements")
    placing = importlib.import_module("tfrecs.integrations.jax.placing")
    given = {"strings": "array", "ragged_as": "splits", "sparse_as": "bcoo", **options}
    return elements_of.JaxElements(**given, placing=placing.Placing.of(None, None))(value)


def test_rows_of_rows() -> None:
    ragged = RaggedTensor.from_rows([[[9]], [[1, 2], []], [], [[3]]])[1:]
    values, outer, inner = made_of(ragged)
    assert values.tolist() == [1, 2, 3]
    assert (outer.tolist(), inner.tolist()) == ([0, 2, 2, 3], [0, 2, 2, 3])


def test_sparse_tensors_outside_of_their_shape_are_refused() -> None:
    with pytest.raises(SpecError, match="lies outside"):
        made_of(SparseTensor(np.array([[3]]), np.arange(1), np.array([3])))


@pytest.mark.parametrize("dtype", [*DTYPES, ml_dtypes.bfloat16])
def test_every_type_of_up_to_32_bits(dtype: Any) -> None:
    array = np.array([[1, 0], [1, 1]]).astype(dtype)
    found = made_of(array)
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()


def test_no_number_is_lost_unseen() -> None:
    assert made_of(np.array([2**31 - 1, -(2**31)])).tolist() == [2**31 - 1, -(2**31)]
    for array in (np.array([2**31]), np.array([-(2**31) - 1]), np.array([2**32], "uint64")):
        with pytest.raises(SpecError, match=r"does not fit in u?int32: .*jax_enable_x64"):
            made_of(array)
    with pytest.raises(SpecError, match=r"feature 'a': 1e\+300 does not fit in float32"):
        made_of({"a": np.array([1.0, 1e300])})
    assert made_of(np.array([], "int64")).shape == (0,)
    with pytest.raises(SpecError, match="JAX has no arrays of datetime64"):
        made_of(np.array(["2026-01-01"], "datetime64[D]"))


def test_rounding_is_said_once(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made_of(np.array([0.5, np.nan, np.inf]))[2] == np.inf
    halves = tfrecs.Dataset(path).map(lambda _: np.array([0.1])).to_jax(prefetch=1)
    with pytest.warns(UserWarning, match="float64 are rounded to float32") as warned:
        assert len([*itertools.islice(halves, 5)]) == 5
    assert len(warned) == 1


def test_with_64_bits_nothing_is_narrowed() -> None:
    jax.config.update("jax_enable_x64", True)
    try:
        found = made_of((np.array([2**40]), np.array([1e300])))
        assert [str(array.dtype) for array in found] == ["int64", "float64"]
        assert [array.tolist() for array in found] == [[2**40], [1e300]]
    finally:
        jax.config.update("jax_enable_x64", False)


def test_arrays_keep_their_memory(ds: tfrecs.Dataset) -> None:
    """On a CPU JAX uses the memory of a batch, which must not be used again before it is done."""
    batches = [*ds.batch(64).to_jax()]
    others = [*ds.batch(64).to_jax()]
    assert numbers(batches) == numbers(others) == expected(ds.batch(64))


# --- Passes and states ---


def test_each_pass_is_the_next_epoch(ds: tfrecs.Dataset) -> None:
    loader = ds.batch(32).to_jax()
    assert len(loader) == 8
    assert [numbers(loader) for _ in range(3)] == [expected(ds.batch(32), n) for n in range(3)]
    loader.set_epoch(7)
    assert numbers(loader) == expected(ds.batch(32), 7)
    with pytest.raises(TypeError, match="no end"):
        len(ds.repeat().to_jax())


class Plainly:
    """Iterators that give lists in place of arrays, to be compared."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Any:
        return PlainIterator(iter(self.loader))


class PlainIterator:
    def __init__(self, it: Any) -> None:
        self.it, self.state_dict, self.load_state_dict = it, it.state_dict, it.load_state_dict

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return plain(next(self.it))


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("rank", "ranks"), [(0, 1), (1, 3)])
@pytest.mark.parametrize("prefetch", [1, 3])
def test_loaders_resume_at_every_step(
    ds: tfrecs.Dataset, plan: str, rank: int, ranks: int, prefetch: int
) -> None:
    loader = PLANS[plan](ds).to_jax(rank=rank, num_ranks=ranks, prefetch=prefetch)
    tfrecs.testing.assert_resumes(Plainly(loader))


def test_a_loader_goes_on_where_it_was(ds: tfrecs.Dataset) -> None:
    batches = ds.batch(32)
    order = [one for epoch in range(3) for one in expected(batches, epoch)]
    for stop in range(len(order) + 1):
        first, second = batches.to_jax(), batches.to_jax()
        passes = itertools.chain.from_iterable(first for _ in range(3))
        assert numbers(itertools.islice(passes, stop)) == order[:stop]
        second.load_state_dict(first.state_dict())
        rest = itertools.chain.from_iterable(second for _ in range(4))
        assert numbers(itertools.islice(rest, len(order) - stop)) == order[stop:]


@pytest.mark.parametrize("remainder", ["drop", "pad", "uneven"])
def test_ranks_divide_one_order(ds: tfrecs.Dataset, remainder: str) -> None:
    whole = elements(ds.batch(10))
    found = [
        [*map(plain, ds.batch(10).to_jax(rank=rank, num_ranks=5, remainder=remainder))]
        for rank in range(5)
    ]
    last = {"drop": [], "pad": [*whole[20:], *whole[20:22]], "uneven": whole[20:]}[remainder]
    assert dealt(found) == whole[:20] + last


def test_options_are_checked(ds: tfrecs.Dataset) -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("rows",))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rank": 1}, "both, or neither"),
        ({"ragged": "nested"}, "ragged must be one of splits, padded"),
        ({"sparse": "coo"}, "sparse must be one of bcoo, padded"),
        ({"sharding": "rows"}, "must be a jax.sharding.Sharding"),
        ({"mesh": 4}, "must be a jax.sharding.Mesh"),
        ({"mesh": mesh, "sharding": jax.devices()[0]}, "either sharding or mesh"),
        ({"prefetch": 0}, "prefetch"),
    ]
    for options, match in wrong:
        with pytest.raises(SpecError, match=match):
            ds.batch(4).to_jax(**options)


def test_a_device_is_chosen(ds: tfrecs.Dataset) -> None:
    device = jax.devices()[-1]
    batch = next(iter(ds.batch(4).to_jax(device)))
    assert batch["number"].devices() == {device}
    assert batch["number"].committed


# --- Several devices, and several processes: each begins with a JAX of its own ---

DEVICES = """
import sys, jax, numpy as np, tfrecs
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from loading import SPEC, expected

assert len(jax.devices()) == 4
ds = tfrecs.Dataset(sys.argv[1], {"number": SPEC["number"]}).shuffle(5)
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))

def check(batches, expected_sharding, parts, **where):
    found = list(batches.to_jax(**where))
    assert [batch["number"].tolist() for batch in found] == expected(batches), where
    for batch in found:
        array = batch["number"]
        assert array.sharding.is_equivalent_to(expected_sharding, 1), array.sharding
        assert {shard.data.shape[0] * parts for shard in array.addressable_shards} == {len(array)}

even = ds.batch(32, drop_remainder=True)
check(even, NamedSharding(mesh, P(("data", "model"))), 4, mesh=mesh)
check(even, NamedSharding(mesh, P("data")), 2, sharding=NamedSharding(mesh, P("data")))
# An array of fewer dimensions is divided along those that it has.
check(even, NamedSharding(mesh, P("data")), 2, sharding=NamedSharding(mesh, P("data", "model")))
check(even, NamedSharding(mesh, P()), 1, sharding=NamedSharding(mesh, P()))

wide = even.map(lambda batch: {"wide": np.stack([batch["number"]] * 6, 1)})
for batch in wide.to_jax(NamedSharding(mesh, P("data", "model"))):
    assert {shard.data.shape for shard in batch["wide"].addressable_shards} == {(16, 3)}

def refused(plan, **where):
    try:
        list(plan.to_jax(**where))
    except tfrecs.SpecError as error:
        print(error)
    else:
        raise AssertionError(where)

refused(ds.batch(32), mesh=mesh)
refused(ds.map(lambda row: {"one": np.int64(1)}), mesh=mesh)
lists = tfrecs.Dataset(sys.argv[1], SPEC)
refused(lists.batch(4), mesh=mesh)
assert next(iter(lists.batch(4).to_jax(mesh=mesh, ragged="padded")))["rows"].shape == (4, 2)
first = iter(even.to_jax(mesh=mesh))
next(first)
again = iter(even.to_jax())
again.load_state_dict(first.state_dict())
assert [b["number"].tolist() for b in again] == [b["number"].tolist() for b in first]
"""


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(text)
    return str(path)


def environment(devices: int) -> dict[str, str]:
    flags = f"--xla_force_host_platform_device_count={devices}"
    return {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": needs.TEST_PATH}


def test_a_mesh_of_devices(path: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, script(tmp_path, DEVICES), str(path)],
        env=environment(4),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = run.stdout.splitlines()
    assert said[0].startswith("feature 'number': 6 rows cannot be divided among 4 devices")
    assert "a single number cannot be divided" in said[1]
    assert "feature 'rows': it cannot be divided among devices: ragged=" in said[2]


PROCESSES = """
import json, sys, jax, numpy as np, tfrecs
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from loading import SPEC

path, address, process = sys.argv[1], sys.argv[2], int(sys.argv[3])
jax.distributed.initialize(address, num_processes=2, process_id=process)
assert (jax.device_count(), jax.local_device_count()) == (4, 2)
ds = tfrecs.Dataset(path, {"number": SPEC["number"]}).shuffle(5)
even = ds.batch(16, drop_remainder=True)
told = {}

def rows(batches):
    # What the devices of this process have of the global arrays.
    found = []
    for batch in batches:
        array = batch["number"]
        parts = {shard.index[0].indices(len(array))[:2]: shard.data.tolist()
                 for shard in array.addressable_shards}
        found.append([len(array), sorted([*place, part] for place, part in parts.items())])
    return found

devices = np.array(sorted(jax.devices(), key=lambda device: device.process_index))
mesh = Mesh(devices, ("rows",))
loader = even.to_jax(mesh=mesh)
told["length"] = len(loader)
told["mesh"] = rows(loader)
told["alone"] = [batch["number"].tolist() for batch in even.to_jax()]
# Both processes have all rows, each another part of the columns: they get the same batches.
model = Mesh(devices.reshape(2, 2), ("model", "rows"))
told["model"] = rows(even.to_jax(NamedSharding(model, P("rows"))))
# The mesh may have the processes in another order.
back = Mesh(devices[::-1], ("rows",))
told["back"] = rows(even.to_jax(mesh=back))
told["refused"] = []
for plan in (ds.batch(16), tfrecs.Dataset(path, SPEC).batch(16, drop_remainder=True)):
    try:
        next(iter(plan.map(dict).to_jax(mesh=mesh, ragged="padded")))
    except tfrecs.SpecError as error:
        told["refused"].append(str(error))
print(json.dumps(told))
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return int(one.getsockname()[1])


def test_processes_have_their_parts_of_one_array(
    ds: tfrecs.Dataset, path: Path, tmp_path: Path
) -> None:
    text, address = script(tmp_path, PROCESSES), f"localhost:{free_port()}"
    processes = [
        subprocess.Popen(
            [sys.executable, text, str(path), address, str(process)],
            env=environment(2),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for process in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], outputs
    told = [json.loads(out.splitlines()[-1]) for out, _ in outputs]
    order = expected(ds.batch(16, drop_remainder=True))
    assert len(order) == 14
    assert told[0]["length"] == told[1]["length"] == 7
    for rank in range(2):
        assert told[rank]["alone"] == order[rank::2]
        assert [size for size, _ in told[rank]["mesh"]] == [32] * 7
        assert [size for size, _ in told[rank]["model"]] == [16] * 14
        assert "feature 'rows': it would be padded to another length" in told[rank]["refused"][1]
        assert "drop_remainder=True" in told[rank]["refused"][0]
    for name in ("mesh", "back"):
        assert whole(told[0][name], told[1][name]) == [
            first + second for first, second in zip(order[::2], order[1::2], strict=True)
        ]
    assert whole(told[0]["model"], told[0]["model"]) == order
    assert told[0]["model"] == told[1]["model"]


def whole(first: Any, second: Any) -> list[list[int]]:
    """The global arrays of the parts that two processes have."""
    arrays = []
    for (_, mine), (_, theirs) in zip(first, second, strict=True):
        parts = {begin: part for begin, _, part in [*mine, *theirs]}
        arrays.append([number for begin in sorted(parts) for number in parts[begin]])
    return arrays


def test_threads_share_a_pass(ds: tfrecs.Dataset) -> None:
    """Each batch goes to exactly one of them."""
    it, found = iter(ds.batch(3).to_jax()), []

    def take() -> None:
        for batch in it:
            found.extend(batch["number"].tolist())

    threads = [threading.Thread(target=take, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    whole = [number for batch in ds.batch(3) for number in batch["number"].tolist()]
    assert sorted(found) == sorted(whole)


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ({0: [(0, 2)], 1: [(2, 4)]}, (0, 2)),
        ({1: [(0, 2)], 0: [(2, 4)]}, (1, 2)),
        ({0: [(0, 2), (2, 4)], 1: [(0, 2), (2, 4)]}, (0, 1)),
        ({0: [(0, 2), (2, 4)], 1: [(2, 4), (4, 6)]}, None),
    ],
)
def test_the_part_of_a_process(rows: Any, part: tuple[int, int] | None) -> None:
    """`rows` are those of each process; a part is None where processes share some rows only."""
    places = [(process, one) for process, mine in rows.items() for one in mine]
    devices = {Mock(process_index=process): (slice(*one),) for process, one in places}
    sharding = Mock(device_set=range(max(end for _, (_, end) in places)))
    sharding.spec = ()
    sharding.devices_indices_map.return_value = devices
    placing = importlib.import_module("tfrecs.integrations.jax.placing")
    if part is None:
        with pytest.raises(SpecError, match="share some rows"):
            placing.rows_of_process(sharding)
    else:
        assert placing.rows_of_process(sharding) == part
