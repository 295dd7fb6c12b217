"""What functions of TensorFlow's names do: to values, to text and images, to files."""
