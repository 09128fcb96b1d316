# Every target sets up what it needs; all it takes is Python 3.11 or later, and for Spark Java 17 or later.
# `make PYTHON=…` picks another Python, JAVA_HOME another Java.

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help install demo test test-core test-fast chaos server-kills soak cluster-test java check format bench docs lock clean
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED)  ## put the penstock command into .venv/bin

demo: $(INSTALLED)  ## a smart home's day in a minute, with the page in the browser: 20 queries on local Spark; needs Java
	$(BIN)/penstock demo

test: java $(INSTALLED)  ## all tests; needs Java
	$(BIN)/python -m pytest -n auto

test-core: $(INSTALLED)  ## all tests that need no Java
	$(BIN)/python -m pytest -n auto -m "not jvm"

test-fast: $(INSTALLED)  ## those of test-core that are not slow
	$(BIN)/python -m pytest -n auto -m "not slow and not jvm"

chaos: java $(INSTALLED)  ## kill -9 and restart, 46 times; KILLS=90 SEED=7 for others; 15 to 35 minutes
	$(BIN)/python -m tests.chaos.run $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tests.chaos.crowd $(if $(SEED),--seed $(SEED))

server-kills: java $(INSTALLED)  ## kill -9 of a server's processes under load, 24 times; KILLS=40 SEED=7 for others
	$(BIN)/python -m tests.server.kills $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

soak: java $(INSTALLED)  ## 50 queries and a bad thing every half minute; MINUTES=30 EVERY=30 SEED=7 for others
	$(BIN)/python -m tests.soak.run $(if $(MINUTES),--minutes $(MINUTES)) $(if $(EVERY),--every $(EVERY)) $(if $(SEED),--seed $(SEED))

cluster-test: java $(INSTALLED)  ## all examples on a Spark cluster of this machine, with executors killed; CASES='few nexmark' for some
	$(BIN)/python scripts/cluster $(BIN)/python -m tests.cluster.run $(CASES)

java:
	@scripts/check-java

check: $(INSTALLED)  ## style and types
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy

format: $(INSTALLED)  ## mend what check complains of, where a tool can
	$(BIN)/ruff check --fix src tests
	$(BIN)/ruff format src tests

bench: $(INSTALLED)  ## what a scheduling decision costs
	$(BIN)/penstock bench decisions

docs: $(INSTALLED)  ## the generated pages of docs/
	$(BIN)/penstock policies --markdown > docs/policies.md.new && mv docs/policies.md.new docs/policies.md
	$(BIN)/penstock config --markdown > docs/configuration.md.new && mv docs/configuration.md.new docs/configuration.md
	$(BIN)/python -c 'from penstock.plan.document import json_schema_text as text; print(text(), end="")' \
		> docs/plan.schema.json.new && mv docs/plan.schema.json.new docs/plan.schema.json
	$(BIN)/python -c 'from penstock.server.http.app import openapi_text as text; print(text(), end="")' \
		> docs/openapi.json.new && mv docs/openapi.json.new docs/openapi.json

lock: $(BIN)/python  ## requirements.lock, anew from pyproject.toml
	$(BIN)/python -m pip install --quiet 'pip-tools>=7.5,<8'
	CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/pip-compile --quiet --upgrade --extra bench --extra dev \
		--build-deps-for editable --generate-hashes --allow-unsafe --strip-extras \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file requirements.lock pyproject.toml

clean:  ## remove all that can be made again
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist out
	find src tests -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml requirements.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(BIN)/python:
	@PYTHON="$(PYTHON)" scripts/create-venv $(VENV)
