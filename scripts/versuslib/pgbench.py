"""Prony and pgbench on one PostgreSQL: native plans, identical pgbench command lines, loads and memory.

In: a build of prony, PostgreSQL's programs. Out: Markdown. Must never: let one run see dead
rows or dirty pages of another.
"""
import contextlib
import dataclasses
import functools

from . import cases, figures
from .namespace import Namespace
from .server import ScriptError, Server, quiet_settings
from .session import print_progress
from .tools import Pgbench, Prony, busy_programs

DATABASE = "versus"


def environment(server, session):
    """The machine, the programs and the server's settings, as lines of a Markdown list."""
    names = "fsync synchronous_commit full_page_writes shared_buffers max_connections max_wal_size autovacuum".split()
    settings = ", ".join(f"{name} {server.sql('show ' + name)}" for name in names)
    other = session.args.against or server.bin_dir / "pgbench"
    return [*session.programs(server.bin_dir / "postgres", other), f"- {settings}"]


def compare_loads(session, tools, server):
    """Rows of the table of loads."""
    def measure(tool):
        # Each run has a new database, and no dirty pages of the previous run.
        server.recreate_database("load_one")
        result = tool.load(session.args.scale, "load_one", case.jobs)
        print_progress(f"  {tool.name:8} {result.wall_s:6.2f} s, client CPU {result.cpu_s:5.2f} s")
        return result

    rows = []
    for case in session.chosen(cases.LOADS):
        rows.append(session.row(case, figures.load_row, tools, measure))
    server.sql("drop database if exists load_one")
    return rows


@dataclasses.dataclass
class Invocation:
    """A tool, and how it drives a case."""

    name: str
    drive: object


def invocations(case, tools, args):
    """The two sides of a case."""
    seconds = args.seconds

    def by_command_line(name, tool, options):
        options = [word.format(scale=args.scale) for word in options]
        return Invocation(name, lambda: tool.dialect(case, options, seconds, DATABASE))

    if isinstance(case, cases.Case):
        return [Invocation(tool.name, lambda tool=tool: tool.run(case, seconds, DATABASE)) for tool in tools]
    if case.baseline_options:
        baseline = by_command_line("builtin", tools[0], case.baseline_options)
        return [by_command_line("file", tools[0], case.options), baseline]
    return [by_command_line(tool.name, tool, case.options) for tool in tools]


def skip_reason(case, namespace):
    """Why a case cannot be measured on this machine; None if it can."""
    if case.network == "namespace" and namespace.error:
        return namespace.error
    if getattr(case, "server_cpus", None) == frozenset():
        return "needs two CPUs"
    return None


def drive(case, server, invocation):
    """One run, after which history and dead rows have grown."""
    if case.workload == "tpcb":
        vacuum = "vacuum pgbench_branches, pgbench_tellers"
        server.sql(f"truncate pgbench_history; {vacuum}; checkpoint", DATABASE)
    cpus = getattr(case, "server_cpus", None) or case.cpus
    with server.on_cpus(cpus) if cpus else contextlib.nullcontext(), busy_programs(getattr(case, "busy_programs", 0)):
        result = server.with_cpu(invocation.drive)
    print_progress(f"  {invocation.name:8} {result.tps:9,.0f} TPS, {result.cpu_us_per_transaction:6.2f} µs CPU")
    return result


def compare_runs(session, group, tools, server, namespace):
    """Rows of one table of runs."""
    rows = []
    for case in session.chosen(group):
        reason = skip_reason(case, namespace)
        if reason:
            rows.append(session.skip(case, reason))
            continue
        if case.network == "namespace":
            case = dataclasses.replace(case, title=f"{case.title}, {namespace.link}")
        sides = invocations(case, tools, session.args)
        measure_side = functools.partial(drive, case, server)
        rows.append(session.row(case, figures.run_row, sides, measure_side, f" of {session.args.seconds} s"))
    return rows


def compare_memory(session, tools):
    """Rows of the table of memory."""
    args, rows = session.args, []
    for tool in tools:
        peaks = []
        try:
            for count in (args.memory_clients, 2 * args.memory_clients):
                print_progress(f"memory: {tool.name}, {count} clients")
                case = cases.Case("memory", "", "select-only", count, "unix", None, None, None)
                peaks.append(tool.run(case, args.seconds, DATABASE, watch_memory=True).peak_bytes)
        except ScriptError as error:
            session.fail(f"memory {tool.name}", error)
            rows.append([tool.name, "could not be measured"])
            continue
        session.raw[f"memory {tool.name}"] = peaks
        max_bytes = cases.MEMORY_MAX_BYTES if tool.name == "prony" else None
        rows.append(figures.memory_row(tool.name, *peaks, args.memory_clients, max_bytes))
    return rows


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
        second = Prony(server, args.against, home, "other") if args.against else Pgbench(server, home)
        tools = [Prony(server, args.prony, home), second]
        parts = [f"## Prony and {other} in turn", "\n".join([
            *environment(server, session),
            f"- scale {args.scale}; {args.pairs} interleaved pairs a case, the order changing from pair to pair; "
            f"runs of {args.seconds} s; one client thread and prepared statements unless the case says otherwise",
            "- ratios: median of the pairs (smallest–largest); CPU: user and system time of the whole client process, "
            "start and connecting included, for both tools",
            f"- {figures.BOUND_EXPLANATION}",
        ])]
        print_progress(parts[1])
        tables = [(compare_loads(session, tools, server), figures.load_head(other))]
        if set(args.cases) & cases.PGBENCH - {case.id for case in cases.LOADS}:
            print_progress(f"loading scale {args.scale} by {second.name}, for all runs")
            server.sql(f"create database {DATABASE}")
            second.load(args.scale, DATABASE, 1)
            server.sql("checkpoint")
            warm_cache(server)
        heads = [figures.run_head(f"Prony / {other}"), figures.run_head("-f / -S")]
        for group, head in ((cases.RUNS, 0), (cases.DIALECT, 0), (cases.FILES, 1), (cases.LAYOUTS, 0)):
            tables.append((compare_runs(session, group, tools, server, namespace), heads[head]))
        if cases.MEMORY in args.cases:
            tables.append((compare_memory(session, tools), figures.memory_head(args.memory_clients)))
    return parts + [figures.table(head, rows) for rows, head in tables if rows]
