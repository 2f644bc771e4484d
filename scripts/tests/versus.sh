#!/usr/bin/env bash
# Tests the script of `make versus`: its arithmetic, and a small complete pass with a fake prony.
set -euo pipefail
progress=$(mktemp)
trap 'rm -f "$progress"' EXIT
cd "$(dirname "$0")/../.."
# A debug build: the self-test measures nothing.
cargo build --quiet -p prony-drive --example canned_server
export CANNED=${CARGO_TARGET_DIR:-${CARGO_BUILD_TARGET_DIR:-target}}/debug/examples/canned_server
scripts/versus --self-test 2>"$progress" || {
    cat "$progress" >&2
    exit 1
}
