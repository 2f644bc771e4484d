"""Tools that differ from pgbench in one respect, which the comparison must detect.

In: a server. Out: the names of the tools that were not detected. Must never: accept a different
difference than the expected one.
"""
import shlex

from . import cases, corpus
from .compare import differences, shapes
from .tool import Tool

LOGS = 'for log in pgbench_log.*; do [ -e "$log" ] && sed -i "s/ /  /" "$log"; done\n'
LINE = "-t 3 -N"

# Kind of comparison, fault, command line, part that differs, and shell script. In the script, `real` is
# pgbench and `sql` runs a statement in the run's database.
FAULTY_TOOLS = [
    ("texts", "a space in the report", "-n -S -t 3", "stdout", "set -o pipefail\nreal \"$@\" | sed 's/^tps = /tps= /'\n"),
    ("texts", "a space in the log", "-n -S -t 3 -l", "log ", 'real "$@"\nstatus=$?\n' + LOGS + "exit $status\n"),
    ("texts", "the status", "-n -S -t 3", "exit status", 'real "$@"\nexit 3\n'),
    ("statements", "another protocol", LINE, "statements of clients", 'real "${@/prepared/extended}"\n'),
    ("statements", "another random number", LINE, "statements of clients", 'real "${@/--random-seed=7/--random-seed=8}"\n'),
    ("statements", "no vacuum", LINE, "statements of the set-up", 'real "$@" -n\n'),
    ("statements", "another order of vacuum", LINE, "statements of the set-up", 'sql pgbench "vacuum pgbench_tellers" && real "$@"\n'),
    ("statements", "one more session", LINE, "sessions of clients", 'real "$@" && sql pgbench "select 5" \n'),
    ("statements", "a change by another session", LINE, "other sessions", 'sql prony "update golden_pair set v = v" && real "$@"\n'),
    ("statements", "reading a table of the load", LINE, "other sessions", 'sql prony "select * from pgbench_history" && real "$@"\n'),
    ("rows", "another seed", "-n -t 30 -b tpcb-like", "rows of pgbench_history", 'real "${@/--random-seed=7/--random-seed=8}"\n'),
    ("rows", "a duplicated row", "-n -t 30 -b tpcb-like", "rows of pgbench_history", 'real "$@" && sql prony "insert into pgbench_history select * from pgbench_history limit 1"\n'),
    ("rows", "another default seed", "-n -t 5 -f values.sql", "values of each client", 'real "$@" -D default_seed=5\n'),
]

FAULTY_TOOLS += [
    ("rows", "no vacuum of tables", "-i", "vacuumed", 'real "$@" -n\n'),
    ("rows", "a missing key", "-i", "constraints", 'real "$@" && sql prony "alter table pgbench_tellers drop constraint pgbench_tellers_pkey"\n'),
    ("rows", "a row changed", "-i", "rows", 'real "$@" && sql prony "update pgbench_accounts set filler = null where aid = 7"\n'),
]

# Not a fault: Prony reads the server's settings.
ALLOWED_DIFFERENCE = ("statements", "reading settings", LINE, 'sql prony "select name, setting from pg_settings" && real "$@"\n')


def tool(folder, number, program, script):
    path = folder / f"faulty_{number}.sh"
    psql = shlex.quote(str(program.parent / "psql"))
    path.write_text(
        f'#!/bin/bash\nreal() {{ {shlex.quote(str(program))} "$@"; }}\n'
        f'sql() {{ PGAPPNAME=$1 {psql} -qXAtc "$2" >/dev/null; }}\n{script}'
    )
    path.chmod(0o755)
    return Tool(folder / f"faulty_{number}", [str(path)], {})


def parts(kind, text, golden, tested):
    """The parts of a run that are compared."""
    if kind == "texts":
        return shapes(golden.texts(cases.Case(tuple(text.split())), tested))
    if text == "-i":
        return golden.rows(cases.Case(("-i",), fresh=True, queries=corpus.TABLES), tested)
    case = corpus.line(text, "prepared", corpus.VALUES if "values" in text else corpus.HISTORY)
    return getattr(golden, kind)(case, tested)


def undetected(kinds, golden, folder, program, pgbench):
    """The faulty tools that were not detected, and the allowed difference if it was reported."""
    undetected_names = []
    for number, (kind, name, text, part, script) in enumerate(FAULTY_TOOLS):
        if kind not in kinds:
            continue
        lines = differences(
            text,
            parts(kind, text, golden, pgbench),
            parts(kind, text, golden, tool(folder, number, program, script)),
        )
        if not any(line.startswith("  ") and line.strip().startswith(part) or part in line for line in lines[1:]):
            undetected_names.append(f"{kind}: {name}")
    kind, name, text, script = ALLOWED_DIFFERENCE
    if kind in kinds:
        allowed = tool(folder, len(FAULTY_TOOLS), program, script)
        if parts(kind, text, golden, pgbench) != parts(kind, text, golden, allowed):
            undetected_names.append(f"{kind}: {name} is allowed")
    return undetected_names
