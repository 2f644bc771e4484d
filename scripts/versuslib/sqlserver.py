"""Prony on SQL Server's protocol, beside Prony on PostgreSQL's and clients of FreeTDS, with servers that answer from memory.

In: a build of prony, the canned server; for some cases bsqldb or a Python with pymssql. Out: rows of tables. Must never:
count a client's start: each figure is the difference of two runs of different lengths.
"""
import dataclasses
import os
import shutil
import subprocess

from . import cases, counts, figures, tools
from .canned import CannedServer
from .canned_tools import Program
from .server import ScriptError

# Transactions of the two runs that are timed, of one client and of 64, which need less time for each.
FEW_CALLS, MANY_CALLS = 1_000, 21_000
CLIENTS_FACTOR = {1: 1, 64: 10}
# Prony's status for an invalid result: a client that is saturated, as it is here on purpose, is one.
INVALID = 7
# The Python whose module pymssql is used.
PYTHON = os.environ.get("PYMSSQL_PYTHON", "python3")
QUERY = "SELECT c FROM sbtest1 WHERE id = {}"
PYMSSQL_LOOP = """\
import sys, pymssql
host, port, user, database, count = sys.argv[1:]
connection = pymssql.connect(server=host, port=port, user=user, password="x", database=database, autocommit=True)
cursor = connection.cursor()
for number in range(int(count)):
    cursor.execute("SELECT c FROM sbtest1 WHERE id = %d", (number % 1000 + 1,))
    cursor.fetchall()
"""


class PronyRun(Program):
    """`prony run` on one of the engines."""

    def __init__(self, name, engine, program, home):
        super().__init__(name, program, home)
        self.engine = engine

    def url(self, server, database=None):
        """The URL of a canned server."""
        address = f"{server.user}:x@127.0.0.1:{server.port}"
        database = database or server.database
        if self.engine == "postgres":
            return f"postgres://{address}/{database}?sslmode=disable"
        return f"sqlserver://{address}?database={database}&encrypt=disable"

    def command(self, case, server, seconds=None, transactions=None):
        """The command line of a run that ends after this many transactions of each client."""
        words = [self.program, "run", case.workload, "--url", self.url(server), "--clients", case.clients]
        return [*words, "--transactions", transactions, "--no-observe", "--no-store", "--json"]


class Bsqldb(Program):
    """FreeTDS's batch client, which sends each statement of a file as a batch."""

    def command(self, case, server, seconds=None, transactions=None):
        """The command line of this many point selects."""
        path = os.path.join(self.home, f"{transactions}.sql")
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.writelines(f"{QUERY.format(number % 1000 + 1)}\ngo\n" for number in range(transactions))
        return [self.program, "-q", "-S", f"127.0.0.1:{server.port}", "-U", server.user, "-P", "x", "-D", server.database, "-i", path]


class Pymssql(Program):
    """A loop in Python that calls FreeTDS."""

    def command(self, case, server, seconds=None, transactions=None):
        """The command line of this many point selects."""
        path = os.path.join(self.home, "loop.py")
        with open(path, "w") as file:
            file.write(PYMSSQL_LOOP)
        return [self.program, path, "127.0.0.1", server.port, server.user, server.database, transactions]


@dataclasses.dataclass
class CpuOfCalls:
    """The cost of one client's run without its start."""

    cpu_us_per_transaction: float


def find_other(case, args):
    """The program that a case compares with; a text says why it is missing."""
    if case.other == "postgres":
        return args.prony
    if case.other == "bsqldb":
        return shutil.which("bsqldb") or "bsqldb is not installed: apt install freetds-bin"
    has_module = subprocess.run([PYTHON, "-c", "import pymssql"], capture_output=True)
    if has_module.returncode == 0:
        return shutil.which(PYTHON)
    return f"{PYTHON} has no pymssql: install it with pip, and name that Python in PYMSSQL_PYTHON"


def programs(case, args, home):
    """Prony on SQL Server's protocol and the program that it is compared with; a text if there is none."""
    other = find_other(case, args)
    if not os.access(other, os.X_OK):
        return other
    folders = [os.path.join(home, case.id, name) for name in ("prony", "other")]
    for folder in folders:
        os.makedirs(folder)
    first = PronyRun("prony", "sqlserver", args.prony, folders[0])
    kinds = {"bsqldb": Bsqldb, "pymssql": Pymssql}
    if case.other in kinds:
        return [first, kinds[case.other]("other", other, folders[1])]
    return [first, PronyRun("other", "postgres", other, folders[1])]


