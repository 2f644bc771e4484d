"""What all parts of a report share: the options, interleaved pairs, rows that may fail, and the raw figures.

In: the sides of a case and how to measure each. Out: rows of tables. Must never: measure both sides at the same time.
"""
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

from . import figures
from .server import ScriptError


def print_progress(text):
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def interleave(sides, pairs):
    """Measures both sides `pairs` times; the side that goes first alternates.

    `sides`: functions by name; each returns a measurement and the text of its progress. Returns lists by the same names.
    """
    results = {name: [] for name in sides}
    for pair in range(pairs):
        for name in [*sides] if pair % 2 == 0 else [*sides][::-1]:
            result, progress = sides[name]()
            print_progress(f"  {name:8} {progress}")
            results[name].append(result)
    return results


def machine():
    """The machine, as a line of a Markdown list."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        match = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
        model = match.group(1) if match else model
    cpus = len(os.sched_getaffinity(0))
    return f"- kernel {platform.release()}, {cpus} CPUs ({model}), load average before: {os.getloadavg()[0]:.1f}"


class Session:
    """The measurements of one call of the script."""

    def __init__(self, args, bin_dir):
        self.args = args
        self.bin_dir = bin_dir
        #: Every measurement, by the case's identifier; of others, why they were skipped or failed.
        self.raw = {}

    def chosen(self, group):
        """The cases of a list that are to be measured; the bounds do not apply to another build."""
        chosen = [case for case in group if case.id in self.args.cases]
        return [dataclasses.replace(case, max_cpu=None, min_rate=None) for case in chosen] if self.args.against else chosen

    def intro(self, *others):
        """The machine and the versions of programs and of prony, as lines of a Markdown list."""
        programs = (*others, self.args.prony)
        versions = [subprocess.check_output([str(program), "--version"], text=True).splitlines()[0] for program in programs]
        return [machine(), f"- {'; '.join(versions)}"]

    def compare(self, case_id, sides, what=""):
        """Measures the pairs of a case, and keeps them in `raw`."""
        print_progress(f"{case_id}: {self.args.pairs} pairs{what}")
        self.raw[case_id] = interleave(sides, self.args.pairs)
        return self.raw[case_id].values()

    def row(self, case, columns, sides, what=""):
        """One case's row. A failure does not affect the other cases."""
        try:
            return figures.row(columns, case, *self.compare(case.id, sides, what))
        except ScriptError as error:
            self.fail(case.id, error)
            return [case.title, "could not be measured"]

    def rows(self, group, columns, programs, measure, what=""):
        """Rows of one table; `measure`: returns a program's measurement of a case, and the text of its progress."""
        return [
            self.row(case, columns, {program.name: functools.partial(measure, program, case) for program in programs}, what)
            for case in self.chosen(group)
        ]

    def skip(self, case, reason):
        """The row of a case that this machine cannot measure."""
        print_progress(f"{case.id}: skipped: {reason}")
        self.raw[case.id] = {"skipped": str(reason)}
        return [case.title, f"skipped: {reason}"]

    def fail(self, name, error):
        """Notes that something could not be measured."""
        print_progress(f"{name}: {error}")
        self.raw[name] = {"failed": str(error)}

    def write_raw(self):
        """Writes all measurements so far to the file of --raw."""
        if self.args.raw:
            pathlib.Path(self.args.raw).write_text(json.dumps(self.raw, default=vars, indent=1))

    def failed(self):
        """What could not be measured."""
        return [name for name, results in self.raw.items() if isinstance(results, dict) and "failed" in results]
