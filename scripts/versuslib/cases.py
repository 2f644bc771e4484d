"""The cases that are measured, and their bounds.

Out: lists of cases, and the groups that name them. Must never: decide how they are measured.
"""
import dataclasses
import os
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Case:
    """One comparison of Prony with another program. The bounds are ratios of Prony to the other, for the median of the pairs."""

    id: str
    title: str
    # How Prony is called: `prony` with a workload, or `pgbench` or `sysbench` with the other program's command line.
    program: str
    workload: str = ""
    # The options that select script and query mode; of sysbench, the last one is the test.
    options: tuple = ()
    # Or the threads of sysbench, or the jobs of a load.
    clients: int = 1
    network: str = "unix"
    max_cpu: Optional[float] = None
    # Of throughput, or of the speed of a load.
    min_rate: Optional[float] = None
    # The client's CPUs, and the server's if they differ.
    cpus: Optional[frozenset] = None
    server_cpus: Optional[frozenset] = None
    threads: int = 1
    # Programs that keep a CPU busy each during a run.
    busy_programs: int = 0
    # What Prony is compared with, if not with the program that it replaces: options of Prony itself, or a program.
    baseline_options: tuple = ()
    other: str = ""
    # Whether instructions and system calls are counted, and nothing is timed.
    is_counted: bool = False


def counted(number, noun):
    """`1 client`, `2 clients`."""
    return f"{number} {noun}{'s' * (number > 1)}"


# Any CPU will do: the first one that this process may use.
ONE_CPU = frozenset({min(os.sched_getaffinity(0))})
# Empty on a machine with one CPU.
OTHER_CPUS = frozenset(os.sched_getaffinity(0)) - ONE_CPU
NETWORKS = {"unix": "unix socket", "tcp": "TCP", "namespace": "TCP"}
CLIENT_COUNTS = (1, 8, 64, 256)

# The scripts of pgbench's cases; each program has them in a separate folder.
SELECT_ONLY, SLEEP = "select-only.sql", "sleep.sql"
SCRIPTS = {
    SELECT_ONLY: """\
\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
""",
    SLEEP: "\\sleep 500 us\n",
}

RUNS = [
    Case(
        name,
        f"{'tpcb-like' if workload == 'tpcb' else workload}, {NETWORKS[network]}, {counted(clients, 'client')}{f', {text}' * bool(text)}",
        "prony", workload, ("--io", text) if text in ("ring", "epoll") else (), clients, network, max_cpu, min_tps, cpus,
    )
    for name, workload, network, clients, text, max_cpu, min_tps, cpus in (
        ("unix64", "select-only", "unix", 64, "ring", 0.55, 1.15, None),
        ("unix256", "select-only", "unix", 256, "ring", 0.55, 1.3, None),
        ("tcp64", "select-only", "tcp", 64, "ring", 0.65, 1.25, None),
        ("unix8", "select-only", "unix", 8, "ring", 0.80, 1.05, None),
        ("unix2", "select-only", "unix", 2, "ring", 0.80, 1.05, None),
        ("one-cpu", "select-only", "unix", 1, "client and server on one CPU", 0.90, 1.05, ONE_CPU),
        ("unix64-epoll", "select-only", "unix", 64, "epoll", 0.92, 1.05, None),
        ("unix256-epoll", "select-only", "unix", 256, "epoll", 0.92, 1.05, None),
        ("tpcb64", "tpcb", "unix", 64, "", 0.62, 1.2, None),
    )
]
LOADS = [
    Case("load", "load, --jobs 1", "prony", "tpcb", clients=1, min_rate=1.1, max_cpu=0.5),
    Case("load-jobs2", "load, --jobs 2", "prony", "tpcb", clients=2, min_rate=1.1, max_cpu=0.5),
]
# Prony called as pgbench.
DIALECT = [
    Case(
        f"pgbench-{name}-{mode}-{network}{clients}",
        f"called as pgbench: {' '.join(options)}, {mode}, {NETWORKS[network]}, {counted(clients, 'client')}",
        "pgbench", workload, (*options, "-M", mode), clients, network, 1.0, 1.0,
    )
    for name, workload, options in (("select", "select-only", ("-S",)), ("tpcb", "tpcb", ("-b", "tpcb-like")))
    for mode in ("simple", "prepared")
    for network in ("unix", "tcp")
    for clients in CLIENT_COUNTS
]
# Prony with the script of -S from a file, compared with -S: the cost of interpreting a script.
FILES = [
    Case(
        f"pgbench-file-{mode}-unix{clients}",
        f"-f select-only.sql beside -S, {mode}, unix socket, {counted(clients, 'client')}",
        # -S counts the branches itself; a file needs the scale as a variable.
        "pgbench", "select-only", ("-f", SELECT_ONLY, "-s", "{scale}", "-M", mode), clients, max_cpu=1.05,
        baseline_options=("-S", "-M", mode),
    )
    for mode in ("simple", "prepared")
    for clients in (1, 64)
]

