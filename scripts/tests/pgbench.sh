#!/usr/bin/env bash
# Prony called as pgbench: PostgreSQL's own tests, and the comparisons with the installed pgbench.
#
# In: PostgreSQL's programs. Out: one line per part, or `skipped: why`; status 1 if one fails.
# Must never: leave a server or a file behind.
#
#     scripts/tests/pgbench.sh [self-test|tap|texts|statements|rows|scenarios]...    all, if none is named
#
# Environment, optional:
#   PGBENCH_UNDER_TEST   the program under test: `prony` for this checkout, built in debug mode, `pgbench` for
#                        the installed one, or a path
#   PGBENCH_EVERY        run only every Nth command line of texts (7)
set -euo pipefail
cd "$(dirname "$0")/../.."

# The default program under test.
default_under_test=prony

skip() { echo "pgbench: skipped: $*" && exit 0; }

command -v python3 >/dev/null || skip "no Python"
bin_dir=$(PYTHONPATH=scripts PYTHONDONTWRITEBYTECODE=1 python3 -c \
    'from versuslib.server import find_bin_dir; print(find_bin_dir())' 2>/dev/null) ||
    skip "no PostgreSQL with pgbench and psql: apt install postgresql, or name its folder in PRONY_PG_BINDIR"

work=$(mktemp -d /var/tmp/prony-pgbench-XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
# Tests of PostgreSQL run as an ordinary user, who may have no access to the checkout.
chmod 755 "$work"

under_test=${PGBENCH_UNDER_TEST:-$default_under_test}
case $under_test in
prony)
    cargo build --bin prony
    target=$(cargo metadata --format-version 1 --no-deps | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
    cp --reflink=auto "$target/debug/prony" "$work/program"
    ;;
pgbench) cp "$bin_dir/pgbench" "$work/program" ;;
*) cp "$under_test" "$work/program" ;;
esac
chmod 755 "$work/program"
program=$work/program

# PostgreSQL's tests of version 15, regardless of the installed version; the program is called as pgbench.
wrapper=$work/pgbench
printf '#!/bin/bash\nexport PRONY_PGBENCH_COMPAT=15\nexec -a "$0" %q "$@"\n' "$program" >"$wrapper"
chmod 755 "$wrapper"

golden() { scripts/golden-pgbench --prony "$program" "$@"; }

# Runs a part of the test and prints its result in one line, or all output if it failed.
part() {
    local name=$1 status=0 start=$SECONDS
    shift
    "$@" >"$work/out" 2>"$work/err" || status=$?
    if [[ $status -ne 0 ]]; then
        echo "pgbench $name: FAILED"
        cat "$work/out" "$work/err"
        failed=1
    else
        echo "pgbench $name: $(tail -n 1 "$work/out") ($((SECONDS - start)) s)"
    fi
}

failed=
parts=("$@")
[[ $# -gt 0 ]] || parts=(self-test tap texts statements rows scenarios)
for name in "${parts[@]}"; do
    case $name in
    # Tests the comparison: it must detect faulty tools.
    self-test) part self-test scripts/golden-pgbench --self-test --texts --statements --rows --every 60 ;;
    tap) part tap scripts/tap-pgbench "$wrapper" ;;
    texts) part texts golden --texts --every "${PGBENCH_EVERY:-7}" ;;
    statements) part statements golden --statements --every 2 ;;
    rows) part rows golden --rows ;;
    scenarios) part scenarios golden --scenarios ;;
    *) echo "no part $name" >&2 && exit 2 ;;
    esac
done
[[ -z $failed ]]