def cpu_of_calls(program, case, server):
    """The client's CPU time for one transaction."""
    used_s, calls = [], [count * CLIENTS_FACTOR[case.clients] // case.clients for count in (FEW_CALLS, MANY_CALLS)]
    for count in calls:
        command = program.command(case, server, transactions=count)
        measurement, _ = tools.execute(command, program.environment(server), case.cpus, folder=program.home, accepted=(0, INVALID))
        used_s.append(measurement.cpu_s)
    return CpuOfCalls(1e6 * (used_s[1] - used_s[0]) / (calls[1] - calls[0]) / case.clients)


def cpu_head():
    """The header of the table of CPU times."""
    return ["client on one CPU, canned server on the others", "CPU per transaction, ratio", "CPU, µs (medians)", "required", ""]


def cpu_row(case, prony, other):
    """One line of the table of CPU times."""
    values = [[run.cpu_us_per_transaction for run in runs] for runs in (prony, other)]
    ratio = figures.ratio(*values)
    medians = " / ".join(f"{sorted(runs)[len(runs) // 2]:.2f}" for runs in values)
    return [case.title, str(ratio), medians, figures.bound_text(case.max_cpu, False), figures.verdict(ratio, case.max_cpu, False)]


def compare(chosen, is_count, args, home, print_progress, measure_row, raw):
    """Rows of the table of counts (`is_count`) or of CPU times."""
    rows = []
    measure_case, make_row, width = (counts.count, counts.row, len(counts.head(""))) if is_count else (cpu_of_calls, cpu_row, len(cpu_head()))
    reason = counts.missing() if is_count else None if cases.OTHER_CPUS else "needs two CPUs"
    server_cpus = cases.ONE_CPU if is_count else cases.OTHER_CPUS
    for case in (case for case in cases.SQLSERVER if case.id in chosen and case.is_count == is_count):
        pair = reason or programs(case, args, home)
        if isinstance(pair, str):
            print_progress(f"{case.id}: skipped: {pair}")
            rows.append([case.title, f"skipped: {pair}"] + [""] * (width - 2))
            raw[case.id] = {"skipped": pair}
            continue
        print_progress(f"{case.id}: {args.pairs} pairs")
        # The servers of both programs run at the same time, and the one that is not measured has nothing to do.
        with CannedServer(args.canned, "sqlserver", server_cpus, is_count) as sqlserver, CannedServer(args.canned, "postgres", server_cpus, is_count) as postgres:

            def measure(program, case=case, servers={"sqlserver": sqlserver, "postgres": postgres}):
                result = measure_case(program, case, servers[getattr(program, "engine", "sqlserver")])
                print_progress(f"  {program.name:8} {result}")
                return result

            rows.append(measure_row(case, make_row, pair, args, measure, raw)[:width])
    return rows


def load_memory(args, home, print_progress, raw):
    """Rows of the table of a load's memory, by the number of loaders."""
    program = PronyRun("prony", "sqlserver", args.prony, home)
    peaks = {}
    for jobs in (1, 64):
        print_progress(f"{cases.SQLSERVER_LOAD}: {jobs} loaders")
        with CannedServer(args.canned, "sqlserver") as server:
            words = [args.prony, "load", "oltp_point_select", "--url", program.url(server, "empty"), "--scale", 64]
            command = [*words, "--option", "table_size=20000", "--jobs", jobs]
            peaks[jobs] = tools.execute(command, program.environment(server), watch_memory=True, folder=home)[0].peak_bytes
        if not peaks[jobs]:
            raise ScriptError("the load ended before its memory was read")
    raw[cases.SQLSERVER_LOAD] = peaks
    grown = (peaks[64] - peaks[1]) / 1e6
    return [[*(f"{peaks[jobs] / 1e6:.1f}" for jobs in peaks), f"{grown:.1f}", f"{peaks[64] / 1e6:.1f} of 20", "met" if peaks[64] < 20e6 else "missed"]]


def measure(args, home, print_progress, measure_row, raw):
    """Measures the chosen cases; returns the parts of the report."""
    parts = []
    texts = {
        False: "CPU time of the client process, user and system, by the difference of runs of two lengths",
        True: "Instructions in user space by callgrind, system calls by strace, without starting and ending",
    }
    for is_count, text in texts.items():
        rows = compare(args.cases, is_count, args, home, print_progress, measure_row, raw)
        if rows:
            parts += [f"{text}:", figures.table(counts.head("other") if is_count else cpu_head(), rows)]
    if cases.SQLSERVER_LOAD in args.cases:
        try:
            rows = load_memory(args, home, print_progress, raw)
        except ScriptError as error:
            print_progress(f"{cases.SQLSERVER_LOAD}: {error}")
            raw[cases.SQLSERVER_LOAD] = {"failed": str(error)}
            rows = [["could not be measured"] + [""] * 4]
        head = ["peak with 1 loader, MB", "peak with 64 loaders, MB", "difference, MB", "required: at most, MB", ""]
        parts += ["Memory of a load of 64 tables with 20,000 rows each:", figures.table(head, rows)]
    return parts
