"""Pairs of measurements to ratios, verdicts and a table.

In: lists of numbers. Out: text. Must never: measure.
"""
import dataclasses
import statistics


@dataclasses.dataclass
class Ratio:
    """A figure of Prony by the same figure of pgbench, pair by pair."""

    values: list

    @property
    def median(self):
        """The middle of the pairs' ratios."""
        return statistics.median(self.values)

    def __str__(self):
        return f"{self.median:.2f} ({min(self.values):.2f}–{max(self.values):.2f})"


def ratio(prony, pgbench):
    """The ratios of two lists of numbers, pair by pair."""
    if len(prony) != len(pgbench) or not prony:
        raise ValueError("pairs are needed")
    return Ratio([a / b for a, b in zip(prony, pgbench)])


def verdict(found, wanted, least):
    """`met` or `missed`; with a remark where the spread of the pairs reaches over the line.

    `least`: whether the wanted figure is the least (TPS) or the most (CPU) that will do.
    """
    if wanted is None:
        return "–"
    good = [value >= wanted if least else value <= wanted for value in found.values]
    met = found.median >= wanted if least else found.median <= wanted
    word = "met" if met else "missed"
    return word if len(set(good)) == 1 else f"{word} ({sum(good)} of {len(good)} pairs)"


def wanted_text(wanted, least):
    """A bound as it stands in the table."""
    if wanted is None:
        return "–"
    return f"{'≥' if least else '≤'} {wanted:g}"


def line(cells):
    """One line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    """A Markdown table."""
    return "\n".join([line(head), line(["---"] * len(head)), *map(line, rows)])


def run_row(case, prony, pgbench):
    """One line of the table of runs, from two lists of Measurements."""
    cpu_prony = [m.cpu_us_per_transaction for m in prony]
    cpu_pgbench = [m.cpu_us_per_transaction for m in pgbench]
    cpu = ratio(cpu_prony, cpu_pgbench)
    tps = ratio([m.tps for m in prony], [m.tps for m in pgbench])
    return [
        case.title,
        str(cpu),
        wanted_text(case.most_cpu, False),
        verdict(cpu, case.most_cpu, False),
        str(tps),
        wanted_text(case.least_tps, True),
        verdict(tps, case.least_tps, True),
        f"{statistics.median(cpu_prony):.2f} / {statistics.median(cpu_pgbench):.2f}",
        f"{statistics.median(m.tps for m in prony):,.0f} / {statistics.median(m.tps for m in pgbench):,.0f}",
    ]


RUN_HEAD = [
    "case",
    "client CPU per transaction, Prony / pgbench",
    "wanted",
    "",
    "TPS, Prony / pgbench",
    "wanted",
    "",
    "CPU, µs per transaction (medians)",
    "TPS (medians)",
]


# The same for two ways to call Prony.
FILE_HEAD = [
    "case",
    "client CPU per transaction, -f / -S",
    "wanted",
    "",
    "TPS, -f / -S",
    "wanted",
    "",
    "CPU, µs per transaction (medians)",
    "TPS (medians)",
]


def load_row(case, prony, pgbench):
    """One line of the table of loads: how many times as fast, and the client's CPU."""
    speed = ratio([m.wall_s for m in pgbench], [m.wall_s for m in prony])
    cpu = ratio([m.cpu_s for m in prony], [m.cpu_s for m in pgbench])
    return [
        case.title,
        str(speed),
        wanted_text(case.least_speed, True),
        verdict(speed, case.least_speed, True),
        str(cpu),
        wanted_text(case.most_cpu, False),
        verdict(cpu, case.most_cpu, False),
        f"{statistics.median(m.wall_s for m in prony):.2f} / {statistics.median(m.wall_s for m in pgbench):.2f}",
        f"{statistics.median(m.cpu_s for m in prony):.2f} / {statistics.median(m.cpu_s for m in pgbench):.2f}",
    ]


LOAD_HEAD = [
    "case",
    "times as fast as pgbench -i",
    "wanted",
    "",
    "client CPU, Prony / pgbench",
    "wanted",
    "",
    "time, s (medians)",
    "client CPU, s (medians)",
]


def memory_row(name, small, large, clients, most_bytes):
    """One line of the table of memory, from peaks (bytes) at `clients` and twice as many."""
    each = (large - small) / clients
    whole = small + each * (10_000 - clients)
    good = "–" if most_bytes is None else "met" if whole <= most_bytes else "missed"
    return [
        name,
        f"{small / 1e6:.1f}",
        f"{large / 1e6:.1f}",
        f"{each / 1e3:.1f}",
        f"{whole / 1e6:.0f}",
        "–" if most_bytes is None else f"≤ {most_bytes / 1e6:.0f}",
        good,
    ]
