"""Random access as PyTorch uses it: `make integrations` runs this where it is there."""

import random
from pathlib import Path
from typing import Any

import needs
import pytest

import tfrecs

torch = needs.optional("torch")


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


@pytest.mark.parametrize("context", [None, "fork", "forkserver", "spawn"])
@pytest.mark.parametrize("index", ["auto", "memory"])
def test_data_loaders(
    files: tuple[list[Path], list[bytes]], context: str | None, index: str
) -> None:
    paths, expected = files
    records = tfrecs.open(paths, index=index)
    assert records[3] == expected[3]
    loader = torch.utils.data.DataLoader(
        records,
        batch_size=64,
        shuffle=True,
        num_workers=2 if context else 0,
        multiprocessing_context=context,
        collate_fn=list,
        generator=torch.Generator().manual_seed(1),
    )
    batches: list[list[bytes]] = list(loader)
    assert [len(batch) for batch in batches] == [64] * 31 + [16]
    found = [record for batch in batches for record in batch]
    assert found != expected
    assert sorted(found) == expected


def test_batches_are_read_at_once(files: tuple[list[Path], list[bytes]]) -> None:
    class Counted(tfrecs.IndexedRecords):
        batches = 0

        def __getitems__(self, indices: Any) -> list[bytes]:
            self.batches += 1
            return super().__getitems__(indices)

    opened = tfrecs.open(files[0])
    records = Counted(opened._files, verify=True, num_threads=2)
    loader = torch.utils.data.DataLoader(records, batch_size=500, collate_fn=list)
    assert sum(map(len, loader)) == len(files[1])
    assert records.batches == 4
