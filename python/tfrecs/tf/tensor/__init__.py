"""What a value is: tensors, their shapes and types, operators, and structures of several."""
