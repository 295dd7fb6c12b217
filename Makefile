# The only verbs of this project. A fresh machine needs Python >= 3.11 with venv, cargo and a C compiler;
# everything else is installed into .venv (and .venv-oracle and its like), once: a stamp file beside each
# installation says what is done, so that a second run starts at once and works offline.

VENV     := .venv
PY       := $(VENV)/bin/python
NATIVE   := python/tfrecs/_core.abi3.so
PYTHON   ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Not the extra `all`: maturin does not see that it means this very package, and asks the registry for it.
EXTRAS   := audio,bfloat16,cli,images,progress,protobuf,scipy
CASES    ?= 100000
JOBS     ?= 1
# Each takes an environment of its own; tensorflow 1.3 GB, dali 1.1 GB, torch 0.7 GB or, where its build for CUDA
# comes, 7, the others 0.05 to 0.3 GB.
PEERS    ?= tensorflow vahidk torch tfxbsl arrayrecord dali
# The parts of `make integrations`: libraries, which is quick and in .ci/run, and trainers.
PARTS    ?= libraries
TARGET   ?= $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
SECONDS  ?= 60
SCALE    ?= 1
MINUTES  ?= 30
# Of `make mutants`: how many of each language, and which.
COUNT    ?= 20
CODE     ?= all
# The unsafe code that Miri can run: no C library, no system call, no vectors.
MIRI     ?= memory:: 
ifndef SEED
SEED     := $(shell date +%s)
endif

RUST_SRC := $(shell find Cargo.toml Cargo.lock crates -name '*.rs' -o -name 'Cargo.*')
PY_SRC   := $(shell find python/tfrecs -name '*.py' -o -name '*.pyi' -o -name py.typed)

# One interpreter for every build, or cargo rebuilds the binding whenever another one is first on the path.
export PYO3_PYTHON := $(CURDIR)/$(PY)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH

PIP     = -m pip install
MATURIN = VIRTUAL_ENV=$(CURDIR)/$(VENV) $(PY) -m maturin

# --- What a machine must bring: one line that says what is missing and what to do --------------------------

RUST_MIN    := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
cargo-state  = $(shell cargo --version 2>/dev/null | awk -v want=$(RUST_MIN) '{ split($$2, have, "."); \
	split(want, min, "."); print (have[1] > min[1] || have[2] + 0 >= min[2] + 0) ? "ok" : "old" }')
cc-path      = $(shell command -v $(firstword $(CC)) 2>/dev/null)
venv-state   = $(shell $(PYTHON) -c 'import ensurepip, venv; print("ok")' 2>/dev/null)

need-python  = $(if $(PYTHON),,$(error Python 3.11 or newer is missing: install it, or name it: make PYTHON=/path/to/python3))\
	$(if $(venv-state),,$(error $(PYTHON) cannot make virtual environments: install its venv module (Debian, Ubuntu: apt install python3-venv)))
