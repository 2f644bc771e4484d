"""Prony, pgbench and sysbench with identical command lines against the canned server: how much load one client thread can
drive, and what a transaction costs.

In: the programs, the canned server. Out: Markdown. Must never: give only one of two programs an option, or call a figure the
client's limit when the client was not busy.
"""
import dataclasses

from . import cases, counts, figures
from .canned import CannedServer
from .server import ScriptError
from .tools import Program, find_sysbench

# Below this share of the run's time the client waited for the server, or for its CPU.
BUSY_SHARE = 0.9
PROTOCOLS = {"pgbench": "postgres", "sysbench": "mysql"}
SEEDS = {"pgbench": "--random-seed=1", "sysbench": "--rand-seed=1"}
CAPACITY_TITLE = "Runs of {} s; of sysbench, queries are counted, else transactions"


def limit(runs):
    if figures.median_of("client_share", runs) >= BUSY_SHARE:
        return "client"
    if figures.median_of("server_share", runs) >= BUSY_SHARE:
        return "server: the client can do more"
    return "neither was busy: the machine had other work"


def limits(_, *sides):
    """What limited both programs."""
    return " / ".join(dict.fromkeys(map(limit, sides)))


def percent(head, name):
    """A column of shares."""
    return figures.column(head, lambda _, *sides: " / ".join(f"{100 * figures.median_of(name, runs):.0f}" for runs in sides))


def capacity_columns(other):
    return [
        figures.title("case, client on one CPU, canned server on the others"),
        figures.ratio(f"most per second, Prony / {other}", "tps"),
        figures.medians("most per second (medians)", "tps", "{:,.0f}"),
        figures.ratio(f"client CPU, Prony / {other}", "cpu_us_per_transaction"),
        figures.medians("client CPU, µs (medians)", "cpu_us_per_transaction"),
        percent("client busy, %", "client_share"),
        percent("server busy, %", "server_share"),
        figures.column("limit", limits),
    ]


def missing(tool, args):
    """Why the cases of a tool cannot be measured on this machine; None if they can."""
    if tool == "sysbench" and not args.against:
        try:
            find_sysbench()
        except ScriptError as error:
            return str(error)
    return None


def compare(session, group, columns, measure_one, reason, cpus, programs):
    """Rows of the table of capacity or of counts. `cpus`: the server's; it shares the client's if only counts matter."""
    rows, args = [], session.args
    for tool, protocol in PROTOCOLS.items():
        same_tool = [case for case in group if case.program == tool]
        chosen = session.chosen(same_tool)
        absent = reason or missing(tool, args)
        if absent or not chosen:
            rows += [session.skip(case, absent) for case in chosen]
            continue
        with CannedServer(args.canned, protocol, cpus, cpus == cases.ONE_CPU) as server:

            def measure_with_seed(program, case, server=server):
                return measure_one(program, dataclasses.replace(case, options=(SEEDS[case.program], *case.options)), server)

            rows += session.rows(same_tool, columns, programs, measure_with_seed)
    return rows


def measure(session, home):
    """Measures capacity and counts, which need no database; returns the parts of the report."""
    args = session.args
    other, others = ("other build", "another build") if args.against else ("other tool", "the tools that it replaces")
    intro = session.intro()
    intro[-1] += f"; median of {args.pairs} interleaved pairs (smallest–largest)"
    parts = [f"## Prony and {others}, with a server that answers from memory", "\n".join(intro)]
    programs = [Program("prony", home, args.prony), Program("other", home, args.against, session.bin_dir)]

    def drive(program, case, server):
        run = server.with_cpu(lambda: program.drive(case, server, args.seconds))
        return run, f"{run.tps:9,.0f}/s, client {100 * run.client_share:.0f} % busy, server {100 * run.server_share:.0f} %"

    no_cpu = None if cases.OTHER_CPUS else "needs two CPUs"
    for text, *table in (
        (CAPACITY_TITLE.format(args.seconds), cases.CAPACITY, capacity_columns(other), drive, no_cpu, cases.OTHER_CPUS),
        (counts.TITLE, cases.COUNTS, counts.columns(other), counts.measure, counts.missing(), cases.ONE_CPU),
    ):
        rows = compare(session, *table, programs)
        if rows:
            parts += [f"{text}:", figures.table(figures.heads(table[1]), rows)]
    return parts
