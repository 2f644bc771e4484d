"""The workload tpcc: the cost of building a warehouse and of a transaction, and the server's bounds.

In: a release build of prony, psql, pgbench. Out: Markdown. Must never: measure two things at once, or
leave a server running.

The bounds are the cost of the same server work with a minimal client: COPY of the same bytes from files
by psql, and the same function calls by pgbench from script files. HammerDB is not run here; the tables
show its figures, measured on 2 cores.
"""
import dataclasses
import os
import re
import statistics

from . import figures, tools
from .cases import TPCC
from .pgbench import environment
from .server import ScriptError, Server, quiet_settings
from .session import print_progress
from .tools import Measurement, execute

DATABASE = "orders"
LOAD, RUN, MEMORY = TPCC

PROFILE = "hammerdb-4.6"
TABLES = ["item", "warehouse", "district", "stock", "customer", "history", "orders", "new_order", "order_line"]

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


@dataclasses.dataclass
class TpccRun(Measurement):
    """A run of the mix."""

    nopm: float = 0.0
    tpm: float = 0.0


def read_document(output):
    """(transactions, TPS, NOPM, TPM) of a Run document of prony."""
    run, kind = tools.read_run(output)
    rates = {rate["name"]: rate["value"] for rate in run["rates"]}
    return kind["committed"] + kind["rolled_back"], kind["tps"], rates["NOPM"], rates.get("TPM", 0.0)


def read_scripts(output):
    """(transactions, TPS, new orders per minute) of a pgbench report with several scripts."""
    summary, *scripts = re.split(r"^SQL script \d+: ", output, flags=re.M)
    count = re.search(r"number of transactions actually processed: (\d+)", summary)
    tps = re.search(r"tps = ([0-9.]+) ", summary)
    for script in scripts:
        own = re.search(r"tps = ([0-9.]+)", script)
        if own and script.split("\n")[0].strip().endswith("new-order.sql") and count and tps:
            return int(count.group(1)), float(tps.group(1)), 60 * float(own.group(1))
    raise ScriptError("cannot read pgbench's report:\n" + output)


class Prony(tools.Prony):
    """A build of prony."""

    def build(self, warehouses, database, jobs=1, watch_memory=False):
        """Builds warehouses."""
        return self.load(warehouses, database, jobs, "tpcc", ["--profile", PROFILE], watch_memory)

    def drive(self, seconds):
        """One user on one warehouse."""
        words = ["run", "tpcc", "--url", self.server.url("unix", DATABASE), "--clients", 1, "--threads", 1]
        result, output = self.call([*words, "--duration", f"{seconds}s", "--profile", PROFILE, "--json"])
        transactions, tps, nopm, tpm = read_document(output)
        return TpccRun(result.wall_s, result.cpu_s, transactions, tps, nopm=nopm, tpm=tpm)


class ServerBound:
    """psql and pgbench: the server's bounds."""

    name = "bound"

    def __init__(self, server, home):
        self.server = server
        self.home = home
        self.definitions = ""
        for name, (_, text) in SCRIPTS.items():
            with open(os.path.join(home, f"{name}.sql"), "w") as file:
                file.write(text)

    def _psql(self, database, text):
        path = os.path.join(self.home, "statements.sql")
        with open(path, "w") as file:
            file.write(text)
        return tools.execute_psql(self.server, path, database)

    def copy_definitions(self, database):
        """Saves the rows and the statements of a database that prony has loaded."""
        for table in TABLES:
            self._psql(database, f"\\copy {table} to '{self._file(table)}' (format binary)\n")
        self.definitions = self.server.sql(tools.CREATE_TABLES, database)
        indexes = "select indexdef || ';' from pg_indexes where schemaname = 'public'"
        self.indexes = self.server.sql(indexes, database)

    def _file(self, table):
        return os.path.join(self.home, f"{table}.copy")

    def build(self, warehouses, database):
        """Loads the same bytes with the same statements in one session."""
        del warehouses
        copies = "\n".join(f"\\copy {table} from '{self._file(table)}' (format binary, freeze)" for table in TABLES)
        text = f"begin;\n{self.definitions}\n{copies}\ncommit;\nvacuum (analyze);\n{self.indexes}\n"
        return self._psql(database, text)

    def drive(self, seconds):
        """Runs the same calls with one user."""
        command = [self.server.bin_dir / "pgbench", "-h", self.server.host("unix"), "-p", self.server.port]
        command += ["-U", "postgres", "-n", "-M", "prepared", "-c", 1, "-j", 1, "-T", seconds]
        for name, (weight, _) in SCRIPTS.items():
            command += ["-f", os.path.join(self.home, f"{name}.sql@{weight}")]
        result, output = execute([*command, DATABASE], self.server.environment())
        transactions, tps, nopm = read_scripts(output)
        return TpccRun(result.wall_s, result.cpu_s, transactions, tps, nopm=nopm)


def spread(values, form="{:.2f}"):
    """Median, minimum and maximum."""
    values = list(values)
    low, middle, high = (form.format(f(values)) for f in (min, statistics.median, max))
    return f"{middle} ({low}–{high})"


LOAD_HEAD = ["build", "wall a warehouse, s", "client CPU a warehouse, s", "required", "", "wall, Prony / bound"]


