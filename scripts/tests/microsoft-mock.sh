#!/usr/bin/env bash
# Prony's client of SQL Server against the mock server of Microsoft's own driver.
#
# In: the headers of OpenSSL, with which the mock is built; `build` to build it only. Out: one line, or `skipped: why`;
# status 1 if a test fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
pkg-config --exists openssl 2>/dev/null || {
    echo "microsoft-mock: skipped: no headers of OpenSSL: apt install libssl-dev pkg-config"
    exit 0
}
target=${CARGO_TARGET_DIR:-${CARGO_BUILD_TARGET_DIR:-$PWD/target}}/microsoft-mock
only=()
[[ ${1:-} != build ]] || only=(--no-run)
output=$(cargo test "${only[@]}" --quiet --locked --manifest-path crates/tests/microsoft-mock/Cargo.toml --target-dir "$target" 2>&1) || {
    echo "microsoft-mock: FAILED"
    echo "$output"
    exit 1
}
[[ ${1:-} == build ]] || echo "microsoft-mock: $(grep -m1 '^test result' <<<"$output")"
