"""The workload tpcc: what a warehouse costs to build, what a transaction costs, and the server's bounds.

In: a release build of prony, psql, pgbench. Out: Markdown. Must never: measure two things at once, or
leave a server running.

The bounds are what the same server does when the client does next to nothing: COPY of the same bytes
from files by psql, and the same function calls by pgbench from script files. HammerDB is not run here;
its figures stand beside, as they were measured on 2 cores.
"""
import dataclasses
import json
import os
import re
import statistics

from . import figures
from .cases import ORDERS
from .server import Server, Trouble
from .tools import Measurement, execute

DATABASE = "orders"
LOAD, RUN, MEMORY = ORDERS

PROFILE = "hammerdb-4.6"
TABLES = ["item", "warehouse", "district", "stock", "customer", "history", "orders", "new_order", "order_line"]

# Client CPU of a warehouse that is built, s; and the largest client that may load a thousand.
MOST_CPU_S = 0.5
MOST_BYTES = 300_000_000
PROJECTED = 1_000
# HammerDB 4.6 on 2 cores, PostgreSQL 15, synchronous_commit=off: one warehouse with items, and the
# new orders a minute of one user on one warehouse.
HAMMERDB_WALL_S, HAMMERDB_CPU_S, HAMMERDB_NOPM = 11.0, 6.9, 54_818
# How many times as fast ten warehouses are to be built.
TIMES_WANTED = 8

ITEMS = "".join(f"\\set i{n} random({(n - 1) * 10_000 + 1}, {n * 10_000})\n\\set q{n} random(1, 10)\n" for n in range(1, 11))
CALL = "prony_tpcc_hammerdb_46"


def numbers(letter):
    """Ten variables as an array; the parameters have no type of their own."""
    return "ARRAY[" + ", ".join(f":{letter}{n}" for n in range(1, 11)) + "]::int[]"


ONES = "ARRAY[" + ", ".join(["1"] * 10) + "]::int[]"
PLACE = "\\set d random(1, 10)\n"
CUSTOMER = PLACE + "\\set c random(1, 3000)\n"
# Weight and text: the mix of 10, 10, 1, 1 and 1 in 23; 60 % of the customers by a name that, as in
# HammerDB 4.6, is never found. Orders have ten lines, which is the mean, each from another tenth of
# the items.
SCRIPTS = {
    "new-order": (100, CUSTOMER + ITEMS + f"SELECT {CALL}_new_order(1, :d, :c, 1, {numbers('i')}, {ONES}, {numbers('q')}, {ONES}, 1);\n"),
    "payment-name": (60, CUSTOMER + f"\\set a random(1, 5000)\nSELECT {CALL}_payment(1, :d, 1, :d, :c, '?', :a);\n"),
    "payment": (40, CUSTOMER + f"\\set a random(1, 5000)\nSELECT {CALL}_payment(1, :d, 1, :d, :c, NULL, :a);\n"),
    "delivery": (10, f"\\set k random(1, 10)\nSELECT {CALL}_delivery(1, :k);\n"),
    "stock-level": (10, f"\\set t random(10, 20)\nSELECT {CALL}_stock_level(1, 1, :t);\n"),
    "status-name": (6, CUSTOMER + f"SELECT * FROM {CALL}_order_status(1, :d, :c, '?');\n"),
    "status": (4, CUSTOMER + f"SELECT * FROM {CALL}_order_status(1, :d, :c, NULL);\n"),
}


@dataclasses.dataclass
class Orders(Measurement):
    """A run of the mix."""

    nopm: float = 0.0
    tpm: float = 0.0


def read_document(said):
    """Fills in a Run document of prony."""
    run = json.loads(said)
    if run["state"] != "complete":
        raise Trouble(f"the run is {run['state']}: {run.get('ended_because')}")
    kind = run["measured"]["kinds"][0]
    if kind["failed"]:
        raise Trouble(f"{kind['failed']} transactions failed: {run['measured']['errors']}")
    rates = {rate["name"]: rate["value"] for rate in run["rates"]}
    return kind["committed"] + kind["rolled_back"], kind["tps"], rates["NOPM"], rates.get("TPM", 0.0)


def read_scripts(said):
    """(transactions, TPS, new orders a minute) of pgbench's report on several scripts."""
    all_of_it, *scripts = re.split(r"^SQL script \d+: ", said, flags=re.M)
    count = re.search(r"number of transactions actually processed: (\d+)", all_of_it)
    tps = re.search(r"tps = ([0-9.]+) ", all_of_it)
    for script in scripts:
        own = re.search(r"tps = ([0-9.]+)", script)
        if own and script.split("\n")[0].strip().endswith("new-order.sql") and count and tps:
            return int(count.group(1)), float(tps.group(1)), 60 * float(own.group(1))
    raise Trouble("cannot read pgbench's report:\n" + said)