need-cargo   = $(if $(filter ok,$(cargo-state)),,$(if $(filter old,$(cargo-state)),\
	$(error cargo is older than $(RUST_MIN): run `rustup update stable`),\
	$(error cargo (Rust $(RUST_MIN) or newer) is missing: install it from https://rustup.rs and open a new shell)))
need-cc      = $(if $(cc-path),,$(error a C compiler ($(CC)) is missing: install one (Debian, Ubuntu: apt install build-essential; macOS: xcode-select --install)))
need-all     = $(need-python)$(need-cargo)$(need-cc)

# --- Verbs --------------------------------------------------------------------------------------------------

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test setup build fmt lint types docs bench fuzz oracle torture mutants soak miri integrations clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build $(VENV)/.demo ## set up, then the main job: real digits to TFRecords to a trained classifier
	@$(PY) examples/digits_demo.py

test: ## set up, then every test of the Rust core and of the Python package
	@$(MAKE) --no-print-directory --jobs=2 $(WHOLE_LINES) $(TEST_PARTS)
	$(PY) -m pytest --ignore=tests/oracle --ignore=tests/integrations --ignore=tests/trainers --numprocesses=2 --dist=worksteal

setup: build $(VENV)/.demo $(VENV)/.test $(VENV)/.lint ## install all that demo, test, lint, types and docs need

build: $(NATIVE) ## build the native module and install the package, editable, into .venv

fmt: $(VENV)/.lint ## format and fix what can be fixed
	$(need-cargo)cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(PY) -m ruff check --quiet --fix
	$(PY) -m ruff format --quiet

lint: $(VENV)/.lint ## rustfmt, clippy and ruff; warnings are errors
	$(need-cargo)cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --quiet --locked --workspace --all-targets -- --deny warnings
	cargo clippy --quiet --locked --manifest-path fuzz/Cargo.toml --target-dir target -- --deny warnings
	$(PY) -m ruff check --quiet
	$(PY) -m ruff format --quiet --check

types: build $(VENV)/.lint $(VENV)/.test ## mypy --strict, and the stub of _core against the built module
	$(PY) -m mypy
	$(PY) -m mypy.stubtest tfrecs._core

docs: build $(VENV)/.test ## run the code blocks of README.md, docs/ and the docstrings; build the Rust docs
	$(PY) -m pytest --quiet tests/project/test_docs.py
	RUSTDOCFLAGS='--deny warnings' cargo doc --quiet --locked --no-deps --package tfrecs-core

oracle: .venv-oracle/.done ## compare with TensorFlow itself on random cases (CASES= how many, SEED= to repeat a run, JOBS= processes)
	@echo "oracle: CASES=$(CASES) SEED=$(SEED)"
	CASES=$(CASES) SEED=$(SEED) JOBS=$(JOBS) TF_CPP_MIN_LOG_LEVEL=3 .venv-oracle/bin/python -m pytest \
		-W default --hypothesis-seed=$(SEED) tests/oracle

torture: $(VENV)/.test build ## every way to hurt a file, at length: a table (ITEMS= which, SCALE= of the cases, SEED=, JOBS=)
	$(need-cargo)@$(PY) tests/torture/table.py $(ITEMS) --scale $(SCALE) --seed $(SEED) --jobs $(JOBS)

mutants: $(VENV)/.test build ## change the source in one place at a time: does a test fail? (SEED=, COUNT= each, CODE=python or rust, JOBS=)
	$(need-cargo)@$(PY) tests/mutants/run.py --code $(CODE) --seed $(SEED) --count $(COUNT) --jobs $(JOBS)

soak: $(VENV)/.test build ## the seeded tests with new random seeds, which it prints, for MINUTES=
	$(need-cargo)@$(PY) tests/soak.py $(MINUTES)

miri: ## unsafe code in an interpreter that knows what is undefined; needs a nightly compiler with miri
	$(if $(shell cargo +nightly miri --version 2>/dev/null),,$(error miri is missing: rustup +nightly component add miri rust-src))\
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 CARGO_TARGET_DIR=build/miri \
		cargo +nightly miri test --quiet --locked --package tfrecs-core --lib -- $(MIRI)

integrations: $(PARTS:%=integrations-%) ## test what needs libraries too large for .venv: PyTorch, JAX, Keras (PARTS=trainers: Lightning, Accelerate, transformers)

.PHONY: $(PARTS:%=integrations-%)
integrations-libraries: .venv-integrations/.done
	.venv-integrations/bin/python -m pytest tests/integrations

integrations-trainers: .venv-trainers/.done
	.venv-trainers/bin/python -m pytest tests/trainers

bench: .venv-bench/.done $(PEERS:%=bench-peer-%) ## tfrecs beside its peers (ARGS= for bench/run.py: --help; PEERS= which to install)
	@.venv-bench/bin/python bench/run.py $(ARGS)

fuzz: $(TARGET:%=fuzz-%) ## any bytes into the decoders, beside prost (TARGET= which, SECONDS= each, KEEP=1: more seeds)

clean: ## remove all that make made
	rm -rf $(VENV) .venv-oracle .venv-integrations .venv-trainers .venv-bench .venv-bench-* target build fuzz/artifacts $(NATIVE)
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find python tests bench examples -name __pycache__ -prune -exec rm -rf {} +

# --- The parts of `make test` --------------------------------------------------------------------------------

# A fresh machine compiles twice: the native module (target/release) and the tests of the core (target/debug).
# Neither waits for the other. First what needs Python: what a machine lacks is said before anything is compiled.
TEST_PARTS := test-setup test-core

.PHONY: $(TEST_PARTS)
test-setup: build
	@$(MAKE) --silent $(VENV)/.test # behind the build, not beside it: both install into .venv

test-core:
	$(need-cargo)$(need-cc)cargo test --locked --package tfrecs-core -- --quiet

# Whole lines, where make knows how to (that of macOS does not).
WHOLE_LINES := $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)

# --- Fuzzing (fuzz/README.md) -------------------------------------------------------------------------------

CARGO_FUZZ  := build/cargo-tools/bin/cargo-fuzz
# Sanitizers need a nightly compiler. The little unsafe code there is (lanes.rs) takes whole arrays, and is tested exhaustively.
FUZZ        := $(CARGO_FUZZ) run --sanitizer none --target-dir build/fuzz/target
# Larger inputs are rarely more than repetitions; one input takes some hundred microseconds.
FUZZ_LIMITS := -max_len=2048 -timeout=10 -print_final_stats=1

.PHONY: $(TARGET:%=fuzz-%)
$(TARGET:%=fuzz-%): fuzz-%: build $(CARGO_FUZZ)
	$(PY) fuzz/corpus.py unpack $* build/fuzz/$*
	$(FUZZ) $* build/fuzz/$* -- $(FUZZ_LIMITS) -max_total_time=$(SECONDS)
	$(if $(KEEP),rm -rf build/fuzz/$*.kept && mkdir build/fuzz/$*.kept)
	$(if $(KEEP),$(FUZZ) $* build/fuzz/$*.kept build/fuzz/$* -- -merge=1 -max_len=96)
	$(if $(KEEP),$(FUZZ) $* build/fuzz/$*.kept build/fuzz/$* -- -merge=1 -use_counters=0)
	$(if $(KEEP),$(PY) fuzz/corpus.py pack $* build/fuzz/$*.kept)

$(CARGO_FUZZ):
	$(need-cargo)@echo "installing cargo-fuzz into build/cargo-tools"
	@cargo install --quiet --locked --root build/cargo-tools --version '^0.13' cargo-fuzz

# --- The peers of `make bench` -------------------------------------------------------------------------------

# tfx-bsl asks for TensorFlow, Beam and Google's clients; its decoder, which is what is measured, does not.
ALONE_tfxbsl := tfx-bsl==1.21.0

# One that cannot be had here is left out, with a line; the next `make bench` tries again.
.PHONY: $(PEERS:%=bench-peer-%)
$(patsubst %,bench-peer-%,$(filter-out torch,$(PEERS))): bench-peer-%: $(VENV)/.made pyproject.toml
	@test .venv-bench-$*/.peer -nt pyproject.toml || { \
		echo "installing the group bench-$* into .venv-bench-$*" && \
		{ test -x .venv-bench-$*/bin/pip || $(PY) -m venv --clear .venv-bench-$*; } && \
		.venv-bench-$*/bin/python $(PIP) 'pip>=25.1' && \
		.venv-bench-$*/bin/python $(PIP) --group bench-$* && \
		$(if $(ALONE_$*),.venv-bench-$*/bin/python $(PIP) --no-deps $(ALONE_$*) &&) \
		touch .venv-bench-$*/.peer; } || echo "bench: leaving out $*, which cannot be installed here"

# What trains with PyTorch is measured beside its own peers, in one environment.
bench-peer-torch:
	@$(MAKE) --no-print-directory .venv-bench-torch/.done && touch .venv-bench-torch/.peer \
		|| echo "bench: leaving out torch, which cannot be installed here"

# --- Stamps -------------------------------------------------------------------------------------------------

$(VENV)/.made:
	$(need-all)@echo "setting up $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PY) $(PIP) 'pip>=25.1'
	@$(PY) $(PIP) --group build
	@touch $@

# A group's stamp: .venv/.test is "the group test of pyproject.toml is installed".
$(VENV)/.demo $(VENV)/.test $(VENV)/.lint: $(VENV)/.%: $(VENV)/.made pyproject.toml
	@echo "installing the group $* into $(VENV)"
	@$(PY) $(PIP) --group $*
	@touch $@

$(NATIVE): $(VENV)/.made pyproject.toml $(RUST_SRC)
	$(need-cargo)$(need-cc)@echo "building the native module"
	@$(MATURIN) develop --release --locked --extras $(EXTRAS)
	@touch $@

# The other environments get the wheel that a user would get.
target/wheels/.built: $(NATIVE) $(PY_SRC) README.md
	@rm -rf target/wheels
	@$(MATURIN) build --quiet --release --locked --out target/wheels
	@touch $@

.venv-%/.made: $(VENV)/.made
	@echo "setting up .venv-$*"
	@$(PY) -m venv --clear .venv-$*
	@.venv-$*/bin/python $(PIP) 'pip>=25.1'
	@touch $@

.venv-%/.done: .venv-%/.made pyproject.toml target/wheels/.built
	@echo "installing the wheel and the group $* into .venv-$*"
	@.venv-$*/bin/python $(PIP) --group $* "$$(ls target/wheels/*.whl)[all]"
	@.venv-$*/bin/python $(PIP) --no-deps --force-reinstall target/wheels/*.whl
	@touch $@

.PRECIOUS: .venv-%/.made
