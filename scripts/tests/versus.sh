#!/usr/bin/env bash
# The script behind `make versus`: its arithmetic, and a whole small pass with a made-up prony.
set -euo pipefail
progress=$(mktemp)
trap 'rm -f "$progress"' EXIT
"$(dirname "$0")/../versus" --self-test 2>"$progress" || {
    cat "$progress" >&2
    exit 1
}
