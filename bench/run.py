"""tfrecs beside its peers, and beside what the machine allows: `python bench/run.py --help`.

Every measurement is a process of its own, on a file that was read just before. What goes wrong in
one place is told at the end, and does not stop the rest; the exit status is 1 then.
"""

import sys
from collections.abc import Callable

import damaged
import forged
import growth
import import_time
import media
import memory
import pipeline
import report
import resume
import start
import table
import threads
import training
from options import Options, options
from report import Part

PARTS: dict[str, Callable[[Options], Part]] = {
    "table": table.part,
    "start": start.part,
    "memory": memory.part,
    "growth": growth.part,
    "media": media.part,
    "forged": forged.part,
    "damaged": damaged.part,
    "pipeline": pipeline.part,
    "training": training.part,
    "resume": resume.part,
    "import": import_time.part,
    "threads": threads.part,
}
FORMS = {"text": report.text, "markdown": report.markdown, "json": report.as_json}


def main() -> int:
    """Measure, print what was found, and return 1 if something went wrong."""
    asked = options()
    parts = [measure(asked) for name, measure in PARTS.items() if name in asked.parts]
    print(FORMS[asked.form](parts, asked.how))
    failed = sum(len(part.failures) for part in parts)
    if failed:
        print(f"{failed} measurements went wrong", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
