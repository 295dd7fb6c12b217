"""TensorFlow's parsing contract without TensorFlow: `tf.io.parse_example` and its like.

`plan` says which columns the features need and checks them; the native decoder decodes those; and
`assembly` (with `ragged`, `partitions` and `misfits`) makes of them what the features promise.
"""

from tfrecs.parsing.examples import Parsed, parse_example, parse_single_example
from tfrecs.parsing.sequence_examples import parse_sequence_example, parse_single_sequence_example
from tfrecs.parsing.serialized import Serialized, source_of

__all__ = [
    "Parsed",
    "Serialized",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "source_of",
]
