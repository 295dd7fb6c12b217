"""What all conversions share: splits, shards, what becomes of bad inputs, and the report.

A format yields one outcome for each of its inputs, a record or what is wrong with the input;
write_shards() puts the records where they belong.
"""

import os
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from tfrecs._internal.checks import checked_compression, checked_limit
from tfrecs.errors import (
    Error,
    ExistingFileError,
    FileError,
    SpecError,
    file_error,
)
from tfrecs.formats.column_types import ColumnReport
from tfrecs.records.sharded import ShardedWriter, publish_sets
from tfrecs.storage.journal import finish_sets
from tfrecs.storage.staging import new_folder

OnError: TypeAlias = Literal["skip", "fail"]
Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with how many inputs are done, and how many there are."""

Outcome: TypeAlias = bytes | Error
"""What became of an input: a record, or what is wrong with it."""

# Without a number of shards, each holds about this many bytes of the inputs: large enough to read
# fast, small enough to hand out to many readers.
SHARD_BYTES = 128 << 20

SUFFIXES = {"": ".tfrecord", "GZIP": ".tfrecord.gz", "ZLIB": ".tfrecord.zlib"}


@dataclass(frozen=True)
class Skipped:
    """An input that is not in the output.

    Attributes:
        path: The file.
        reason: Why, with the line where there is one.
    """

    path: str
    reason: str


@dataclass(frozen=True)
class Split:
    """What a conversion wrote for a split.

    Attributes:
        written: How many examples.
        paths: The files, in order.
    """

    written: int
    paths: list[str]


@dataclass(frozen=True)
class Conversion:
    """What a conversion did.

    Attributes:
        splits: What was written, by the name of the split.
        skipped: The inputs that were left out, in the order in which they came.
        columns: Of a table of text: what became of each column.
    """

    splits: dict[str, Split]
    skipped: list[Skipped]
    columns: dict[str, ColumnReport] = field(default_factory=dict)

    @property
    def written(self) -> int:
        """How many examples were written."""
        return sum(split.written for split in self.splits.values())

    @property
    def paths(self) -> list[str]:
        """The files that were written."""
        return [path for split in self.splits.values() for path in split.paths]


@dataclass(frozen=True)
class Output:
    """Where the records of a conversion go; the arguments that every conversion takes.

    Attributes:
        folder: The output folder; it is made if need be.
        splits: The fraction of the examples for each split, by name; together 1.
        num_shards: How many shards each split has, or the number for each split by name; None is
            one for every 128 MiB of input.
        compression_type: "", "GZIP" or "ZLIB".
        on_error: "fail" raises the first error of an input, "skip" leaves the input out.
        overwrite: Whether to replace the shards of these splits that `folder` has already.
        progress: Called now and then.
    """

    folder: str | os.PathLike[str]
    splits: Mapping[str, float]
    num_shards: int | Mapping[str, int] | None = None
    compression_type: str = ""
    on_error: OnError = "fail"
    overwrite: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Check what can be checked before any work is done."""
        _check_splits(self.splits)
        if checked_compression(self.compression_type) not in SUFFIXES:
            raise SpecError('compression_type is "", "GZIP" or "ZLIB", not "auto"')
        if self.on_error not in ("skip", "fail"):
            raise SpecError(f'on_error is "skip" or "fail", not {self.on_error!r}')
        if isinstance(self.num_shards, Mapping) and set(self.num_shards) != set(self.splits):
            raise SpecError(f"num_shards names {[*self.num_shards]}, but split {[*self.splits]}")
        for shards in self._given_shards():
            checked_limit("num_shards", shards, "at least 1 shard a split")
        with file_errors():
            self.check_free()

    def check_free(self) -> None:
        """Refuse to replace shards, unless that was asked for.

        Raises:
            ExistingFileError: There are some.
        """
        if not self.overwrite and (existing := self.existing()):
            reason = "is there already, and is not overwritten"
            raise ExistingFileError(f"{existing[0]}: {reason}", path=existing[0], reason=reason)

    def _given_shards(self) -> Iterable[int]:
        if isinstance(self.num_shards, Mapping):
            return self.num_shards.values()
        return [] if self.num_shards is None else [self.num_shards]

    def existing(self) -> list[Path]:
        """Return the shards of these splits that are there already.

        A reader who asks for `train-*` must not get a mixture of an old and a new data set, so
        shards of any number and compression count.
        """
        folder = Path(self.folder)
        if not folder.is_dir():
            return []
        names = "|".join(map(re.escape, self.splits))
        shard = re.compile(rf"(?:{names})-\d{{5,}}-of-\d{{5,}}\.tfrecord(?:\.gz|\.zlib)?")
        return sorted(path for path in folder.iterdir() if shard.fullmatch(path.name))

    def shards_of(self, split: str, input_bytes: int) -> int:
        """Return how many shards `split` gets, if all inputs together are so large."""
        if isinstance(self.num_shards, Mapping):
            return self.num_shards[split]
        wanted = round(input_bytes * self.splits[split] / SHARD_BYTES)
        return self.num_shards or max(1, wanted)

    def path_of(self, written: str) -> str:
        """Return where a shard is in the end, wherever it was written."""
        return os.path.join(self.folder, os.path.basename(written))  # noqa: PTH118, PTH119 - as given

    def writer(self, into: Path, split: str, input_bytes: int) -> ShardedWriter:
        """Open the shards of a split."""
        folder = os.fspath(into).replace("{", "{{").replace("}", "}}")
        codec = checked_compression(self.compression_type)
        return ShardedWriter(
            os.path.join(folder, f"{split}-{{shard:05d}}-of-{{num_shards:05d}}{SUFFIXES[codec]}"),  # noqa: PTH118 - keeps the name as given
            num_shards=self.shards_of(split, input_bytes),
            compression_type=codec,
        )


