"""Tests of this script: its arithmetic, and small passes of each part.

In: a build of prony of any profile, the other programs. Out: an exit status. Must never: assert a speed.
"""
import contextlib
import dataclasses
import functools
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
from unittest import mock

from . import bounds, canned_tools, cases, counts, figures, replay, scaling, sqlserver, tools, tpcc
from .namespace import Namespace
from .server import ScriptError, find_bin_dir
from .session import interleave

PGBENCH_REPORT = """\
number of transactions actually processed: 2300
number of failed transactions: 0 (0.000%)
tps = 230.500000 (without initial connection time)
SQL script 1: payment.sql
 - weight: 100 (targets 43.5% of total)
 - 1000 transactions (43.5% of total, tps = 70.000000)
SQL script 2: new-order.sql
 - weight: 100 (targets 43.5% of total)
 - 1000 transactions (43.5% of total, tps = 100.200000)
"""
STRACE_TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
 43.83    0.010991         392        28         1 futex
 33.59    0.008423           8      1006           io_uring_enter
100.00    0.025076          15      1034         1 total
"""
# A case of each kind, and what the part's report must contain. Large sizes are reduced before.
PASSES = (
    (["load", "unix8", "one-cpu", "tpcb64", "memory", "pgbench-tpcb-prepared-unix1", "pgbench-file-simple-unix1"], ["-f / -S", "fsync on"]),
    (["layout-threads2-tcp", "layout-apart-unix", "layout-namespace", "layout-sleep-busy4"], []),
    (cases.TPCC, ["| prony load tpcc --scale 1 |", "| 1,000 (by extrapolation) |", "synchronous_commit off"]),
    (["jobs-tpcb", "jobs-prepare"], ["load tpcb, PostgreSQL, scale 1 | 4 |", "tables, MariaDB, 100 rows each | 4 |"]),
    (["sb-prepare", "sb-rw2", "sb-point-tcp16", "sb-sleep3-busy4", "sb-lua1", "sb-connections"], ["MariaDB"]),
    (["replay-psql1", "replay-pgbench8"], ["statements per second of client CPU"]),
    (["capacity-select-unix", "capacity-point-tcp"], []),
    (["ledger-tpcb4", "ledger-oltp_update_index4"], ["with / without", "log, bytes"]),
    (["sqlserver"], ["| CPU per transaction, ratio |", "of 20"]),
)


def raises(kind, action):
    """Whether `action` raises an exception of this kind."""
    try:
        action()
    except kind:
        return True
    return False


def runs(wall_s, cpu_s, transactions=0, tps=0.0, **others):
    """Three equal measurements."""
    return [tools.Measurement(wall_s, cpu_s, transactions, tps, **others)] * 3


def arithmetic():
    """Checks verdicts, rows and extrapolations of known figures, and the order of runs."""
    values = [0.5, 1.5, 1.0]
    assert figures.spread(values) == "1.00 (0.50–1.50)"
    assert raises(ValueError, lambda: figures.ratios("wall_s", runs(1, 1), runs(1, 1)[:2]))
    for bound, is_minimum, expected in (
        (1.0, True, "met (2 of 3 pairs)"), (0.4, True, "met"), (1.6, True, "missed"), (0.9, False, "missed (1 of 3 pairs)"), (None, True, "–"),
    ):
        assert figures.verdict(values, bound, is_minimum) == expected, (bound, expected)
    # 10 MB at 5, 13 MB at 20: 0.2 MB each, so 13 + 980 × 0.2 = 209 MB.
    assert figures.most_memory((5, 10e6), (20, 13e6), 1_000, 300e6) == ["209", "≤ 300", "met"]
    assert figures.most_memory((5, 10e6), (20, 20e6), 1_000, 300e6)[2] == "missed"
    # S = 4 s and C = 2 s of 6 s on shared CPUs: without C, the rate is 1.5 times as high.
    prony, other = runs(5, 1.0, 500_000, 100_000.0), runs(5, 2.0, 400_000, 80_000.0, server_cpu_s=4.0)
    row = figures.row(figures.run_columns("x"), cases.RUNS[0], prony, other)
    assert row[1:8:2] == ["0.40 (0.40–0.40)", "met", "≥ 1.15", "2.00 / 5.00"] and row[9:] == ["0.0 / 10.0", "1.50"], row
    row = figures.row(figures.load_columns("x"), cases.LOADS[0], runs(2.0, 0.3), runs(3.0, 1.0))
    assert row[1] == "1.50 (1.50–1.50)" and row[4] == "0.30 (0.30–0.30)", row
    results = {1: (runs(4.0, 0.5), runs(2.0, 0.5)), 2: (runs(2.0, 0.5), runs(1.6, 0.5))}
    assert scaling.rows("x", results)[1][8:] == ["1.25 (1.25–1.25)", "2.00", "1.25"]
    assert tpcc.load_rows(1, runs(4.0, 0.8), runs(2.0, 0.2))[0][4] == "missed"
    busy, waiting = runs(5.0, 4.9, 1, 1, server_cpu_s=2.0), runs(5.0, 2.0, 1, 1, server_cpu_s=4.9)
    assert canned_tools.limits(None, busy, waiting).startswith("client / server")

    order = []
    interleave({name: lambda name=name: (order.append(name), "") for name in "ab"}, 3)
    assert "".join(order) == "abbaab", order


def reports():
    """Checks that reports of the tools are read, and that incomplete and failed ones are refused."""
    assert tools.read_pgbench(PGBENCH_REPORT) == (2300, 230.5)
    assert tpcc.read_scripts(PGBENCH_REPORT) == (2300, 230.5, 6012.0, 0.0)
    assert counts.read_strace(STRACE_TABLE) == {"futex": 28, "io_uring_enter": 1006}
    kind = {"committed": 990, "rolled_back": 10, "failed": 0, "tps": 99.0}
    run = {"state": "complete", "measured": {"kinds": [kind], "errors": []}, "warmup": {"kinds": [{"committed": 11}]}}
    assert tools.read_prony(json.dumps(run)) == (1001, 99.0)
    failed = {**run, "measured": {"kinds": [{**kind, "failed": 1}], "errors": []}}
    for read, text in (
        (tools.read_pgbench, "pgbench: error"), (tools.read_pgbench, PGBENCH_REPORT.replace("tions: 0", "tions: 1")),
        (tpcc.read_scripts, PGBENCH_REPORT.replace("new-order", "x")), (tools.read_sysbench, "FATAL: broken"),
        (counts.read_strace, "strace: error"), (tools.read_prony, json.dumps(failed)),
        (tools.read_prony, json.dumps({**run, "state": "partial"})),
    ):
        assert raises(ScriptError, lambda: read(text)), text
    # Of two threads, the one that grows with the transactions.
    number = counts.MANY_TRANSACTIONS - counts.FEW_TRANSACTIONS
    few, many = ({1: 9_000_000, 2: 500}, {"send": 10}), ({1: 9_000_100, 2: 500 + 40 * number}, {"send": 10 + number})
    assert counts.per_transaction(few, many) == counts.Counts(40.0, 1.0, {"send": 1.0})


def choices():
    """Checks which cases names and groups choose, and the parts of a load."""
    assert cases.choose("loads,unix64,load") == ["load", "load-jobs2", "jobs-tpcb", "jobs-prepare", "unix64"]
    assert raises(ValueError, lambda: cases.choose("nonsense"))
    assert not set(cases.choose("all")) & set(cases.choose("pgbench,jobs,sysbench,tpcc"))
    assert bounds.distribute([(1, "a"), (5, "b"), (3, "c"), (3, "d")], 2) == ["b\na\n", "c\nd\n"]
    conditions = [condition for ((_, condition),) in bounds.parts_of(cases.JOBS[0], 9)[1:]]
    assert conditions == ["aid > 0 and aid <= 800000", "aid > 800000 and aid <= 900000"]


def cpu_time():
    """Checks that a child's CPU time is measured completely, without this script's."""
    burn = "import time\nwhile time.process_time() < 0.4: pass\nprint(time.process_time(), flush=True)"
    result, output = tools.execute([sys.executable, "-c", burn], dict(os.environ))
    # The child's own reading plus the time of its exit; far below twice as much.
    assert float(output) <= result.cpu_s + 0.01 <= 2 * float(output) + 1, (output, result)


def namespaces():
    """Checks that a namespace's interfaces are gone after an exception in its block."""
    interface = None
    with contextlib.suppress(KeyboardInterrupt), Namespace() as namespace:
        if not namespace.error:
            interface = pathlib.Path("/sys/class/net", namespace.server_interface)
            assert interface.exists()
        raise KeyboardInterrupt
    assert interface is None or not interface.exists()


