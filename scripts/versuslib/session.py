"""What all parts of a report share: the options, interleaved pairs, rows that may fail, and the raw figures.

In: two tools and how to measure one of them. Out: rows of tables. Must never: measure both tools at the same time.
"""
import contextlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

from . import cases
from .server import ScriptError


def print_progress(text):
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def interleave(tools, pairs, measure):
    """Measures both tools `pairs` times; the tool that goes first alternates. Returns lists by the tools' names."""
    results = {tool.name: [] for tool in tools}
    for pair in range(pairs):
        for tool in tools if pair % 2 == 0 else tools[::-1]:
            results[tool.name].append(measure(tool))
    return results


def version_line(program):
    """The first line that a program prints as its version."""
    return subprocess.check_output([str(program), "--version"], text=True).splitlines()[0]


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
        """The cases of a list that are to be measured."""
        return [case for case in group if case.id in self.args.cases]

    def programs(self, *others):
        """The machine and the versions of programs and of prony, as lines of a Markdown list."""
        versions = [version_line(program) for program in (*others, self.args.prony)]
        return [machine(), f"- {'; '.join(versions)}"]

    def interleave(self, case_id, tools, measure, what=""):
        """Measures the pairs of a case, and keeps them in `raw`."""
        print_progress(f"{case_id}: {self.args.pairs} pairs{what}")
        results = interleave(tools, self.args.pairs, measure)
        self.raw[case_id] = results
        return results

    def row(self, case, make_row, tools, measure, what=""):
        """One case's row. A failure must not affect the other cases."""
        try:
            results = self.interleave(case.id, tools, measure, what)
        except ScriptError as error:
            self.fail(case.id, error)
            return [case.title, "could not be measured"]
        case = cases.without_bounds(case) if self.args.against else case
        return make_row(case, *(results[tool.name] for tool in tools))

    def skip(self, case, reason):
        """The row of a case that this machine cannot measure."""
        print_progress(f"{case.id}: skipped: {reason}")
        self.raw[case.id] = {"skipped": reason}
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
