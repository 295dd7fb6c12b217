"""TensorFlow 1's names, as `tf.compat.v1` has them."""
