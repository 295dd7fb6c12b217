"""cache(path): elements are kept in a file when they are made, and not made again.

The file is one of records: first what the elements were made by and of, as JSON, then each of them
(encoded.py), and last how many there are, so that a file that was cut between two is not taken for
a whole one. It appears whole, under its name, when a first pass has come to its end.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from tfrecs._internal.checks import checked_threads
from tfrecs._internal.logging import logger
from tfrecs.dataset.native.batches import Elements
from tfrecs.dataset.plan.identity import first_changed, local_entries
from tfrecs.dataset.plan.node import Node, Step, Traits, name_of
from tfrecs.dataset.plan.order import Length, RecordOrder
from tfrecs.dataset.plan.order_steps import SkipRecords, TakeRecords
from tfrecs.dataset.plan.source import Root, roots_of
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.run.start import start
from tfrecs.dataset.sources.files import Files, Reading
from tfrecs.dataset.stages.stage import ChainedStage, Made, Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.dataset.transforms.element_codec import decode, encode
from tfrecs.dataset.transforms.function_digest import digest_of
from tfrecs.errors import (
    CorruptRecordError,
    ExistingFileError,
    FileError,
    StateError,
    TruncatedFileError,
)
from tfrecs.records.reader import RecordReader
from tfrecs.records.writer import FileWriter, RecordWriter
from tfrecs.storage.leftovers import leftovers
from tfrecs.storage.paths import check_regular

VERSION = 2


@dataclass(frozen=True, eq=False)
class CacheFile(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """The elements of the source; the first whole pass keeps them in a file for all others.

    Attributes:
        path: The file.
        shared: Whether a pass may begin while another one writes the file; it then keeps nothing.
    """

    path: str
    shared: bool = True

    def describe(self) -> str:
        """Return the call, without the path: it makes no difference to what comes."""
        return "  .cache(path)"

    @property
    def is_there(self) -> bool:
        """Whether the elements are kept."""
        check_regular(self.path)
        return os.path.exists(self.path)  # noqa: PTH110 - the path is text

    def length(self) -> Length:
        """Return how many there are."""
        if not self.is_there:
            return self.source.length()
        self.check()
        return self._count(self._files())

    def _count(self, files: Files) -> int:
        """Return how many elements are kept.

        Raises:
            TruncatedFileError: The last record does not say so: the file was cut.
        """
        count = len(files.records) - 2
        if count < 0 or files.records[-1] != _end(count):
            reason = "the cache was cut: its end is missing. Remove it, and it is made again"
            raise TruncatedFileError(f"{self.path}: {reason}", path=self.path, reason=reason)
        return count

    def _files(self) -> Files:
        return Files((self.path,), Spec(), reading())

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with what is kept, if it is."""
        at = 0 if saved is None else saved.only(["at"]).integer("at")
        if self.is_there:
            return self._kept(run, at)
        # Whatever the pass, the elements are the same ones.
        source = start(self.source, Run(meters=run.meters), None)
        filling = _Filling(self, source)
        filling.skip(at)
        return filling

    def _kept(self, run: Run, at: int) -> Stage:
        self.check()
        files = self._files()
        order = RecordOrder(files).then(SkipRecords(1)).then(TakeRecords(self._count(files)))
        return Made(self._decoded, Elements(order, Run(meters=run.meters), Saved({"at": at})))

    def _decoded(self, record: bytes) -> Any:
        try:
            return decode(record)
        except CorruptRecordError as error:
            reason = error.reason
            raise CorruptRecordError(
                f"{self.path}: {reason}", path=self.path, reason=reason
            ) from error

    @property
    def origin(self) -> dict[str, Any]:
        """What the elements are made by, and of."""
        return {
            "tfrecs cache": VERSION,
            "files": [
                {
                    **files.fingerprint,
                    "skips": files.skips,
                    "each": local_entries(getattr(files, "paths", ())),
                }
                for files in roots_of(self.source)
            ],
            "plan": list(_lines(self.source)),
            "python": list(sys.version_info[:2]),
            "functions": list(_functions(self.source)),
        }

    def check(self) -> None:
        """Refuse a file of other elements.

        Raises:
            StateError: It is one; the text says what differs.
        """
        theirs = self._read_origin()
        ours = json.loads(json.dumps(self.origin))
        if theirs["files"] != ours["files"]:
            raise self._error(self._changed(ours["files"], theirs["files"]))
        for number, (here, there) in enumerate(zip_longest(ours["plan"], theirs["plan"]), 1):
            if here != there:
                raise self._error(f"step {number} was {_first(there)}, and here is {_first(here)}")
        same = theirs["python"] == ours["python"]  # the code of functions depends on it
        for here, there in zip(ours["functions"], theirs["functions"], strict=False):
            if same and here != there:
                raise self._error(f"the function {here[0]} has changed")

    def _changed(self, ours: list[Any], theirs: Any) -> str:
        """Return what is not the same of the files, with the first one that is not."""
        others = "the files after it were others: other names, sizes or another order"
        if not isinstance(theirs, list) or len(theirs) != len(ours):
            return others
        for files, here, other in zip(roots_of(self.source), ours, theirs, strict=True):
            paths, there = getattr(files, "paths", ()), dict(other)
            name = first_changed(paths, here["each"], there.get("each"))
            if name is not None:
                is_named = there.get("digest") == here["digest"]
                return f"{name} has changed since" if is_named else f"{others}, first {name}"
        return others

    def _read_origin(self) -> dict[str, Any]:
        with RecordReader(self.path) as reader:
            first = next(iter(reader), b"")
        try:
            origin: dict[str, Any] = json.loads(first)
            known = origin["tfrecs cache"] == VERSION
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._error("it is no cache") from error
        if not known:
            raise self._error("another version of tfrecs made it")
        if not _is_origin(origin):
            raise self._error("it is no cache")
        return origin

    def _error(self, what: str) -> StateError:
        return StateError(
            f"{self.path} is not a cache of this dataset: {what}. Remove it, or give another path",
            path=self.path,
        )


