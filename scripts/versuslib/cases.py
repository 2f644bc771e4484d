"""The cases that are measured, and their bounds.

Out: the list of cases. Must never: decide how they are measured.
"""
import dataclasses
import os
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Case:
    """One comparison under load: one client thread, prepared statements."""

    id: str
    title: str
    workload: str
    clients: int
    network: str
    io: Optional[str]
    max_cpu: Optional[float]
    min_tps: Optional[float]
    cpus: Optional[frozenset] = None


@dataclasses.dataclass(frozen=True)
class Dialect:
    """One comparison of identical pgbench command lines: one client thread."""

    id: str
    title: str
    # The options that select the script and the query mode.
    options: tuple
    clients: int
    network: str
    max_cpu: Optional[float] = 1.0
    min_tps: Optional[float] = 1.0
    # If set, Prony with these options is the baseline instead of pgbench.
    baseline_options: Optional[tuple] = None
    cpus: Optional[frozenset] = None
    # The server's CPUs if they differ from the client's.
    server_cpus: Optional[frozenset] = None
    threads: int = 1
    # Programs that keep a CPU busy each during a run.
    busy_programs: int = 0

    @property
    def workload(self):
        """The workload whose tables a run uses and changes."""
        return "select-only" if "-S" in self.options or self.baseline_options else "tpcb"


@dataclasses.dataclass(frozen=True)
class Load:
    """One comparison of loading."""

    id: str
    title: str
    jobs: int
    min_speed: Optional[float]
    max_cpu: Optional[float]


@dataclasses.dataclass(frozen=True)
class SysbenchRun:
    """One comparison of identical sysbench command lines under load; `tps` are queries here."""

    id: str
    title: str
    test: str
    threads: int
    network: str
    max_cpu: Optional[float]
    min_tps: Optional[float]
    options: tuple = ()
    # Programs that keep a CPU busy each during a run.
    busy_programs: int = 0


@dataclasses.dataclass(frozen=True)
class SysbenchLoad:
    """One comparison of sysbench's prepare."""

    id: str
    title: str
    tables: int
    rows: int
    min_speed: Optional[float]
    max_cpu: Optional[float] = None


# Any CPU will do: the first one that this process may use.
ONE_CPU = frozenset({min(os.sched_getaffinity(0))})
# Empty on a machine with one CPU.
OTHER_CPUS = frozenset(os.sched_getaffinity(0)) - ONE_CPU

RUNS = [
    Case("unix64", "select-only, unix socket, 64 clients, ring", "select-only", 64, "unix", "ring", 0.55, 1.15),
    Case("unix256", "select-only, unix socket, 256 clients, ring", "select-only", 256, "unix", "ring", 0.55, 1.3),
    Case("tcp64", "select-only, TCP, 64 clients, ring", "select-only", 64, "tcp", "ring", 0.65, 1.25),
    Case("unix8", "select-only, unix socket, 8 clients, ring", "select-only", 8, "unix", "ring", 0.80, 1.05),
    Case("unix2", "select-only, unix socket, 2 clients, ring", "select-only", 2, "unix", "ring", 0.80, 1.05),
    Case("one-cpu", "select-only, unix socket, 1 client, client and server on one CPU", "select-only", 1, "unix", None, 0.90, 1.05, ONE_CPU),
    Case("unix64-epoll", "select-only, unix socket, 64 clients, epoll", "select-only", 64, "unix", "epoll", 0.92, 1.05),
    Case("unix256-epoll", "select-only, unix socket, 256 clients, epoll", "select-only", 256, "unix", "epoll", 0.92, 1.05),
    Case("tpcb64", "tpcb-like, unix socket, 64 clients", "tpcb", 64, "unix", None, 0.62, 1.2),
]

LOADS = [
    Load("load", "load, --jobs 1", 1, 1.1, 0.5),
    Load("load-jobs2", "load, --jobs 2", 2, 1.1, 0.5),
]

def dialect_cases():
    """Prony called as pgbench: both modes, both scripts, few and many clients, unix socket and TCP."""
    networks = {"unix": "unix socket", "tcp": "TCP"}
    scripts = {"select": ("-S",), "tpcb": ("-b", "tpcb-like")}
    for script, options in scripts.items():
        for mode in ("simple", "prepared"):
            for network, where in networks.items():
                for clients in (1, 8, 64, 256):
                    yield Dialect(
                        f"pgbench-{script}-{mode}-{network}{clients}",
                        f"called as pgbench: {' '.join(options)}, {mode}, {where}, {clients} client{'s' * (clients > 1)}",
                        (*options, "-M", mode),
                        clients,
                        network,
                    )


