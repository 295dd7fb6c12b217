"""What is said where a name of TensorFlow's is not there: the nearest one that is."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np

# How alike names must be for one to be taken for a slip of the other.
CLOSE = 0.75

# What people look for, by the end of its name, and where it is.
ELSEWHERE = {
    "keras": "Keras 3 is a library of its own, and takes these datasets: import keras",
    "nn": "layers are Keras's: import keras",
    "Variable": "what is trained is PyTorch's, JAX's or Keras's",
    "GradientTape": "what is trained is PyTorch's, JAX's or Keras's",
    "TFRecordDatasetV2": "tf.data.TFRecordDataset",
    "TFRecordWriter": "tf.io.TFRecordWriter, and its write() for each record",
    "element_spec": "the shape and dtype of the values of next(iter(dataset))",
    "print": "Python's print",
    "debugging": "Python's assert, in tf.py_function",
    "linalg": "numpy.linalg",
    "ragged": "tf.io.RaggedFeature, and numpy",
    "nest": "Python's dicts, lists and tuples",
    "cond": "Python's if",
    "while_loop": "Python's while",
    "take_while": "itertools.takewhile",
    "parallel_interleave": "Dataset.interleave(num_parallel_calls=…)",
    "map_and_batch": "Dataset.map and Dataset.batch",
    "contrib": "tf.data, and the methods of its datasets",
    "lookup": "numpy.searchsorted, or a dict in Dataset.map",
    "distribute": "Dataset.shard, or tfrecs.Dataset.to_torch, which divide the work",
    "snapshot": "Dataset.cache(filename)",
    "CsvDataset": "tf.data.TextLineDataset and tf.io.decode_csv",
    "window": "Dataset.batch",
    "group_by_window": "Dataset.bucket_by_sequence_length",
    "ragged_batch": "Dataset.padded_batch, or Dataset.batch before parsing",
    "resize_images": "tf.image.resize",
    "app": "argparse of Python",
    "flags": "argparse of Python",
    "logging": "logging of Python",
    "random": "Dataset.shuffle(seed=…), and numpy.random",
    "set_random_seed": "Dataset.shuffle(seed=…), and numpy.random",
    "strings": "numpy.strings, or Python's own in tf.py_function",
    "summary": "tfrecs.read_events reads the files",
}


def no_such(where: str, name: str, there: Iterable[str]) -> AttributeError:
    """Return the error for a name that is not in `where`, in which `there` is."""
    near = get_close_matches(name, [*ELSEWHERE, *there], n=1, cutoff=CLOSE)
    if near:
        hint = ELSEWHERE.get(near[0]) or f"the nearest is {where}.{near[0]}"
    elif hasattr(np, name):
        hint = f"numpy.{name} takes these values, in Dataset.map too"
    else:
        hint = "docs/compatibility.md lists what there is"
    return AttributeError(f"{where} of tfrecs has no {name!r}: {hint}", name=name)
