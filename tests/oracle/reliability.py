"""The same damaged files, read by this package and by others: who says that something is wrong?

    python tests/oracle/reliability.py tfrecs tensorflow

prints a table (docs/reliability.md) for the libraries named, if they can be imported: tfrecs,
tensorflow, vahidk (the package `tfrecord`). Each reads with its own defaults. Counted is whether an
error of any kind tells of the damage, and what comes before it.
"""

import gzip
import importlib
import importlib.util
import os
import resource
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

import frames  # noqa: E402

Reader = Callable[[Path, str], Iterable[bytes]]

RECORDS = [bytes([65 + number]) * (number * 7 % 40) + b"%d" % number for number in range(10)]
PLAIN = frames.plain(RECORDS)
STARTS = frames.starts(RECORDS)


def tfrecs_reader(path: Path, codec: str) -> Iterable[bytes]:
    yield from importlib.import_module("tfrecs").RecordReader(path, codec)


def tensorflow_reader(path: Path, codec: str) -> Iterable[bytes]:
    tf = importlib.import_module("tensorflow")
    yield from tf.data.TFRecordDataset(str(path), codec).as_numpy_iterator()


def vahidk_reader(path: Path, codec: str) -> Iterable[bytes]:
    reader = importlib.import_module("tfrecord.reader")
    if codec == "ZLIB":
        raise NotImplementedError
    name = {"": None, "GZIP": "gzip"}[codec]
    return (bytes(record) for record in reader.tfrecord_iterator(str(path), None, None, name))


READERS: dict[str, Reader] = {
    "tfrecs": tfrecs_reader,
    "tensorflow": tensorflow_reader,
    "vahidk": vahidk_reader,
}

# What a library needs to write a thousand records and be killed; each is of 300 bytes or more.
WRITERS: dict[str, str] = {
    "tfrecs": """
        import tfrecs
        out = tfrecs.RecordWriter(path, codec)
        write, flush = out.write, out.flush
    """,
    "tensorflow": """
        import tensorflow as tf
        out = tf.io.TFRecordWriter(path, codec)
        write, flush = out.write, out.flush
    """,
}


@dataclass
class Count:
    """How many damaged files were read, and how it ended.

    Attributes:
        cases: Files.
        told: Those whose damage ended in an error.
        silent: Those that were read as if they were whole.
        wrong: Those of which a record came that was never written.
        lost: Records that were whole in front of the damage, and did not come.
    """

    cases: int = 0
    told: int = 0
    silent: int = 0
    wrong: int = 0
    lost: int = 0

    def add(self, found: list[bytes], failed: bool, whole: int) -> None:
        """Count a file, of which that many records are whole in front of the damage."""
        self.cases += 1
        self.told += failed
        self.silent += not failed
        self.wrong += found != RECORDS[: len(found)]
        self.lost += max(whole - len(found), 0)


def read(reader: Reader, path: Path, codec: str) -> tuple[list[bytes], bool]:
    """What comes, and whether an error of any kind ended it."""
    found: list[bytes] = []
    try:
        found.extend(reader(path, codec))
    except NotImplementedError:
        raise
    except Exception:  # noqa: BLE001 - every library has its own
        return found, True
    return found, False


def flips(step: int) -> Iterator[tuple[bytes, str, int]]:
    """One changed bit of every byte."""
    for place in range(0, len(PLAIN), step):
        damaged = bytearray(PLAIN)
        damaged[place] ^= 1 << place % 8
        yield bytes(damaged), "", sum(end <= place for end in STARTS[1:])


def cuts(step: int) -> Iterator[tuple[bytes, str, int]]:
    """Every end that is not that of a record."""
    for cut in range(1, len(PLAIN), step):
        if cut not in STARTS:
            yield PLAIN[:cut], "", frames.whole_records(RECORDS, PLAIN[:cut])


def cut_streams(codec: str, step: int) -> Iterator[tuple[bytes, str, int]]:
    """A compressed file that ends anywhere."""
    data = frames.compressed(codec, PLAIN)
    for cut in range(1, len(data), step):
        yield data[:cut], codec, frames.whole_records(RECORDS, frames.inflated(data[:cut]))