def file_cases():
    """Prony with the script of -S from a file, compared with -S: the cost of interpreting a script."""
    for mode in ("simple", "prepared"):
        for clients in (1, 64):
            yield Dialect(
                f"pgbench-file-{mode}-unix{clients}",
                f"-f select-only.sql beside -S, {mode}, unix socket, {clients} client{'s' * (clients > 1)}",
                # -S counts the branches itself; a file needs the scale as a variable.
                ("-f", SELECT_ONLY, "-s", "{scale}", "-M", mode),
                clients,
                "unix",
                1.05,
                None,
                ("-S", "-M", mode),
            )


def layout_cases():
    """Where client and server run: on the same CPUs, on separate ones, with a network between them, and with two client threads."""
    titles = {"unix": "unix socket", "tcp": "TCP", "namespace": "TCP"}
    apart = {"cpus": ONE_CPU, "server_cpus": OTHER_CPUS}
    for name, network, clients, placement, text in (
        ("shared-unix", "unix", 64, {}, "all CPUs shared"),
        ("shared-tcp", "tcp", 64, {}, "all CPUs shared"),
        ("threads2-unix", "unix", 64, {"threads": 2}, "all CPUs shared, -j 2"),
        ("threads2-tcp", "tcp", 64, {"threads": 2}, "all CPUs shared, -j 2"),
        ("threads2-unix8", "unix", 8, {"threads": 2}, "all CPUs shared, -j 2"),
        ("apart-unix", "unix", 64, apart, "client on one CPU, server on the others"),
        ("apart-tcp", "tcp", 64, apart, "client on one CPU, server on the others"),
        ("namespace", "namespace", 64, apart, "client on one CPU and in a network namespace, server on the others"),
    ):
        options = ("-S", "-M", "prepared")
        yield Dialect(f"layout-{name}", f"-S, {titles[network]}, {clients} clients, {text}", options, clients, network, None, None, **placement)


def sleep_cases():
    """Clients that sleep, alone and beside busy programs: they must wake on time."""
    for busy in (0, 4):
        title = f"-f sleep.sql (500 µs), unix socket, 4 clients, {busy} busy programs"
        yield Dialect(f"layout-sleep-busy{busy}", title, ("-f", SLEEP), 4, "unix", None, 0.95, busy_programs=busy)


# The files' names; each tool has them in a separate folder.
SELECT_ONLY, SLEEP = "select-only.sql", "sleep.sql"
SCRIPTS = {
    SELECT_ONLY: """\
\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
""",
    SLEEP: "\\sleep 500 us\n",
}

DIALECT = list(dialect_cases())
FILES = list(file_cases())
LAYOUTS = [*layout_cases(), *sleep_cases()]

@dataclasses.dataclass(frozen=True)
class CannedCase:
    """One comparison of identical command lines against the canned server."""

    id: str
    title: str
    # The tool that both programs are called as.
    dialect: str
    # The options that select the script and the query mode; for sysbench also the test.
    options: tuple
    clients: int
    network: str
    threads: int = 1
    cpus: Optional[frozenset] = None

    @property
    def protocol(self):
        """The protocol of the server."""
        return "postgres" if self.dialect == "pgbench" else "mysql"


def canned_cases(prefix, clients, networks, cpus=None):
    """Conversations with the canned server, for capacity and for counts."""
    count = f"{clients} client{'s' * (clients > 1)}"
    titles = {"unix": "unix socket", "tcp": "TCP"}
    for network in networks:
        for name, dialect, options, text in (
            ("select", "pgbench", ("-S", "-M", "prepared"), "pgbench -S, prepared"),
            ("select-simple", "pgbench", ("-S", "-M", "simple"), "pgbench -S, simple"),
            ("tpcb", "pgbench", ("-b", "tpcb-like", "-M", "prepared"), "pgbench -b tpcb-like, prepared"),
            ("point", "sysbench", ("oltp_point_select",), "sysbench oltp_point_select"),
            ("read-write", "sysbench", ("oltp_read_write",), "sysbench oltp_read_write"),
        ):
            yield CannedCase(f"{prefix}-{name}-{network}", f"{text}, {titles[network]}, {count}", dialect, options, clients, network, 1, cpus)


# How much load one client thread can drive.
CAPACITY = list(canned_cases("capacity", 64, ("unix", "tcp"), ONE_CPU))
# Instructions and system calls. One client, on the server's CPU: with several, or if both run at once, timing decides
# how many replies a wait returns and how many reads fail because the reply is not there yet.
COUNTS = list(canned_cases("count", 1, ("unix",), ONE_CPU))


