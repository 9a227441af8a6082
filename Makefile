# `make help` lists the targets. Needs Python 3.11 or newer, make, and nothing else.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
# Files go to workers whole, so that what a module sets up is set up once. Later options win over earlier.
PYTEST := $(RUN) -m pytest --numprocesses logical --maxprocesses 8 --dist loadfile
PYTEST_ARGS ?=
# Of `make demo`. Said here, so that a variable of the environment that has this name means nothing.
PORT := 8000

# Tests start hundreds of processes: none should compile the product anew, wherever this variable comes from.
unexport PYTHONDONTWRITEBYTECODE

# Production settings for checks: real in form, fresh each time, good for nothing.
PRODUCTION = env $$($(RUN) -m panapp.generate_secrets 2>/dev/null) PANAPP_MODE=production \
	PANAPP_ALLOWED_HOSTS=telemetry.example DATABASE_URL=postgres://panapp@database/panapp \
	CELERY_BROKER_URL=redis://broker:6379/0 PANAPP_BEHIND_PROXY=1
OTHER_KEY = A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=
LEADER = PANAPP_ROLE=leader PANAPP_LEADER_URL=https://leader.example/leader \
	PANAPP_HELPER_URL=https://helper.example/helper PANAPP_HELPER_KEY=$(OTHER_KEY)
HELPER = PANAPP_ROLE=helper PANAPP_HELPER_URL=https://helper.example/helper PANAPP_LEADER_KEY=$(OTHER_KEY)
RELAY = PANAPP_ROLE=relay PANAPP_RELAY_GATEWAYS=site=https://telemetry.example
ISSUER = PANAPP_ROLE=issuer PANAPP_ISSUER_URL=https://issuer.example/issuer PANAPP_SITE_KEY=$(OTHER_KEY) \
	PANAPP_ATTESTER_URL=https://attester.example/attester PANAPP_ATTESTER_KEY=$(OTHER_KEY)
ATTESTER = PANAPP_ROLE=attester PANAPP_ATTESTER_URL=https://attester.example/attester \
	PANAPP_ISSUER_URL=https://issuer.example/issuer PANAPP_ISSUER_KEY=$(OTHER_KEY)
SHUFFLER = PANAPP_ROLE=shuffler PANAPP_SHUFFLER_URL=https://shuffler.example/shuffler \
	PANAPP_ANALYZER_KEY=$(OTHER_KEY)

.PHONY: help setup demo example-federated test test-all web test-web test-web-node vectors check openapi \
	architecture tables bench clean
.DEFAULT_GOAL := help

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-17s %s\n", $$1, $$2}'

setup: $(READY) ## Install everything into .venv

$(READY): requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
		"Try: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "Python's venv module does not work here. On Debian or Ubuntu: apt install python3-venv" >&2; \
		exit 1; }
	@echo "Installing into $(VENV) (a minute or two the first time) …"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

demo: setup ## Seven collections from real data, then a dashboard on http://127.0.0.1:8000 (or PORT=8001)
	@# What runs in a browser is for /try/ only: the rest needs no Node.
	@$(MAKE) --silent --no-print-directory web >$(VENV)/web.log 2>&1 || \
		echo "The page /try/ will have no program: $$(grep -v '^make' $(VENV)/web.log | head -n 1)"
	$(RUN) manage.py demo --port $(PORT)

example-federated: setup ## Train a model on flights that no server sees, in some three minutes
	$(RUN) -m examples.federated_learning

# Without schemathesis' plugin, which takes seconds of every worker and serves one long test.
test: setup ## The tests, in some minutes; needs nothing that `make setup` does not install
	$(PYTEST) -p no:schemathesis -m "not long and not browser" $(PYTEST_ARGS)

test-all: setup ## All tests, those that take long too; the browser's skip where there is none
	$(PYTEST) --hypothesis-profile thorough $(PYTEST_ARGS)

web: devices_web/node_modules/.ready ## Build what runs in a browser into devices_web/build (Node 20 or newer)
	cd devices_web && node_modules/.bin/tsc --project . && node build.mjs

