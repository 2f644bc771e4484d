"""The workload tpcc: the cost of building a warehouse and of a transaction, and the server's bounds.

In: a release build of prony, psql, pgbench. Out: Markdown. Must never: measure two things at once.

The bounds are the cost of the same server work with a minimal client: COPY of the same bytes from files
by psql, and the same function calls by pgbench from script files. HammerDB is not run here; the tables
show its figures, measured on 2 cores.
"""
import dataclasses
import re

from . import figures, tools
from .bounds import Psql
from .cases import TPCC_LOAD, TPCC_MEMORY, TPCC_PROFILE, TPCC_RUN, Case
from .figures import ratios, spread
from .pgbench import environment
from .server import ScriptError, Server, quiet_settings
from .session import print_progress

DATABASE = "orders"
CASE = Case("tpcc", "", "prony", "tpcc", ("--profile", TPCC_PROFILE))

# Limits: client CPU per warehouse built, in s; and the client's memory when it loads a thousand.
MAX_CPU_S = 0.5
MAX_BYTES = 300_000_000
PROJECTED_WAREHOUSES = 1_000
# HammerDB 4.6 on 2 cores, PostgreSQL 15, synchronous_commit=off: building one warehouse with items, and
# new orders per minute of one user on one warehouse.
HAMMERDB_WALL_S, HAMMERDB_CPU_S, HAMMERDB_NOPM = 11.0, 6.9, 54_818
# Required speed-up when building ten warehouses.
MIN_SPEEDUP = 8

FUNCTION_PREFIX = "prony_tpcc_hammerdb_46"
# The columns of ostat's result, which a query must list.
OSTAT_COLUMNS = (
    "(ol_i_id int, ol_supply_w_id int, ol_quantity smallint, ol_amount numeric, ol_delivery_d timestamptz, c_id int, "
    "c_last varchar, c_first varchar, c_middle varchar, c_balance numeric, o_id int, o_entry_d timestamp, o_carrier_id int)"
)
DISTRICT = "\\set d random(1, 10)\n"
CUSTOMER = DISTRICT + "\\set c random(1, 3000)\n"
# Weight and text. The weights of the mix are 10, 10, 1, 1 and 1 of 23; 60 % of the customers are selected
# by a name, which is never found, as in HammerDB 4.6. The server generates the lines of an order.
SCRIPTS = {
    "new-order": (100, CUSTOMER + f"\\set n random(5, 15)\nSELECT {FUNCTION_PREFIX}_neword(1, 1, :d, :c, :n, 0);\n"),
    "payment-name": (60, CUSTOMER + f"\\set a random(1, 5000)\nSELECT {FUNCTION_PREFIX}_payment(1, :d, 1, :d, :c, 1, :a, '?', '0', 0);\n"),
    "payment": (40, CUSTOMER + f"\\set a random(1, 5000)\nSELECT {FUNCTION_PREFIX}_payment(1, :d, 1, :d, :c, 0, :a, '', '0', 0);\n"),
    "delivery": (10, f"\\set k random(1, 10)\nSELECT {FUNCTION_PREFIX}_delivery(1, :k);\n"),
    "stock-level": (10, f"\\set t random(10, 20)\nSELECT {FUNCTION_PREFIX}_slev(1, 1, :t);\n"),
    "status-name": (6, CUSTOMER + f"SELECT * FROM {FUNCTION_PREFIX}_ostat(1, :d, :c, 1, '?') AS {OSTAT_COLUMNS};\n"),
    "status": (4, CUSTOMER + f"SELECT * FROM {FUNCTION_PREFIX}_ostat(1, :d, :c, 0, '') AS {OSTAT_COLUMNS};\n"),
}

LOAD_HEAD = ["build", "wall a warehouse, s", "client CPU a warehouse, s", "required", "", "wall, Prony / bound"]
RUN_HEAD = ["1 user, 1 warehouse", "NOPM", "TPM", "client CPU, µs a transaction", "NOPM, Prony / bound"]
MEMORY_HEAD = [
    "warehouses, 2 loaders", "wall a warehouse, s",
    f"HammerDB's {HAMMERDB_WALL_S:g} s a warehouse / Prony (required at ten: ≥ {MIN_SPEEDUP})",
    "peak of the client, MB", "required", "",
]


@dataclasses.dataclass
class TpccRun(tools.Measurement):
    """A run of the mix; `tpm` is 0 if the server's count is missing, because the window was too short or pgbench ran."""

    nopm: float = 0.0
    tpm: float = 0.0


def read_document(output):
    """(transactions, TPS, NOPM, TPM) of a Run document of prony."""
    run, kind = tools.read_run(output)
    rates = {rate["name"]: rate["value"] for rate in run["rates"]}
    return kind["committed"] + kind["rolled_back"], kind["tps"], rates["NOPM"], rates.get("TPM", 0.0)


def read_scripts(output):
    """(transactions, TPS, new orders per minute, 0) of a pgbench report with several scripts."""
    new_orders = re.search(r"^SQL script \d+: \S*new-order\.sql\n(?: .*\n)*? .*tps = ([0-9.]+)", output, re.M)
    if not new_orders:
        raise ScriptError("cannot read pgbench's report:\n" + output)
    return *tools.read_pgbench(output), 60 * float(new_orders.group(1)), 0.0


def load_rows(warehouses, prony, bound):
    """Lines of the table of builds, from two lists of Measurements."""
    def each(name, runs):
        return [getattr(run, name) / warehouses for run in runs]

    times = [[spread(each("wall_s", runs)), spread(each("cpu_s", runs))] for runs in (prony, bound)]
    outcome = figures.verdict(each("cpu_s", prony), MAX_CPU_S, False)
    return [
        [f"prony load tpcc --scale {warehouses}", *times[0], f"≤ {MAX_CPU_S:g}", outcome, spread(ratios("wall_s", prony, bound))],
        ["psql, COPY of the same bytes from files, the same indexes", *times[1]],
        ["HammerDB 4.6, one warehouse, elsewhere", f"{HAMMERDB_WALL_S:g}", f"{HAMMERDB_CPU_S:g}"],
    ]