@dataclasses.dataclass(frozen=True)
class SqlServerCase:
    """One comparison of Prony on SQL Server's protocol, against the canned server over TCP."""

    id: str
    title: str
    workload: str
    clients: int
    # `postgres` (Prony on that protocol), or a client of FreeTDS: `bsqldb` or `pymssql`.
    other: str
    # Whether instructions and system calls are counted instead of CPU time.
    is_count: bool
    max_cpu: Optional[float]
    cpus: frozenset = ONE_CPU


def sqlserver_cases():
    """Prony on SQL Server beside Prony on PostgreSQL, and beside FreeTDS with one connection."""
    for is_count in (False, True):
        name = "sqlserver-count" if is_count else "sqlserver"
        clients = 1 if is_count else 64
        for workload, short in (("oltp_point_select", "select"), ("oltp_read_write", "read-write")):
            title = f"{workload}, prepared, TCP, {clients} client{'s' * (clients > 1)}: SQL Server / PostgreSQL"
            yield SqlServerCase(f"{name}-{short}", title, workload, clients, "postgres", is_count, 1.3)
        for other, what in (("bsqldb", "FreeTDS's bsqldb, one batch for each"), ("pymssql", "a loop of pymssql")):
            title = f"point selects, TCP, 1 client: Prony, prepared / {what}"
            yield SqlServerCase(f"{name}-{other}", title, "oltp_point_select", 1, other, is_count, None)


SQLSERVER = list(sqlserver_cases())
# The case that measures a load's memory.
SQLSERVER_LOAD = "sqlserver-load"

# Tables of the sysbench cases, and the rows of each.
TABLES, ROWS = 10, 25_000
# Scripts of lua_scripts.py: the file, the case's name, the title, and the wanted ratios of the CPU and of the throughput with
# 1, 16 and 64 threads.
LUA = (
    ("point.lua", "lua", "prepared point selects by a Lua script", (0.85, 0.55, 0.45), (1.0, 1.05, 1.2)),
    ("query.lua", "lua-query", "point selects as text by a Lua script", (0.85, 0.55, 0.45), (1.0, 1.05, 1.2)),
    ("query-row.lua", "lua-row", "point selects as text by a Lua script that reads the row", (0.85, 0.55, 0.45), (1.0, 1.05, 1.2)),
    ("orders.lua", "lua-orders", "transactions of 44 statements as text by a Lua script that reads their rows", (0.8, 0.7, 0.8), (1.0, 1.05, 1.05)),
)


def lua_runs():
    """Scripts of users with 1, 16 and 64 threads."""
    for file, name, text, max_cpus, min_qps_ratios in LUA:
        for threads, max_cpu, min_qps in zip((1, 16, 64), max_cpus, min_qps_ratios):
            count = f"{threads} thread{'s' * (threads > 1)}"
            yield SysbenchRun(f"sb-{name}{threads}", f"{text}, unix socket, {count}", file, threads, "unix", max_cpu, min_qps)


def lua_counts():
    """The same scripts, for the counts."""
    for file, name, text, *_ in LUA:
        yield CannedCase(f"count-{name}", f"sysbench: {text}, 1 client", "sysbench", (file,), 1, "unix", 1, ONE_CPU)


SYSBENCH_RUNS = [
    SysbenchRun("sb-point2", "oltp_point_select, prepared, unix socket, 2 threads", "oltp_point_select", 2, "unix", 1.0, 1.0),
    SysbenchRun("sb-point4", "oltp_point_select, prepared, unix socket, 4 threads", "oltp_point_select", 4, "unix", 0.8, 1.0),
    SysbenchRun("sb-point8", "oltp_point_select, prepared, unix socket, 8 threads", "oltp_point_select", 8, "unix", 0.6, 1.05),
    SysbenchRun("sb-point16", "oltp_point_select, prepared, unix socket, 16 threads", "oltp_point_select", 16, "unix", 0.45, 1.15),
    SysbenchRun("sb-point64", "oltp_point_select, prepared, unix socket, 64 threads", "oltp_point_select", 64, "unix", 0.35, 1.10),
    SysbenchRun("sb-point-tcp16", "oltp_point_select, prepared, TCP, 16 threads", "oltp_point_select", 16, "tcp", 0.65, None),
    SysbenchRun("sb-point-text16", "oltp_point_select, text protocol, unix socket, 16 threads", "oltp_point_select", 16, "unix", 0.45, None, ("--db-ps-mode=disable",)),
    SysbenchRun("sb-ro16", "oltp_read_only, unix socket, 16 threads", "oltp_read_only", 16, "unix", 0.50, 1.05),
    SysbenchRun("sb-ro64", "oltp_read_only, unix socket, 64 threads", "oltp_read_only", 64, "unix", 0.50, 1.05),
    SysbenchRun("sb-rw2", "oltp_read_write, unix socket, 2 threads", "oltp_read_write", 2, "unix", 1.0, 1.0),
    SysbenchRun("sb-rw8", "oltp_read_write, unix socket, 8 threads", "oltp_read_write", 8, "unix", 0.6, 1.05),
    SysbenchRun("sb-rw16", "oltp_read_write, unix socket, 16 threads", "oltp_read_write", 16, "unix", 0.50, 1.05),
    SysbenchRun("sb-sleep3", "usleep(1000) and a point select by a Lua script, unix socket, 3 threads", "sleep.lua", 3, "unix", None, 0.95),
    SysbenchRun("sb-sleep3-busy4", "the same beside 4 busy programs", "sleep.lua", 3, "unix", None, 0.95, busy_programs=4),
    SysbenchRun("sb-rw64", "oltp_read_write, unix socket, 64 threads", "oltp_read_write", 64, "unix", 0.50, 1.05),
    *lua_runs(),
]
COUNTS += lua_counts()
# Includes one large table, because sysbench loads each table with one thread.
SYSBENCH_LOADS = [
    SysbenchLoad("sb-prepare", f"prepare, {TABLES} tables of {ROWS:,} rows, --threads=2", TABLES, ROWS, 1.5),
    SysbenchLoad("sb-prepare-one", "prepare, one table of 250,000 rows, --threads=2", 1, 250_000, 1.5),
]
# The case that checks whether this many connections work.
CONNECTED, CONNECTIONS = "sb-connections", 4_000

