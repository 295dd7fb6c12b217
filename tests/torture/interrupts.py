"""Ctrl-C at random times while files are written: it is heard at once, and no half file stays.

`run(cases, seed)` returns how often, and what was wrong. `longest` is the most seconds from the
signal to the exception; tests on a busy machine allow more than `make torture` does.
"""

import random
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from torture.heard import fault, interrupt

PRELUDE = """
    import sys, time, tfrecs
    path = sys.argv[1]
    rows = [b"x" * (n % 500) for n in range(20_000)]
    batch = tfrecs.Records(rows)
    def forever():
        while True:
            yield from rows
    def ready():
        print("ready", flush=True)
    try:
"""
# Each continues until it is stopped; `path` must not be there in the end.
WAYS = {
    "write": """
        with tfrecs.RecordWriter(path) as out:
            ready()
            for row in forever(): out.write(row)
    """,
    "batches": """
        with tfrecs.RecordWriter(path) as out:
            ready()
            while out.num_records < 2_000_000: out.write_batch(batch)
            time.sleep(60)
    """,
    "a generator": """
        with tfrecs.RecordWriter(path, "GZIP") as out:
            ready()
            out.write_batch(forever())
    """,
    "members": """
        with tfrecs.RecordWriter(path, "GZIP", level=9, num_threads=2) as out:
            ready()
            while True: out.write_batch(batch)
    """,
    "one stream": """
        with tfrecs.RecordWriter(path, "GZIP", compression_level=9) as out:
            ready()
            while True: out.write_batch(batch)
    """,
    "zlib, flushed": """
        with tfrecs.RecordWriter(path, "ZLIB") as out:
            ready()
            for row in forever():
                out.write(row)
                out.flush()
    """,
    "shards": """
        name = path + "{shard}"
        with tfrecs.ShardedWriter(name, max_records=500, manifest=True, sync=False) as out:
            ready()
            for row in forever(): out.write(row)
    """,
    "many shards": """
        with tfrecs.ShardedWriter(path + "{shard}", num_shards=20, compression_type="GZIP") as out:
            ready()
            out.write_batch(forever())
    """,
}
EPILOGUE = """
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
    else:
        print("it ended by itself", flush=True)
"""


def one_case(folder: Path, rng: random.Random, longest: float) -> str | None:
    """What is wrong, or None."""
    way = rng.choice(list(WAYS))
    body = textwrap.indent(textwrap.dedent(WAYS[way]), "        ")
    script = textwrap.dedent(PRELUDE + body + EPILOGUE)
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(folder / "file")], stdout=subprocess.PIPE, text=True
    )
    sent, said = interrupt(child, rng)
    if left := sorted(path.name for path in folder.iterdir()):
        return f"{way}: {left[:3]} is left"
    return fault(way, sent, said, longest)


def run(cases: int, seed: int, longest: float = 0.2) -> tuple[int, list[str]]:
    """Interrupt that many writers; what was wrong."""
    failures = []
    for case in range(cases):
        number = seed * 1_000_003 + case
        with tempfile.TemporaryDirectory() as folder:
            wrong = one_case(Path(folder), random.Random(number), longest)
        if wrong is not None:
            failures.append(f"case {number}: {wrong}")
    return cases, failures