def measure_load(session, server, prony):
    warehouses, database = session.args.warehouses, "build"
    bound = Psql(server, prony.home, CASE, warehouses, database)
    server.recreate_database(database)
    prony.load(CASE, server, warehouses, database)
    bound.save()

    def measured(load):
        server.recreate_database(database)
        result = load()
        return result, result.load_text()

    sides = {
        "prony": lambda: measured(lambda: prony.load(CASE, server, warehouses, database)),
        "bound": lambda: measured(lambda: bound.load(1)),
    }
    results = session.compare(TPCC_LOAD, sides, f", {warehouses} warehouses")
    server.sql(f"drop database {database}")
    return figures.table(LOAD_HEAD, load_rows(warehouses, *results))


def run_rows(prony, bound):
    """Lines of the table of runs, from two lists of TpccRuns."""
    def cells(runs):
        tpm = [run.tpm for run in runs if run.tpm]
        nopm = spread((run.nopm for run in runs), "{:,.0f}")
        cpu = spread((run.cpu_us_per_transaction for run in runs), "{:.1f}")
        return [nopm, spread(tpm, "{:,.0f}") if tpm else "–", cpu]

    return [
        [f"prony run tpcc --profile {TPCC_PROFILE}", *cells(prony), spread(ratios("nopm", prony, bound))],
        ["pgbench -M prepared, the same calls", *cells(bound)],
        ["HammerDB 4.6, elsewhere", f"{HAMMERDB_NOPM:,}"],
    ]


def measure_run(session, server, prony, pgbench):
    seconds = session.args.seconds
    server.recreate_database(DATABASE)
    prony.load(CASE, server, 1, DATABASE)
    scripts = []
    for name, (weight, text) in SCRIPTS.items():
        (pgbench.home / f"{name}.sql").write_text(text)
        scripts += ["-f", f"{name}.sql@{weight}"]
    words = ["run", "tpcc", "--url", server.url("unix", DATABASE), "--clients", 1, "--threads", 1]
    command = [prony.build, *words, *CASE.options, "--json", "--warmup", "0s", "--duration"]
    calls = pgbench.pgbench(server, "unix", "-n", "-M", "prepared", "-c", 1, "-j", 1, *scripts, "-T", seconds, DATABASE)
    # This run installs the functions and warms up the server.
    prony.call([*command, "4s"], server)

    def drive(program, words, read):
        # Each run adds orders, history and dead rows.
        server.sql("vacuum; checkpoint", DATABASE)
        result, output = program.call(words, server)
        transactions, tps, nopm, tpm = read(output)
        run = TpccRun(result.wall_s, result.cpu_s, transactions, tps, nopm=nopm, tpm=tpm)
        return run, f"{run.nopm:9,.0f} NOPM, {run.cpu_us_per_transaction:6.1f} µs CPU"

    sides = {
        "prony": lambda: drive(prony, [*command, f"{seconds}s"], read_document),
        "bound": lambda: drive(pgbench, calls, read_scripts),
    }
    results = session.compare(TPCC_RUN, sides, f" of {seconds} s")
    server.sql(f"drop database {DATABASE}")
    return figures.table(RUN_HEAD, run_rows(*results))


def memory_rows(loads):
    """Lines of the table of larger builds, from (warehouses, Measurement); the projection uses the last two."""
    rows = []
    for count, load in loads:
        speedup = f"{HAMMERDB_WALL_S * count / load.wall_s:.1f} times"
        rows.append([str(count), f"{load.wall_s / count:.2f}", speedup, f"{load.peak_bytes / 1e6:.1f}"])
    peaks = [(count, load.peak_bytes) for count, load in loads[-2:]]
    most = figures.most_memory(*peaks, PROJECTED_WAREHOUSES, MAX_BYTES)
    return [*rows, [f"{PROJECTED_WAREHOUSES:,} (by extrapolation)", "", "", *most]]


def measure_memory(session, server, prony):
    """The table of larger builds."""
    loads = []
    for count in session.args.memory_warehouses:
        server.recreate_database("memory")
        load = prony.load(dataclasses.replace(CASE, clients=2), server, count, "memory", watch_memory=True)
        loads.append((count, load))
        print_progress(f"{TPCC_MEMORY}: {count} warehouses in {load.wall_s:.1f} s, {load.peak_bytes / 1e6:.1f} MB")
    server.sql("drop database memory")
    session.raw[TPCC_MEMORY] = loads
    return figures.table(MEMORY_HEAD, memory_rows(loads))


def measure(session, home):
    """Measures the chosen cases on a separate server; returns the parts of the report."""
    args = session.args
    with Server(session.bin_dir, quiet_settings(args, synchronous_commit="off")) as server:
        prony, pgbench = tools.Program("prony", home, args.prony), tools.Program("pgbench", home, None, session.bin_dir)
        parts = ["## tpcc and the server's bounds", "\n".join([
            *environment(server, session),
            f"- medians of {args.pairs} interleaved pairs (smallest–largest); runs of {args.seconds} s; "
            "CPU: user and system time of the whole client process",
        ])]
        print_progress(parts[-1])
        if TPCC_LOAD in args.cases:
            parts.append(measure_load(session, server, prony))
        if TPCC_RUN in args.cases:
            parts.append(measure_run(session, server, prony, pgbench))
        if TPCC_MEMORY in args.cases:
            parts.append(measure_memory(session, server, prony))
    return parts
