"""Compares Prony called as sysbench with sysbench, by identical command lines, on a MariaDB.

In: a release build of prony, sysbench, MariaDB's programs. Out: Markdown. Must never: measure both at
once, or give only one of them an option.

CPU is user and system time of the whole client process, including connecting and preparing, per query
that the tool's own report counts; QPS is the figure in that report.
"""
import dataclasses

from . import cases, figures
from .mysql import Maria
from .server import ScriptError
from .session import print_progress
from .tools import Program, busy_programs, find_sysbench

CONNECTIONS_HEAD = [f"oltp_point_select, {cases.CONNECTIONS:,} threads", "QPS", "peak of the client, MB"]


def server_settings(args):
    """Settings of a MariaDB whose tables fit into memory."""
    size = args.shared_buffers.replace("GB", "G").replace("MB", "M")
    settings = {"innodb-buffer-pool-size": size, "innodb-log-file-size": "1G"}
    return settings | ({"innodb-flush-log-at-trx-commit": "0"} if args.no_fsync else {})


def tables_options():
    return (f"--tables={cases.TABLES}", f"--table-size={cases.ROWS}")


def with_tables(case):
    """The case with those options."""
    return dataclasses.replace(case, options=(*tables_options(), *case.options))


def connection_rows(session, programs, server):
    """Rows of the table of many connections. A failure appears in its row."""
    rows = []
    case = with_tables(cases.Case(cases.CONNECTED, "", "sysbench", "", (cases.POINT,), cases.CONNECTIONS))
    for program in programs:
        print_progress(f"{case.id}: {program.name}, {case.clients} threads")
        try:
            result = program.drive(case, server, session.args.seconds, watch_memory=True)
            rows.append([program.name, f"{result.tps:,.0f}", f"{result.peak_bytes / 1e6:.0f}"])
        except ScriptError as error:
            lines = [line for line in str(error).splitlines() if "FATAL" in line] or str(error).splitlines()[-1:]
            rows.append([program.name, "fails: " + lines[0].replace("|", "/")[:160]])
    return rows


def measure(session, home):
    """Measures the chosen cases on a separate server; returns the parts of the report."""
    args = session.args
    other = "other build" if args.against else "sysbench"
    settings = {**server_settings(args), "max-connections": cases.CONNECTIONS + 200, "thread-cache-size": 256}
    settings |= {"back-log": cases.CONNECTIONS, "max-prepared-stmt-count": 1_000_000, "table-open-cache": 10_000}
    with Maria(settings) as server:
        programs = [Program("prony", home, args.prony), Program("sysbench", home, args.against)]
        names = "version() @@innodb_flush_log_at_trx_commit @@sync_binlog @@innodb_buffer_pool_size".split()
        parts = [f"## Prony called as sysbench, and {other}", "\n".join([
            *session.intro(args.against or find_sysbench()),
            "- " + ", ".join(f"{name.strip('@')} {server.sql('select ' + name)}" for name in names),
            f"- {cases.TABLES} tables of {cases.ROWS:,} rows, uniform distribution; medians of {args.pairs} interleaved pairs "
            f"(smallest–largest); runs of {args.seconds} s; client CPU per query of the whole process",
            f"- {figures.BOUND_EXPLANATION}",
        ])]
        print_progress(parts[-1])

        def load(program, case):
            server.recreate_database()
            result = server.with_cpu(lambda: program.load(case, server, None, None))
            return result, result.load_text()

        def drive(program, case):
            with busy_programs(case.busy_programs):
                result = server.with_cpu(lambda: program.drive(with_tables(case), server, args.seconds))
            return result, result.run_text("QPS")

        loads = figures.load_columns(other)
        tables = [(figures.heads(loads), session.rows(cases.SYSBENCH_LOADS, loads, programs, load))]
        if set(args.cases) & {cases.CONNECTED, *cases.ids(cases.SYSBENCH_RUNS)}:
            server.recreate_database()
            tables_case = cases.Case("", "", "sysbench", options=tables_options(), clients=2)
            programs[1].load(tables_case, server, None, None)
        runs = figures.run_columns(f"Prony / {other}", "query", "QPS")
        tables.append((figures.heads(runs), session.rows(cases.SYSBENCH_RUNS, runs, programs, drive, f" of {args.seconds} s")))
        if cases.CONNECTED in args.cases:
            tables.append((CONNECTIONS_HEAD, connection_rows(session, programs, server)))
    return parts + [figures.table(head, rows) for head, rows in tables if rows]
