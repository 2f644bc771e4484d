"""What a transaction costs the client, counted: instructions in user space, by callgrind, and system calls, by strace.

In: Prony, pgbench and sysbench, the canned server, valgrind and strace. Out: rows of a table. Must never: measure time.

Unlike times, counts hardly depend on the machine and its load, so that small changes show. A program runs twice, with
different numbers of transactions; the difference of the counts, divided by that of the transactions, excludes starting
and ending. Each event of sysbench is a transaction.
"""
import dataclasses
import pathlib
import re
import shutil
import statistics
import tempfile

from . import canned_tools, cases, figures, tools
from .canned import CannedServer
from .server import ScriptError

# Transactions of the two runs.
FEW_TRANSACTIONS, MANY_TRANSACTIONS = 500, 2_500
# A call that is made less often than once in this many transactions is not listed.
RARE = 20


@dataclasses.dataclass
class Counts:
    """Counts per transaction."""

    instructions: float
    calls: float
    calls_by_name: dict


def read_callgrind(folder):
    """The instructions of each thread, by its number, in the files that callgrind wrote into a folder."""
    totals = {}
    for path in pathlib.Path(folder).glob("callgrind-*"):
        match = re.search(r"^(?:totals|summary): (\d+)", path.read_text(), re.M)
        if match:
            totals[int(path.name.rpartition("-")[2])] = int(match.group(1))
    if not totals:
        raise ScriptError(f"callgrind wrote no totals into {folder}")
    return totals


def read_strace(table):
    """The calls in the table of `strace -c`, by name."""
    lines = [line.split() for line in table.splitlines()]
    calls = {words[-1]: int(words[3]) for words in lines if len(words) >= 5 and words[3].isdigit()}
    calls.pop("total", None)
    if not calls:
        raise ScriptError("cannot read strace's table:\n" + table[-2000:])
    return calls


def per_transaction(few, many):
    """The counts per transaction, from (instructions by thread, calls by name) of the two runs.

    Only the thread that drives the load counts, which is the one whose count grows most: other threads act by time.
    """
    transactions = MANY_TRANSACTIONS - FEW_TRANSACTIONS
    instructions = max(number - few[0].get(thread, 0) for thread, number in many[0].items())
    names = sorted({*few[1], *many[1]})
    by_name = {name: (many[1].get(name, 0) - few[1].get(name, 0)) / transactions for name in names}
    return Counts(instructions / transactions, sum(by_name.values()), by_name)


def count_run(program, case, server, transactions):
    """(instructions by thread, calls by name) of one number of transactions."""
    command = program.command(case, server, transactions=transactions)
    env = program.environment(server)
    with tempfile.TemporaryDirectory(dir=program.home) as folder:
        valgrind = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/callgrind"]
        tools.execute([*valgrind, *command], env, case.cpus, folder=program.home)
        table = pathlib.Path(folder) / "strace"
        tools.execute(["strace", "-f", "-c", "-o", table, *command], env, case.cpus, folder=program.home)
        return read_callgrind(folder), read_strace(table.read_text())


def count(program, case, server):
    """The counts of a program."""
    return per_transaction(*(count_run(program, case, server, transactions) for transactions in (FEW_TRANSACTIONS, MANY_TRANSACTIONS)))


def head(other):
    """The header of the table."""
    return [
        "conversation with the canned server",
        f"instructions per transaction, Prony / {other}",
        "instructions (medians)",
        f"system calls per transaction, Prony / {other}",
        "system calls (medians)",
        "Prony's calls",
    ]


def row(case, prony, other):
    """One line of the table, from two lists of `Counts`."""
    instructions = figures.ratio([counts.instructions for counts in prony], [counts.instructions for counts in other])
    calls = figures.ratio([counts.calls for counts in prony], [counts.calls for counts in other])

    def medians(read, form):
        return " / ".join(form.format(statistics.median(map(read, runs))) for runs in (prony, other))

    frequent = sorted(prony[0].calls_by_name.items(), key=lambda item: -item[1])
    return [
        case.title,
        str(instructions),
        medians(lambda counts: counts.instructions, "{:,.0f}"),
        str(calls),
        medians(lambda counts: counts.calls, "{:.2f}"),
        ", ".join(f"{name} {number:.2f}" for name, number in frequent if number > 1 / RARE),
    ]


def missing():
    """Why nothing can be counted on this machine; None if it can."""
    absent = [name for name in ("valgrind", "strace") if not shutil.which(name)]
    return f"not installed: apt install {' '.join(absent)}" if absent else None


def compare(args, bin_dir, home, print_progress, measure_row, raw):
    """Rows of the table of counts; `measure_row` counts a case and makes its row."""
    rows = []
    for dialect in ("pgbench", "sysbench"):
        chosen = [case for case in cases.COUNTS if case.id in args.cases and case.dialect == dialect]
        reason = missing() or canned_tools.missing(dialect, args)
        if chosen and reason:
            print_progress(f"counts of {dialect}: skipped: {reason}")
            rows += [[case.title, f"skipped: {reason}"] + [""] * 4 for case in chosen]
            raw |= {case.id: {"skipped": reason} for case in chosen}
        elif chosen:
            programs = canned_tools.programs(dialect, args, bin_dir, home)
            with CannedServer(args.canned, chosen[0].protocol, cases.ONE_CPU, is_batch=True) as server:
                for case in chosen:
                    print_progress(f"{case.id}: {args.pairs} pairs of counts")

                    def measure(program, case=case, server=server):
                        counts = count(program, case, server)
                        print_progress(f"  {program.name:8} {counts.instructions:9,.0f} instructions, {counts.calls:5.2f} system calls")
                        return counts

                    rows.append(measure_row(case, row, programs, args, measure, raw)[: len(head(""))])
    return rows