def _is_origin(data: dict[str, Any]) -> bool:
    """Return whether this is what a cache says of itself, whatever it says."""
    lists = [data.get(name) for name in ("files", "plan", "python", "functions")]
    if not all(isinstance(one, list) for one in lists):
        return False
    files, plan, _, functions = lists
    return (
        all(isinstance(one, dict) for one in files or ())
        and all(isinstance(one, str) for one in plan or ())
        and all(isinstance(one, list) and len(one) == _PAIR for one in functions or ())
    )


_PAIR = 2  # the name of a function, and its digest


def _end(count: int) -> bytes:
    """Return the last record; it has no line feed, which every element has."""
    return b'{"elements":%d}' % count


def reading() -> Reading:
    """Return how a cache is read: as other files are by default."""
    return Reading("auto", True, (None, None), checked_threads(None), False, False, None)


def _lines(node: Node) -> Iterator[str]:
    """Yield the steps of a plan, as far as elements depend on them."""
    for source in node.sources:
        yield from _lines(source)
    yield node.identity() if isinstance(node, Root) else node.describe()


def _first(line: str | None) -> str:
    return "nothing" if line is None else repr(line.strip().partition("\n")[0])


def _functions(node: Node) -> Iterator[tuple[str, str]]:
    """Yield the name of each function in a plan, and what it is recognised by."""
    for source in node.sources:
        yield from _functions(source)
    for value in vars(node).values():
        if callable(value) and not isinstance(value, Node):
            yield name_of(value), digest_of(value, name_of(value))


class _Filling(ChainedStage):
    """A pass that makes the elements; it begins at the beginning, since all are to be kept."""

    def __init__(self, node: CacheFile, source: Stage) -> None:
        super().__init__(source)
        self._node = node
        self._given = 0
        self._out: RecordWriter | None = None
        try:
            self._out = _writer(node)
        except BaseException:
            source.close()
            raise

    def __next__(self) -> Any:
        for element in self._source:
            self._keep(element)
            self._given += 1
            return element
        out, self._out = self._out, None
        if out is not None:
            self._keep_end(out)
            logger.debug("keeps %d elements in %s", self._given, self._node.path)
        raise StopIteration

    def _keep_end(self, out: RecordWriter) -> None:
        try:
            out.write(_end(self._given))
            out.close()
        except BaseException:
            out.discard()
            raise

    def _keep(self, element: Any) -> None:
        out = self._out
        if out is None:
            return
        try:
            out.write(encode(element))
        except BaseException:
            # Without this one the rest is worth nothing.
            self._out = None
            out.discard()
            raise

    def state(self) -> State:
        """Return how many there were."""
        return {"at": self._given}

    def close(self) -> None:
        """Give up what is not whole, before the source ends: that is not its end."""
        out, self._out = self._out, None
        super().close()
        if out is not None:
            out.discard()

    def __del__(self) -> None:
        """Give up what somebody has forgotten."""
        if self._out is not None:
            self._out.discard()


def _files_of(node: Node) -> Iterator[str]:
    """Yield the files that the elements of a plan are made of."""
    for source in roots_of(node):
        yield from getattr(source, "paths", ())


def _writer(node: CacheFile) -> RecordWriter | None:
    """Return what keeps the elements; None if another pass is just doing that."""
    for old in leftovers(node.path):
        # It can be made again, unlike what others write.
        with contextlib.suppress(OSError):
            old.remove()
    try:
        out = FileWriter(node.path, sync=False, sources=_files_of(node.source))
    except FileError as error:
        if error.errno != errno.EBUSY:
            raise
        if not node.shared:
            raise ExistingFileError(
                f"{node.path} is being written by another iterator over the dataset: run that to "
                "its end, or close it, first",
                path=node.path,
            ) from error
        logger.debug("another pass is writing %s", node.path)
        return None
    try:
        out.write(json.dumps(node.origin).encode())
    except BaseException:
        out.discard()
        raise
    return out