def trailers(step: int) -> Iterator[tuple[bytes, str, int]]:
    """One changed bit of every byte of gzip's checksum and length."""
    data = gzip.compress(PLAIN, mtime=0)
    for bit in range(0, 64, step):
        damaged = bytearray(data)
        damaged[len(data) - 8 + bit // 8] ^= 1 << bit % 8
        yield bytes(damaged), "GZIP", len(RECORDS)


def followed(step: int) -> Iterator[tuple[bytes, str, int]]:
    """A second zlib stream, which only some read, after the first."""
    del step
    yield zlib.compress(PLAIN) * 2, "ZLIB", len(RECORDS)


CASES: dict[str, Callable[[int], Iterator[tuple[bytes, str, int]]]] = {
    "one changed bit": flips,
    "cut inside a record": cuts,
    "gzip cut anywhere": lambda step: cut_streams("GZIP", step),
    "zlib cut anywhere": lambda step: cut_streams("ZLIB", step),
    "one changed bit in gzip's trailer": trailers,
    "a second zlib stream": followed,
}


def damage(name: str, library: str, step: int = 1) -> Count | None:
    """Read the files of a case; every `step`-th of them. None: the library does not read such."""
    count, reader = Count(), READERS[library]
    with tempfile.TemporaryDirectory() as folder:
        for data, codec, whole in CASES[name](step):
            path = frames.save(Path(folder) / "file", data)
            try:
                found, failed = read(reader, path, codec)
            except NotImplementedError:
                return None
            count.add(found, failed, whole)
    return count


KILLED = """
import os, signal, sys, textwrap
path, codec = sys.argv[1:]
{opened}
for number in range(1000):
    write(b"%d" % number * 100)
    if number == 499:
        flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@dataclass(frozen=True)
class Killed:
    """What a killed writer has left.

    Attributes:
        has_name: Whether the name asked for shows it.
        records: How many records can be read.
        told: Whether reading says that they are not all.
    """

    has_name: bool
    records: int
    told: bool


def killed(library: str, codec: str) -> Killed:
    """Kill a writer after 1000 records, of which it was told to flush the first 500."""
    opened = "\n".join(line.strip() for line in WRITERS[library].splitlines())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        script = KILLED.format(opened=opened)
        run = subprocess.run([sys.executable, "-c", script, str(path), codec], check=False)
        assert run.returncode == -signal.SIGKILL
        has_name = path.exists()
        if library == "tfrecs":
            leftovers = importlib.import_module("tfrecs").leftovers(path)
            path = Path(leftovers[0].path) if leftovers else path
        found, failed = read(READERS[library], path, codec)
        return Killed(has_name, len(found), failed)


def available(library: str) -> bool:
    """Whether it can be imported."""
    name = {"vahidk": "tfrecord"}.get(library, library)
    return importlib.util.find_spec(name) is not None


def main() -> None:
    """Print the table."""
    # A reader that believes a length gets an error from its allocator, and this process no trouble.
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, resource.RLIM_INFINITY))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    libraries = [name for name in sys.argv[1:] or READERS if available(name)]
    print("| case | library | files | told | silent | wrong records | whole records lost |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in CASES:
        for library in libraries:
            count = damage(name, library)
            if count is None:
                print(f"| {name} | {library} | | | | | |")
                continue
            figures = [count.cases, count.told, count.silent, count.wrong, count.lost]
            print(f"| {name} | {library} | {' | '.join(map(str, figures))} |")
    print("\n| killed writer | library | a part under the name | records readable | told |")
    print("|---|---|---|---:|---|")
    for codec in frames.CODECS:
        for library in libraries:
            if library not in WRITERS:
                continue
            left = killed(library, codec)
            words = ["yes" if left.has_name else "no", str(left.records)]
            words.append("yes" if left.told else "no")
            print(f"| {codec or 'uncompressed'} | {library} | {' | '.join(words)} |")


if __name__ == "__main__":
    main()
