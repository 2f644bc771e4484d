#!/usr/bin/env bash
# Prony called as sysbench: the comparisons with the installed sysbench.
#
# In: sysbench, the programs of MariaDB and PostgreSQL. Out: one line per part, or `skipped: why`;
# status 1 if one fails. Must never: leave a server or a file behind.
#
#     scripts/tests/sysbench.sh [self-test|texts|statements]...    all, if none is named
#
# Environment, optional:
#   SYSBENCH_UNDER_TEST   the program under test: a path (this checkout, built in debug mode)
#   SYSBENCH_EVERY        run only every Nth command line of texts (9)
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() { echo "sysbench: skipped: $*" && exit 0; }

command -v python3 >/dev/null || skip "no Python"
[[ -x /usr/bin/sysbench ]] || skip "no sysbench to compare with: apt install sysbench"

work=$(mktemp -d /var/tmp/prony-sysbench-XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

program=${SYSBENCH_UNDER_TEST:-}
if [[ -z $program ]]; then
    cargo build --bin prony
    target=$(cargo metadata --format-version 1 --no-deps | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
    program=$target/debug/prony
fi

golden() { scripts/golden-sysbench "$@"; }

# The comparison must detect a program that sends an additional statement, and one that omits a line.
self_test() {
    local name words line=' --threads=1 .*oltp_read_write run'
    mkdir -p "$work/faulty"
    for name in statement line; do
        words='"$@"'
        [[ $name == statement ]] && words='--point-selects=11 "$@"'
        printf '#!/bin/bash\n/usr/bin/sysbench %s | %s\nexit "${PIPESTATUS[0]}"\n' "$words" \
            "$([[ $name == line ]] && echo "sed /reconnects/d" || echo cat)" >"$work/faulty/$name"
        chmod 755 "$work/faulty/$name"
    done
    golden --self-test --driver mysql --texts --cases "$line" >/dev/null || return 1
    ! golden --prony "$work/faulty/line" --driver mysql --texts --cases "$line" >/dev/null || return 1
    ! golden --prony "$work/faulty/statement" --driver mysql --statements --cases 'auto .*oltp_read_write run' >/dev/null || return 1
    echo "both faulty programs are detected"
}

part() {
    local name=$1 status=0 start=$SECONDS
    shift
    "$@" >"$work/out" 2>"$work/err" || status=$?
    if [[ $status -ne 0 ]]; then
        echo "sysbench $name: FAILED"
        cat "$work/out" "$work/err"
        failed=1
    else
        echo "sysbench $name: $(grep -v '^ ' "$work/out" | tail -n 2 | paste -sd ';') ($((SECONDS - start)) s)"
    fi
}

failed=
parts=("$@")
[[ $# -gt 0 ]] || parts=(self-test texts statements)
for name in "${parts[@]}"; do
    case $name in
    self-test) part self-test self_test ;;
    texts) part texts golden --prony "$program" --texts --every "${SYSBENCH_EVERY:-9}" ;;
    statements) part statements golden --prony "$program" --statements --driver mysql ;;
    *) echo "no part $name" >&2 && exit 2 ;;
    esac
done
[[ -z $failed ]]
