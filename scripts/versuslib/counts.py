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
import tempfile

from . import figures
from .server import ScriptError
from .tools import INVALID

# In the names of functions of a thread that drives a load of Prony.
WORKER = "prony_drive::worker::"
# Transactions of the two runs.
FEW_TRANSACTIONS, MANY_TRANSACTIONS = 500, 2_500
# A call that is made less often than once in this many transactions is not listed.
RARE = 20
TITLE = "Instructions in user space by callgrind, system calls by strace, without starting and ending"


@dataclasses.dataclass
class Counts:
    """Counts per transaction."""

    instructions: float
    calls: float
    calls_by_name: dict


def read_callgrind(folder):
    """The instructions of each thread, by its number, in the files that callgrind wrote into a folder; of Prony, only
    those of the threads that drive the load."""
    totals, workers = {}, {}
    for path in pathlib.Path(folder).glob("callgrind-*"):
        text = path.read_text()
        match = re.search(r"^(?:totals|summary): (\d+)", text, re.M)
        if match:
            of_thread = workers if WORKER in text else totals
            of_thread[int(path.name.rpartition("-")[2])] = int(match.group(1))
    if not totals and not workers:
        raise ScriptError(f"callgrind wrote no totals into {folder}")
    return workers or totals


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
    with tempfile.TemporaryDirectory(dir=program.home) as folder:
        valgrind = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/callgrind"]
        program.call([*valgrind, *command], server, cpus=case.cpus, accepted=(0, INVALID))
        table = pathlib.Path(folder) / "strace"
        program.call(["strace", "-f", "-c", "-o", table, *command], server, cpus=case.cpus, accepted=(0, INVALID))
        return read_callgrind(folder), read_strace(table.read_text())


def measure(program, case, server):
    """The counts of a program, and the text of its progress."""
    lengths = (FEW_TRANSACTIONS, MANY_TRANSACTIONS)
    counts = per_transaction(*(count_run(program, case, server, transactions) for transactions in lengths))
    return counts, f"{counts.instructions:9,.0f} instructions, {counts.calls:5.2f} system calls"


def frequent_calls(_, prony, __):
    """The calls that Prony makes for a transaction, the most frequent first."""
    frequent = sorted(prony[0].calls_by_name.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {number:.2f}" for name, number in frequent if number > 1 / RARE)


def columns(other):
    return [
        figures.title("conversation with the canned server"),
        figures.ratio(f"instructions per transaction, Prony / {other}", "instructions"),
        figures.medians("instructions (medians)", "instructions", "{:,.0f}"),
        figures.ratio(f"system calls per transaction, Prony / {other}", "calls"),
        figures.medians("system calls (medians)", "calls"),
        figures.column("Prony's calls", frequent_calls),
    ]


def missing():
    """Why nothing can be counted on this machine; None if it can."""
    absent = [name for name in ("valgrind", "strace") if not shutil.which(name)]
    return f"not installed: apt install {' '.join(absent)}" if absent else None
