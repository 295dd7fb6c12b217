"""Parse the first batch of images with tfrecs, and say so: `python start_tfrecs.py file size`."""

import sys
from typing import Any

import tfrecs

number = tfrecs.FixedLenFeature([], "int64")
features = {
    "image": tfrecs.FixedLenFeature([], "string"),
    "label": number,
    "height": number,
    "width": number,
}
path, size = sys.argv[1:]
dataset: Any = getattr(tfrecs, "Dataset", None)
if dataset is None:  # until there is one
    batch: Any = tfrecs.decode_batch(tfrecs.RecordReader(path).read_batch(int(size)), features)
else:
    batch = next(iter(dataset([path], features=features).batch(int(size))))
columns = {name: batch[name] for name in batch}
print(len(columns["image"]), flush=True)
