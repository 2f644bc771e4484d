"""Turns pairs of measurements into ratios, verdicts and tables.

In: lists of measurements. Out: text. Must never: measure.

A table is a list of columns. A column is its heads, and a function that makes its cells from a case, Prony's measurements and
those of the other program.
"""
import statistics


def ratios(name, first, second):
    """An attribute of one list of measurements divided by that of another, for each pair."""
    if len(first) != len(second) or not first:
        raise ValueError("pairs are needed")
    return [getattr(a, name) / getattr(b, name) for a, b in zip(first, second)]


def spread(values, form="{:.2f}"):
    """Median, minimum and maximum."""
    values = list(values)
    low, middle, high = (form.format(f(values)) for f in (min, statistics.median, max))
    return f"{middle} ({low}–{high})"


def verdict(values, bound, is_minimum):
    """`met` or `missed` by the median, with a remark if single pairs are on both sides of the bound."""
    if bound is None:
        return "–"

    def passes(value):
        return value >= bound if is_minimum else value <= bound

    word = "met" if passes(statistics.median(values)) else "missed"
    count = sum(map(passes, values))
    return word if count in (0, len(values)) else f"{word} ({count} of {len(values)} pairs)"


def bound_text(bound, is_minimum):
    """A bound as printed in a table."""
    return "–" if bound is None else f"{'≥' if is_minimum else '≤'} {bound:g}"


def median_of(name, runs):
    return statistics.median(getattr(run, name) for run in runs)


def column(head, cell):
    """One column; `cell`: makes its text."""
    return [head], lambda *row: [cell(*row)]


def ratio(head, name):
    return column(head, lambda case, prony, other: spread(ratios(name, prony, other)))


def bounded(head, name, bound, is_minimum=False, is_speed=False):
    """The ratios of an attribute and the bound of their median, which the case has by this name.

    `is_speed`: the attribute is a time, and the ratio is how many times as fast as the other Prony is.
    """
    def cells(case, prony, other):
        values = ratios(name, *((other, prony) if is_speed else (prony, other)))
        limit = getattr(case, bound)
        return [spread(values), bound_text(limit, is_minimum), verdict(values, limit, is_minimum)]

    return [head, "required", ""], cells


def medians(head, name, form="{:.2f}"):
    return column(head, lambda case, *sides: " / ".join(form.format(median_of(name, runs)) for runs in sides))


def title(head):
    return column(head, lambda case, *_: case.title)


def heads(columns):
    """The first line of a table."""
    return [head for names, _ in columns for head in names]


def row(columns, case, prony, other):
    """A line of a table."""
    return [text for _, cells in columns for text in cells(case, prony, other)]


def line(cells):
    """One line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    """A Markdown table; a row may lack its last cells."""
    padded = ([*row, *[""] * (len(head) - len(row))] for row in rows)
    return "\n".join([line(head), line(["---"] * len(head)), *map(line, padded)])


# What the last column of the table of runs means.
BOUND_EXPLANATION = (
    "most: the ratio of TPS that a client without any cost would have. On CPUs that client and server share it is (S + C) / S, with the "
    "CPU per transaction of the server, S, and of the other tool, C; where the server has CPUs of its own, their time by that which "
    "the other tool's runs used"
)


def free_client_text(case, _, other):
    """The ratio of TPS that a client without any cost would have; see BOUND_EXPLANATION."""
    if any(run.server_cpu_s <= 0 for run in other):
        return "–"
    if case.server_cpus:
        return f"{statistics.median(len(case.server_cpus) * run.wall_s / run.server_cpu_s for run in other):.2f}"
    return f"{statistics.median((run.server_cpu_s + run.cpu_s) / run.server_cpu_s for run in other):.2f}"


def run_columns(sides, unit="transaction", rate="TPS"):
    """The table of runs; `sides`: the names of the two that are compared, such as `Prony / pgbench`."""
    return [
        title("case"),
        bounded(f"client CPU per {unit}, {sides}", "cpu_us_per_transaction", "max_cpu"),
        bounded(f"{rate}, {sides}", "tps", "min_rate", is_minimum=True),
        medians(f"CPU, µs per {unit} (medians)", "cpu_us_per_transaction"),
        medians(f"{rate} (medians)", "tps", "{:,.0f}"),
        medians(f"server CPU, µs per {unit} (medians)", "server_cpu_us_per_transaction", "{:.1f}"),
        column("most", free_client_text),
    ]


def load_columns(other):
    """The table of loads; `other`: the name of the tool that Prony is compared with."""
    return [
        title("case"),
        bounded(f"times as fast as {other}", "wall_s", "min_rate", is_minimum=True, is_speed=True),
        bounded(f"client CPU, Prony / {other}", "cpu_s", "max_cpu"),
        medians("time, s (medians)", "wall_s"),
        medians("client CPU, s (medians)", "cpu_s"),
    ]


def most_memory(small, large, projected, max_bytes):
    """The memory that is expected of a much larger run, with its bound: cells of a table.

    `small` and `large`: the sizes of two runs with their peaks, bytes; `projected`: the size of the larger run.
    """
    (few, few_bytes), (many, many_bytes) = small, large
    most = many_bytes + max(0.0, many_bytes - few_bytes) / (many - few) * (projected - many)
    if max_bytes is None:
        return [f"{most / 1e6:.0f}", "–", "–"]
    return [f"{most / 1e6:.0f}", f"≤ {max_bytes / 1e6:.0f}", "met" if most <= max_bytes else "missed"]