# Recorded sessions as fast as possible, one client thread, beside other programs with the same statements.
REPLAYS = [
    Case(
        f"replay-{other}{clients}", f"replay --speed max, unix socket, {counted(clients, 'session')}, beside {text}",
        "prony", "replay", (), clients, max_cpu=1.0, min_rate=1.0, other=other,
    )
    for other, clients, text in (
        ("psql", 1, "psql -f"), ("psql", 8, "8 psql -f"), ("pgbench", 8, "pgbench -S -M simple"), ("pgbench", 64, "pgbench -S -M simple"),
    )
]

APART = {"cpus": ONE_CPU, "server_cpus": OTHER_CPUS}
TWO_THREADS = {"threads": 2}
# Where client and server run, and clients that sleep, alone and beside busy programs: they must wake on time.
LAYOUTS = [
    Case(
        f"layout-{name}", f"-S, {NETWORKS[network]}, {clients} clients, {text}", "pgbench", "select-only", ("-S", "-M", "prepared"),
        clients, network, **placement,
    )
    for name, network, clients, placement, text in (
        ("shared-unix", "unix", 64, {}, "all CPUs shared"),
        ("shared-tcp", "tcp", 64, {}, "all CPUs shared"),
        ("threads2-unix", "unix", 64, TWO_THREADS, "all CPUs shared, -j 2"),
        ("threads2-tcp", "tcp", 64, TWO_THREADS, "all CPUs shared, -j 2"),
        ("threads2-unix8", "unix", 8, TWO_THREADS, "all CPUs shared, -j 2"),
        ("apart-unix", "unix", 64, APART, "client on one CPU, server on the others"),
        ("apart-tcp", "tcp", 64, APART, "client on one CPU, server on the others"),
        ("namespace", "namespace", 64, APART, "client on one CPU and in a network namespace, server on the others"),
    )
] + [
    Case(
        f"layout-sleep-busy{busy}", f"-f sleep.sql (500 µs), unix socket, 4 clients, {busy} busy programs",
        "pgbench", "select-only", ("-f", SLEEP), 4, min_rate=0.95, busy_programs=busy,
    )
    for busy in (0, 4)
]

# Conversations with the canned server: name, program, options, title.
CONVERSATIONS = (
    ("select", "pgbench", ("-S", "-M", "prepared"), "pgbench -S, prepared"),
    ("select-simple", "pgbench", ("-S", "-M", "simple"), "pgbench -S, simple"),
    ("tpcb", "pgbench", ("-b", "tpcb-like", "-M", "prepared"), "pgbench -b tpcb-like, prepared"),
    ("point", "sysbench", ("oltp_point_select",), "sysbench oltp_point_select"),
    ("read-write", "sysbench", ("oltp_read_write",), "sysbench oltp_read_write"),
)
# Scripts in lua: the file, the case's name, the title, and the wanted ratios of the CPU and of the throughput with
# 1, 16 and 64 threads.
LUA = (
    ("point.lua", "lua", "prepared point selects by a Lua script", (0.85, 0.55, 0.45), (1.0, 1.05, 1.2)),
    ("query.lua", "lua-query", "point selects as text by a Lua script", (0.85, 0.55, 0.45), (1.0, 1.05, 1.2)),
    ("query-row.lua", "lua-row", "point selects as text by a Lua script that reads the row", (0.85, 0.55, 0.45), (1.0, 1.05, 1.2)),
    ("orders.lua", "lua-orders", "transactions of 44 statements as text by a Lua script that reads their rows", (0.8, 0.7, 0.8), (1.0, 1.05, 1.05)),
)


def conversations(prefix, clients, *networks):
    """Cases with the canned server, the client on one CPU."""
    return [
        Case(
            f"{prefix}-{name}-{network}", f"{text}, {NETWORKS[network]}, {counted(clients, 'client')}",
            program, "", options, clients, network, cpus=ONE_CPU,
        )
        for network in networks
        for name, program, options, text in CONVERSATIONS
    ]


