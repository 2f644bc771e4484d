"""Prony on SQL Server's protocol, beside Prony on PostgreSQL's and clients of FreeTDS, with servers that answer from memory.

In: a build of prony, the canned server; for some cases bsqldb or a Python with pymssql. Out: Markdown. Must never:
count a client's start: each figure is the difference of two runs of different lengths.
"""
import contextlib
import dataclasses
import functools
import os
import pathlib
import shutil
import subprocess

from . import cases, counts, figures
from .canned import CannedServer
from .server import ScriptError
from .session import print_progress
from .tools import INVALID, Program

# Transactions of the two runs that are timed, of one client and of 64, which need less time for each.
FEW_CALLS, MANY_CALLS = 1_000, 21_000
CLIENTS_FACTOR = {1: 1, 64: 10}
# The Python whose module pymssql is used.
PYTHON = os.environ.get("PYMSSQL_PYTHON", "python3")
PYMSSQL_LOOP = """\
import sys, pymssql
host, port, user, database, count = sys.argv[1:]
connection = pymssql.connect(server=host, port=port, user=user, password="x", database=database, autocommit=True)
cursor = connection.cursor()
for number in range(int(count)):
    cursor.execute("SELECT c FROM sbtest1 WHERE id = %d", (number % 1000 + 1,))
    cursor.fetchall()
"""
CPU_TITLE = "CPU time of the client process, user and system, by the difference of runs of two lengths"
CPU_COLUMNS = [
    figures.title("client on one CPU, canned server on the others"),
    figures.bounded("CPU per transaction, ratio", "cpu_us_per_transaction", "max_cpu"),
    figures.medians("CPU, µs (medians)", "cpu_us_per_transaction"),
]
MEMORY_HEAD = ["peak with 1 loader, MB", "peak with 64 loaders, MB", "difference, MB", "required: at most, MB", ""]
MAX_MEMORY_BYTES = 20_000_000


class Client(Program):
    """A client of SQL Server's protocol: a build of prony, bsqldb or a loop in Python."""

    def url(self, server, database=None):
        address, database = f"{server.user}:x@127.0.0.1:{server.port}", database or server.database
        if server.protocol == "postgres":
            return f"postgres://{address}/{database}?sslmode=disable"
        return f"sqlserver://{address}?database={database}&encrypt=disable"

    def command(self, case, server, seconds=None, transactions=None, database=None):
        """The command line of this many transactions of each client; FreeTDS's batch client sends each line of a file."""
        path = self.home / f"{transactions}.input"
        if self.name == "bsqldb":
            path.write_text("".join(f"SELECT c FROM sbtest1 WHERE id = {number % 1000 + 1}\ngo\n" for number in range(transactions)))
            return [self.build, "-q", "-S", f"127.0.0.1:{server.port}", "-U", server.user, "-P", "x", "-D", server.database, "-i", path]
        if self.name == "pymssql":
            path.write_text(PYMSSQL_LOOP)
            return [self.build, path, "127.0.0.1", server.port, server.user, server.database, transactions]
        words = [self.build, "run", case.workload, "--url", self.url(server), "--clients", case.clients]
        return [*words, "--transactions", transactions, "--no-observe", "--no-store", "--json"]


@dataclasses.dataclass
class CpuOfCalls:
    """The cost of one client's run without its start."""

    cpu_us_per_transaction: float


def find_other(case, args):
    """The program that a case compares with; an error says why it is missing."""
    if case.other == "postgres":
        return args.prony
    if case.other == "bsqldb":
        if not shutil.which("bsqldb"):
            raise ScriptError("bsqldb is not installed: apt install freetds-bin")
        return shutil.which("bsqldb")
    if subprocess.run([PYTHON, "-c", "import pymssql"], capture_output=True).returncode != 0:
        raise ScriptError(f"{PYTHON} has no pymssql: install it with pip, and name that Python in PYMSSQL_PYTHON")
    return shutil.which(PYTHON)


