"""A mistake in the core: an exception in Python, after which all continues.

`run(cases, seed)` lets readers panic `cases` times, on several threads at once too.
"""

import frames

from torture.child import in_child
from torture.drained import folder

WORK = """
import threading
path = arguments["path"]
result = []
PanicException = None
def attempt(reader, number):
    global PanicException
    try:
        reader._panic()
    except Exception:
        result.append("a panic is no Exception: nobody should catch it by accident")
    except BaseException as error:
        PanicException = type(error)
        if str(error) != f"on purpose, at record {number}":
            result.append(repr(error))
    else:
        result.append("no panic")
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # each panic says so
for case in range(arguments["cases"]):
    reader = tfrecs._core.Reader(path, "auto", True)
    if case % 2:
        attempt(reader, 0)
    assert next(reader) == b"one"
    threads = [threading.Thread(target=attempt, args=(reader, 1)) for _ in range(case % 3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    attempt(reader, 1)
    if list(reader) != [b"two", b"three"]:
        result.append("the reader is poisoned")
    reader.close()
if PanicException.__module__ != "pyo3_runtime":
    result.append(f"{PanicException}")
"""


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Panic that many times; what was wrong."""
    del seed
    with folder() as here:
        path = str(frames.save(here / "a", frames.plain([b"one", b"two", b"three"])))
        try:
            _, failures = in_child(WORK, path=path, small=path, cases=cases)
        except AssertionError as error:
            failures = [str(error)]
    return cases, failures
