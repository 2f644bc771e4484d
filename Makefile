# Prony's everyday commands. `make` without a target lists them.
#
# In: a Rust toolchain and a C compiler; scripts/setup says how to get what is missing. Out: as each
# target says. Must never: change the machine beyond what the target says it does.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Finds a rustup that was just installed, which is on PATH only after the next login. rustup's cargo comes
# first, because the distribution's may be older.
export PATH := $(HOME)/.cargo/bin:$(PATH)

# The folder in which cargo builds, by cargo's own variables.
TARGET := $(or $(CARGO_TARGET_DIR),$(CARGO_BUILD_TARGET_DIR),target)
PRONY := $(TARGET)/release/prony
CANNED := $(TARGET)/release/examples/canned_server

# Parameters of versus, each optional: make versus PAIRS=9 CASES=unix64,tcp64 RUN_SECONDS=10 SCALE=50
# With AGAINST=path/to/another/prony that build takes the place of pgbench and sysbench.
# With COUNT=1 instructions and system calls are counted, and nothing is timed.
VERSUS = --prony $(PRONY) --canned $(CANNED) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(RUN_SECONDS),--seconds $(RUN_SECONDS)) \
	$(if $(SCALE),--scale $(SCALE)) $(if $(RAW),--raw $(RAW)) $(if $(AGAINST),--against $(AGAINST))

.PHONY: fleet-cost help build canned dist demo test lint versus versus-load versus-pgbench versus-tpcc versus-sqlserver versus-ledger versus-sysbench test-pgbench test-sysbench docs docs-reference

help: ## Prints this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s@ 2>/dev/null \
		|| sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1: \2/p' $(MAKEFILE_LIST)

build: ## Builds the release binary, target/release/prony
	@scripts/setup build
	cargo build --release --bin prony

canned: ## Builds the server that answers from memory, for the capacity and the counts of versus
	@scripts/setup build
	cargo build --release -p prony-drive --example canned_server

dist: ## Builds the files of a release into target/dist: a static program in an archive, .deb, .rpm, checksums
	@scripts/setup build
	@scripts/setup dist
	@scripts/dist

demo: build ## Starts a temporary PostgreSQL, loads it, drives it for 22 s, reports, stops it
	@scripts/setup demo $(PRONY)

test: ## Runs all tests; as root on Debian or Ubuntu installs what they need (SERVERS=all|small|none: versions of servers to download)
	@scripts/setup build
	@scripts/setup test
	@scripts/test $(TARGET) $(or $(SERVERS),$(if $(CI),all,small))

test-pgbench: ## The full comparison with pgbench, of which `make test` runs a part (PARTS="tap rows" runs only these parts)
	@scripts/setup build
	@scripts/setup test
	PGBENCH_EVERY=$(or $(EVERY),1) scripts/tests/pgbench.sh $(PARTS)

test-sysbench: ## The full comparison with sysbench, of which `make test` runs a part (PARTS="texts statements" runs only these parts)
	@scripts/setup build
	@scripts/setup test
	SYSBENCH_EVERY=$(or $(EVERY),1) scripts/tests/sysbench.sh $(PARTS)

lint: ## Checks formatting, clippy (warnings are errors) and the syntax of scripts
	@scripts/setup build
	@scripts/setup lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	@for script in scripts/setup scripts/test scripts/tap-pgbench scripts/dist scripts/check-dist .ci/run scripts/tests/*.sh; do bash -n "$$script"; done

docs: ## Builds the documentation, target/book/index.html
	@scripts/setup build
	@scripts/setup docs
	mdbook build docs

docs-reference: ## Writes the reference pages of the documentation from the code
	@scripts/setup build
	PRONY_WRITE_DOCS=1 cargo test -q -p prony-store --test schema
	PRONY_WRITE_DOCS=1 cargo test -q -p prony-cli --bin prony documentation::reference

versus: build canned ## Runs Prony and pgbench alternately; prints tables of the ratios of CPU and TPS (about 40 minutes; COUNT=1 counts instructions, 5 minutes)
	@scripts/setup $(if $(COUNT),versus-count,versus)
	scripts/versus $(if $(COUNT),--pairs 3 --cases $(or $(CASES),counts),$(if $(CASES),--cases $(CASES))) $(VERSUS)

versus-pgbench: build ## As versus, for Prony called as pgbench with identical command lines (about 40 minutes)
	@scripts/setup versus
	scripts/versus --cases $(or $(CASES),pgbench) $(VERSUS)

versus-tpcc: build ## Measures the cost of loading (also with 1, 2 and 4 jobs) and running tpcc, beside the server's bounds (about 40 minutes)
	@scripts/setup versus-load
	scripts/versus --cases $(or $(CASES),tpcc) $(VERSUS) $(if $(WAREHOUSES),--warehouses $(WAREHOUSES))

versus-sysbench: build ## As versus, for Prony called as sysbench and sysbench, on a MariaDB (about 30 minutes)
	@scripts/setup versus-sysbench
	scripts/versus --cases $(or $(CASES),sysbench) $(VERSUS)

versus-ledger: build ## Measures what a ledger costs on PostgreSQL and MariaDB (about 20 minutes; COUNT=1 counts instructions)
	@scripts/setup $(if $(COUNT),versus-ledger-count,versus-load)
	scripts/versus $(if $(COUNT),--pairs 3) --cases $(or $(CASES),ledger$(if $(COUNT),-counts)) $(VERSUS)

versus-sqlserver: build canned ## Measures SQL Server's protocol beside PostgreSQL's and FreeTDS, with servers that answer from memory (about 5 minutes; COUNT=1 counts instructions)
	@scripts/setup versus-sqlserver
	scripts/versus $(if $(COUNT),--pairs 3) --cases $(or $(CASES),sqlserver$(if $(COUNT),-counts)) $(VERSUS)

fleet-cost: ## Measures the CPU time of a fleet's coordinator and agents for a second of a run (2 minutes)
	@scripts/setup build
	cargo run --release -p prony-drive --example fleet_cost

versus-load: build ## As versus, for loading only; also with 1, 2 and 4 jobs beside the server's bounds (about 15 minutes)
	@scripts/setup versus-load
	scripts/versus --cases loads $(VERSUS)
