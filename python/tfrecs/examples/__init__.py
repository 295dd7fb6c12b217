"""Records that are messages: examples as rows or columns, events, other protobuf messages.

Nothing here opens a file, but `events`, which follows files of TensorBoard's. Uses `parsing` and
`columns`.
"""
