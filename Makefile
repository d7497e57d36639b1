# Every target does its own set-up: a machine with Python >= 3.11 and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
STAMP := $(VENV)/.stamps

PEERS := .venv-peers
NODE := .venv-dashboard
APPS := customer_comm email_solver claude_cli

# Where this is set, each of the hundreds of processes that the tests and the proofs start compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup prove peers apps dashboard test test-long e2e check bench chaos matrix dist serve clean

help:            ## what there is
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'

$(STAMP)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Holdfast needs Python 3.11 or newer; set PYTHON=…" >&2; exit 1; }
	@echo "set-up: $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV) && mkdir -p $(STAMP) && touch $@

$(STAMP)/run: $(STAMP)/venv requirements/run.txt pyproject.toml
	@echo "set-up: installing Holdfast" >&2
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation -e . && touch $@

$(STAMP)/test: $(STAMP)/run requirements/test.txt
	@echo "set-up: installing the test tools" >&2
	@$(PIP) install --require-hashes -r requirements/test.txt && touch $@

$(STAMP)/bench: $(STAMP)/run requirements/bench.txt
	@echo "set-up: installing the bench tools" >&2
	@$(PIP) install --require-hashes -r requirements/bench.txt && touch $@

$(PEERS)/.stamp: requirements/peers.txt pyproject.toml
	@echo "set-up: $(PEERS), other people's stores" >&2
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes -r requirements/peers.txt
	@$(PEERS)/bin/python -m pip --quiet --disable-pip-version-check install --no-deps --no-build-isolation -e . && touch $@

$(NODE)/.stamp: requirements/dashboard.txt
	@echo "set-up: $(NODE), the Node that builds the dashboard" >&2
	@$(PYTHON) -m venv $(NODE)
	@$(NODE)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes -r requirements/dashboard.txt && touch $@

setup: $(STAMP)/test  ## everything the other targets need

prove: $(STAMP)/run   ## prove the bundled runtime (ARGS="--only crash", ARGS="--store postgresql://…")
	@$(BIN)/holdfast prove $(ARGS)

peers: $(PEERS)/.stamp  ## a venv with other people's stores, for `prove store`

apps:                 ## the venvs of the programs in apps/, which they otherwise make at their first start
	@pids=; for app in $(APPS); do $(PYTHON) -m apps.$$app --set-up & pids="$$pids $$!"; done; for pid in $$pids; do wait $$pid || exit 1; done

dashboard: $(STAMP)/run $(NODE)/.stamp  ## build the dashboard's page into the package (users never need it)
	@PATH="$(CURDIR)/$(NODE)/bin:$$PATH" PYTHON=$(BIN)/python scripts/build-dashboard

test: $(STAMP)/test   ## the tests, warnings are errors (ARGS="-k feed")
	@$(BIN)/python -m pytest -n 4 -m "not long and not e2e" --durations 40 $(ARGS)

test-long: $(STAMP)/test  ## the counted runs: kills, races, fuzz
	@$(BIN)/python -m pytest -n 4 --maxschedchunk 1 -m long --timeout 900 --durations 40 $(ARGS)

e2e: $(STAMP)/test $(PEERS)/.stamp $(NODE)/.stamp apps  ## with other programs: a browser, containers, a balancer, frameworks; root installs them
	@scripts/programs-here
	@$(BIN)/python -m pytest -n 2 -m e2e --timeout 900 --durations 40 $(ARGS)

check: $(STAMP)/test  ## ruff, mypy strict, the layering
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP)/bench $(PEERS)/.stamp ## speed, side by side; without ARGS also beside other stores (ARGS="--quick")
	@$(BIN)/python -m bench $(ARGS)
	@$(if $(ARGS),true,$(BIN)/python -m bench.growth)

chaos: $(STAMP)/test  ## bounded fault runs (ARGS="--minutes 5", ARGS="kills", "pauses", "feeds", "http", "attacks", "machine", "proofs", "service", "kinds", "clauses")
	@$(BIN)/python -m tests.chaos $(ARGS)

matrix: $(STAMP)/test  ## every template proven and explored, into docs/matrix.md (ARGS="--only hermes", "--again", "--render")
	@$(BIN)/python -m tests.matrix $(ARGS)

dist: $(STAMP)/run     ## what is released: the sdist and the wheel, the same bytes each time
	@$(BIN)/python -m hatchling build -d dist

serve: $(STAMP)/run   ## a gateway on port 9000
	@$(BIN)/holdfast serve $(ARGS)

clean:                ## remove what make made
	@rm -rf $(VENV) $(PEERS) $(NODE) .venv-apps dashboard/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	@find src tests bench apps -name __pycache__ -type d -prune -exec rm -rf {} +
