"""The command `tfrecs`: one module a command, on app.py, terminal.py and preview.py.

It needs the extra `cli`; importing this package does not.
"""

import sys
from importlib import import_module

COMMANDS = ["count", "head", "index", "verify", "repair", "convert"]
EXTRA = {"typer", "click", "rich"}


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    try:
        for name in COMMANDS:
            import_module(f"tfrecs.cli.{name}")
        run = import_module("tfrecs.cli.app").run
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRA:
            raise
        sys.exit(f'tfrecs: the command needs {library}: pip install "tfrecs[cli]"')
    except KeyboardInterrupt:
        sys.exit(130)
    run()
