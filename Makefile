# Two commands first: `make demo` shows it at work, `make test` proves it.
PYTHON ?= python3
export PYTHON
# Compiled files are worth keeping: every command starts faster.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo install test check unit chaos chaos-cluster chaos-network ledger bench bench-cluster load format lock clean

help:
	@echo "make demo    a prospecting job on a sample web, from nothing to a table"
	@echo "make install puts gossamer on your path (PREFIX=~/.local; scripts/install --remove takes it away)"
	@echo "make test    everything: style, types, architecture, all tests"
	@echo "make check   style, types and architecture only"
	@echo "make unit    the tests only (ARGS='-k name' chooses)"
	@echo "make chaos   harm jobs at work and see that nothing is lost (SEEDS=100 is the long form, FIRST=7 begins there)"
	@echo "make chaos-cluster  the same for three instances on Postgres and Redis (30 seeds, SEEDS and FIRST as above)"
	@echo "make chaos-network  cut the network of a home, and of one worker of three, for 5, 25 and 120 seconds (half an hour)"
	@echo "make ledger  spend up to a cap while spenders are killed, and hold the ledger against the bill (50 seeds, SEEDS and FIRST as above)"
	@echo "make bench   speed and memory, beside Scrapy and Crawlee, printed as JSON (an hour; ARGS=crawl takes one of them)"
	@echo "make bench-cluster  the same for workers on Postgres and Redis (a quarter of an hour; ONLY=cluster_cpu takes one of them)"
	@echo "make load    a server under load: scrapes, looks, followers, batches (10 minutes; installs Locust in .venv-load)"
	@echo "make format  put the code in shape"
	@echo "make lock    pin the packages anew"
	@echo "make clean   remove what was built"

demo:
	@scripts/venv requirements/run.txt
	@.venv/bin/python -m gossamer_sandbox.demo

install:
	@scripts/install

test: check unit

check:
	@scripts/venv requirements/dev.txt
	@scripts/check

unit:
	@scripts/venv requirements/dev.txt
	@scripts/install-servers
	@exec .venv/bin/python -m tests.warden .venv/bin/pytest -n 3 --dist loadgroup $(ARGS)

chaos:
	@scripts/venv requirements/dev.txt
	@scripts/install-servers
	@.venv/bin/python -m tests.warden .venv/bin/python -m tests.chaos --seeds $(or $(SEEDS),20) --first $(or $(FIRST),1)

chaos-cluster:
	@scripts/venv requirements/dev.txt
	@scripts/install-servers
	@.venv/bin/python -m tests.warden .venv/bin/python -m tests.chaos --cluster --seeds $(or $(SEEDS),30) --first $(or $(FIRST),1)

chaos-network:
	@scripts/venv requirements/dev.txt
	@scripts/install-servers
	@.venv/bin/python -m tests.warden .venv/bin/python -m tests.chaos --cuts

ledger:
	@scripts/venv requirements/dev.txt
	@scripts/install-servers
	@.venv/bin/python -m tests.warden .venv/bin/python -m tests.ledger --seeds $(or $(SEEDS),50) --first $(or $(FIRST),1)

bench:
	@scripts/venv requirements/dev.txt
	@.venv/bin/python -m bench $(ARGS)

bench-cluster:
	@scripts/venv requirements/dev.txt
	@scripts/install-servers
	@.venv/bin/python -m bench $(or $(ONLY),cluster partitions) --out bench/out/cluster.json $(ARGS)

load:
	@scripts/venv requirements/dev.txt
	@scripts/venv requirements/load.txt .venv-load
	@.venv/bin/python -m bench $(or $(ONLY),load) --out bench/out/load.json $(ARGS)

format:
	@scripts/venv requirements/dev.txt
	@.venv/bin/ruff format --quiet .
	@.venv/bin/ruff check --fix .

lock:
	@scripts/lock

clean:
	rm -rf .venv demo-output bench/out dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
