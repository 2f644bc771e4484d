"""How much load one client thread can drive: its throughput against a server that answers from memory on the other CPUs.

In: Prony, pgbench and sysbench, the canned server. Out: rows of a table. Must never: call a figure the client's limit
when the client was not busy.
"""
import dataclasses
import statistics

from . import canned_tools, cases, figures, sysbench, tools
from .canned import CannedServer

# Below this share of the run's time the client waited for the server, or for its CPU.
BUSY_SHARE = 0.9


@dataclasses.dataclass
class CapacityRun(tools.Measurement):
    """One run against the canned server. Of sysbench, `transactions` are queries and `tps` is QPS."""

    @property
    def client_share(self):
        """The client's CPU time by the run's time; starting and ending are included in both."""
        return self.cpu_s / self.wall_s

    @property
    def server_share(self):
        """The server's CPU time by the run's time."""
        return self.server_cpu_s / self.wall_s


def drive(program, case, server, seconds):
    """One run."""
    command = program.command(case, server, seconds=seconds)

    def run():
        result, output = tools.execute(command, program.environment(server), case.cpus, folder=program.home)
        if case.dialect == "pgbench":
            transactions, tps = tools.read_pgbench(output)
        else:
            transactions, tps = sysbench.read_report(output)[:2]
        return CapacityRun(result.wall_s, result.cpu_s, transactions, tps)

    return server.with_cpu(run)


def head(other):
    """The header of the table."""
    return [
        "case, client on one CPU, canned server on the others",
        f"most per second, Prony / {other}",
        "most per second (medians)",
        f"client CPU, Prony / {other}",
        "client CPU, µs (medians)",
        "client busy, %",
        "server busy, %",
        "limit",
    ]


def limit(runs):
    """What limited the runs of one program."""
    if statistics.median(run.client_share for run in runs) >= BUSY_SHARE:
        return "client"
    if statistics.median(run.server_share for run in runs) >= BUSY_SHARE:
        return "server: the client can do more"
    return "neither was busy: the machine had other work"


def row(case, prony, other):
    """One line of the table, from two lists of `CapacityRun`."""
    rate = figures.ratio([run.tps for run in prony], [run.tps for run in other])
    cpu = figures.ratio([run.cpu_us_per_transaction for run in prony], [run.cpu_us_per_transaction for run in other])

    def medians(read, form):
        return " / ".join(form.format(statistics.median(map(read, runs))) for runs in (prony, other))

    limits = [limit(prony), limit(other)]
    return [
        case.title,
        str(rate),
        medians(lambda run: run.tps, "{:,.0f}"),
        str(cpu),
        medians(lambda run: run.cpu_us_per_transaction, "{:.2f}"),
        medians(lambda run: 100 * run.client_share, "{:.0f}"),
        medians(lambda run: 100 * run.server_share, "{:.0f}"),
        limits[0] if limits[0] == limits[1] else " / ".join(limits),
    ]


def compare(args, bin_dir, home, print_progress, measure_row, raw):
    """Rows of the table of capacity; `measure_row` measures a case and makes its row."""
    rows = []
    for dialect in ("pgbench", "sysbench"):
        chosen = [case for case in cases.CAPACITY if case.id in args.cases and case.dialect == dialect]
        reason = canned_tools.missing(dialect, args) or (None if cases.OTHER_CPUS else "needs two CPUs")
        if chosen and reason:
            print_progress(f"capacity of {dialect}: skipped: {reason}")
            rows += [[case.title, f"skipped: {reason}"] + [""] * 6 for case in chosen]
            raw |= {case.id: {"skipped": reason} for case in chosen}
        elif chosen:
            programs = canned_tools.programs(dialect, args, bin_dir, home)
            with CannedServer(args.canned, chosen[0].protocol, cases.OTHER_CPUS) as server:
                for case in chosen:
                    print_progress(f"{case.id}: {args.pairs} pairs of {args.seconds} s")

                    def measure(program, case=case, server=server):
                        result = drive(program, case, server, args.seconds)
                        shares = f"client {100 * result.client_share:.0f} % busy, server {100 * result.server_share:.0f} %"
                        print_progress(f"  {program.name:8} {result.tps:9,.0f}/s, {shares}")
                        return result

                    rows.append(measure_row(case, row, programs, args, measure, raw)[: len(head(""))])
    return rows
