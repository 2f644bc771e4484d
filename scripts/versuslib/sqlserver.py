"""Prony on SQL Server's protocol, beside Prony on PostgreSQL's and clients of FreeTDS, with servers that answer from memory.

In: a build of prony, the canned server; for some cases bsqldb or a Python with pymssql. Out: rows of tables. Must never:
count a client's start: each figure is the difference of two runs of different lengths.
"""
import contextlib
import dataclasses
import os
import shutil
import subprocess

from . import capacity, cases, counts, figures, tools
from .canned import CannedServer
from .canned_tools import Program
from .server import ScriptError
from .session import print_progress

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

    def __str__(self):
        return f"{self.cpu_us_per_transaction:.2f} µs CPU"


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
    name = "cpu_us_per_transaction"
    ratio, *bound = figures.bounded(figures.ratio_of(name, prony, other), case.max_cpu, False)
    return [case.title, ratio, figures.medians(name, "{:.2f}", prony, other), *bound]


def compare(session, is_count, home):
    """Rows of the table of counts (`is_count`) or of CPU times."""
    rows, args = [], session.args
    measure_case, make_row = (counts.measure, counts.row) if is_count else (cpu_of_calls, cpu_row)
    reason = (counts if is_count else capacity).missing()
    cpus = cases.ONE_CPU if is_count else cases.OTHER_CPUS
    for case in (case for case in session.chosen(cases.SQLSERVER) if case.is_count == is_count):
        pair = reason or programs(case, args, home)
        if isinstance(pair, str):
            rows.append(session.skip(case, pair))
            continue
        # The servers of both programs run at the same time, and the one that is not measured has nothing to do.
        with contextlib.ExitStack() as stack:
            servers = {}
            for protocol in ("sqlserver", "postgres"):
                servers[protocol] = stack.enter_context(CannedServer(args.canned, protocol, cpus, is_count))

            def measure_one(program, case=case, servers=servers):
                result = measure_case(program, case, servers[getattr(program, "engine", "sqlserver")])
                print_progress(f"  {program.name:8} {result}")
                return result

            rows.append(session.row(case, make_row, pair, measure_one))
    return rows


def load_memory(session, home):
    """Rows of the table of a load's memory, by the number of loaders."""
    program = PronyRun("prony", "sqlserver", session.args.prony, home)
    peaks = {}
    for jobs in (1, 64):
        print_progress(f"{cases.SQLSERVER_LOAD}: {jobs} loaders")
        with CannedServer(session.args.canned, "sqlserver") as server:
            words = [program.program, "load", "oltp_point_select", "--url", program.url(server, "empty"), "--scale", 64]
            command = [*words, "--option", "table_size=20000", "--jobs", jobs]
            environment = program.environment(server)
            peaks[jobs] = tools.execute(command, environment, watch_memory=True, folder=home)[0].peak_bytes
        if not peaks[jobs]:
            raise ScriptError("the load ended before its memory was read")
    session.raw[cases.SQLSERVER_LOAD] = peaks
    small, large = (peak / 1e6 for peak in peaks.values())
    outcome = "met" if large < 20 else "missed"
    return [[f"{small:.1f}", f"{large:.1f}", f"{large - small:.1f}", f"{large:.1f} of 20", outcome]]


def measure(session, home):
    """Measures the chosen cases with canned servers; returns the parts of the report."""
    intro = session.programs()
    intro[-1] += f"; median of {session.args.pairs} interleaved pairs (smallest–largest)"
    parts = ["## Prony on SQL Server's protocol, with servers that answer from memory", "\n".join(intro)]
    cpu_text = "CPU time of the client process, user and system, by the difference of runs of two lengths"
    for is_count, text, head in ((False, cpu_text, cpu_head()), (True, counts.TITLE, counts.head("other"))):
        rows = compare(session, is_count, home)
        if rows:
            parts += [f"{text}:", figures.table(head, rows)]
    if cases.SQLSERVER_LOAD in session.args.cases:
        try:
            rows = load_memory(session, home)
        except ScriptError as error:
            session.fail(cases.SQLSERVER_LOAD, error)
            rows = [["could not be measured"]]
        head = ["peak with 1 loader, MB", "peak with 64 loaders, MB", "difference, MB", "required: at most, MB", ""]
        parts += ["Memory of a load of 64 tables with 20,000 rows each:", figures.table(head, rows)]
    return parts
