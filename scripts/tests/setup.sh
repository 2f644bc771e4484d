#!/usr/bin/env bash
# Tests that scripts/setup prints in one line what is missing, and that the demo asks before it downloads.
set -euo pipefail
setup=$(cd "$(dirname "$0")/.." && pwd)/setup
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A PATH with only the programs that the script itself needs.
for tool in bash env sed id; do ln -s "$(command -v "$tool")" "$work/$tool"; done

# expect WORDS COMMAND...: the command fails and prints one line with these words.
expect() {
    local words=$1 output
    shift
    if output=$(env -i PATH="$work" HOME="$work" "$@" 2>&1 </dev/null); then
        echo "should have failed: $*" && exit 1
    fi
    [[ $output == *"$words"* ]] || { echo "expected '$words' in: $output" && exit 1; }
    [[ $(wc -l <<<"$output") -eq 1 ]] || { echo "expected one line: $output" && exit 1; }
}

tool() { printf '#!%s\n%s\n' "$(command -v bash)" "$2" >"$work/$1" && chmod +x "$work/$1"; }

expect "rustup.rs" "$setup" build
tool cargo 'echo "cargo 1.63.0 (fd9c4297c 2022-07-01)"'
expect "1.95 or newer, this is 1.63" "$setup" build
tool cargo '[[ $1 == --version ]] && echo "cargo 1.95.0 (f2d3ce0bd 2026-03-21)"'
expect "C compiler and make: apt install gcc" "$setup" build
tool cc 'exit 0'
tool make 'exit 0'
env -i PATH="$work" HOME="$work" "$setup" build
expect "rustup component add clippy rustfmt" "$setup" lint

# The demo uses an installed PostgreSQL; without one, it announces a download, or refuses it.
tool prony 'echo "prony $*"'
mkdir "$work/pg"
for name in postgres initdb; do ln -s "$work/cc" "$work/pg/$name"; done
output=$(env -i PATH="$work" PRONY_PG_BINDIR="$work/pg" "$setup" demo "$work/prony")
[[ $output == "prony demo" ]] || { echo "with PostgreSQL: $output" && exit 1; }
if ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; then
    output=$(env -i PATH="$work" "$setup" demo "$work/prony" </dev/null)
    [[ $output == *"Maven Central"*"prony demo --download" ]] || { echo "without: $output" && exit 1; }
    output=$(env -i PATH="$work" DEMO_DOWNLOAD=0 "$setup" demo "$work/prony" 2>&1 </dev/null) && exit 1
    [[ $output == *"apt install postgresql"* ]] || { echo "refused: $output" && exit 1; }
fi
# make runs the binary that cargo builds, wherever cargo's variables put it.
root=$(dirname "$(dirname "$setup")")
for variable in CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR; do
    for target in demo versus versus-sysbench; do
        output=$(env -u CARGO_TARGET_DIR -u CARGO_BUILD_TARGET_DIR "$variable=$work/built" make -n -C "$root" "$target")
        [[ $output == *" $work/built/release/prony"* ]] || { echo "$target with $variable: $output" && exit 1; }
        [[ $target != versus* || $output == *" $work/built/release/examples/canned_server"* ]] || { echo "$target with $variable: $output" && exit 1; }
    done
done
output=$(make -n -C "$root" versus COUNT=1)
[[ $output == *"setup versus-count"*"--cases counts"* ]] || { echo "versus COUNT=1: $output" && exit 1; }
echo "setup: ok"
