"""What a ledger costs: the same load with and without one, on a PostgreSQL and on a MariaDB with durable settings.

In: a build of prony, the programs of the servers; for counts valgrind and strace. Out: Markdown. Must never: give the two
sides options that differ in more than the ledger.
"""
import dataclasses

from . import cases, counts, figures
from .scaling import new_server
from .server import ScriptError
from .session import print_progress
from .tools import INVALID, Program

DATABASE = "ledger"
# Between two runs: the history and dead rows have grown.
CLEANING = "truncate pgbench_history; vacuum pgbench_branches, pgbench_tellers, pgbench_accounts"


def log_bytes(server, name):
    """The position in the server's write-ahead log, bytes."""
    if name == "postgres":
        return int(server.sql("select pg_current_wal_insert_lsn() - '0/0'"))
    return int(server.sql("show global status like 'Innodb_os_log_written'").split()[-1])


def load(server, name, program, scale):
    """Creates the tables of the cases of a server."""
    if name == "postgres":
        server.database = DATABASE
        server.recreate_database(DATABASE)
        program.load(cases.Case("", "", "prony", "tpcb", clients=2), server, scale, DATABASE)
    else:
        case = cases.Case("", "", "prony", "oltp_write_only", ("-o", f"table_size={cases.ROWS}"), 2)
        program.load(case, server, cases.TABLES, server.database)


def sides_of(case, session, programs, server):
    """With and without the ledger, or with that of two builds, by name."""
    def options(has_ledger):
        size = ("-o", f"table_size={cases.ROWS}") if case.other == "maria" else ()
        return (*case.options, *size, *["--ledger"] * has_ledger)

    def measure(program, has_ledger):
        chosen = dataclasses.replace(case, options=options(has_ledger))
        if case.is_counted:
            return counts.measure(program, chosen, server)
        if case.other == "postgres":
            server.sql(CLEANING, DATABASE)
        before = log_bytes(server, case.other)
        result = server.with_cpu(lambda: program.drive(chosen, server, session.args.seconds, accepted=(0, INVALID)))
        result.log_bytes = log_bytes(server, case.other) - before
        return result, f"{result.run_text()}, server {result.server_cpu_us_per_transaction:6.1f} µs, log {result.log_bytes_per_transaction:,.0f} bytes"

    if session.args.against:
        return {program.name: lambda program=program: measure(program, True) for program in programs}
    return {name: lambda has=has: measure(programs[0], has) for name, has in (("ledger", True), ("without", False))}


def run_columns(sides):
    return [
        *figures.run_columns(sides)[:-1],
        figures.ratio(f"server CPU, {sides}", "server_cpu_us_per_transaction"),
        figures.medians("log, bytes per transaction (medians)", "log_bytes_per_transaction", "{:,.0f}"),
    ]


def count_columns(sides):
    others = counts.columns("")[2:]
    return [figures.title("case"), figures.bounded(f"instructions per transaction, {sides}", "instructions", "max_cpu"), *others]


def measure(session, home):
    """Measures the chosen cases, those of each server together; returns the parts of the report."""
    args, chosen = session.args, session.chosen(cases.LEDGER + cases.LEDGER_COUNTS)
    programs = [Program("prony", home, args.prony)] + ([Program("other", home, args.against)] if args.against else [])
    sides = "with / of the other build" if args.against else "with / without"
    rows = {False: [], True: []}
    for name in dict.fromkeys(case.other for case in chosen):
        try:
            with new_server(name, session) as server:
                print_progress(f"loading {name}")
                load(server, name, programs[0], args.scale)
                for case in (case for case in chosen if case.other == name):
                    columns = count_columns(sides) if case.is_counted else run_columns(sides)
                    reason = counts.missing() if case.is_counted else None
                    row = session.skip(case, reason) if reason else session.row(
                        case, columns, sides_of(case, session, programs, server), f" of {args.seconds} s")
                    rows[case.is_counted].append(row)
        except ScriptError as error:
            session.fail(name, error)
            rows[False].append([name, "could not be measured"])
    notes = [*session.intro(session.bin_dir / "postgres"), f"- medians of {args.pairs} interleaved pairs (smallest–largest); runs of {args.seconds} s"]
    tables = [(run_columns(sides), rows[False]), (count_columns(sides), rows[True])]
    texts = [figures.table(figures.heads(columns), lines) for columns, lines in tables if lines]
    return ["## The cost of a ledger", "\n".join(notes), *texts]
