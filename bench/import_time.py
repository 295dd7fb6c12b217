"""How long `import tfrecs` takes beyond NumPy's own import; fails above ARCHITECTURE.md's limit.

Every figure is a fresh interpreter, in which NumPy is imported before the clock starts.
"""

import statistics
import subprocess
import sys

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
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout) * 1000


def main() -> int:
    """Print the figures, and return 1 if their median is above the limit."""
    import_ms()  # fills the page cache and __pycache__
    times = [import_ms() for _ in range(RUNS)]
    taken = statistics.median(times)
    print(
        f"import tfrecs: {taken:.1f} ms beyond NumPy's own import, median of {RUNS} "
        f"({min(times):.1f} to {max(times):.1f}); limit {LIMIT_MS:.0f} ms"
    )
    return int(taken > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
