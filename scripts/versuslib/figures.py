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


def bounded(measured, bound, is_minimum):
    """The three cells of a ratio with a bound."""
    return [str(measured), bound_text(bound, is_minimum), verdict(measured, bound, is_minimum)]


def ratio_of(name, first, second):
    """The ratios of an attribute of two lists of measurements."""
    return ratio([getattr(run, name) for run in first], [getattr(run, name) for run in second])


def median_of(name, runs):
    """The median of an attribute."""
    return statistics.median(getattr(run, name) for run in runs)


def medians(name, form, *lists):
    """The medians of an attribute in several lists, as a cell."""
    return " / ".join(form.format(median_of(name, runs)) for runs in lists)


def line(cells):
    """One line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    """A Markdown table; a row may lack its last cells."""
    padded = ([*row, *[""] * (len(head) - len(row))] for row in rows)
    return "\n".join([line(head), line(["---"] * len(head)), *map(line, padded)])


def run_row(case, prony, pgbench):
    """One line of the table of runs, from two lists of Measurements."""
    return [
        case.title,
        *bounded(ratio_of("cpu_us_per_transaction", prony, pgbench), case.max_cpu, False),
        *bounded(ratio_of("tps", prony, pgbench), case.min_tps, True),
        medians("cpu_us_per_transaction", "{:.2f}", prony, pgbench),
        medians("tps", "{:,.0f}", prony, pgbench),
        medians("server_cpu_us_per_transaction", "{:.1f}", prony, pgbench),
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


def run_head(sides, unit="transaction", rate="TPS"):
    """The header of the table of runs; `sides`: the names of the two that are compared, such as `Prony / pgbench`."""
    head = ["case", f"client CPU per {unit}, {sides}", "required", "", f"{rate}, {sides}", "required", ""]
    return [*head, f"CPU, µs per {unit} (medians)", f"{rate} (medians)", f"server CPU, µs per {unit} (medians)", "most"]


def load_row(case, prony, pgbench):
    """One line of the table of loads: speed-up, and the client's CPU."""
    return [
        case.title,
        *bounded(ratio_of("wall_s", pgbench, prony), case.min_speed, True),
        *bounded(ratio_of("cpu_s", prony, pgbench), case.max_cpu, False),
        medians("wall_s", "{:.2f}", prony, pgbench),
        medians("cpu_s", "{:.2f}", prony, pgbench),
    ]


def load_head(other):
    """The header of the table of loads; `other`: the name of the tool that Prony is compared with."""
    head = ["case", f"times as fast as {other}", "required", "", f"client CPU, Prony / {other}", "required", ""]
    return [*head, "time, s (medians)", "client CPU, s (medians)"]


def memory_head(clients):
    """The header of the table of memory."""
    peaks = [f"peak at {count} clients, MB" for count in (clients, 2 * clients)]
    return ["tool", *peaks, "each further client, kB", "10,000 clients (by extrapolation), MB", "required", ""]


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