def measured(args, measure, chosen, *options):
    """The exit status, report and raw figures of a pass."""
    out, folders = io.StringIO(), []

    def recorded_folder(*words, make=tempfile.mkdtemp, **named):
        folders.append(pathlib.Path(make(*words, **named)))
        return str(folders[-1])

    with tempfile.TemporaryDirectory() as folder:
        raw = pathlib.Path(folder, "raw.json")
        words = "--pairs 1 --seconds 1 --scale 1 --shared-buffers 32MB --memory-clients 3 --warehouses 1 --memory-warehouses 1,2".split()
        words += ["--jobs-warehouses", "1", "--jobs-rows", "100", "--raw", str(raw), "--cases", ",".join(chosen)]
        words += ["--prony", args.prony, "--canned", args.canned, *options]
        with mock.patch("tempfile.mkdtemp", recorded_folder), contextlib.redirect_stdout(out):
            status = measure(words)
        results = json.loads(raw.read_text())
    assert folders and not any(path.exists() for path in folders), folders
    return status, out.getvalue(), results


def stored(bound):
    """The rows of each table of a load, and the number of indexes."""
    is_postgres = isinstance(bound, bounds.Psql)
    database = (bound.database,) if is_postgres else ()
    indexes = "pg_indexes where schemaname = 'public'" if is_postgres else "information_schema.statistics where table_schema = database()"
    return [bound.server.sql(f"select count(*) from {name}", *database) for name in (*bound.tables, indexes)]