# Nothing that a package brings is run while it is installed.
devices_web/node_modules/.ready: devices_web/package-lock.json
	@node --eval 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' 2>/dev/null && \
		command -v npm >/dev/null || { echo "Node 20 or newer is needed, with npm: nodejs.org" >&2; exit 1; }
	cd devices_web && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline
	@touch $@

test-web: setup test-web-node ## Test what runs in a browser: in Node, then in Chromium where it is found
	$(PYTEST) -p no:schemathesis tests/devices_web/test_vectors.py tests/devices_web/test_sending.py \
		$(addprefix tests/browser/,test_device_in_browser.py test_enrolment_in_browser.py \
		test_extension_in_browser.py test_fleet_in_browser.py test_profile_attack_in_browser.py \
		test_try_it_in_browser.py)

test-web-node: web
	cd devices_web && node --test build/tests/*.test.mjs

vectors: setup web ## Write devices_web/vectors anew: what devices in Python and in a browser must do alike
	$(RUN) -m tests.devices_web.vectors
	cd devices_web && node build.mjs && node build/tests/write_vectors.mjs

check: setup ## Style, types, imports, migrations, production settings of every role, OpenAPI, picture, tables
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	@# It looks for the apps, which lie in collections/, on the import path.
	PYTHONPATH=collections $(VENV)/bin/lint-imports
	$(RUN) -m tests.architecture.picture --check
	$(RUN) -m tests.tables --check
	$(RUN) manage.py makemigrations --check --dry-run
	$(HELPER) $(RUN) manage.py makemigrations --check --dry-run
	$(SHUFFLER) $(RUN) manage.py makemigrations --check --dry-run
	$(ISSUER) $(RUN) manage.py makemigrations --check --dry-run
	$(ATTESTER) $(RUN) manage.py makemigrations --check --dry-run
	$(PRODUCTION) $(RUN) manage.py check --deploy --fail-level WARNING
	$(PRODUCTION) $(LEADER) $(RUN) manage.py check --deploy --fail-level WARNING
	$(PRODUCTION) $(HELPER) $(RUN) manage.py check --deploy --fail-level WARNING
	$(PRODUCTION) $(SHUFFLER) $(RUN) manage.py check --deploy --fail-level WARNING
	$(PRODUCTION) $(ISSUER) $(RUN) manage.py check --deploy --fail-level WARNING
	$(PRODUCTION) $(RELAY) $(RUN) manage.py check --deploy --fail-level WARNING
	$(PRODUCTION) $(ATTESTER) $(RUN) manage.py check --deploy --fail-level WARNING
	$(RUN) manage.py spectacular --validate --fail-on-warn --file $(VENV)/openapi.yaml
	@diff -u docs/openapi.yaml $(VENV)/openapi.yaml || \
		{ echo "docs/openapi.yaml is not what the code describes: run 'make openapi' and read the difference" \
		>&2; exit 1; }

openapi: setup ## Write docs/openapi.yaml anew
	$(RUN) manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

architecture: setup ## Show the floors and rooms in the docs anew, from layers and imports
	$(RUN) -m tests.architecture.picture

tables: setup ## Write the tables of statistics and encryption schemes in the docs anew, from the registries
	$(RUN) -m tests.tables

bench: setup ## Speed and memory, as ratios measured in one run
	$(RUN) benchmarks/encryption.py
	$(RUN) benchmarks/prio3.py
	$(RUN) benchmarks/accounting.py
	$(RUN) benchmarks/noise_timing.py
	$(RUN) benchmarks/streams.py
	$(RUN) benchmarks/end_to_end.py --million
	$(RUN) -m benchmarks.planner
	$(RUN) -m benchmarks.two_server
	$(RUN) -m benchmarks.shuffle
	$(RUN) -m benchmarks.admission
	$(RUN) -m benchmarks.admission_reports
	$(RUN) -m benchmarks.public_log
	$(RUN) -m benchmarks.randomizers

clean: ## Remove .venv and caches; var/ (your data) stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
