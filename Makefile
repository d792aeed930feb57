# make demo: the main job, end to end. make test: the tests. Needs nothing but Python 3.11 or newer.

# Spark 3.5, with which all tests run, needs Python below 3.13; with a newer Python, a newer Spark is installed.
PYTHON ?= $(shell for python in python3.12 python3.11 python3 python3.13 python3.14; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
INSTALLED := .venv/.installed
RUN := .venv/bin/python
PEERS := build/peers
# Test files are distributed to worker processes, which share one server.
WORKERS ?= 3
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
PACKAGES := $(addprefix -p grantpath.,graph cypher engine spark_sync tests)

.PHONY: help install demo quick test test-all trust bench bench-changes bench-bulk bench-follow bench-peers docs types lint clean

help:
	@echo "make demo      see the main job end to end"
	@echo "make test      run the tests, each promise in its shortest form (ARGS='-k name' for some of them)"
	@echo "make quick     run only the tests that need no server"
	@echo "make test-all  run the slow tests too"
	@echo "make trust     try faults, races and hostile input at length, and print the figures: about two hours"
	@echo "make bench     measure on a large estate"
	@echo "make bench-changes  measure changes beside a bare round trip"
	@echo "make bench-bulk  measure Spark's answers for all users, with the memory that they need"
	@echo "make bench-follow  measure how fast a snapshot follows the changes of its root"
	@echo "make bench-peers  measure grantpath and other authorization systems on the same estate"
	@echo "make docs      build the pages of docs/ as a site, in build/site"
	@echo "make lint      check style and types"
	@echo "make clean     remove the environment and all build results"

install: $(INSTALLED)

demo: $(INSTALLED)
	@.venv/bin/grantpath demo

test: $(INSTALLED)
	@$(RUN) -m pytest $(SPREAD) $(ARGS)

quick: $(INSTALLED)
	@$(RUN) -m pytest tests/unit tests/docs $(ARGS)

test-all: $(INSTALLED)
	@$(RUN) -m pytest --all $(SPREAD) $(ARGS)

trust: $(INSTALLED)
	@GRANTPATH_TRUST=full $(RUN) -m pytest --all -s -m trust $(ARGS)

bench: $(INSTALLED)
	@$(RUN) benchmarks/bench.py $(ARGS)

bench-changes: $(INSTALLED)
	@$(RUN) benchmarks/changes.py $(ARGS)

bench-bulk: $(INSTALLED)
	@$(RUN) benchmarks/bulk.py $(ARGS)

bench-follow: $(INSTALLED)
	@$(RUN) benchmarks/follow.py $(ARGS)

bench-peers: $(PEERS)/.installed
	@$(PEERS)/bin/python benchmarks/compare_peers.py $(ARGS)

docs: $(INSTALLED) types
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet --strict
	@echo "build/site/index.html"

# Type checkers and documentation tools find the packages in a folder of links, laid out like an installed `grantpath`.
types:
	@rm -rf build/types && mkdir -p build/types/grantpath
	@for each in graph cypher engine spark_sync tests engine/front/__init__.py engine/front/py.typed; do \
		ln -s ../../../$$each build/types/grantpath/$${each##*/}; done

lint: $(INSTALLED) types
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@MYPYPATH=build/types $(RUN) -m mypy $(PACKAGES)
	@MYPYPATH=build/types:benchmarks $(RUN) -m mypy benchmarks/*.py benchmarks/peers/*.py

# The environment is installed again when pyproject.toml changes. The code is not copied into the environment.
$(INSTALLED): pyproject.toml
	@test -n "$(PYTHON)" || { echo "grantpath needs Python 3.11 or newer with venv (on Debian: python3-venv); name one: make PYTHON=/path/to/python3"; exit 2; }
	@echo "installing into .venv with $(PYTHON): once, about 1.5 GB"
	@$(PYTHON) -m venv .venv
	@if [ -t 1 ]; then quiet=; else quiet=--quiet; fi; \
		$(RUN) -m pip install $$quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# The other systems are installed into a separate environment, because grantpath does not depend on their packages.
$(PEERS)/.installed: pyproject.toml benchmarks/peers/requirements.txt
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[cli,replica,server]' -r benchmarks/peers/requirements.txt
	@touch $@

clean:
	rm -rf .venv build out *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
