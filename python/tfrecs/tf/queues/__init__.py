"""The names of TensorFlow 1: queues, readers, sessions, and what moved since to `tf.io`.

Tutorials with them are what people find first, and no current TensorFlow runs them as they are
written: it has them under `tf.compat.v1`, for graphs that are asked for. Here a graph is a
`Deferred` value (deferred.py) of which each run computes another one: what is fetched in one run
comes of the same record, each run that touches a reader reads on, and at the end there is
OutOfRangeError. Threads fill queues as they did; they end with their coordinator, with the session,
and at the latest with the process. Where none were started, whoever takes from a queue fills it.

`NAMES` is what tf has of it: nobody else knows of this folder.
"""

from types import SimpleNamespace
from typing import Any

from tfrecs.tf import sparse
from tfrecs.tf.functions import filesystem as gfile
from tfrecs.tf.functions import python_functions
from tfrecs.tf.graph.deferred import SparseTensorValue
from tfrecs.tf.queues import batching, config, graph, queue, readers, threads
from tfrecs.tf.v1 import io as io_v1
from tfrecs.tf.v1 import ops as ops_v1

_MOVED = (
    "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_csv decode_raw "
    "matching_files parse_example parse_sequence_example parse_single_example read_file "
    "parse_single_sequence_example parse_tensor serialize_tensor write_file"
)
_GRAPHS = (
    "Graph InteractiveSession Session get_default_graph get_default_session placeholder "
    "reset_default_graph"
)
_READERS = (
    "FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader "
    "WholeFileReader"
)
_NOTHING_TO_DO = (
    "global_variables_initializer group initialize_all_variables initialize_local_variables "
    "local_variables_initializer no_op tables_initializer"
)
_IGNORED = "disable_eager_execution disable_v2_behavior enable_eager_execution"
_CONFIGS = "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions"
_SAME_FILES = "Copy Exists Glob MakeDirs Remove Rename"
_FILES = {
    **{name: getattr(gfile, name.lower()) for name in _SAME_FILES.split()},
    **dict.fromkeys(("FastGFile", "Open"), gfile.GFile),
    "DeleteRecursively": gfile.rmtree,
    "IsDirectory": gfile.isdir,
    "ListDirectory": gfile.listdir,
}
_BATCHING = (
    "batch batch_join input_producer match_filenames_once range_input_producer shuffle_batch "
    "shuffle_batch_join slice_input_producer string_input_producer"
)


def _of(module: Any, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


NAMES: dict[str, dict[str, Any]] = {
    "tf": {
        **_of(io_v1, _MOVED),
        **_of(graph, _GRAPHS),
        **_of(readers, _READERS),
        **_of(queue, "FIFOQueue PaddingFIFOQueue RandomShuffleQueue"),
        **dict.fromkeys(_NOTHING_TO_DO.split(), graph.no_op),
        **dict.fromkeys(_IGNORED.split(), SimpleNamespace),
        **_of(config, _CONFIGS),
        **_of(ops_v1, "to_float to_int32 to_int64"),
        "SparseTensorValue": SparseTensorValue,
        "gfile": gfile,
        "py_func": python_functions.numpy_function,
        "sparse_tensor_to_dense": sparse.to_dense,
    },
    "tf.io.gfile": _FILES,
    "tf.train": {
        **_of(batching, _BATCHING),
        **_of(threads, "Coordinator QueueRunner add_queue_runner start_queue_runners"),
    },
}