# How much load one client thread can drive.
CAPACITY = conversations("capacity", 64, "unix", "tcp")
# Instructions and system calls. One client, on the server's CPU: with several, or if both run at once, timing decides
# how many replies a wait returns and how many reads fail because the reply is not there yet.
COUNTS = conversations("count", 1, "unix") + [
    Case(f"count-{name}", f"sysbench: {text}, 1 client", "sysbench", "", (file,), cpus=ONE_CPU) for file, name, text, *_ in LUA
]


def sqlserver(prefix, clients):
    """Prony on SQL Server's protocol beside Prony on PostgreSQL's, and beside FreeTDS with one connection."""
    for workload, name in (("oltp_point_select", "select"), ("oltp_read_write", "read-write")):
        title = f"{workload}, prepared, TCP, {counted(clients, 'client')}: SQL Server / PostgreSQL"
        yield Case(f"{prefix}-{name}", title, "prony", workload, (), clients, "tcp", 1.3, cpus=ONE_CPU, other="postgres")
    for other, what in (("bsqldb", "FreeTDS's bsqldb, one batch for each"), ("pymssql", "a loop of pymssql")):
        title = f"point selects, TCP, 1 client: Prony, prepared / {what}"
        yield Case(f"{prefix}-{other}", title, "prony", "oltp_point_select", (), 1, "tcp", cpus=ONE_CPU, other=other)


SQLSERVER, SQLSERVER_COUNTS = list(sqlserver("sqlserver", 64)), list(sqlserver("sqlserver-count", 1))
# The case that measures a load's memory.
SQLSERVER_LOAD = "sqlserver-load"

# Tables of the sysbench cases, and the rows of each.
TABLES, ROWS = 10, 25_000
POINT, READ_ONLY, READ_WRITE = "oltp_point_select", "oltp_read_only", "oltp_read_write"

def sysbench_run(name, text, options, threads, max_cpu, min_qps, network="unix"):
    """A case of sysbench under load."""
    title = f"{text}, {NETWORKS[network]}, {counted(threads, 'thread')}"
    return Case(f"sb-{name}", title, "sysbench", "", options, threads, network, max_cpu, min_qps)


SYSBENCH_RUNS = [
    sysbench_run("point2", f"{POINT}, prepared", (POINT,), 2, 1.0, 1.0),
    sysbench_run("point4", f"{POINT}, prepared", (POINT,), 4, 0.8, 1.0),
    sysbench_run("point8", f"{POINT}, prepared", (POINT,), 8, 0.6, 1.05),
    sysbench_run("point16", f"{POINT}, prepared", (POINT,), 16, 0.45, 1.15),
    sysbench_run("point64", f"{POINT}, prepared", (POINT,), 64, 0.35, 1.10),
    sysbench_run("point-tcp16", f"{POINT}, prepared", (POINT,), 16, 0.65, None, "tcp"),
    sysbench_run("point-text16", f"{POINT}, text protocol", ("--db-ps-mode=disable", POINT), 16, 0.45, None),
    sysbench_run("ro16", READ_ONLY, (READ_ONLY,), 16, 0.50, 1.05),
    sysbench_run("ro64", READ_ONLY, (READ_ONLY,), 64, 0.50, 1.05),
    sysbench_run("rw2", READ_WRITE, (READ_WRITE,), 2, 1.0, 1.0),
    sysbench_run("rw8", READ_WRITE, (READ_WRITE,), 8, 0.6, 1.05),
    sysbench_run("rw16", READ_WRITE, (READ_WRITE,), 16, 0.50, 1.05),
    sysbench_run("sleep3", "usleep(1000) and a point select by a Lua script", ("sleep.lua",), 3, None, 0.95),
    Case("sb-sleep3-busy4", "the same beside 4 busy programs", "sysbench", "", ("sleep.lua",), 3, min_rate=0.95, busy_programs=4),
    sysbench_run("rw64", READ_WRITE, (READ_WRITE,), 64, 0.50, 1.05),
    *(
        sysbench_run(f"{name}{threads}", text, (file,), threads, max_cpu, min_qps)
        for file, name, text, *bounds in LUA
        for threads, max_cpu, min_qps in zip((1, 16, 64), *bounds)
    ),
]
# Includes one large table, because sysbench loads each table with one thread.
SYSBENCH_LOADS = [
    Case(name, f"prepare, {title} rows, --threads=2", "sysbench", options=(f"--tables={tables}", f"--table-size={rows}"), clients=2, min_rate=1.5)
    for name, title, tables, rows in (
        ("sb-prepare", f"{TABLES} tables of {ROWS:,}", TABLES, ROWS),
        ("sb-prepare-one", "one table of 250,000", 1, 250_000),
    )
]
# The case that checks whether this many connections work.
CONNECTED, CONNECTIONS = "sb-connections", 4_000

