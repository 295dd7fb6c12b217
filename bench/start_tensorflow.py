"""Parse the first batch of images with TensorFlow, and say so: the same as start_tfrecs.py."""

import sys

import tensorflow as tf

number = tf.io.FixedLenFeature([], tf.int64)
features = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": number,
    "height": number,
    "width": number,
}
path, size = sys.argv[1:]
batches = tf.data.TFRecordDataset([path]).batch(int(size))
columns = next(iter(batches.map(lambda records: tf.io.parse_example(records, features))))
print(len(columns["image"]), flush=True)
