"""Random access as Grain uses it: test_grain.py runs this in a process of its own."""

import random
from pathlib import Path

import needs
import pytest

import tfrecs

grain = needs.optional("grain.python")
# Where JAX is, Grain asks for flags of its own, which absl's main() would have read.
needs.optional("absl.flags").FLAGS.mark_as_parsed()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[bytes]]:
    """An uncompressed file, and one of gzip members, large enough for an index each."""
    folder, source = tmp_path_factory.mktemp("files"), random.Random(0)
    records = [b"%06d" % number + source.randbytes(2000) for number in range(2000)]
    paths = [folder / "a.tfrecord", folder / "b.tfrecord.gz"]
    for path, some in zip(paths, (records[:1000], records[1000:]), strict=True):
        with tfrecs.RecordWriter(path) as out:
            out.write_batch(some)
    return paths, records


def test_grain_takes_it_as_a_source(files: tuple[list[Path], list[bytes]]) -> None:
    paths, expected = files
    records = tfrecs.open(paths)
    source = grain.MapDataset.source(records)
    assert len(source) == len(expected)
    shuffled = source.shuffle(seed=3).map(lambda record: record[:6]).batch(100, batch_fn=list)
    batches = list(shuffled)
    assert len(batches) == 20
    found = [record for batch in batches for record in batch]
    assert sorted(found) == [record[:6] for record in expected]
    assert isinstance(records, grain.RandomAccessDataSource)


@pytest.mark.parametrize("workers", [0, 2])
def test_grain_loads_in_processes(files: tuple[list[Path], list[bytes]], workers: int) -> None:
    paths, expected = files
    records = tfrecs.open(paths)
    sampler = grain.IndexSampler(
        len(records), shard_options=grain.NoSharding(), shuffle=True, num_epochs=1, seed=7
    )
    loader = grain.DataLoader(data_source=records, sampler=sampler, worker_count=workers)
    assert sorted(loader) == expected
