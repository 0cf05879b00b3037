# InvoiceHub. Needs make and Python 3.11 or later. `make` alone lists what there is.
#
# ARGS go to the command behind a target:  make test ARGS="-k worker"   make demo ARGS="--web-port 9000"

.DEFAULT_GOAL := help
.PHONY: help setup demo test bench lint

PYTHON := .venv/bin/python
ARGS ?=

# The project's own environment is used, whichever one the caller has activated.
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONHOME PYTHONPATH
# Without bytecode every process of ours starts three times as slowly.
unexport PYTHONDONTWRITEBYTECODE
export DJANGO_SETTINGS_MODULE := invoicehub.settings

# Three processes for two cores, since some tests wait; from three to eight.
WORKERS := $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); \
	n=$$((n * 3 / 2)); [ $$n -ge 3 ] || n=3; [ $$n -le 8 ] || n=8; echo $$n)

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

setup: ## make .venv with the versions that uv.lock names; takes no time when that is done
	@sh .ci/setup

demo: setup ## start everything with sample data, until Ctrl-C
	@exec $(PYTHON) manage.py demo $(ARGS)

# Whoever runs the tests may have settings of his own in the environment.
UNSET := $(shell sed -n '/EMBEDDED_POSTGRES_DIR/d; s/^| `\([A-Z_]*\)`.*/-u \1 -u \1_FILE/p' docs/configuration.md)

test: setup ## run the tests on a private PostgreSQL, whatever the environment says
	@env $(UNSET) $(PYTHON) -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

bench: setup ## measure
	$(PYTHON) -m pytest bench -m slow -s $(ARGS)

lint: setup ## check style, types and imports
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command as check; check()'
