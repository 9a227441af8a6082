# `make help` lists the targets. Needs Python 3.11 or newer, make, and nothing else.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
UV := $(VENV)/bin/uv
READY := $(VENV)/.ready
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--annotation-style line --custom-compile-command "make pins"
PINS ?=
# Files go to workers whole, so that what a module sets up is set up once. Later options override those in
# front of them.
PYTEST := $(RUN) -m pytest --numprocesses logical --maxprocesses 8 --dist loadfile
PYTEST_ARGS ?=
# Of `make demo`. Set here, so that an environment variable of this name has no effect.
PORT := 8000

# Tests start hundreds of processes: none should compile the product anew, wherever this variable comes from.
unexport PYTHONDONTWRITEBYTECODE

SPELLED = *.md docs templates compose collections panapp panprivacy devices_sim research examples benchmarks

# Production settings for checks: valid in form, new in each run, used nowhere.
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

.PHONY: help setup pins demo example-federated test test-all library web npm-package test-web test-web-node verifier vectors \
	check openapi native tables kubernetes docs bench imports sizes clean
.DEFAULT_GOAL := help

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-17s %s\n", $$1, $$2}'

setup: $(READY) ## Install everything into .venv

# uv installs what pip would take four times as long for. It reads UV_DEFAULT_INDEX, not pip's settings.
$(READY): requirements-setup.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
		"Try: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "Python's venv module does not work here. On Debian or Ubuntu: apt install python3-venv" >&2; \
		exit 1; }
	@echo "Installing into $(VENV) …"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-setup.txt
	@$(UV) pip install --quiet --python $(RUN) --require-hashes -r requirements-dev.txt
	@touch $@

# The development file contains all the others: all files pin the same versions. A version that is written
# already stays, unless its .in file asks for another; to raise the rest: make pins PINS=--upgrade
PEERS := tests/peers/python_clients
pins: setup ## Write the requirement files from their .in files
	$(COMPILE) requirements-dev.in --output-file requirements-dev.txt $(PINS)
	$(COMPILE) requirements-demo.in --constraints requirements-dev.txt --output-file requirements-demo.txt
	$(COMPILE) requirements-pkcs11.in --constraints requirements-dev.txt --output-file requirements-pkcs11.txt
	$(COMPILE) requirements-otlp.in --constraints requirements-dev.txt --output-file requirements-otlp.txt
	$(COMPILE) requirements-parquet.in --constraints requirements-dev.txt --output-file requirements-parquet.txt
	$(COMPILE) requirements.in --constraints requirements-dev.txt --output-file requirements.txt
	$(COMPILE) requirements-setup.in --output-file requirements-setup.txt $(PINS)
	$(COMPILE) $(PEERS)/requirements.in --output-file $(PEERS)/requirements.txt $(PINS)

demo: setup ## A dashboard with simulated collections on http://127.0.0.1:8000 (or PORT=8001)
	@# What runs in a browser is for /try/ only: the rest needs no Node.
	@$(MAKE) --silent --no-print-directory web >$(VENV)/web.log 2>&1 || \
		echo "The page /try/ will have no program: $$(grep -v '^make' $(VENV)/web.log | head -n 1)"
	$(RUN) manage.py demo --port $(PORT)

example-federated: setup ## Train a model on flights that no server sees, in some three minutes
	$(RUN) -m examples.federated_learning

# Without schemathesis' plugin, which takes seconds of every worker and serves one long test.
test: setup ## The tests, in some minutes; needs nothing that `make setup` does not install
	$(PYTEST) -p no:schemathesis -m "not long and not browser" $(PYTEST_ARGS)

test-all: setup ## All tests, those that take long too; browser tests are skipped without a browser
	$(PYTEST) --hypothesis-profile thorough $(PYTEST_ARGS)

