"""Turns pairs of measurements into ratios, verdicts and a table.

In: lists of numbers. Out: text. Must never: measure.
"""
import dataclasses
import statistics


@dataclasses.dataclass
class Ratio:
    """A figure of Prony divided by the same figure of pgbench, for each pair."""

    values: list

    @property
    def median(self):
        """The median of the pairs' ratios."""
        return statistics.median(self.values)

    def __str__(self):
        return f"{self.median:.2f} ({min(self.values):.2f}–{max(self.values):.2f})"


def ratio(prony, pgbench):
    """The ratios of two lists of numbers, for each pair."""
    if len(prony) != len(pgbench) or not prony:
        raise ValueError("pairs are needed")
    return Ratio([a / b for a, b in zip(prony, pgbench)])


def verdict(measured, bound, is_minimum):
    """`met` or `missed`, with a remark if single pairs are on both sides of the bound.

    `is_minimum`: whether the bound is a minimum (TPS) or a maximum (CPU).
    """
    if bound is None:
        return "–"
    passes = [value >= bound if is_minimum else value <= bound for value in measured.values]
    is_met = measured.median >= bound if is_minimum else measured.median <= bound
    word = "met" if is_met else "missed"
    return word if len(set(passes)) == 1 else f"{word} ({sum(passes)} of {len(passes)} pairs)"


def bound_text(bound, is_minimum):
    """A bound as printed in the table."""
    if bound is None:
        return "–"
    return f"{'≥' if is_minimum else '≤'} {bound:g}"


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
        bound_text(case.max_cpu, False),
        verdict(cpu, case.max_cpu, False),
        str(tps),
        bound_text(case.min_tps, True),
        verdict(tps, case.min_tps, True),
        f"{statistics.median(cpu_prony):.2f} / {statistics.median(cpu_pgbench):.2f}",
        f"{statistics.median(m.tps for m in prony):,.0f} / {statistics.median(m.tps for m in pgbench):,.0f}",
        " / ".join(f"{statistics.median(m.server_cpu_us_per_transaction for m in runs):.1f}" for runs in (prony, pgbench)),
        free_client_text(case, pgbench),
    ]


# What the last column of the table of runs means.
BOUND_EXPLANATION = (
    "most: the ratio of TPS that a client without any cost would have. On CPUs that client and server share it is (S + C) / S, with the "
    "CPU per transaction of the server, S, and of the other tool, C; where the server has CPUs of its own, their time by that which "
    "the other tool's runs used"
)


def free_client_ratio(case, other):
    """The ratio of TPS that a client without any cost would have; see BOUND_EXPLANATION. `other`: runs of the other tool."""
    if getattr(case, "server_cpus", None):
        return statistics.median(len(case.server_cpus) * run.wall_s / run.server_cpu_s for run in other)
    return statistics.median((run.server_cpu_s + run.cpu_s) / run.server_cpu_s for run in other)


def free_client_text(case, other):
    """That ratio as printed in the table."""
    return f"{free_client_ratio(case, other):.2f}" if all(run.server_cpu_s > 0 for run in other) else "–"


def run_head(other):
    """The header of the table of runs; `other`: the name of the tool that Prony is compared with."""
    return [
        "case",
        f"client CPU per transaction, Prony / {other}",
        "required",
        "",
        f"TPS, Prony / {other}",
        "required",
        "",
        "CPU, µs per transaction (medians)",
        "TPS (medians)",
        "server CPU, µs per transaction (medians)",
        "most",
    ]


# The same header for two invocations of Prony.
FILE_HEAD = [
    "case",
    "client CPU per transaction, -f / -S",
    "required",
    "",
    "TPS, -f / -S",
    "required",
    "",
    "CPU, µs per transaction (medians)",
    "TPS (medians)",
    "server CPU, µs per transaction (medians)",
    "most",
]


def load_row(case, prony, pgbench):
    """One line of the table of loads: speed-up, and the client's CPU."""
    speed = ratio([m.wall_s for m in pgbench], [m.wall_s for m in prony])
    cpu = ratio([m.cpu_s for m in prony], [m.cpu_s for m in pgbench])
    return [
        case.title,
        str(speed),
        bound_text(case.min_speed, True),
        verdict(speed, case.min_speed, True),
        str(cpu),
        bound_text(case.max_cpu, False),
        verdict(cpu, case.max_cpu, False),
        f"{statistics.median(m.wall_s for m in prony):.2f} / {statistics.median(m.wall_s for m in pgbench):.2f}",
        f"{statistics.median(m.cpu_s for m in prony):.2f} / {statistics.median(m.cpu_s for m in pgbench):.2f}",
    ]


def load_head(other):
    """The header of the table of loads; `other`: the name of the tool that Prony is compared with."""
    return [
        "case",
        f"times as fast as {other}",
        "required",
        "",
        f"client CPU, Prony / {other}",
        "required",
        "",
        "time, s (medians)",
        "client CPU, s (medians)",
    ]


def memory_row(name, small, large, clients, max_bytes):
    """One line of the table of memory, from peaks (bytes) at `clients` and at twice as many."""
    each = (large - small) / clients
    projected = small + each * (10_000 - clients)
    passes = "–" if max_bytes is None else "met" if projected <= max_bytes else "missed"
    return [
        name,
        f"{small / 1e6:.1f}",
        f"{large / 1e6:.1f}",
        f"{each / 1e3:.1f}",
        f"{projected / 1e6:.0f}",
        "–" if max_bytes is None else f"≤ {max_bytes / 1e6:.0f}",
        passes,
    ]
