"""How much load one client thread can drive: its throughput against a server that answers from memory on the other CPUs.

In: Prony, pgbench and sysbench, the canned server. Out: rows of a table. Must never: call a figure the client's limit
when the client was not busy.
"""
import dataclasses
import statistics

from . import cases, figures, sysbench, tools

# Below this share of the run's time the client waited for the server, or for its CPU.
BUSY_SHARE = 0.9
TITLE = "Runs of {seconds} s; of sysbench, queries are counted, else transactions"
CASES, SERVER_CPUS, IS_BATCH = cases.CAPACITY, cases.OTHER_CPUS, False


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

    def __str__(self):
        shares = f"client {100 * self.client_share:.0f} % busy, server {100 * self.server_share:.0f} %"
        return f"{self.tps:9,.0f}/s, {shares}"


def measure(program, case, server, seconds):
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
    limits = [limit(prony), limit(other)]
    return [
        case.title,
        str(figures.ratio_of("tps", prony, other)),
        figures.medians("tps", "{:,.0f}", prony, other),
        str(figures.ratio_of("cpu_us_per_transaction", prony, other)),
        figures.medians("cpu_us_per_transaction", "{:.2f}", prony, other),
        figures.medians("client_share", "{:.0%}", prony, other).replace("%", ""),
        figures.medians("server_share", "{:.0%}", prony, other).replace("%", ""),
        limits[0] if limits[0] == limits[1] else " / ".join(limits),
    ]


def missing():
    """Why nothing can be measured on this machine; None if it can."""
    return None if cases.OTHER_CPUS else "needs two CPUs"
