# make demo   see it work
# make serve  the dashboard of what make demo collected
# make test   every test
# make check  lint, format, types, import rules
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SERVING := $(VENV)/.serving
DEMO := build/demo/privtally.db

.PHONY: demo serve test check format lock smoke bench reliability reproduction accuracy pictures clean

demo: $(SERVING)
	@mkdir -p $(dir $(DEMO))
	$(BIN)/privtally demo --store sqlite:///$(DEMO)
	@echo "Now 'make serve' shows the dashboard of what just happened."

serve: $(SERVING)
	@mkdir -p $(dir $(DEMO))
	$(BIN)/privtally serve --store sqlite:///$(DEMO) --new-token

test: $(READY)
	$(BIN)/pytest -n auto -q

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A bare install, as a user gets it: no extras, no source tree.
smoke: $(READY)
	rm -rf build/smoke && $(PYTHON) -m venv build/smoke
	build/smoke/bin/pip install --quiet --constraint requirements.lock .
	cd build && smoke/bin/privtally --version && smoke/bin/privtally demo

bench: $(READY)
	$(BIN)/python -m benchmarks.core
	$(BIN)/python -m benchmarks.bulk
	$(BIN)/python -m benchmarks.lab
	$(BIN)/python -m benchmarks.large
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.store

# Kills, power cuts and races in full, of which `make test` does a little, the load, and a million reports.
reliability: $(READY)
	PRIVTALLY_RELIABILITY=1 $(BIN)/pytest -q -rP tests/store tests/service
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.soak postgresql

# Needs the UCI files in PRIVTALLY_DATA_DIR.
reproduction: $(READY)
	$(BIN)/python -m benchmarks.reproduction

lock: $(READY)
	$(BIN)/pip freeze --exclude-editable > requirements.lock

# The service needs one extra, the tests need all; both live in one environment.
$(SERVING): EXTRA := serve
$(READY): EXTRA := dev
$(SERVING) $(READY): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit("privtally needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint requirements.lock --editable '.[$(EXTRA)]'
	touch $@

clean:
	rm -rf $(VENV) build

accuracy: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.accuracy --guide docs/guide
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.bounds --guide docs/guide
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.advice --guide docs/guide

# Pictures of the pages for the guide; needs chromium.
pictures: $(READY)
	$(BIN)/python -m tests.service.pages.pictures docs/images
