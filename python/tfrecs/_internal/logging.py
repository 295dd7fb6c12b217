"""The logger of the package: what happens that nobody asked to be told.

It is called "tfrecs". Nothing is shown by itself: `logging.basicConfig(level=logging.INFO)` shows
what takes long (indices) and what is lost (damage that is skipped), DEBUG each pass and its rates.
"""

import logging

logger = logging.getLogger("tfrecs")
# Without it Python would print warnings where nobody has set up any logging.
logger.addHandler(logging.NullHandler())