def load_rows(warehouses, prony, bound):
    """Lines of the table of builds, from two lists of Measurements."""
    def each(name, runs):
        return [getattr(run, name) / warehouses for run in runs]

    times = [[spread(each("wall_s", runs)), spread(each("cpu_s", runs))] for runs in (prony, bound)]
    outcome = figures.verdict(figures.Ratio(each("cpu_s", prony)), MAX_CPU_S, False)
    speedup = str(figures.ratio_of("wall_s", prony, bound))
    return [
        [f"prony load tpcc --scale {warehouses}", *times[0], f"≤ {MAX_CPU_S:g}", outcome, speedup],
        ["psql, COPY of the same bytes from files, the same indexes", *times[1]],
        ["HammerDB 4.6, one warehouse, elsewhere", f"{HAMMERDB_WALL_S:g}", f"{HAMMERDB_CPU_S:g}"],
    ]


RUN_HEAD = ["1 user, 1 warehouse", "NOPM", "TPM", "client CPU, µs a transaction", "NOPM, Prony / bound"]


def run_rows(prony, bound):
    """Lines of the table of runs, from two lists of TpccRuns."""
    def cells(runs):
        # The server's count is missing if the window is too short, and pgbench does not read it.
        tpm = [run.tpm for run in runs if run.tpm]
        nopm = spread((run.nopm for run in runs), "{:,.0f}")
        cpu = spread((run.cpu_us_per_transaction for run in runs), "{:.1f}")
        return [nopm, spread(tpm, "{:,.0f}") if tpm else "–", cpu]

    return [
        [f"prony run tpcc --profile {PROFILE}", *cells(prony), str(figures.ratio_of("nopm", prony, bound))],
        ["pgbench -M prepared, the same calls", *cells(bound)],
        ["HammerDB 4.6, elsewhere", f"{HAMMERDB_NOPM:,}"],
    ]


MEMORY_HEAD = [
    "warehouses, 2 loaders", "wall a warehouse, s",
    f"HammerDB's {HAMMERDB_WALL_S:g} s a warehouse / Prony (required at ten: ≥ {MIN_SPEEDUP})",
    "peak of the client, MB", "required", "",
]


def memory_rows(loads):
    """Lines of the table of larger builds, from (warehouses, Measurement); the projection uses the last two."""
    rows = []
    for count, load in loads:
        speedup = f"{HAMMERDB_WALL_S * count / load.wall_s:.1f} times"
        rows.append([str(count), f"{load.wall_s / count:.2f}", speedup, f"{load.peak_bytes / 1e6:.1f}"])
    (few, small), (many, large) = [(count, load.peak_bytes) for count, load in loads[-2:]]
    each = max(0.0, (large - small) / (many - few))
    projected = large + each * (PROJECTED_WAREHOUSES - many)
    bound = [f"{projected / 1e6:.0f}", f"≤ {MAX_BYTES / 1e6:.0f}", "met" if projected <= MAX_BYTES else "missed"]
    return [*rows, [f"{PROJECTED_WAREHOUSES:,} (by extrapolation)", "", "", *bound]]


def measure_load(session, server, prony, bound):
    """The table of loads."""
    warehouses = session.args.warehouses
    server.recreate_database("build")
    prony.build(warehouses, "build")
    bound.copy_definitions("build")

    def build(tool):
        server.recreate_database("build")
        result = tool.build(warehouses, "build")
        print_progress(f"  {tool.name:6} {result.wall_s:6.2f} s, client CPU {result.cpu_s:5.2f} s")
        return result

    results = session.interleave(LOAD, [prony, bound], build, f", {warehouses} warehouses")
    server.sql("drop database build")
    return figures.table(LOAD_HEAD, load_rows(warehouses, results["prony"], results["bound"]))


def measure_run(session, server, prony, bound):
    """The table of runs."""
    server.recreate_database(DATABASE)
    prony.build(1, DATABASE)
    # This run installs the functions and warms up the server.
    prony.drive(4)

    def drive(tool):
        # Each run adds orders, history and dead rows.
        server.sql("vacuum; checkpoint", DATABASE)
        result = tool.drive(session.args.seconds)
        print_progress(f"  {tool.name:6} {result.nopm:9,.0f} NOPM, {result.cpu_us_per_transaction:6.1f} µs CPU")
        return result

    results = session.interleave(RUN, [prony, bound], drive, f" of {session.args.seconds} s")
    server.sql(f"drop database {DATABASE}")
    return figures.table(RUN_HEAD, run_rows(results["prony"], results["bound"]))


def measure_memory(session, server, prony):
    """The table of larger builds."""
    loads = []
    for count in session.args.memory_warehouses:
        server.recreate_database("memory")
        load = prony.build(count, "memory", 2, True)
        loads.append((count, load))
        print_progress(f"{MEMORY}: {count} warehouses in {load.wall_s:.1f} s, {load.peak_bytes / 1e6:.1f} MB")
    server.sql("drop database memory")
    session.raw[MEMORY] = loads
    return figures.table(MEMORY_HEAD, memory_rows(loads))


def measure(session, home):
    """Measures the chosen cases on a separate server; returns the parts of the report."""
    args = session.args
    with Server(session.bin_dir, quiet_settings(args, synchronous_commit="off")) as server:
        prony, bound = Prony(server, args.prony, home), ServerBound(server, home)
        parts = ["## tpcc and the server's bounds", "\n".join([
            *environment(server, session),
            f"- medians of {args.pairs} interleaved pairs (smallest–largest); runs of {args.seconds} s; "
            "CPU: user and system time of the whole client process",
        ])]
        print_progress(parts[-1])
        if LOAD in args.cases:
            parts.append(measure_load(session, server, prony, bound))
        if RUN in args.cases:
            parts.append(measure_run(session, server, prony, bound))
        if MEMORY in args.cases:
            parts.append(measure_memory(session, server, prony))
    return parts
