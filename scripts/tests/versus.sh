#!/usr/bin/env bash
# The script behind `make versus`: its arithmetic, and a whole small pass with a made-up prony.
set -euo pipefail
exec "$(dirname "$0")/../versus" --self-test 2>/dev/null