def stores_the_same(action):
    """A method of a bound that checks what is stored after it. `save` comes first, when Prony has loaded."""
    def checked(bound, *arguments):
        result, found = action(bound, *arguments), stored(bound)
        assert found == bound.__dict__.setdefault("expected", found) and int(found[-1]) > 0, (found, bound.expected)
        return result

    return checked


def small():
    """Fewer clients, tables and transactions: a debug build on a loaded machine reaches them."""
    stack = contextlib.ExitStack()
    for name in ("RUNS", "LAYOUTS", "SYSBENCH_RUNS", "CAPACITY", "REPLAYS"):
        few = [dataclasses.replace(case, clients=min(case.clients, 3)) for case in getattr(cases, name)]
        stack.enter_context(mock.patch.object(cases, name, few))
    loads = [dataclasses.replace(cases.SYSBENCH_LOADS[0], options=("--tables=2", "--table-size=100"))]
    bound_methods = ((bounds.Psql, "save"), (bounds.MariaClient, "save"), (bounds.Bound, "load"))
    for module, name, value in (
        (replay, "STATEMENTS", 600), (cases, "SYSBENCH_LOADS", loads), (cases, "TABLES", 2), (cases, "ROWS", 100), (cases, "CONNECTIONS", 40),
        (counts, "FEW_TRANSACTIONS", 20), (counts, "MANY_TRANSACTIONS", 60), (sqlserver, "FEW_CALLS", 64), (sqlserver, "MANY_CALLS", 640),
        *((kind, name, stores_the_same(getattr(kind, name))) for kind, name in bound_methods),
        # A debug build on a loaded machine is saturated, which Prony calls invalid.
        (tools, "execute", functools.partial(tools.execute, accepted=(0, sqlserver.INVALID))),
    ):
        stack.enter_context(mock.patch.object(module, name, value))
    return stack


def complete_pass(args, measure, chosen, expected, *options):
    """Checks that each case of a pass has figures of two sides, or a reason for none."""
    status, text, results = measured(args, measure, chosen, *options)
    assert status == 0 and all(words in text for words in expected), (text, results)
    for name, sides in results.items():
        if isinstance(sides, dict) and "skipped" in sides:
            print(f"versus self-test: {name} skipped: {sides['skipped']}")
        else:
            assert len(sides) >= 2, (name, sides)


def counted(args, measure):
    """Counts of pgbench on both sides: valgrind takes a minute to read the symbols of a debug build of prony."""
    complete_pass(args, measure, ["count-select-simple-unix"], [], "--prony", str(find_bin_dir() / "pgbench"))


def two_builds(args, measure):
    """A second build of prony instead of pgbench: no bounds, both called alike."""
    status, text, results = measured(args, measure, ["load", "unix8"], "--against", args.prony)
    assert status == 0 and all([*sides] == ["prony", "other"] for sides in results.values()), results
    assert "Prony / other build" in text and " met" not in text and "missed" not in text, text


def a_failure_is_reported(args, measure):
    """A failing prony loses only its row of the report, and the status shows the failure."""
    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder, "prony")
        broken.write_text("#!/bin/sh\ntest $1 = --version && echo prony 0 && exit\necho broken >&2; exit 3\n")
        broken.chmod(0o755)
        status, text, results = measured(args, measure, ["load", "memory"], "--prony", str(broken))
    assert status == 1 and "broken" in results["load"]["failed"] and results["memory pgbench"], results
    for title in ("load, --jobs 1", "prony"):
        assert f"| {title} | could not be measured |" in text, text


def run(args, measure):
    """Returns the exit status."""
    for test in (arithmetic, reports, choices, cpu_time, namespaces):
        test()
        print(f"versus self-test: {test.__name__} ok", flush=True)
    with small():
        for chosen, expected in PASSES:
            if chosen[0].startswith("sb-") and not shutil.which("sysbench"):
                print("versus self-test: sysbench skipped: it is not installed")
                continue
            complete_pass(args, measure, chosen, expected)
            print(f"versus self-test: {chosen[0]} ok", flush=True)
        for test in (counted, two_builds, a_failure_is_reported):
            test(args, measure)
            print(f"versus self-test: {test.__name__} ok", flush=True)
    return 0
