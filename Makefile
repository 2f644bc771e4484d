# Prony's everyday commands. `make` alone names them.
#
# In: a Rust toolchain and a C compiler; scripts/setup says how to get what is missing. Out: as each
# target says. Must never: change the machine beyond what the target says it does.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# A rustup that was just installed is not on PATH before the next login; and it goes before the
# distribution's older cargo.
export PATH := $(HOME)/.cargo/bin:$(PATH)

# Where cargo builds, as its own variables say.
TARGET := $(or $(CARGO_TARGET_DIR),$(CARGO_BUILD_TARGET_DIR),target)
PRONY := $(TARGET)/release/prony

# Parameters of versus, each optional: make versus PAIRS=9 CASES=unix64,tcp64 RUN_SECONDS=10 SCALE=50
# With AGAINST=path/to/another/prony that build takes the place of pgbench and sysbench.
VERSUS = --prony $(PRONY) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(RUN_SECONDS),--seconds $(RUN_SECONDS)) \
	$(if $(SCALE),--scale $(SCALE)) $(if $(RAW),--raw $(RAW)) $(if $(AGAINST),--against $(AGAINST))

.PHONY: help build demo test lint versus versus-load versus-pgbench versus-tpcc versus-sysbench test-pgbench test-sysbench

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s@ 2>/dev/null \
		|| sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1: \2/p' $(MAKEFILE_LIST)

build: ## The release binary, target/release/prony
	@scripts/setup build
	cargo build --release --bin prony

demo: build ## A PostgreSQL of its own, loaded, driven for 15 s, reported; nothing left running
	@scripts/setup demo $(PRONY)

test: ## All tests; as root on Debian or Ubuntu installs what they need (SERVERS=all|small|none: versions of servers to download)
	@scripts/setup build
	@scripts/setup test
	@for script in scripts/tests/*.sh; do echo "== $$script"; "$$script"; done
	@# Most tests wait for a server: more of them at a time than there are CPUs.
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-4} scripts/servers --want $(or $(SERVERS),$(if $(CI),all,small)) -- cargo test --workspace --no-fail-fast

test-pgbench: ## Of `make test`, what compares Prony called as pgbench with pgbench; all of it (PARTS="tap rows" for some)
	@scripts/setup build
	@scripts/setup test
	PGBENCH_EVERY=$(or $(EVERY),1) scripts/tests/pgbench.sh $(PARTS)

test-sysbench: ## Of `make test`, what compares Prony called as sysbench with sysbench; all of it (PARTS="texts statements" for some)
	@scripts/setup build
	@scripts/setup test
	SYSBENCH_EVERY=$(or $(EVERY),1) scripts/tests/sysbench.sh $(PARTS)

lint: ## Formatting, clippy with warnings as errors, scripts
	@scripts/setup build
	@scripts/setup lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	@for script in scripts/setup scripts/tap-pgbench .ci/run scripts/tests/*.sh; do bash -n "$$script"; done

versus: build ## Prony and pgbench in turn: ratios of CPU and TPS, as a table (about 20 minutes)
	@scripts/setup versus
	scripts/versus $(if $(CASES),--cases $(CASES)) $(VERSUS)

versus-pgbench: build ## The same for Prony called as pgbench, by identical command lines (about 40 minutes)
	@scripts/setup versus
	scripts/versus --cases $(or $(CASES),pgbench) $(VERSUS)

versus-tpcc: build ## What tpcc costs to build and to run, beside the server's bounds (about 20 minutes)
	@scripts/setup versus
	scripts/versus --cases $(or $(CASES),tpcc) $(VERSUS) $(if $(WAREHOUSES),--warehouses $(WAREHOUSES))

versus-sysbench: build ## Prony called as sysbench beside sysbench, on a MariaDB (about 30 minutes)
	@scripts/setup versus-sysbench
	scripts/versus --cases $(or $(CASES),sysbench) $(VERSUS)

versus-load: build ## The same for loading alone
	@scripts/setup versus
	scripts/versus --cases loads $(VERSUS)
