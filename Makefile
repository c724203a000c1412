# make demo   see it work, in less than 10 seconds
# make serve  the dashboard of what make demo collected
# make test   every test, in 4 to 6 minutes on two cores
# make check  lint, format, types, import rules, spelling, links, prose
# make docs   the documentation site; make docs-serve shows it
# make dist   the packages of a release, checked and tried
# make versions   every test on every supported Python that is installed
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SERVING := $(VENV)/.serving
DEMO := build/demo/privtally.db
SITE := build/docs
PORT := 8008
DIST := build/dist
VERSIONS := 3.11 3.12 3.13 3.14
TESTS := tests
# Packages must be the files that requirements.lock has hashes of. HASHES=no asks for their versions only: for platforms
# that need a package which is not in the lock.
HASHES := yes
PINS := build/constraints.txt

.PHONY: demo serve test check docs docs-serve format lock dist versions licences bench reliability reproduction accuracy pictures clean

demo: $(SERVING)
	@echo "Running the demo: less than 10 seconds."
	@mkdir -p $(dir $(DEMO))
	$(BIN)/privtally demo --store sqlite:///$(DEMO)
	@echo "Now 'make serve' shows the dashboard of what just happened."

serve: $(SERVING)
	@mkdir -p $(dir $(DEMO))
	$(BIN)/privtally serve --store sqlite:///$(DEMO) --new-token

# A file's tests stay with one worker, which makes what they share once. What Python compiles is kept for the programs that
# tests start.
test: $(READY)
	@echo "Running every test: 4 to 6 minutes on two cores."
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder -q

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.house
	$(BIN)/typos
	$(BIN)/python -m tools.links
	$(BIN)/python -m tools.prose

# Every warning is an error: a link that leads nowhere, a page in no list, a name that does not exist. Needs no network.
docs: $(READY)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky --fresh-env --doctree-dir build/doctrees docs $(SITE)
	@echo "The site is in $(SITE); 'make docs-serve' shows it."

docs-serve: docs
	@echo "http://127.0.0.1:$(PORT)/ until you interrupt it"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Wheel and sdist, what is in them, and the main job from a bare install as a user gets it: no extras, no source tree.
dist: $(READY) $(PINS)
	rm -rf $(DIST) build/bare
	$(BIN)/python -m build --no-isolation --outdir $(DIST)
	$(BIN)/twine check --strict $(DIST)/*
	$(BIN)/python -m tools.distribution $(DIST)
	$(PYTHON) -m venv build/bare
	build/bare/bin/pip install --quiet --constraint $(PINS) $(DIST)/*.whl
	build/bare/bin/privtally --version
	$(BIN)/python -m tools.bare build/bare/bin
	@echo "The packages are in $(DIST)."

# Every test on every supported Python that is installed, in an environment for each; says which were not found.
versions: $(PINS)
	@for version in $(VERSIONS); do \
	    if ! "python$$version" -c '' 2> /dev/null; then echo "python$$version: not found"; continue; fi; \
	    "python$$version" -m venv "build/python$$version" && \
	    "build/python$$version/bin/pip" install --quiet --constraint $(PINS) --editable '.[dev]' && \
	    echo "python$$version:" && "build/python$$version/bin/pytest" -n auto --dist loadfile --no-loadscope-reorder -q $(TESTS) || exit 1; \
	done

licences: $(READY)
	$(BIN)/python -m tools.licences

bench: $(READY)
	$(BIN)/python -m benchmarks.core
	$(BIN)/python -m benchmarks.bulk
	$(BIN)/python -m benchmarks.large
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.store

# Kills, power cuts and races in full, of which `make test` does a little, the load, and a million reports.
reliability: $(READY)
	PRIVTALLY_RELIABILITY=1 $(BIN)/pytest -q -rP tests/store tests/service
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.hostile
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.soak postgresql

# Needs the UCI files in PRIVTALLY_DATA_DIR.
reproduction: $(READY)
	$(BIN)/python -m benchmarks.reproduction

lock: $(READY)
	$(BIN)/python -m tools.lock

# The versions of the lock alone: pip takes no constraints with hashes where something has none, as privtally itself.
$(PINS): requirements.lock
	@mkdir -p $(dir $@)
	sed -n 's/^\([^# ]*==[^ ]*\).*/\1/p' requirements.lock > $@

# The service needs the first part of the lock, the tests need all; both live in one environment.
$(SERVING): EXTRA := serve
$(SERVING): PART := sed '/^\# What the tests/,$$d' requirements.lock
$(READY): EXTRA := dev
$(READY): PART := cat requirements.lock
$(SERVING) $(READY): pyproject.toml requirements.lock | $(PINS)
	@echo "Installing into $(VENV), once; how long it takes depends on the network."
	$(PYTHON) -c 'import sys; sys.exit("privtally needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
ifeq ($(HASHES),no)
	@echo "HASHES=no: packages are not compared with the hashes of requirements.lock."
	$(BIN)/pip install --quiet --constraint $(PINS) --editable '.[$(EXTRA)]'
else
	$(PART) | $(BIN)/pip install --quiet --require-hashes --requirement /dev/stdin || \
	    { echo "If your platform needs a package that requirements.lock does not have, say: make HASHES=no"; exit 1; }
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/pip check
endif
	touch $@

clean:
	rm -rf $(VENV) build

# On simulated people; with TABLES=DIR on the tables of a directory too.
accuracy: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.accuracy --notes docs/notes $(if $(TABLES),--tables $(TABLES))
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.coverage

# Every picture of the documentation that a program makes; those of the pages need chromium. A seed is for simulated people only.
pictures: $(READY)
	$(BIN)/privtally demo --seed 1 --plot docs/images/demo.png
	$(BIN)/python -m tools.pictures docs/images
	$(BIN)/python -m tests.service.pages.pictures docs/images
