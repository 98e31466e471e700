# The one door for people and CI alike. `make serve` and `make test` set up all they need in .venv.
PYTHON ?= python3
PORT ?= $(or $(ATTENDANT_PORT),8000)
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help serve test check coverage bench soak fuzz train report export docker sbom clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*  ## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 10

serve: .venv/serve.stamp  ## serve on port 8000, or PORT=8123; ARGS are those of python -m service
	ATTENDANT_PORT=$(PORT) $(BIN)/python -m service $(ARGS)

# pytest runs a process a core, in which further threads of PyTorch and CTranslate2 would only wait for one another
test coverage: export OMP_NUM_THREADS := 1
# some hundred programs are started, each of which would compile the service anew
test coverage: export PYTHONDONTWRITEBYTECODE :=

test: .venv/dev.stamp  ## all tests, on all cores; ARGS are pytest's, as in make test ARGS="-k beam"
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

coverage: .venv/dev.stamp  ## all tests, with a report of the lines and branches that none of them reaches
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term-missing:skip-covered $(ARGS)

check: .venv/dev.stamp  ## format, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev.stamp  ## speed against CTranslate2, into the documents and bench.json; QUICK=1 for a rough idea
	$(BIN)/python -m tests.bench $(if $(QUICK),--quick) $(ARGS)

soak: .venv/dev.stamp  ## an hour of everything at once, on loopback; ARGS="--minutes 5" for less
	$(BIN)/python -m tests.bench.soak $(ARGS)

fuzz: .venv/dev.stamp  ## an hour of malformed and odd requests, on loopback; ARGS="--minutes 5" for less
	$(BIN)/python -m tests.fuzz $(ARGS)

train: .venv/dev.stamp  ## train a model; ARGS are those of python -m model.train
	$(BIN)/python -m model.train $(ARGS)

report: .venv/dev.stamp  ## make a page about a training run; ARGS are those of python -m model.report
	$(BIN)/python -m model.report $(ARGS)

export: .venv/dev.stamp  ## make a bundle from a trained model; ARGS are those of python -m export
	$(BIN)/python -m export $(ARGS)

docker:  ## build the image attendant:latest
	docker build -t attendant:latest -f docker/Dockerfile .

sbom:  ## the Python packages of the image, with versions and licences: attendant.cdx.json
	DOCKER_BUILDKIT=1 docker build --target sbom --output . -f docker/Dockerfile .

clean:  ## remove what the other targets made
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .coverage attendant.cdx.json

.venv/serve.stamp: PROJECT = .
.venv/dev.stamp: PROJECT = .[train,dev]

# Python 3.11's own pip takes twice as long, and every pip compiles on one core only; what hardly anything
# imports, such as other packages' tests and hundreds of networks, is not compiled
NOT_COMPILED := /tests?/|/transformers/models/|/torch/(_inductor|testing/_internal)/|/(fontTools|mypyc?|networkx)/
.venv/serve.stamp .venv/dev.stamp: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q --no-compile -e '$(PROJECT)'
	$(BIN)/python -W ignore -m compileall -qq -j 0 -x '$(NOT_COMPILED)' .venv/lib || true
	touch $@
