"""Without an optional library, whatever needs it says which extra to install."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from needs import MODULES, OPTIONAL, REPO

import tfrecs
from tfrecs._internal.optional import EXTRAS, NO_EXTRA, load

# For each library, calls that need it.
CALLS = {
    "PIL": [
        "tfrecs.decode_image(b'')",
        "tfrecs.encode_image([[[0]]], 'png')",
        "tfrecs.Dataset([b'a']).decode_images(None)",
        "tfrecs.convert_images",
        "tfrecs.tf.io.decode_jpeg(b'')",
    ],
    "datasets": [
        "tfrecs.Dataset([b'a']).to_hf()",
        "tfrecs.Dataset.from_hf(None)",
    ],
    "google": ["tfrecs.Example", "tfrecs.decode_proto", "tfrecs.tf.train.Example"],
    "jax": ["tfrecs.Dataset([b'a']).to_jax()"],
    "keras": ["tfrecs.Dataset([b'a']).to_keras()"],
    "ml_dtypes": [
        "tfrecs.parse_example([b''], {'a': tfrecs.FixedLenFeature([], 'bfloat16', 0)})",
    ],
    "pandas": ["tfrecs.decode_batch([]).to_pandas()"],
    "polars": ["tfrecs.decode_batch([]).to_polars()"],
    "pyarrow": ["tfrecs.decode_batch([]).to_arrow()"],
    "scipy": ["tfrecs.SparseTensor(np.zeros((0, 2), int), np.zeros(0), [1, 1]).to_scipy()"],
    "soundfile": ["tfrecs.decode_audio(b'')"],
    "tensorflow": ["tfrecs.Dataset([b'a']).to_tf()"],
    "torch": [
        "tfrecs.Dataset([b'a']).to_torch()",
        "tfrecs.Dataset([b'a']).to_torch_loader()",
    ],
}
# The command says it on its own, a bar is drawn without tqdm, and images are decoded without
# simplejpeg, but for one option (tests/media/test_images.py).
ELSEWHERE = {"rich", "typer", "tqdm", "simplejpeg"}

# The modules of ours that cannot be imported without a library, for those who import them by name.
LEAVES = {
    "PIL": ["media.images", "formats.images"],
    "datasets": ["integrations.huggingface"],
    "google": ["examples.messages", "examples.protos"],
    "jax": ["integrations.jax"],
    "keras": ["integrations.keras"],
    "ml_dtypes": ["integrations.ml_dtypes"],
    "pandas": ["integrations.pandas"],
    "polars": ["integrations.polars"],
    "pyarrow": ["integrations.pyarrow"],
    "scipy": ["integrations.scipy"],
    "soundfile": ["media.audio"],
    "tensorflow": ["integrations.tensorflow"],
    "torch": ["integrations.torch"],
}

SCRIPT = """
import importlib, sys
sys.modules[{library!r}] = None
import numpy as np
import tfrecs
for call in {calls!r}:
    try:
        eval(call)
    except tfrecs.MissingLibraryError as error:
        print(error.name, "|", error)
    else:
        print("nothing was raised by", call)
"""


def test_every_library_is_walked() -> None:
    assert set(LEAVES) == set(CALLS)
    assert set(CALLS) | ELSEWHERE == set(EXTRAS) | set(NO_EXTRA)
    optional = {name.split(".")[0] for name in OPTIONAL} - {"duckdb", "hypothesis", "sklearn"}
    assert optional <= set(EXTRAS)


def test_extras_are_there() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    assert {extra for _, extra in EXTRAS.values()} <= set(project["optional-dependencies"])


@pytest.mark.parametrize("library", CALLS)
def test_a_missing_library_names_its_extra(library: str, tmp_path: Path) -> None:
    imports = [f"importlib.import_module('tfrecs.{leaf}')" for leaf in LEAVES[library]]
    calls = CALLS[library] + imports
    script = SCRIPT.format(library=library, calls=calls)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(calls)
    how = library if library in NO_EXTRA else f'"tfrecs[{EXTRAS[library][1]}]"'
    for line in lines:
        assert line.startswith(f"{library} | "), line
        assert f"pip install {how}" in line


def test_the_error_is_one_of_ours_and_an_import_error() -> None:
    error = tfrecs.MissingLibraryError("what to do", name="PIL")
    assert isinstance(error, tfrecs.Error)
    assert isinstance(error, ModuleNotFoundError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.name) == ("what to do", "PIL")


def inner_nodes(tree: ast.AST) -> set[int]:
    """What runs only later, or never: functions, and what is for type checkers."""
    later = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, later)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for inner in ast.walk(node)
    }


def statically_imported(path: Path) -> set[str]:
    """The modules that are imported when a module is."""
    names: set[str] = set()
    tree = ast.parse(path.read_text())
    guarded = inner_nodes(tree)
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_only_leaves_need_optional_libraries() -> None:
    """What imports such a library, by whatever way, is never imported by `import tfrecs`."""
    imports = {name: statically_imported(path) for name, path in MODULES.items()}
    libraries = set(EXTRAS) | set(NO_EXTRA)
    leaves = {
        name for name, found in imports.items() if {one.split(".")[0] for one in found} & libraries
    }
    while more := {name for name, found in imports.items() if found & leaves} - leaves:
        leaves |= more
    rooms = tuple(f"tfrecs.{room}." for room in ("integrations", "media", "cli", "formats"))
    others = {"tfrecs.examples.messages", "tfrecs.examples.protos"}
    assert {name for name in leaves if not name.startswith(rooms)} <= others


def test_public_names_alone_are_listed() -> None:
    listed = {name for name in dir(tfrecs) if not name.startswith("_")}
    assert listed == {*tfrecs.__all__, "errors", "formats", "testing", "tf"}


@pytest.mark.parametrize("module", ["errors", "formats", "testing", "tf"])
def test_public_modules_need_no_import_of_their_own(module: str) -> None:
    script = f"import tfrecs; print(tfrecs.{module}.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"tfrecs.{module}\n"


@pytest.mark.parametrize("library", [*EXTRAS, *NO_EXTRA])
def test_a_module_that_says_nothing_itself(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the library and what to install, whichever library it is."""
    (tmp_path / f"needs_{library}.py").write_text(f"import {library}.part")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(tfrecs.MissingLibraryError) as caught:
        load(f"needs_{library}")
    name, extra = EXTRAS.get(library, ("TensorFlow", ""))
    package = f'"tfrecs[{extra}]"' if extra else library
    assert (str(caught.value), caught.value.name) == (
        f"this needs {name}: pip install {package}",
        library,
    )
