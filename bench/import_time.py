"""How long `import tfrecs` takes beyond NumPy's own import; fails above ARCHITECTURE.md's limit.

Every figure is a fresh interpreter, in which NumPy is imported before the clock starts.
"""

import statistics
import sys

from options import Options
from processes import last_line
from report import Part

RUNS = 15
LIMIT_MS = 80.0
SCRIPT = """
import time
import numpy
start = time.perf_counter()
import tfrecs
print(time.perf_counter() - start)
"""


def import_ms() -> float:
    """Return the time of importing tfrecs after NumPy in a fresh interpreter, in milliseconds."""
    return float(last_line([sys.executable, "-c", SCRIPT])) * 1000


def part(options: Options) -> Part:
    """Measure, and fail if the median is above the limit; a trial's figure means nothing."""
    print("import tfrecs", file=sys.stderr, flush=True)
    import_ms()  # fills the page cache and __pycache__
    times = [import_ms() for _ in range(RUNS)]
    taken = statistics.median(times)
    line = (
        f"import tfrecs: {taken:.1f} ms beyond NumPy's own import, median of {RUNS} "
        f"({min(times):.1f} to {max(times):.1f}); limit {LIMIT_MS:.0f} ms"
    )
    above = taken > LIMIT_MS and not options.is_trial
    return Part(
        "import",
        [],
        [{"milliseconds": times, "limit": LIMIT_MS}],
        notes=[line],
        failures=[line] * above,
    )
