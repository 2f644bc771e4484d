#!/usr/bin/env bash
# Tests the script of `make versus`: its arithmetic, and small passes of each part.
#
# Environment, optional:
#   VERSUS_UNDER_TEST   the prony that is measured: a path (this checkout, built in debug mode)
set -euo pipefail
progress=$(mktemp)
trap 'rm -f "$progress"' EXIT
cd "$(dirname "$0")/../.."
# Debug builds: the self-test asserts no figure.
cargo build --quiet -p prony-drive --example canned_server
[[ -n ${VERSUS_UNDER_TEST:-} ]] || cargo build --quiet --bin prony
target=${CARGO_TARGET_DIR:-${CARGO_BUILD_TARGET_DIR:-target}}/debug
PRONY=${VERSUS_UNDER_TEST:-$target/prony} CANNED=$target/examples/canned_server scripts/versus --self-test 2>"$progress" || {
    cat "$progress" >&2
    exit 1
}
