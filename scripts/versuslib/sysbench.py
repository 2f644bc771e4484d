"""Compares Prony called as sysbench with sysbench, by identical command lines, on a MariaDB.

In: a release build of prony, sysbench, MariaDB's programs. Out: Markdown. Must never: measure both at
once, or give only one of them an option.

CPU is user and system time of the whole client process, including connecting and preparing, per query
that the tool's own report counts; QPS is the figure in that report.
"""
import dataclasses
import os
import re
import shutil

from . import figures, lua_scripts
from .cases import CONNECTED, CONNECTIONS, ROWS, SYSBENCH_LOADS, SYSBENCH_RUNS, TABLES, SysbenchRun
from .maria import Maria
from .server import ScriptError
from .session import print_progress
from .tools import Measurement, busy_programs, execute, private_environment, sysbench_address, without_tool_variables


@dataclasses.dataclass
class Queries(Measurement):
    """Cost and result of one run; `transactions` are queries and `tps` is QPS."""

    events: int = 0


def read_report(output):
    """(queries, QPS, events) of a report of sysbench."""
    queries = re.search(r"^    queries: +(\d+) +\(([0-9.]+) per sec\.\)", output, re.M)
    events = re.search(r"^    transactions: +(\d+) ", output, re.M)
    if not queries or not events or int(queries.group(1)) == 0:
        raise ScriptError("cannot read the report:\n" + output[-2000:])
    return int(queries.group(1)), float(queries.group(2)), int(events.group(1))


