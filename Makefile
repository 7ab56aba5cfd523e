# Each target below works as the first command in a fresh clone: it makes .venv, installs nica there
# (not editable, so that what runs is what users install) and goes on. Only changed sources are
# installed again. PYTHON=... and CXX=... choose the interpreter and the compiler.

BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE \
	$(shell find src core -type f ! -name '*.pyc' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser lint bench docs links clean

help:
	@echo "make demo    separate two mixtures live and write nica-demo.html"
	@echo "make test    run the tests            (ARGS='-k nsm -x' passes options to pytest)"
	@echo "make test-browser   run those that need a browser, Chromium"
	@echo "make lint    check style, types and the arrows of import"
	@echo "make bench   measure speed and accuracy"
	@echo "make docs    build the documentation into docs/_build"
	@echo "make links   ask whether what the documentation points to is still there (needs internet)"
	@echo "make clean   remove everything that these made"

demo: .venv/has-images
	@$(BIN)/nica demo $(ARGS)

test: .venv/has-test
	@$(BIN)/pytest $(ARGS)

test-browser: .venv/has-browser
	@$(BIN)/pytest tests_browser $(ARGS)

lint: .venv/has-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict --config-file= tools/typed_user.py  # as a user's: nica as it is installed
	$(BIN)/python tools/check_types.py
	PYTHONPATH=src $(BIN)/lint-imports
	tools/check-kernels

bench: .venv/has-bench
	@$(BIN)/python -m benchmarks.run --pages $(ARGS)

docs: .venv/has-docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	@echo "Wrote docs/_build/index.html"

links: .venv/has-docs
	$(BIN)/sphinx-build --keep-going -q -b linkcheck -D sphinx_gallery_conf.plot_gallery=0 docs docs/_build/links

clean:
	rm -rf .venv build dist docs/_build docs/gallery nica-demo.html .coverage htmlcov \
		.hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# Made once: a change of the tool is no reason to fetch everything again (make clean is).
.venv/ready: | tools/make-venv
	@tools/make-venv .venv

# .venv/has-EXTRA: nica is installed as it stands, with that extra of pyproject.toml.
.venv/has-%: .venv/ready $(SOURCES)
	@echo "Installing nica[$*] (the first time, compiling takes a minute or two) ..."
	@$(BIN)/python -m pip --disable-pip-version-check install -qq --no-build-isolation '.[$*]'
	@touch $@