# Cases that sysbench.py measures.
SYSBENCH = [*(case.id for case in SYSBENCH_LOADS), *(case.id for case in SYSBENCH_RUNS), CONNECTED]

# Cases that tpcc.py measures.
TPCC = ["tpcc-load", "tpcc-run", "tpcc-memory"]

# Cases that scaling.py measures, by the group that includes them: loads with 1, 2 and 4 jobs.
SCALING = {"loads": ["jobs-tpcb", "jobs-prepare"], "tpcc": ["jobs-tpcc", "jobs-tpcc-maria"]}

MEMORY = "memory"
MEMORY_MAX_BYTES = 150_000_000

GROUPS = {
    "runs": [case.id for case in RUNS],
    "loads": [*(case.id for case in LOADS), *SCALING["loads"]],
    "jobs": [*SCALING["loads"], *SCALING["tpcc"]],
    "pgbench": [case.id for case in [*DIALECT, *FILES]],
    "pgbench-select": [case.id for case in DIALECT if case.id.startswith("pgbench-select")],
    "pgbench-tpcb": [case.id for case in DIALECT if case.id.startswith("pgbench-tpcb")],
    "tpcc": [*TPCC, *SCALING["tpcc"]],
    "sysbench": SYSBENCH,
    "pgbench-file": [case.id for case in FILES],
    "layouts": [case.id for case in LAYOUTS],
    "capacity": [case.id for case in CAPACITY],
    "counts": [case.id for case in COUNTS],
    "sqlserver": [*(case.id for case in SQLSERVER if not case.is_count), SQLSERVER_LOAD],
    "sqlserver-counts": [case.id for case in SQLSERVER if case.is_count],
}

# Cases that need no database.
CANNED = {*GROUPS["capacity"], *GROUPS["counts"]}
SQLSERVER_IDS = {*GROUPS["sqlserver"], *GROUPS["sqlserver-counts"]}

ALL = [*(case.id for case in LOADS), *GROUPS["runs"], *GROUPS["layouts"], *GROUPS["capacity"], MEMORY]
# Cases that are measured on the server of pgbench's tables.
PGBENCH = {*ALL, *GROUPS["pgbench"]} - CANNED


def without_bounds(case):
    """The case without its bounds, which apply only to pgbench and sysbench."""
    bounds = {field.name: None for field in dataclasses.fields(case) if field.name.startswith(("max_", "min_"))}
    return dataclasses.replace(case, **bounds)


def choose(text):
    """The identifiers in a comma-separated list; `all` and the names of groups stand for several.

    `all` is the cases of native plans, the layouts and the capacity; the dialects, tpcc and the counts are separate groups.
    """
    chosen = []
    known = list(dict.fromkeys([*ALL, *(name for group in GROUPS.values() for name in group)]))
    for word in filter(None, (word.strip() for word in text.split(","))):
        names = ALL if word == "all" else GROUPS.get(word, [word])
        for name in names:
            if name not in known:
                raise ValueError(f"no case {name!r}; there are: all, {', '.join([*GROUPS, *known])}")
            if name not in chosen:
                chosen.append(name)
    return chosen
