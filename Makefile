# make demo   the embedded grid with a real local LLM; sets up everything it needs
# make test   the test suite without what takes long, in some minutes
# make test-slow   the rest: torch, Ray, a real local LLM, kills, a MediaWiki, packages, the browser
# make lint   ruff; mypy and the arrows of imports over an installed copy
#
# Each uses a virtual environment of its own below .venvs/; PYTHON chooses the interpreter.
# torch is large, so the tests of hf/ run where it is asked for, in a build of one's choice, and skip elsewhere:
#   make test-slow TORCH=torch

PYTHON ?= python3
VENVS ?= .venvs
TORCH ?=
comma := ,
PIP = -m pip --disable-pip-version-check --quiet
PYTEST = $(VENVS)/test/bin/python -m pytest -n 2 --dist loadgroup --durations=10
SOURCES = setup.cfg setup.py pyproject.toml

.PHONY: demo test test-slow lint clean

demo: $(VENVS)/demo/ready
	$(VENVS)/demo/bin/r-eval demo

test: $(VENVS)/test/ready
	$(PYTEST) -m "not slow"

test-slow: $(VENVS)/test/ready
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m slow

lint: $(VENVS)/lint/ready
	$(VENVS)/lint/bin/ruff check .
	$(VENVS)/lint/bin/ruff format --check .
	rm -rf build
	$(VENVS)/lint/bin/python $(PIP) install --no-deps --force-reinstall .
	cd $(VENVS)/lint && bin/python -m mypy --config-file ../../pyproject.toml -p r_eval
	cd $(VENVS)/lint && bin/lint-imports ../../pyproject.toml

$(VENVS)/demo/ready: $(SOURCES)
	$(PYTHON) -m venv $(VENVS)/demo
	$(VENVS)/demo/bin/python $(PIP) install --editable '.[demo]'
	$(VENVS)/demo/bin/r-eval doctor --fetch
	touch $@

$(VENVS)/test/ready: $(SOURCES)
	$(PYTHON) -m venv $(VENVS)/test
	if [ -n '$(TORCH)' ]; then $(VENVS)/test/bin/python $(PIP) install '$(TORCH)'; fi
	$(VENVS)/test/bin/python $(PIP) install --editable '.[test$(if $(TORCH),$(comma)hf$(comma)bert$(comma)dense)]'
	touch $@

$(VENVS)/lint/ready: $(SOURCES)
	$(PYTHON) -m venv $(VENVS)/lint
	$(VENVS)/lint/bin/python $(PIP) install '.[lint,test]'
	touch $@

clean:
	rm -rf $(VENVS) build dist *.egg-info
