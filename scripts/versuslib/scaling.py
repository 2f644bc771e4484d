"""Loads with 1, 2 and 4 jobs, beside the server's bound.

In: a release build of prony, psql, mariadb. Out: Markdown. Must never: measure two loads at once.
"""
import dataclasses

from . import cases, figures
from .bounds import MariaClient, Psql
from .figures import median_of
from .mysql import Maria
from .server import ScriptError, Server, quiet_settings
from .session import interleave, print_progress
from .sysbench import server_settings
from .tools import Program

JOBS = (1, 2, 4)
DATABASE = "loaded"
# How the bound stores the rows, by server.
METHODS = {
    "postgres": "PostgreSQL: COPY by psql, with one session in one transaction with FREEZE, with several in a transaction per part; "
    "then VACUUM (ANALYZE) and the keys and indexes, a statement per index, in as many sessions as jobs",
    "maria": "MariaDB: LOAD DATA LOCAL by mariadb into tables with their primary keys, a statement per part and table; "
    "then the secondary indexes and ANALYZE TABLE, in as many sessions as jobs",
}
BOUNDS = {"postgres": Psql, "maria": MariaClient}
HEAD = [
    "load", "jobs", "time, s", "client CPU, s", "server CPU, s", "bound: time, s", "client CPU, s", "server CPU, s",
    "time, Prony / bound", "times as fast as 1 job", "bound: times as fast as 1 session",
]


def size_of(case, args):
    """(scale, the text of it) of a case's data."""
    if case.program == "sysbench":
        return args.jobs_rows, f"{args.jobs_rows:,} rows each"
    if case.workload == "tpcb":
        return args.scale, f"scale {args.scale}"
    return args.jobs_warehouses, f"{args.jobs_warehouses} warehouses"


def rows(title, results):
    """Lines of the table for one case; `results`: by the number of jobs, the two lists of Measurements."""
    lines, first = [], results[min(results)]
    for jobs, pair in results.items():
        cells = [f"{median_of(name, runs):.2f}" for runs in pair for name in ("wall_s", "cpu_s", "server_cpu_s")]
        speedups = [f"{median_of('wall_s', one) / median_of('wall_s', many):.2f}" for one, many in zip(first, pair)]
        lines.append([title, str(jobs), *cells, figures.spread(figures.ratios("wall_s", *pair)), *speedups])
    return lines


def compare(case, server, session, home):
    """Measures a case with each number of jobs; returns lists of Measurements of Prony and of the other, by jobs."""
    args = session.args
    scale, _ = size_of(case, args)
    if case.program == "sysbench":
        case = dataclasses.replace(case, options=(f"--tables={cases.TABLES}", f"--table-size={scale}"))
    prony = Program(f"{case.id}-prony", home, args.prony)

    def load(program):
        return lambda jobs: program.load(dataclasses.replace(case, clients=jobs), server, scale, DATABASE)

    if args.against:
        loads = {"prony": load(prony), "other": load(Program(f"{case.id}-other", home, args.against))}
    else:
        bound = BOUNDS[case.other](server, home, case, scale, DATABASE)
        loads = {"prony": load(prony), bound.name: bound.load}
        server.recreate_database(DATABASE)
        load(prony)(1)
        bound.save()
    results = {}
    for jobs in JOBS:
        print_progress(f"{case.id}: {args.pairs} pairs, {jobs} jobs")

        def measure_load(load, jobs=jobs):
            server.recreate_database(DATABASE)
            result = server.with_cpu(lambda: load(jobs))
            return result, result.load_text()

        sides = {name: lambda load=load: measure_load(load) for name, load in loads.items()}
        results[jobs] = tuple(interleave(sides, args.pairs).values())
    server.recreate_database(DATABASE)
    return results


def new_server(name, session):
    """A server with durable settings."""
    args = session.args
    return Maria(server_settings(args)) if name == "maria" else Server(session.bin_dir, quiet_settings(args))


def measure(session, home):
    """Measures the chosen cases, those of each server together; returns the parts of the report."""
    args, chosen, lines = session.args, session.chosen(cases.JOBS), []
    names = list(dict.fromkeys(case.other for case in chosen))
    intro = session.intro(session.bin_dir / "postgres")
    for name in names:
        try:
            with new_server(name, session) as server:
                for case in (case for case in chosen if case.other == name):
                    results = compare(case, server, session, home)
                    session.raw[case.id] = {str(jobs): pair for jobs, pair in results.items()}
                    lines += rows(f"{case.title}, {size_of(case, args)[1]}", results)
        except ScriptError as error:
            session.fail(name, error)
            lines.append([name, "", "could not be measured"])
    methods = "; ".join(METHODS[name] for name in names)
    notes = [
        *intro,
        f"- {'the other build takes the place of the bound' if args.against else methods}",
        f"- medians of {args.pairs} interleaved pairs; the ratio with its smallest and largest; "
        "CPU: user and system time; the server's includes its background processes until the client ends",
    ]
    title = "## Loads with 1, 2 and 4 jobs, and " + ("another build" if args.against else "the server's bound")
    return [title, "\n".join(notes), figures.table(HEAD, lines)]