# As strangers install it: in an environment of its own, in the site's versions.
library: setup ## Build the library's wheel and source; run examples from the wheel, devices against a site, and check their types
	rm -rf .cache/library
	$(UV) build --quiet --out-dir .cache/library
	for extra in bare device otel joint-key paillier; do \
		$(UV) venv --quiet --python $(RUN) .cache/library/$$extra && \
		$(UV) pip install --quiet --python .cache/library/$$extra/bin/python --constraints requirements-dev.txt \
			"$$(ls .cache/library/*.whl)$$([ $$extra = bare ] || echo "[$$extra]")" || exit 1; \
	done
	@# The source needs no more than its build backend, and no network, to become the same wheel.
	$(UV) venv --quiet --python $(RUN) .cache/library/source
	$(UV) pip install --quiet --python .cache/library/source/bin/python "hatchling>=1.27"
	$(UV) build --quiet --wheel --offline --no-build-isolation --python .cache/library/source/bin/python \
		--out-dir .cache/library/source .cache/library/*.tar.gz
	cmp .cache/library/*.whl .cache/library/source/*.whl
	@ls -l .cache/library/*.whl .cache/library/*.tar.gz
	@$(UV) pip list --quiet --python .cache/library/bare/bin/python
	$(RUN) -m tests.library .cache/library

web: devices_web/node_modules/.ready ## Build what runs in a browser into devices_web/build (Node 20 or newer)
	cd devices_web && node_modules/.bin/tsc --project . && node build.mjs

# Nothing that a package brings is run while it is installed.
devices_web/node_modules/.ready: devices_web/package-lock.json
	@node --eval 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' 2>/dev/null && \
		command -v npm >/dev/null || { echo "Node 20 or newer is needed, with npm: nodejs.org" >&2; exit 1; }
	cd devices_web && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline
	@touch $@

npm-package: web ## Build what npm installs of it, with types: devices_web/build/devices-web-VERSION.tgz
	cd devices_web && node package.mjs

test-web: setup test-web-node ## Test what runs in a browser: in Node, then in Chromium if it is found
	$(PYTEST) -p no:schemathesis $(addprefix tests/devices_web/,test_vectors.py test_sending.py test_package.py) \
		$(addprefix tests/browser/,test_device.py test_enrolment.py \
		test_extension.py test_fleet.py test_profile_attack.py \
		test_try_it.py)

test-web-node: web
	cd devices_web && node --test build/tests/*.test.mjs

verifier: web ## Write the pages' verifier of the public log anew, from devices_web/src/verify.ts
	cp devices_web/build/pages/verify.js collections/pages/static/verify.js

vectors: setup web ## Write devices_web/vectors anew: what devices in Python and in a browser must do alike
	$(RUN) -m tests.devices_web.vectors
	cd devices_web && node build.mjs && node build/tests/write_vectors.mjs

check: setup ## Style, types, imports, migrations, production settings of every role, OpenAPI, docs, words
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	@# It looks for the apps, which lie in collections/, on the import path.
	PYTHONPATH=collections $(VENV)/bin/lint-imports
	$(RUN) -m tests.tables --check
	$(RUN) -m tests.words
	$(VENV)/bin/codespell $(SPELLED)
	@$(MAKE) --no-print-directory docs
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

# Strictly: a broken link or anchor is an error. The pages must load nothing from another site.
docs: setup ## Build the docs as a site into site/
	$(VENV)/bin/zensical build --strict
	@! grep -rnoE '<(script|img|iframe|link)[^>]*(src|href)="?https?:[^"]*' site --include='*.html'

tables: setup ## Write the tables of statistics, schemes and settings in the docs anew, from the code
	$(RUN) -m tests.tables

kubernetes: setup ## Write compose/kubernetes anew, from compose.yaml
	$(RUN) -m compose.to_kubernetes

# It runs with any Python and NumPy that the site supports, and is no part of the wheel.
NATIVE := panprivacy/protocols/prio3/_native
native: setup $(NATIVE).abi3.so ## Compile what Prio3 computes in batches, which takes a C compiler; else NumPy does it

$(NATIVE).abi3.so: $(NATIVE).c
	$(CC) -std=gnu99 -O3 -fwrapv -fPIC -shared -Wall -Wextra -Wno-psabi $$($(RUN) -c 'import numpy, sysconfig; \
		print("-I", sysconfig.get_path("include"), "-isystem", numpy.get_include())') $< -o $@

bench: setup ## Speed and memory, as ratios measured in one run
	$(RUN) benchmarks/encryption.py
	$(RUN) benchmarks/prio3.py
	$(RUN) benchmarks/accounting.py
	$(RUN) benchmarks/noise_timing.py
	$(RUN) benchmarks/streams.py
	$(RUN) benchmarks/end_to_end.py --million
	$(RUN) -m benchmarks.planner
	$(RUN) -m benchmarks.recompute
	$(RUN) -m benchmarks.hpke
	$(RUN) -m benchmarks.previews
	$(RUN) -m benchmarks.two_server
	$(RUN) -m benchmarks.trust_costs
	$(RUN) -m benchmarks.shuffle
	$(RUN) -m benchmarks.admission
	$(RUN) -m benchmarks.admission_reports
	$(RUN) -m benchmarks.public_log
	$(RUN) -m benchmarks.randomizers

PRODUCT = git ls-files collections devices_sim panapp panprivacy research manage.py | grep '\.py$$'
imports: setup ## What importing a part of the library loads, in modules and lines
	@$(RUN) -m tests.architecture.imports

sizes: ## How large the code, its tests and its docs are, in numbers that the docs quote
	@echo "lines of product Python: $$($(PRODUCT) | xargs cat | wc -l)"
	@echo "files of product Python: $$($(PRODUCT) | wc -l)"
	@echo "lines of tests: $$(git ls-files tests | grep -E '\.(py|rs|[mc]?[jt]s)$$' | xargs cat | wc -l)"
	@echo "words of docs: $$(git ls-files docs | grep '\.md$$' | xargs cat | wc -w)"
	@echo "wheels in production: $$(grep -c '^[a-z].*==' requirements.txt)"

clean: ## Remove .venv and caches; var/ (your data) stays
	rm -rf $(VENV) $(NATIVE).abi3.so site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
