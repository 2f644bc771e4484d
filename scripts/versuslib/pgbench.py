"""Prony and pgbench on one PostgreSQL: native plans, identical pgbench command lines, loads and memory.

In: a build of prony, PostgreSQL's programs. Out: Markdown. Must never: let one run see dead
rows or dirty pages of another.
"""
import contextlib
import dataclasses

from . import cases, figures
from .namespace import Namespace
from .server import ScriptError, Server, quiet_settings
from .session import print_progress
from .tools import Program, busy_programs

DATABASE = "versus"
MEMORY_CASE = cases.Case("memory", "", "prony", "select-only")


def environment(server, session):
    """The machine, the programs and the server's settings, as lines of a Markdown list."""
    names = "fsync synchronous_commit full_page_writes shared_buffers max_connections max_wal_size autovacuum".split()
    settings = ", ".join(f"{name} {server.sql('show ' + name)}" for name in names)
    other = session.args.against or server.bin_dir / "pgbench"
    return [*session.intro(server.bin_dir / "postgres", other), f"- {settings}"]


def compare_loads(session, programs, server, columns):
    """Rows of the table of loads."""
    def load(program, case):
        # Each run has a new database, and no dirty pages of the previous run.
        server.recreate_database("load_one")
        result = server.with_cpu(lambda: program.load(case, server, session.args.scale, "load_one"))
        return result, result.load_text()

    rows = session.rows(cases.LOADS, columns, programs, load)
    server.sql("drop database if exists load_one")
    return rows


def skip_reason(case, namespace):
    """Why a case cannot be measured on this machine; None if it can."""
    if case.network == "namespace" and namespace.error:
        return namespace.error
    return "needs two CPUs" if case.server_cpus == frozenset() else None


def sides_of(case, programs, server, args):
    """What drives the two sides of a case, by name."""
    def drive(program, options):
        if case.workload == "tpcb":
            # History and dead rows have grown.
            server.sql("truncate pgbench_history; vacuum pgbench_branches, pgbench_tellers; checkpoint", DATABASE)
        called = dataclasses.replace(case, options=tuple(word.format(scale=args.scale) for word in options))
        cpus = case.server_cpus or case.cpus
        with server.on_cpus(cpus) if cpus else contextlib.nullcontext(), busy_programs(case.busy_programs):
            result = server.with_cpu(lambda: program.drive(called, server, args.seconds, DATABASE))
        return result, result.run_text()

    if case.baseline_options:
        sides = {"file": (programs[0], case.options), "builtin": (programs[0], case.baseline_options)}
    else:
        sides = {program.name: (program, case.options) for program in programs}
    return {name: lambda side=side: drive(*side) for name, side in sides.items()}


def compare_runs(session, group, programs, server, namespace, columns):
    """Rows of one table of runs."""
    rows = []
    for case in session.chosen(group):
        reason = skip_reason(case, namespace)
        if reason:
            rows.append(session.skip(case, reason))
            continue
        if case.network == "namespace":
            case = dataclasses.replace(case, title=f"{case.title}, {namespace.link}")
        sides = sides_of(case, programs, server, session.args)
        rows.append(session.row(case, columns, sides, f" of {session.args.seconds} s"))
    return rows


def compare_memory(session, programs, server):
    """Rows of the table of memory."""
    args, rows = session.args, []
    sizes = (args.memory_clients, 2 * args.memory_clients)
    for program in programs:
        try:
            peaks = []
            for count in sizes:
                print_progress(f"memory: {program.name}, {count} clients")
                case = dataclasses.replace(MEMORY_CASE, clients=count)
                peaks.append(program.drive(case, server, args.seconds, DATABASE, watch_memory=True).peak_bytes)
        except ScriptError as error:
            session.fail(f"memory {program.name}", error)
            rows.append([program.name, "could not be measured"])
            continue
        session.raw[f"memory {program.name}"] = peaks
        max_bytes = cases.MEMORY_MAX_BYTES if program.name == "prony" else None
        each = f"{(peaks[1] - peaks[0]) / args.memory_clients / 1e3:.1f}"
        most = figures.most_memory(*zip(sizes, peaks), 10_000, max_bytes)
        rows.append([program.name, *(f"{peak / 1e6:.1f}" for peak in peaks), each, *most])
    return rows


def memory_head(clients):
    peaks = [f"peak at {count} clients, MB" for count in (clients, 2 * clients)]
    return ["tool", *peaks, "each further client, kB", "10,000 clients (by extrapolation), MB", "required", ""]


def warm_cache(server):
    """Reads the table and its key into memory, so that the first run has the same cache as the others."""
    tables = "pg_prewarm('pgbench_accounts'), pg_prewarm('pgbench_accounts_pkey')"
    try:
        server.sql(f"create extension pg_prewarm; select {tables}", DATABASE)
    except ScriptError:  # On some systems a different package has the extension.
        server.sql("select sum(abalance) from pgbench_accounts", DATABASE)


def measure(session, home):
    """Starts the server and measures the chosen cases; returns the parts of the report."""
    args = session.args
    other = "other build" if args.against else "pgbench"
    settings = quiet_settings(args, max_connections=max(300, 2 * args.memory_clients + 50))
    with contextlib.ExitStack() as stack:
        needs_namespace = any(case.network == "namespace" for case in session.chosen(cases.LAYOUTS))
        namespace = stack.enter_context(Namespace()) if needs_namespace else None
        server = stack.enter_context(Server(session.bin_dir, settings, namespace))
        second = Program("other" if args.against else "pgbench", home, args.against, session.bin_dir)
        programs = [Program("prony", home, args.prony), second]
        parts = [f"## Prony and {other} in turn", "\n".join([
            *environment(server, session),
            f"- scale {args.scale}; {args.pairs} interleaved pairs a case, the order changing from pair to pair; "
            f"runs of {args.seconds} s; one client thread and prepared statements unless the case says otherwise",
            "- ratios: median of the pairs (smallest–largest); CPU: user and system time of the whole client process, "
            "start and connecting included, for both tools",
            f"- {figures.BOUND_EXPLANATION}",
        ])]
        print_progress(parts[1])
        columns = figures.load_columns(other)
        tables = [(figures.heads(columns), compare_loads(session, programs, server, columns))]
        if set(args.cases) & cases.PGBENCH - set(cases.ids(cases.LOADS)):
            print_progress(f"loading scale {args.scale} by {second.name}, for all runs")
            server.sql(f"create database {DATABASE}")
            second.load(cases.LOADS[0], server, args.scale, DATABASE)
            server.sql("checkpoint")
            warm_cache(server)
        runs, files = figures.run_columns(f"Prony / {other}"), figures.run_columns("-f / -S")
        for group, columns in ((cases.RUNS, runs), (cases.DIALECT, runs), (cases.FILES, files), (cases.LAYOUTS, runs)):
            tables.append((figures.heads(columns), compare_runs(session, group, programs, server, namespace, columns)))
        if cases.MEMORY in args.cases:
            tables.append((memory_head(args.memory_clients), compare_memory(session, programs, server)))
    return parts + [figures.table(head, rows) for head, rows in tables if rows]
