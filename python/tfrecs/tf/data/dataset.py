"""`tf.data.Dataset`: TensorFlow's methods over a plan of tfrecs."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from tfrecs._internal.checks import checked_limit, checked_threads
from tfrecs.dataset import Dataset as Plan
from tfrecs.dataset.plan.kind import parsed_of, parsed_where_read
from tfrecs.dataset.transforms.batch import Batch
from tfrecs.dataset.transforms.cache_file import CacheFile
from tfrecs.errors import MissingFileError, SpecError
from tfrecs.storage.paths import local_path
from tfrecs.tf.data import factories, padding
from tfrecs.tf.data.cardinality import INFINITE, UNKNOWN, cardinality_of
from tfrecs.tf.data.closures import bound
from tfrecs.tf.data.elements import Function, applied, normal
from tfrecs.tf.data.iterators import DatasetIterator, GraphIterator, NumpyIterator
from tfrecs.tf.data.parsed_ahead import ParsedAhead
from tfrecs.tf.data.steps import AllSkipped, Formed, SameEachTime
from tfrecs.tf.data.tracing import stacks, traced
from tfrecs.tf.functions.ops import constant
from tfrecs.tf.functions.suggestions import no_such
from tfrecs.tf.tensor.conversion import integer
from tfrecs.tf.tensor.values import Tensor, tensor, wrapped

AUTOTUNE = -1

# A buffer that holds any dataset.
WHOLE = 2**62

# How many datasets are read in turn where nobody says: TensorFlow's number hangs on the machine.
CYCLE = 8


def _truth(value: Any) -> bool:
    made = tensor(value)
    if made.shape != () or made.dtype != "bool":
        raise SpecError(
            f"predicate must return a single truth value, and not {made.dtype.name} of shape "
            f"{made.shape}"
        )
    return bool(made)


class Dataset(factories.Making, Iterable[Any]):
    """As `tf.data.Dataset`: a plan, whose elements are values, or tuples and dicts of them.

    What only reads, shuffles, divides, batches, and parses records with constant features, runs
    natively, whatever it is written with; other functions are called with element after element.
    `plan` is the same dataset as a tfrecs.Dataset, with states, statistics, and the way into
    PyTorch, JAX and Keras.

    Example:
        >>> from tfrecs import tf
        >>> ds = tf.data.Dataset.range(5).map(lambda n: n * 2).batch(2)
        >>> for batch in ds:
        ...     print(batch.numpy())
        [0 2]
        [4 6]
        [8]
    """

    def __init__(self, plan: Plan, form: Formed | None = None) -> None:
        """Keep a plan of ours, and what its elements are brought into."""
        self._ours, self._form = plan, form
        self._plan = plan if form is None else Plan.of(form.over(plan.node))

    @classmethod
    def of(cls, plan: Plan, form: Formed | None = None) -> Dataset:
        """Return the dataset of a plan of ours."""
        made: Dataset = factories.for_library(Dataset)(plan, form)
        return made

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:
        """The class: one of Keras too as soon as Keras is loaded, which knows data by its class.

        isinstance() asks for this, so a dataset that was made before `import keras` changes here.
        """
        fitted = factories.for_library(Dataset)
        if type(self) is Dataset and fitted is not Dataset:
            object.__dict__["__class__"].__set__(self, fitted)
        return type(self)

    @property
    def plan(self) -> Plan:
        """The same dataset as a tfrecs.Dataset."""
        return self._plan

    def _alike(self, change: Callable[[Plan], Plan]) -> Dataset:
        """Return a dataset of the same elements, chosen or put together otherwise."""
        return Dataset.of(change(self._ours), self._form)

    def _changed(self, change: Callable[[Plan], Plan]) -> Dataset:
        """Return a dataset of what is made of the elements."""
        return Dataset.of(change(self.plan))

    # --- What comes ---

    def __iter__(self) -> DatasetIterator:
        """Begin a pass."""
        return DatasetIterator(self._begun)

    def _begun(self) -> Iterator[Any]:
        """Begin a pass that gives the next element after an error of a function."""
        elements = iter(self._plan)
        elements.ends_on_error = False
        return elements

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Yield the elements as arrays, NumPy's scalars and bytes."""
        return NumpyIterator(self._begun)

    def make_one_shot_iterator(self) -> GraphIterator:
        """Begin a pass, as TensorFlow 1 did."""
        return GraphIterator(self._begun)

    def make_initializable_iterator(self, shared_name: str | None = None) -> GraphIterator:
        """Begin a pass, which its `initializer` begins again."""
        return GraphIterator(self._begun, waits=True)

    def cardinality(self) -> Tensor:
        """Return how many elements there are: -1 without end, -2 if a file must be read for it."""
        return constant(cardinality_of(self.plan.node), "int64")

    def __len__(self) -> int:
        """Return how many elements there are.

        Raises:
            TypeError: There is no end, or the number is unknown.
        """
        count = int(self.cardinality())
        if count < 0:
            why = "infinite" if count == INFINITE else "unknown"
            raise TypeError(f"The dataset length is {why}.")
        return count

    def __bool__(self) -> bool:
        """A dataset is true, whatever is in it."""
        return True

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: Any = None) -> Any:
        """Return what a function makes of a state and of element after element."""
        state = wrapped(normal(initial_state))
        for element in self:
            state = wrapped(normal(reduce_func(state, element)))
        return state

    # --- Steps that leave elements as they are ---

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements in an order that is random as far as a buffer reaches.

        A buffer of UNKNOWN elements, which is what `cardinality()` may give, holds the dataset.
        Without a seed each dataset has another order. It is not the order of TensorFlow, but one of
        the same kind, the same on each machine; with a seed, each pass has another one of it.
        """
        size = integer(buffer_size, "buffer_size")
        size = WHOLE if size == UNKNOWN else size
        seed = secrets.randbits(32) if seed is None else integer(seed, "seed")
        shuffled = self._alike(lambda plan: plan.shuffle(seed, buffer_size=size))
        if reshuffle_each_iteration is False:
            return Dataset.of(Plan.of(SameEachTime(shuffled.plan.node)))
        return shuffled

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Return the elements again and again, so often or without end."""
        times = None if count is None else integer(count, "count")
        return self._alike(lambda plan: plan.repeat(times))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Return the first `count` elements; -1 is all."""
        return self._alike(lambda plan: plan.take(integer(count, "count")))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Return the elements after the first `count`, or none if that is -1."""
        if integer(count, "count") < 0:
            return self._alike(lambda plan: Plan.of(AllSkipped(plan.node, 0)))
        return self._alike(lambda plan: plan.skip(integer(count, "count")))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Return every `num_shards`-th element, from number `index` on."""
        return self._alike(
            lambda plan: plan.shard(
                integer(num_shards, "num_shards"), integer(index, "index"), "uneven"
            )
        )

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Return the elements, that many of which are made ahead."""
        asked = AUTOTUNE if buffer_size is None else integer(buffer_size, "buffer_size")
        ahead = 2 if asked == AUTOTUNE else asked
        return self._alike(lambda plan: plan.prefetch(ahead)) if ahead else self

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Return the elements, which are kept in memory, or in a file, when they are made.

        Raises:
            AlreadyExistsError: By iterating: another iterator is writing the file.
        """
        path = filename.numpy().decode() if isinstance(filename, Tensor) else filename
        if not path:
            return self._changed(lambda plan: plan.cache())
        return Dataset.of(Plan.of(CacheFile(self.plan.node, local_path(path), shared=False)))

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """Return the same dataset: what options ask for makes no difference to elements here."""
        return self

    def options(self) -> Options:
        """Return options that nobody has set."""
        return Options()

    # --- Steps that make others of them ---

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        **others: Any,
    ) -> Dataset:
        """Return what a function makes of each element; a tuple's parts are its arguments.

        A function that only parses records, with features that are always the same, is not called
        again: they are parsed natively. Others are called with values, on as many threads as
        `num_parallel_calls` says (AUTOTUNE: one for each core), which helps where they decode
        images or wait.
        """
        native, plan = self._parsed(map_func)
        if native is not None:
            return native
        threads = (
            0 if num_parallel_calls is None else integer(num_parallel_calls, "num_parallel_calls")
        )
        threads = checked_threads(None) if threads == AUTOTUNE else threads
        function = Function(map_func)
        return Dataset.of(plan.map(function, threads, deterministic is not False))

    def _parsed(self, map_func: Callable[..., Any]) -> tuple[Dataset | None, Plan]:
        """Return the records parsed, if that is all that a function does; else what it is given."""
        node = self._ours.node
        kind = None if self._form else parsed_of(node)
        in_batches = kind is not None and kind.in_batches
        if self._form or not (in_batches or node.gives_records):
            return None, self.plan
        trace, first = traced(map_func)
        if trace is not None and kind is not None and trace.in_batches == in_batches:
            native = parsed_where_read(node, trace.spec)
            if native is not None:
                form = Formed(trace.form)
                if in_batches or stacks(trace.spec):
                    return Dataset.of(Plan.of(native), form), self.plan
                return Dataset.of(Plan.of(form.over(native))), self.plan
        if first is None or in_batches:
            return None, self.plan
        return None, Plan.of(ParsedAhead(node, first))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements for which a function is true.

        Raises:
            ValueError: The function returns something else than a truth value.
        """
        is_wanted = Function(predicate)
        return self._changed(lambda plan: plan.filter(lambda one: _truth(is_wanted(one))))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements of datasets, one after the other, that a function makes."""
        return self.interleave(map_func, cycle_length=1)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return elements of datasets in turn, that a function makes.

        The order is TensorFlow's: `block_length` elements of each of `cycle_length` datasets; the
        place of one that has ended is empty until its next turn, and then the next one's. Where
        `cycle_length` is AUTOTUNE or left out, it is 8 here.
        """
        map_func = bound(map_func)
        cycle = CYCLE if cycle_length in (None, AUTOTUNE) else integer(cycle_length, "cycle_length")
        block = 1 if block_length is None else integer(block_length, "block_length")

        def make(element: Any) -> Plan:
            return _dataset(applied(map_func, wrapped(element))).plan

        return self._changed(lambda plan: plan.interleave(make, cycle, block))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Return pairs of a number, from `start` on, and an element."""
        return self._changed(lambda plan: plan.enumerate(integer(start, "start")))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Return the elements of this one, and then of another."""
        return self._changed(lambda plan: plan.concatenate(checked_dataset(dataset).plan))

    # --- Batches ---

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return that many elements side by side, which must have one shape."""
        size = checked_limit("batch_size", integer(batch_size, "batch_size"))
        return self._alike(lambda plan: Plan.of(Batch(plan.node, size, bool(drop_remainder))))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return that many elements side by side, as long as the longest, or as `padded_shapes`."""
        pad = padding.Padded(
            integer(batch_size, "batch_size"), padded_shapes, padding_values, bool(drop_remainder)
        )
        return self._changed(pad)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Any,
        bucket_batch_sizes: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return padded batches of elements of about the same length."""
        if no_padding:
            raise SpecError("bucket_by_sequence_length() always pads here")
        length = Function(element_length_func)
        buckets = (
            [integer(one, "a bucket boundary") for one in bucket_boundaries],
            [integer(one, "a bucket's batch size") for one in bucket_batch_sizes],
        )
        pad = padding.Bucketed(length, *buckets, drop_remainder, pad_to_bucket_boundary)
        return self._changed(pad.over(padded_shapes, padding_values))

    def unbatch(self, name: str | None = None) -> Dataset:
        """Return the rows of the elements one by one."""
        return self._changed(lambda plan: plan.unbatch())

    def apply(self, transformation_func: Callable[[Self], Any]) -> Any:
        """Return the dataset that a function makes of this one.

        Raises:
            TypeError: It makes something else.
        """
        return _dataset(transformation_func(self))

    def __repr__(self) -> str:
        """Show the plan, a step a line."""
        return repr(self.plan).replace("Dataset", f"tf.data.{type(self).__name__}", 1)

    def __getattr__(self, name: str) -> Any:
        """Say what is nearest to a method that is not there.

        Raises:
            AttributeError: Always.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        raise no_such("tf.data.Dataset", name, [one for one in dir(Dataset) if one[0] != "_"])

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: Any = None
    ) -> Dataset:
        """Return the names of files that match patterns, shuffled unless `shuffle` is False.

        Raises:
            InvalidArgumentError: None does.
        """
        try:
            names = Dataset.of(factories.listed_files(file_pattern))
        except MissingFileError as error:
            raise SpecError(f"No files matched pattern: {error}") from error
        count = len(names)
        return names if shuffle is False else names.shuffle(count, seed)


def _dataset(made: Any) -> Dataset:
    """Return what a function has made, which must be a dataset."""
    if not isinstance(made, Dataset):
        raise TypeError(f"the function must return a Dataset, not {type(made).__name__}")
    return made


def checked_dataset(given: Any) -> Dataset:
    """Return an argument that is a dataset.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(given, Dataset):
        raise TypeError(f"a tf.data.Dataset is needed, not {type(given).__name__}")
    return given


class Options:
    """As `tf.data.Options`: whatever is set is kept, and means nothing here."""

    def __getattr__(self, name: str) -> Any:
        """Return further options."""
        if name.startswith("__"):
            raise AttributeError(name)
        value = Options()
        setattr(self, name, value)
        return value