def cpu_of_calls(client, case, server):
    """The client's CPU time for one transaction, and the text of its progress."""
    used_s, calls = [], [count * CLIENTS_FACTOR[case.clients] // case.clients for count in (FEW_CALLS, MANY_CALLS)]
    for count in calls:
        command = client.command(case, server, transactions=count)
        used_s.append(client.call(command, server, cpus=case.cpus, accepted=(0, INVALID))[0].cpu_s)
    cost = CpuOfCalls(1e6 * (used_s[1] - used_s[0]) / (calls[1] - calls[0]) / case.clients)
    return cost, f"{cost.cpu_us_per_transaction:.2f} µs CPU"


def compare(session, group, columns, measure_one, reason, cpus, home):
    """Rows of the table of CPU times or of counts."""
    rows, args = [], session.args
    for case in session.chosen(group):
        try:
            if reason:
                raise ScriptError(reason)
            other = find_other(case, args)
        except ScriptError as error:
            rows.append(session.skip(case, error))
            continue
        folder = pathlib.Path(home, case.id)
        clients = {"prony": Client("prony", folder, args.prony), "other": Client(case.other, folder, other)}
        # The servers of both programs run at the same time, and the one that is not measured has nothing to do.
        with contextlib.ExitStack() as stack:
            servers = {
                protocol: stack.enter_context(CannedServer(args.canned, protocol, cpus, cpus == cases.ONE_CPU))
                for protocol in ("sqlserver", "postgres")
            }
            sides = {
                name: functools.partial(measure_one, client, case, servers["postgres" if client.name == "postgres" else "sqlserver"])
                for name, client in clients.items()
            }
            rows.append(session.row(case, columns, sides))
    return rows


def load_memory(session, home):
    """Rows of the table of a load's memory, by the number of loaders."""
    client = Client("load", home, session.args.prony)
    peaks = {}
    for jobs in (1, 64):
        print_progress(f"{cases.SQLSERVER_LOAD}: {jobs} loaders")
        with CannedServer(session.args.canned, "sqlserver") as server:
            words = [client.build, "load", "oltp_point_select", "--url", client.url(server, "empty"), "--scale", 64]
            command = [*words, "--option", "table_size=20000", "--jobs", jobs]
            peaks[jobs] = client.call(command, server, watch_memory=True)[0].peak_bytes
        if not peaks[jobs]:
            raise ScriptError("the load ended before its memory was read")
    session.raw[cases.SQLSERVER_LOAD] = peaks
    small, large = (peak / 1e6 for peak in peaks.values())
    outcome = "met" if peaks[64] < MAX_MEMORY_BYTES else "missed"
    return [[f"{small:.1f}", f"{large:.1f}", f"{large - small:.1f}", f"{large:.1f} of {MAX_MEMORY_BYTES / 1e6:.0f}", outcome]]


def measure(session, home):
    """Measures the chosen cases with canned servers; returns the parts of the report."""
    intro = session.intro()
    intro[-1] += f"; median of {session.args.pairs} interleaved pairs (smallest–largest)"
    parts = ["## Prony on SQL Server's protocol, with servers that answer from memory", "\n".join(intro)]
    no_cpu = None if cases.OTHER_CPUS else "needs two CPUs"
    for text, *table in (
        (CPU_TITLE, cases.SQLSERVER, CPU_COLUMNS, cpu_of_calls, no_cpu, cases.OTHER_CPUS),
        (counts.TITLE, cases.SQLSERVER_COUNTS, counts.columns("other"), counts.measure, counts.missing(), cases.ONE_CPU),
    ):
        rows = compare(session, *table, home)
        if rows:
            parts += [f"{text}:", figures.table(figures.heads(table[1]), rows)]
    if cases.SQLSERVER_LOAD in session.args.cases:
        try:
            rows = load_memory(session, home)
        except ScriptError as error:
            session.fail(cases.SQLSERVER_LOAD, error)
            rows = [["could not be measured"]]
        parts += ["Memory of a load of 64 tables with 20,000 rows each:", figures.table(MEMORY_HEAD, rows)]
    return parts