TPCC_LOAD, TPCC_RUN, TPCC_MEMORY = TPCC = ["tpcc-load", "tpcc-run", "tpcc-memory"]
TPCC_PROFILE = "hammerdb-4.6"
# Loads with 1, 2 and 4 jobs, beside the bound of a server.
JOBS = [
    Case("jobs-tpcb", "load tpcb, PostgreSQL", "prony", "tpcb", other="postgres"),
    Case("jobs-prepare", f"sysbench prepare, {TABLES} tables, MariaDB", "sysbench", other="maria"),
    Case("jobs-tpcc", "load tpcc, PostgreSQL", "prony", "tpcc", ("--profile", TPCC_PROFILE), other="postgres"),
    Case("jobs-tpcc-maria", "load tpcc, MariaDB", "prony", "tpcc", ("--profile", TPCC_PROFILE), other="maria"),
]

LEDGER_RATE = 2_000


def ledger(clients, is_counted=False):
    """A load with a ledger, compared with the same load without one."""
    for workload, other, server in (
        ("tpcb", "postgres", "PostgreSQL"), ("oltp_read_write", "maria", "MariaDB"), ("oltp_write_only", "maria", "MariaDB"),
        ("oltp_update_index", "maria", "MariaDB"),
    ):
        name = f"ledger-{'count-' * is_counted}{workload}"
        title = f"{workload}, prepared, {server}, {counted(clients, 'client')}"
        case = Case(name, title, "prony", workload, (), clients, "tcp", 1.03, 0.9, other=other, is_counted=is_counted)
        if is_counted:
            yield case
            continue
        yield dataclasses.replace(case, id=f"{name}{clients}")
        # At a full server, a ledger leaves the client fewer replies at once, and so more to do for each.
        if workload == "tpcb":
            at_rate = f"{title}, {LEDGER_RATE:,} per second"
            yield dataclasses.replace(case, id=f"{name}{clients}-rate", title=at_rate, options=("--rate", LEDGER_RATE), min_rate=None)


LEDGER, LEDGER_COUNTS = [*ledger(4), *ledger(32)], list(ledger(1, True))

MEMORY = "memory"
MEMORY_MAX_BYTES = 150_000_000


def ids(*lists):
    """The identifiers of all cases in some lists."""
    return [case.id for cases in lists for case in cases]


GROUPS = {
    "runs": ids(RUNS),
    "loads": ids(LOADS, JOBS[:2]),
    "jobs": ids(JOBS),
    "pgbench": ids(DIALECT, FILES),
    "pgbench-select": [name for name in ids(DIALECT) if name.startswith("pgbench-select")],
    "pgbench-tpcb": [name for name in ids(DIALECT) if name.startswith("pgbench-tpcb")],
    "tpcc": [*TPCC, *ids(JOBS[2:])],
    "sysbench": [*ids(SYSBENCH_LOADS, SYSBENCH_RUNS), CONNECTED],
    "pgbench-file": ids(FILES),
    "layouts": ids(LAYOUTS),
    "replay": ids(REPLAYS),
    "capacity": ids(CAPACITY),
    "counts": ids(COUNTS),
    "sqlserver": [*ids(SQLSERVER), SQLSERVER_LOAD],
    "sqlserver-counts": ids(SQLSERVER_COUNTS),
    "ledger": ids(LEDGER),
    "ledger-counts": ids(LEDGER_COUNTS),
}

# Cases that need no database.
CANNED = {*GROUPS["capacity"], *GROUPS["counts"]}
SQLSERVER_IDS = {*GROUPS["sqlserver"], *GROUPS["sqlserver-counts"]}

ALL = [*ids(LOADS, RUNS, LAYOUTS, CAPACITY), MEMORY]
# Cases that are measured on the server of pgbench's tables.
PGBENCH = {*ALL, *GROUPS["pgbench"]} - CANNED


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
