#!/usr/bin/env bash
# Tests the script of `make versus`: its arithmetic, and a small complete pass with a fake prony.
set -euo pipefail
progress=$(mktemp)
trap 'rm -f "$progress"' EXIT
"$(dirname "$0")/../versus" --self-test 2>"$progress" || {
    cat "$progress" >&2
    exit 1
}