class Tool:
    """What both need."""

    def __init__(self, server, home):
        self.server = server
        self.home = home

    def _psql(self, database, text):
        path = os.path.join(self.home, "statements.sql")
        with open(path, "w") as file:
            file.write(text)
        command = [self.server.bin_dir / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-f", path]
        command += ["-d", self.server.url("unix", database)]
        return execute(command, self.server.environment())[0]


class Prony(Tool):
    """The prony binary."""

    name = "prony"

    def __init__(self, server, home, program):
        super().__init__(server, home)
        self.program = program

    def _env(self):
        env = self.server.environment()
        for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            env[name] = self.home
        return env

    def load(self, warehouses, database, jobs=1, watch_memory=False):
        """Builds warehouses."""
        command = [self.program, "load", "tpcc", "--url", self.server.url("unix", database)]
        command += ["--scale", warehouses, "--jobs", jobs, "--profile", PROFILE]
        return execute(command, self._env(), watch_memory=watch_memory)[0]

    def run(self, seconds):
        """One user on one warehouse."""
        command = [self.program, "run", "tpcc", "--url", self.server.url("unix", DATABASE), "--clients", 1]
        command += ["--threads", 1, "--duration", f"{seconds}s", "--profile", PROFILE, "--json"]
        result, said = execute(command, self._env())
        return Orders(result.wall_s, result.cpu_s, *read_document(said)[:2], 0, *read_document(said)[2:])


class Bound(Tool):
    """psql and pgbench: the server's bounds."""

    name = "bound"

    def __init__(self, server, home):
        super().__init__(server, home)
        self.definitions = ""
        for name, (_, text) in SCRIPTS.items():
            with open(os.path.join(home, f"{name}.sql"), "w") as file:
                file.write(text)

    def learn(self, database):
        """Keeps the rows and the statements of a database that prony has loaded."""
        for table in TABLES:
            self._psql(database, f"\\copy {table} to '{self._file(table)}' (format binary)\n")
        columns = (
            "select 'create table ' || c.relname || ' (' || string_agg(a.attname || ' ' ||"
            " format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end, ', '"
            " order by a.attnum) || ');' from pg_class c join pg_attribute a on a.attrelid = c.oid"
            " where a.attnum > 0 and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace group by c.relname"
        )
        self.definitions = self.server.sql(columns, database)
        indexes = "select indexdef || ';' from pg_indexes where schemaname = 'public'"
        self.indexes = self.server.sql(indexes, database)

    def _file(self, table):
        return os.path.join(self.home, f"{table}.copy")

    def load(self, warehouses, database):
        """The same bytes, the same statements, one session."""
        del warehouses
        copies = "\n".join(f"\\copy {table} from '{self._file(table)}' (format binary, freeze)" for table in TABLES)
        text = f"begin;\n{self.definitions}\n{copies}\ncommit;\nvacuum (analyze);\n{self.indexes}\n"
        return self._psql(database, text)

    def run(self, seconds):
        """The same calls, one user."""
        command = [self.server.bin_dir / "pgbench", "-h", self.server.host("unix"), "-p", self.server.port]
        command += ["-U", "postgres", "-n", "-M", "prepared", "-c", 1, "-j", 1, "-T", seconds]
        for name, (weight, _) in SCRIPTS.items():
            command += ["-f", os.path.join(self.home, f"{name}.sql@{weight}")]
        result, said = execute([*command, DATABASE], self.server.environment())
        return Orders(result.wall_s, result.cpu_s, *read_scripts(said)[:2], 0, read_scripts(said)[2])


def spread(values, form="{:.2f}"):
    """The median, the smallest and the largest."""
    values = list(values)
    low, middle, high = (form.format(f(values)) for f in (min, statistics.median, max))
    return f"{middle} ({low}–{high})"


LOAD_HEAD = ["build", "wall a warehouse, s", "client CPU a warehouse, s", "wanted", "", "wall, Prony / bound"]


def load_rows(warehouses, prony, bound):
    """Lines of the table of builds, from two lists of Measurements."""
    each = [m.cpu_s / warehouses for m in prony]
    wall = [m.wall_s / warehouses for m in prony]
    times = figures.ratio([m.wall_s for m in prony], [m.wall_s for m in bound])
    met = figures.verdict(figures.Ratio(each), MOST_CPU_S, False)
    least = [m.wall_s / warehouses for m in bound]
    return [
        [f"prony load tpcc --scale {warehouses}", spread(wall), spread(each), f"≤ {MOST_CPU_S:g}", met, str(times)],
        ["psql, COPY of the same bytes from files, the same indexes", spread(least), spread(m.cpu_s / warehouses for m in bound), "", "", ""],
        ["HammerDB 4.6, one warehouse, elsewhere", f"{HAMMERDB_WALL_S:g}", f"{HAMMERDB_CPU_S:g}", "", "", ""],
    ]


RUN_HEAD = ["1 user, 1 warehouse", "NOPM", "TPM", "client CPU, µs a transaction", "NOPM, Prony / bound"]


def run_rows(prony, bound):
    """Lines of the table of runs, from two lists of Orders."""
    times = figures.ratio([m.nopm for m in prony], [m.nopm for m in bound])
    # A window that is too short for the server's count has none.
    tpm = [m.tpm for m in prony if m.tpm]
    whole = "{:,.0f}"
    return [
        [f"prony run tpcc --profile {PROFILE}", spread((m.nopm for m in prony), whole), spread(tpm, whole) if tpm else "–", spread((m.cpu_us_per_transaction for m in prony), "{:.1f}"), str(times)],
        ["pgbench -M prepared, the same calls", spread((m.nopm for m in bound), whole), "–", spread((m.cpu_us_per_transaction for m in bound), "{:.1f}"), ""],
        ["HammerDB 4.6, elsewhere", f"{HAMMERDB_NOPM:,}", "", "", ""],
    ]


MEMORY_HEAD = ["warehouses, 2 loaders", "wall a warehouse, s", f"HammerDB's {HAMMERDB_WALL_S:g} s a warehouse / Prony (wanted at ten: ≥ {TIMES_WANTED})", "peak of the client, MB", "wanted", ""]


def memory_rows(loads):
    """Lines of the table of larger builds, from (warehouses, Measurement); the last two make the projection."""
    rows = [
        [str(count), f"{load.wall_s / count:.2f}", f"{HAMMERDB_WALL_S * count / load.wall_s:.1f} times", f"{load.peak_bytes / 1e6:.1f}", "", ""]
        for count, load in loads
    ]
    (few, small), (many, large) = [(count, load.peak_bytes) for count, load in loads[-2:]]
    each = max(0.0, (large - small) / (many - few))
    whole = large + each * (PROJECTED - many)
    met = "met" if whole <= MOST_BYTES else "missed"
    return [*rows, [f"{PROJECTED:,} (by extrapolation)", "", "", f"{whole / 1e6:.0f}", f"≤ {MOST_BYTES / 1e6:.0f}", met]]


def fresh(server, database):
    """An empty database, and no dirty pages of the one before."""
    server.sql(f"drop database if exists {database}")
    server.sql(f"create database {database}")
    server.sql("checkpoint")


def measure(asked, bin_dir, home, say, in_turn, environment):
    """Measures what was chosen on a server of its own; returns the report, raw figures, and the server's directory."""
    settings = {
        "cluster_name": "prony-versus",
        "shared_buffers": asked.shared_buffers,
        "max_wal_size": "8GB",
        "checkpoint_timeout": "1h",
        "autovacuum": "off",
        "synchronous_commit": "off",
    }
    raw, parts = {}, ["## tpcc and the server's bounds"]
    with Server(bin_dir, settings) as server:
        prony, bound = Prony(server, home, asked.prony), Bound(server, home)
        parts.append("\n".join([
            *environment(server, asked)[:3],
            f"- medians of {asked.pairs} interleaved pairs (smallest–largest); runs of {asked.seconds} s; CPU: user and system time of the whole client process",
        ]))
        say(parts[-1])
        if LOAD in asked.cases:
            warehouses = asked.warehouses
            fresh(server, "build")
            prony.load(warehouses, "build")
            bound.learn("build")

            def build(tool):
                fresh(server, "build")
                result = tool.load(warehouses, "build")
                say(f"  {tool.name:6} {result.wall_s:6.2f} s, client CPU {result.cpu_s:5.2f} s")
                return result

            say(f"{LOAD}: {asked.pairs} pairs, {warehouses} warehouses")
            raw[LOAD] = found = in_turn([prony, bound], asked.pairs, build)
            server.sql("drop database build")
            parts.append(figures.table(LOAD_HEAD, load_rows(warehouses, found["prony"], found["bound"])))
        if RUN in asked.cases:
            fresh(server, DATABASE)
            prony.load(1, DATABASE)
            # It installs the functions, and warms the server.
            prony.run(4)

            def drive(tool):
                # Each run leaves orders, history and dead rows behind.
                server.sql("vacuum; checkpoint", DATABASE)
                result = tool.run(asked.seconds)
                say(f"  {tool.name:6} {result.nopm:9,.0f} NOPM, {result.cpu_us_per_transaction:6.1f} µs CPU")
                return result

            say(f"{RUN}: {asked.pairs} pairs of {asked.seconds} s")
            raw[RUN] = found = in_turn([prony, bound], asked.pairs, drive)
            parts.append(figures.table(RUN_HEAD, run_rows(found["prony"], found["bound"])))
            server.sql(f"drop database {DATABASE}")
        if MEMORY in asked.cases:
            loads = []
            for count in asked.memory_warehouses:
                fresh(server, "memory")
                load = prony.load(count, "memory", 2, True)
                loads.append((count, load))
                say(f"{MEMORY}: {count} warehouses in {load.wall_s:.1f} s, {load.peak_bytes / 1e6:.1f} MB")
            server.sql("drop database memory")
            raw[MEMORY] = loads
            parts.append(figures.table(MEMORY_HEAD, memory_rows(loads)))
    return "\n\n".join(parts), raw, server.directory
