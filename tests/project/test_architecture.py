"""The invariants of ARCHITECTURE.md that a test can hold."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest
from code_lines import code_lines
from needs import ELSEWHERE, IN_CI, MODULES, OPTIONAL, REPO, is_optional, missing
from rust_imports import rust_code

CORE = REPO / "crates" / "core" / "src"
BINDING = REPO / "crates" / "python" / "src"

# The rooms of the package from the bottom up: each may use those before it. `import tfrecs` gathers
# what is before "tfrecs", so only what comes after it may use it.
LAYERS = [
    *("tfrecs._core", "tfrecs.errors", "tfrecs._internal", "tfrecs.storage", "tfrecs.tensors"),
    *("tfrecs.features", "tfrecs.columns", "tfrecs.expressions", "tfrecs.records"),
    *("tfrecs.parsing", "tfrecs.examples", "tfrecs.media", "tfrecs.dataset"),
    *(
        "tfrecs.formats",
        "tfrecs",
        "tfrecs.testing",
        "tfrecs.integrations",
        "tfrecs.tf",
        "tfrecs.cli",
    ),
]
# The rooms of tfrecs.dataset; what lies beside them uses all of them.
DATASET_LAYERS = [
    *("stages", "collate", "plan", "native", "run"),
    *("sources", "transforms", "distributed"),
]
MOST_ENTRIES = 15
# Their files are all of one kind, so that there may be any number of them.
MANY = {"tfrecs", "tfrecs.dataset.transforms"}
# Folders of leaves: one format, library or command a file, and none knows of another ...
LEAF_FOLDERS = {"tfrecs.formats", "tfrecs.integrations", "tfrecs.media", "tfrecs.cli"}
# ... except these, on which the leaves of their folder stand.
LEAF_BASES = {
    "tfrecs.formats.column_types",
    "tfrecs.formats.shards",
    "tfrecs.media.batches",
    "tfrecs.media.gif",
    "tfrecs.media.headers",
    "tfrecs.media.pictures",
    "tfrecs.media.pixels",
    "tfrecs.media.png",
    "tfrecs.media.resizing",
    "tfrecs.media.waiting",
    "tfrecs.cli.app",
    "tfrecs.cli.preview",
    "tfrecs.cli.regions",
    "tfrecs.cli.terminal",
    "tfrecs.cli.usage",
}

MAX_CODE_LINES = 400
MAX_FUNCTION_LINES = 50


ALL_MODULES = sorted(MODULES)


def level(module: str) -> int:
    return LAYERS.index(".".join(module.split(".")[:2]))


def leaf_folder(module: str) -> str | None:
    """The folder whose leaf `module` is."""
    folder = module.rpartition(".")[0]
    return folder if folder in LEAF_FOLDERS and module not in LEAF_BASES else None


def known(name: str) -> str | None:
    """The module of the package that `name` is, or is a name in."""
    while name.split(".", maxsplit=1)[0] == "tfrecs":
        if name in MODULES or name == "tfrecs._core":
            return name
        name = name.rpartition(".")[0]
    return None


def imported_names(module: str) -> set[str]:
    """The dotted names that `module` imports, anywhere in its text."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(
                [*(above if node.level else []), *([node.module] if node.module else [])]
            )
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def imports(module: str) -> set[str]:
    """The modules of the package that `module` imports."""
    found = {known(name) for name in imported_names(module)}
    return {name for name in found if name is not None and name != module}


@pytest.mark.parametrize("module", ALL_MODULES)
def test_imports_go_down_the_levels(module: str) -> None:
    upwards = {other for other in imports(module) if level(other) > level(module)}
    assert not upwards


def dataset_level(module: str) -> int:
    room = module.removeprefix("tfrecs.dataset.").partition(".")[0]
    return DATASET_LAYERS.index(room) if room in DATASET_LAYERS else len(DATASET_LAYERS)


@pytest.mark.parametrize(
    "module", [one for one in ALL_MODULES if one.startswith("tfrecs.dataset.")]
)
def test_imports_go_down_the_rooms_of_a_dataset(module: str) -> None:
    others = {other for other in imports(module) if other.startswith("tfrecs.dataset.")}
    assert not {other for other in others if dataset_level(other) > dataset_level(module)}


@pytest.mark.parametrize("module", ALL_MODULES)
def test_leaves_never_import_each_other(module: str) -> None:
    others = {other for other in imports(module) if leaf_folder(other)}
    if folder := leaf_folder(module):
        assert not {other for other in others if leaf_folder(other) == folder}
        assert folder not in imports(module), "the folder's __init__ gathers the leaves"
    if module in LEAF_BASES:
        assert not others