def _check_splits(splits: Mapping[str, float]) -> None:
    if not isinstance(splits, Mapping):
        raise SpecError(f"split must map names to fractions, not {type(splits).__name__}")
    for name, fraction in splits.items():
        if not isinstance(fraction, int | float):
            raise SpecError(f"the fraction of split {name!r} must be a number, not {fraction!r}")
        if not re.fullmatch(r"\w[\w.+-]*", name):
            raise SpecError(f"a split cannot be named {name!r}: use letters, digits and -_.+")
        if not fraction > 0:
            raise SpecError(f"the fraction of split {name!r} must be above 0, not {fraction}")
    total = sum(splits.values())
    if abs(total - 1) > 1e-6:  # noqa: PLR2004 - what sums of decimal fractions are off
        raise SpecError(f"the fractions of the splits add up to {total:g}, not to 1")


def default_split(path: str | os.PathLike[str]) -> dict[str, float]:
    """Return what stands in for splits where none are asked for: one, named as the input is."""
    name = re.sub(r"[^\w.+-]", "_", Path(path).resolve().stem).lstrip(".+-")
    return {name or "data": 1.0}


def allot(groups: Sequence[int], splits: Mapping[str, float], rng: random.Random) -> bytearray:
    """Choose a split for each of the inputs that lie in groups, one group after the other.

    Each split gets its fraction of each group, and of all together, as exactly as whole numbers
    allow.

    Args:
        groups: How many inputs each group has.
        splits: The fraction of each split.
        rng: Chooses which inputs of a group go where.

    Returns:
        The number of its split, for each input: one byte each, so that there can be many.
    """
    if len(splits) > 255:  # noqa: PLR2004 - a byte
        raise SpecError(f"there can be 255 splits, not {len(splits)}")
    fractions = [fraction / sum(splits.values()) for fraction in splits.values()]
    given = [0] * len(fractions)
    choices = bytearray()
    end = 0
    for size in groups:
        end += size
        due = [fraction * end - so_far for fraction, so_far in zip(fractions, given, strict=True)]
        shares = _whole_shares(size, due)
        given = [so_far + share for so_far, share in zip(given, shares, strict=True)]
        group = bytearray(b"".join(bytes([i]) * share for i, share in enumerate(shares)))
        rng.shuffle(group)
        choices += group
    return choices


def _whole_shares(size: int, due: list[float]) -> list[int]:
    """Round what is due to whole numbers, none below 0, that add up to `size`."""
    shares = [max(0, int(share)) for share in due]
    while (rest := size - sum(shares)) != 0:
        owed = [share - got for share, got in zip(due, shares, strict=True)]
        if rest > 0:
            shares[owed.index(max(owed))] += 1
        else:
            shares[owed.index(min(o for o, got in zip(owed, shares, strict=True) if got))] -= 1
    return shares


def write_shards(
    outcomes: Iterable[tuple[int, str, Outcome]],
    output: Output,
    *,
    total: int,
    input_bytes: int,
    skipped: Iterable[Skipped] = (),
) -> Conversion:
    """Write the records to the shards of their splits: all shards of a split appear, or none.

    Args:
        outcomes: For each input the number of its split, its path, and a record or an error.
        output: Where they go.
        total: How many inputs there are.
        input_bytes: How large they are together.
        skipped: What has been left out already.

    Raises:
        Error: That of the first bad input, if on_error is "fail" or all of them are bad; nothing
            appears then.
    """
    left_out = list(skipped)
    with _folder_of(output) as folder, ExitStack() as stack:
        old = output.existing() if output.overwrite else []
        writers = [output.writer(folder, split, input_bytes) for split in output.splits]
        for writer in writers:
            stack.callback(writer.discard)
        bad: list[Error] = []
        for split, path, outcome in _watched(outcomes, total, output.progress):
            if isinstance(outcome, bytes):
                writers[split].write(outcome)
            elif output.on_error == "fail":
                raise outcome
            else:
                bad.append(outcome)
                left_out.append(Skipped(path, outcome.reason))
        if bad and len(bad) == total:
            raise bad[0]
        output.check_free()  # another run may have published since
        publish_sets(writers, old)
    splits = {
        split: Split(writer.num_records, [output.path_of(path) for path in writer.paths])
        for split, writer in zip(output.splits, writers, strict=True)
    }
    return Conversion(splits, left_out)


@contextmanager
def _folder_of(output: Output) -> Iterator[Path]:
    """Give the folder to write into: a new one appears with all shards in one step.

    In one that is there, what a conversion has left half done that was killed is finished first.
    """
    folder = Path(output.folder)
    if not os.path.lexists(folder):
        with new_folder(folder) as made:
            yield made
        return
    with file_errors():
        folder.mkdir(parents=True, exist_ok=True)
    finish_sets(folder)
    yield folder


def _watched(
    outcomes: Iterable[tuple[int, str, Outcome]], total: int, progress: Progress | None
) -> Iterator[tuple[int, str, Outcome]]:
    """Pass everything on and call `progress`, but not so often that it costs anything."""
    if progress is None:
        yield from outcomes
        return
    step = max(1, total // 500)
    for done, outcome in enumerate(outcomes):
        if done % step == 0:
            progress(done, total)
        yield outcome
    progress(total, total)


@contextmanager
def file_errors() -> Iterator[None]:
    """Turn an OSError into our own FileError."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise file_error(error) from error