class Tool:
    """One of the two tools; both are called in the same way."""

    def __init__(self, name, program, server, home):
        self.name = name
        self.program = program
        self.server = server
        self.home = home
        # The password is in a file, because all users can see the arguments.
        self.config = os.path.join(home, "config")
        with open(os.open(self.config, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(f"mysql-user={server.user}\nmysql-password={server.password}\nmysql-db={server.database}\n")
        lua_scripts.write(home)

    def call(self, network, words, watch_memory=False):
        """The Measurement so far, and the output."""
        environment = private_environment(without_tool_variables(os.environ), self.home)
        command = [self.program, f"--config-file={self.config}", *sysbench_address(self.server, network), *words]
        return execute(command, environment, watch_memory=watch_memory, folder=self.home)

    def prepare(self, tables, rows, threads=2):
        """Creates the tables."""
        options = [f"--threads={threads}", f"--tables={tables}", f"--table-size={rows}"]
        return self.call("unix", [*options, "oltp_read_write", "prepare"])[0]

    def run(self, case, seconds, watch_memory=False):
        """Drives the case's load."""
        words = [f"--threads={case.threads}", f"--time={seconds}", "--events=0", f"--tables={TABLES}", f"--table-size={ROWS}"]
        words += ["--rand-type=uniform", *case.options, case.test, "run"]
        result, output = self.call(case.network, words, watch_memory)
        return Queries(result.wall_s, result.cpu_s, *read_report(output)[:2], result.peak_bytes, events=read_report(output)[2])


CONNECTIONS_HEAD = ["oltp_point_select, " + f"{CONNECTIONS:,} threads", "QPS", "peak of the client, MB"]


def drop_tables(server):
    """Drops the tables and flushes their dirty pages."""
    tables = server.sql(f"select table_name from information_schema.tables where table_schema = '{server.database}'").split()
    for table in tables:
        server.sql(f"drop table `{table}`")
    server.sql("set global innodb_max_dirty_pages_pct = 0")
    server.sql("do sleep(1); set global innodb_max_dirty_pages_pct = 90")


def connection_rows(session, tools):
    """Rows of the table of many connections. A failure appears in its row."""
    rows = []
    for tool in tools:
        print_progress(f"{CONNECTED}: {tool.name}, {CONNECTIONS} threads")
        case = SysbenchRun(CONNECTED, "", "oltp_point_select", CONNECTIONS, "unix", None, None)
        try:
            result = tool.run(case, session.args.seconds, watch_memory=True)
            rows.append([tool.name, f"{result.tps:,.0f}", f"{result.peak_bytes / 1e6:.0f}"])
        except ScriptError as error:
            lines = [line for line in str(error).splitlines() if "FATAL" in line] or str(error).splitlines()[-1:]
            rows.append([tool.name, "fails: " + lines[0].replace("|", "/")[:160]])
    return rows


def find_sysbench():
    """The distribution's sysbench."""
    program = os.environ.get("SYSBENCH") or shutil.which("sysbench")
    if not program:
        raise ScriptError("there is no sysbench: apt install sysbench, or name one in SYSBENCH")
    return program


def sysbench_link(prony, home):
    """A link named sysbench to a build of prony."""
    link = os.path.join(home, "sysbench")
    os.symlink(prony, link)
    return link


def two_tools(args, server, home):
    """Prony and the tool that it is compared with, each with a private folder."""
    tools = []
    for name, build in (("prony", args.prony), ("sysbench", args.against)):
        folder = os.path.join(home, name)
        os.mkdir(folder)
        tools.append(Tool(name, sysbench_link(build, folder) if build else find_sysbench(), server, folder))
    return tools


def compare_loads(session, tools, server):
    """Rows of the table of loads."""
    def load(tool):
        drop_tables(server)
        result = tool.prepare(case.tables, case.rows)
        print_progress(f"  {tool.name:8} {result.wall_s:6.2f} s, client CPU {result.cpu_s:5.2f} s")
        return result

    rows = []
    for case in session.chosen(SYSBENCH_LOADS):
        rows.append(session.row(case, figures.load_row, tools, load))
    return rows


def compare_runs(session, tools, server):
    """Rows of the table of runs."""
    def drive(tool):
        with busy_programs(case.busy_programs):
            result = server.with_cpu(lambda: tool.run(case, session.args.seconds))
        print_progress(f"  {tool.name:8} {result.tps:9,.0f} QPS, {result.cpu_us_per_transaction:6.2f} µs CPU")
        return result

    rows = []
    for case in session.chosen(SYSBENCH_RUNS):
        rows.append(session.row(case, figures.run_row, tools, drive, f" of {session.args.seconds} s"))
    return rows


def measure(session, home):
    """Measures the chosen cases on a separate server; returns the parts of the report."""
    args = session.args
    other = "other build" if args.against else "sysbench"
    settings = {"innodb-buffer-pool-size": args.shared_buffers.replace("GB", "G").replace("MB", "M")}
    settings |= {"innodb-log-file-size": "1G", "max-connections": CONNECTIONS + 200, "thread-cache-size": 256}
    settings |= {"back-log": CONNECTIONS, "max-prepared-stmt-count": 1_000_000, "table-open-cache": 10_000}
    with Maria(settings) as server:
        tools = two_tools(args, server, home)
        names = "version() @@innodb_flush_log_at_trx_commit @@sync_binlog @@innodb_buffer_pool_size".split()
        parts = [f"## Prony called as sysbench, and {other}", "\n".join([
            *session.programs(args.against or find_sysbench()),
            "- " + ", ".join(f"{name.strip('@')} {server.sql('select ' + name)}" for name in names),
            f"- {TABLES} tables of {ROWS:,} rows, uniform distribution; medians of {args.pairs} interleaved pairs "
            f"(smallest–largest); runs of {args.seconds} s; client CPU per query of the whole process",
            f"- {figures.BOUND_EXPLANATION}",
        ])]
        print_progress(parts[-1])
        tables = [(figures.load_head(other), compare_loads(session, tools, server))]
        if set(args.cases) & {CONNECTED, *(case.id for case in SYSBENCH_RUNS)}:
            drop_tables(server)
            tools[1].prepare(TABLES, ROWS)
        head = figures.run_head(f"Prony / {other}", "query", "QPS")
        tables.append((head, compare_runs(session, tools, server)))
        if CONNECTED in args.cases:
            tables.append((CONNECTIONS_HEAD, connection_rows(session, tools)))
    return parts + [figures.table(head, rows) for head, rows in tables if rows]