def test_every_room_is_in_a_layer() -> None:
    rooms = {".".join(module.split(".")[:2]) for module in ALL_MODULES}
    assert rooms | {"tfrecs._core"} == set(LAYERS)


PACKAGES = sorted(name for name in ALL_MODULES if MODULES[name].name == "__init__.py")


@pytest.mark.parametrize("package", sorted(set(PACKAGES) - MANY))
def test_a_room_is_not_too_full(package: str) -> None:
    entries = {path.name for path in MODULES[package].parent.iterdir()} - {"__pycache__"}
    assert len(entries) <= MOST_ENTRIES


@pytest.mark.parametrize("package", PACKAGES)
def test_a_room_says_what_it_is_for(package: str) -> None:
    assert ast.get_docstring(ast.parse(MODULES[package].read_text()))


def test_imports_have_no_cycle() -> None:
    graph = {module: imports(module) for module in ALL_MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@pytest.mark.parametrize("module", sorted(set(ALL_MODULES) - ELSEWHERE))
def test_every_module_imports(module: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not is_optional(error.name or ""):
            raise
        missing(f"{error.name}, for {module},")


@pytest.mark.skipif(not IN_CI, reason="only CI must have everything")
@pytest.mark.parametrize("library", OPTIONAL)
def test_ci_has_every_optional_library(library: str) -> None:
    importlib.import_module(library)


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in a fresh interpreter after `statement`."""
    script = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_import_loads_numpy_and_nothing_optional() -> None:
    extra = loaded_by("import tfrecs") - loaded_by("import numpy") - sys.stdlib_module_names
    assert extra == {"tfrecs"}


def public() -> ModuleType:
    return importlib.import_module("tfrecs")


def test_public_names_are_sorted_and_listed_once() -> None:
    names = [name for name in public().__all__ if not name.startswith("_")]
    assert names == sorted(set(names))


def test_every_public_name_is_listed() -> None:
    here = {
        name
        for name, value in vars(public()).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("tfrecs")
    }
    assert here <= set(public().__all__)
    assert set(public().__all__) <= set(dir(public()))


def documented_in(name: str) -> str:
    """The docstring that shows how `name` is used."""
    return inspect.getdoc(getattr(public(), name)) or ""


PUBLIC_NAMES = [name for name in public().__all__ if not name.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_every_public_name_has_an_example(name: str) -> None:
    try:
        text = documented_in(name)
    except ModuleNotFoundError as error:
        missing(str(error.name))
    assert text.strip(), f"tfrecs.{name} has no docstring"
    assert ">>>" in text, f"tfrecs.{name} shows no example"


def test_the_map_names_every_room_of_the_core() -> None:
    text = (REPO / "ARCHITECTURE.md").read_text()
    tree = text.partition("## The tree")[2].partition("\n## ")[0]
    rooms = {path.parent.name for path in CORE.rglob("mod.rs")}
    assert not {name for name in rooms if not re.search(rf"(?<!\w){name}/", tree)}


def test_the_map_names_every_room_of_the_package() -> None:
    text = (REPO / "ARCHITECTURE.md").read_text()
    tree = text.partition("## The tree")[2].partition("\n## ")[0]
    rooms = {package.rpartition(".")[2] for package in PACKAGES}
    assert not {name for name in rooms if not re.search(rf"(?<!\w){name}/", tree)}


DECISIONS = REPO / "docs" / "decisions"
MAPS = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    *(f"docs/decisions/{page.name}" for page in DECISIONS.iterdir()),
]


@pytest.mark.parametrize("page", MAPS)
def test_files_that_a_map_names_exist(page: str) -> None:
    named = set(re.findall(r"`([\w./]+\.(?:rs|py|pyi|md|toml))`", (REPO / page).read_text()))
    files = [
        *source_files(),
        *REPO.glob("*.*"),
        *REPO.glob("fuzz/*"),
        *(REPO / "docs").rglob("*.md"),
    ]
    there = [f"/{path.relative_to(REPO)}" for path in files]
    assert not {name for name in named if not any(path.endswith(f"/{name}") for path in there)}


def test_each_decision_is_listed() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (DECISIONS / "README.md").read_text()))
    assert listed == {page.name for page in DECISIONS.iterdir()} - {"README.md"}


# --- Rust ---


def rust_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.rs"))


def offenders(files: list[Path], pattern: str) -> dict[str, list[str]]:
    """What in `files` matches `pattern`, by file."""
    found = {str(path.relative_to(REPO)): re.findall(pattern, rust_code(path)) for path in files}
    return {path: matches for path, matches in found.items() if matches}


def test_rust_is_where_these_tests_look() -> None:
    assert rust_files(CORE / "record")
    assert rust_files(CORE / "example")
    assert rust_files(BINDING)


def test_rust_code_is_found(tmp_path: Path) -> None:
    text = r"""
        use a; // not
        const Q: &[char] = &['"', '\'', '\u{1}']; fn b<'x>(_: &'x str) { c("no\"t", r#"no"t"#) }
        /* not
           */
        #[cfg(test)]
        use d;
        #[cfg(test)]
        #[allow(clippy::panic)] // not
        mod tests { not(); }
    """
    (tmp_path / "lib.rs").write_text(text)
    words = re.findall(r"\b(?:[abcd]|not?)\b", rust_code(tmp_path / "lib.rs"))
    assert words == ["a", "b", "c", "d"]


def test_core_knows_no_python() -> None:
    manifest = tomllib.loads((CORE.parent / "Cargo.toml").read_text())
    dependencies = {
        name
        for section in ("dependencies", "dev-dependencies", "build-dependencies")
        for name in manifest.get(section, {})
    }
    assert not {name for name in dependencies if "py" in name.split("-")[0]}
    assert not offenders(rust_files(CORE), r"\bpyo3\b")


def names_module(name: str) -> str:
    """A pattern for a path through the module `name`, or a `use` of it."""
    return rf"\b{name}\s*::|\buse\s+[^;]*\b{name}\b"


def test_record_never_parses_a_payload() -> None:
    assert not offenders(rust_files(CORE / "record"), names_module("example"))


def test_example_never_opens_a_file() -> None:
    files = rust_files(CORE / "example")
    assert not offenders(files, names_module("record"))
    assert not offenders(files, r"\bstd\s*::\s*(?:fs|net)\b|\bFile\s*::|\bstd\s*::\s*path\b")


def test_only_one_file_starts_threads() -> None:
    files = [path for path in rust_files(CORE) if path != CORE / "runtime" / "ordered_workers.rs"]
    threads = (
        r"\bstd\s*::\s*thread\b|\bthread\s*::\s*(?:spawn|scope|Builder)|\brayon\b|\bcrossbeam\w*"
    )
    assert not offenders(files + rust_files(BINDING), threads)


def test_only_one_file_makes_exceptions() -> None:
    files = [path for path in rust_files(BINDING) if path != BINDING / "error.rs"]
    makes = r"\bPyErr\s*::\s*(?:new|from_\w+)|\bPy\w+\s*::\s*new_err\b|\bcreate_exception\s*!"
    assert not offenders(files, makes)


# --- Names ---


def type_names(path: Path) -> set[str]:
    """The types that a module declares for itself, and not within others."""
    kinds = (
        r"(?:pub(?:\([\w ]+\))? )?(?:struct|enum|trait|type|union)"
        if path.suffix == ".rs"
        else "class"
    )
    return set(re.findall(rf"^{kinds} (\w+)", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize("suffix", ["py", "rs"])
def test_no_type_name_means_three_things(suffix: str) -> None:
    modules = [
        path
        for path in source_files()
        if path.suffix == f".{suffix}"
        and path.relative_to(REPO).parts[0] in {"python", "crates"}
        and not {"tests", "tests.rs"} & set(path.parts)
    ]
    names = Counter(name for path in modules for name in type_names(path))
    assert len(names) > 200
    assert {name: count for name, count in names.items() if count > 2} == {}


# --- Sizes ---

# Some 7 MB when stripped; a static array that is not all zeros once added 16.
MOST_NATIVE_BYTES = 12_000_000


def test_the_native_module_is_small() -> None:
    (native,) = (REPO / "python" / "tfrecs").glob("_core.*.so")
    assert native.stat().st_size < MOST_NATIVE_BYTES


def source_files() -> list[Path]:
    folders = ["python", "crates", "tests", "bench", "examples"]
    return sorted(
        path
        for folder in folders
        for suffix in ("py", "pyi", "rs")
        for path in (REPO / folder).rglob(f"*.{suffix}")
    )


def test_no_file_is_too_long() -> None:
    lines = {str(path.relative_to(REPO)): code_lines(path) for path in source_files()}
    assert not {path: count for path, count in lines.items() if count > MAX_CODE_LINES}


def function_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines the body has, without its docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_no_python_function_is_too_long() -> None:
    sizes = {
        f"{path.relative_to(REPO)}:{node.lineno} {node.name}": function_lines(node)
        for path in source_files()
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert not {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES}


def test_build_requirements_are_listed_alike() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())
    assert project["build-system"]["requires"] == project["dependency-groups"]["build"]
