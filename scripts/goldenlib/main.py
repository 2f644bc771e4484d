"""Arguments, the runs, and the differences.

In: arguments and the environment. Out: differences on stdout, progress on stderr. Must never: report a
run as equal that could not be compared.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

from versuslib.server import Server, ScriptError, find_bin_dir
from versuslib.session import print_progress

from . import cases, corpus, faulty_tools, scenarios, shape, statements, wire
from .compare import ComparisonServer, differences, shapes
from .tool import Tool

ROOT = pathlib.Path(__file__).resolve().parents[2]


def arguments(argv):
    """Command line."""
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="scripts/golden-pgbench")
    prony = env("PRONY", str(ROOT / "target/release/prony"))
    parser.add_argument(
        "--prony",
        default=prony,
        help="the program to test, called by the name pgbench, or a command of several words (PRONY)",
    )
    parser.add_argument("--pgbench", help="the reference pgbench (default: the newest found, or that in PRONY_PG_BINDIR)")
    parser.add_argument("--cases", default="", help="only command lines that match this regular expression")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth command line (1)")
    parser.add_argument("--statements", action="store_true", help="compare the statements that the server sees")
    parser.add_argument("--rows", action="store_true", help="compare the rows and values that the seed produces")
    parser.add_argument("--texts", action="store_true", help="compare what is printed and logged (the default)")
    parser.add_argument("--scenarios", action="store_true", help="only run the command lines of published guides, scaled down")
    parser.add_argument("--list", action="store_true", help="print the command lines")
    parser.add_argument("--jobs", type=int, default=4, help="cases to run concurrently (4)")
    parser.add_argument("--record", metavar="FILE", help="write pgbench's reports with their numbers to FILE")
    parser.add_argument("--self-test", action="store_true", help="compare pgbench with itself, then with faulty tools")
    return parser.parse_args(argv)


def compare(kind, chosen, measure, pgbench, other, jobs, record=None):
    """Runs all cases with both tools; prints the differences and returns the number of cases that differ.

    `measure`: runs a case with a tool and returns the parts that are compared, by name.
    """
    recorded = {}

    def compare_case(case):
        expected, actual = measure(case, pgbench), measure(case, other)
        if expected.get("vacuumed") != actual.get("vacuumed"):
            # A session of a different case that is just starting has no database yet: its snapshot keeps a
            # VACUUM of either tool from marking pages all-visible.
            expected, actual = measure(case, pgbench), measure(case, other)
        if kind == "texts":
            if record is not None:
                recorded[case.id] = record_text(case, expected)
            expected, actual = shapes(expected), shapes(actual)
        return differences(f"pgbench {case.id}", expected, actual)

    differing = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for count, lines in enumerate(pool.map(compare_case, chosen), 1):
            if lines:
                differing += 1
                print(f"{kind}: " + "\n".join(lines) + "\n", flush=True)
            if count % 50 == 0:
                print_progress(f"{kind}: {count} of {len(chosen)} command lines, {differing} differ")
    if record is not None and kind == "texts":
        pathlib.Path(record).write_text("".join(recorded[case.id] for case in chosen))
    return differing


def record_text(case, actual):
    """The command line, report, first line of progress and one log line of
    each kind, of a run with a report. Empty for other runs."""
    if "\ntps = " not in actual["stdout"] and "\nnumber of failed" not in actual["stdout"]:
        return ""
    lines = [f"$ {case.id}"] + ["| " + line for line in actual["stdout"].splitlines()]
    progress = [line for line in actual["stderr"].splitlines() if line.startswith("progress: ")]
    lines += ["progress| " + line for line in progress[:1]]
    kinds = {}
    for text in actual["logs"].values():
        for line in text.splitlines():
            kinds.setdefault(shape.line_shape(line), line)
    lines += ["log| " + line for line in kinds.values()]
    return "\n".join(lines) + "\n"


def version_text(program):
    """The version that pgbench prints: `15.18 (Debian 15.18-0+deb12u1)`."""
    output = subprocess.check_output([str(program), "--version"], text=True)
    return output.strip().removeprefix("pgbench (PostgreSQL) ")


def choose(args, major):
    """The selected cases, one list per kind of comparison."""
    lists = {"texts": cases.all_cases, "statements": corpus.statements, "rows": lambda _: corpus.rows()}
    kinds = [kind for kind in lists if getattr(args, kind)] or ["texts"]
    chosen = {kind: [case for case in lists[kind](major) if re.search(args.cases, case.id)][:: args.every] for kind in kinds}
    if not any(chosen.values()):
        raise ScriptError(f"no command line matches {args.cases!r}")
    return chosen


def main(argv):
    """Returns the exit status; 0 if there is no difference."""
    # SIGTERM raises an exception like Ctrl-C, so that the server is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args = arguments(argv)
    scenarios.test()
    wire.test()
    try:
        bin_dir = find_bin_dir()
        program = pathlib.Path(args.pgbench) if args.pgbench else bin_dir / "pgbench"
        version = version_text(program)
        major = int(re.match(r"\d+", version).group())
        if major < 15 and (args.statements or args.rows):
            print(f"skipped: pgbench {version} draws random numbers differently from 15 and later")
            return 0
        chosen = choose(args, major)
        if args.list:
            print("\n".join(case.id for command_lines in chosen.values() for case in command_lines))
            return 0
        # A snapshot of autovacuum would keep a VACUUM of either tool from marking pages all-visible.
        settings = {"fsync": "off", "max_connections": 100, "autovacuum": "off"}
        if args.scenarios:
            settings["max_connections"] = 400
        if args.statements:
            settings.update(statements.SETTINGS)
        with tempfile.TemporaryDirectory(prefix="prony-golden-", dir="/var/tmp") as folder:
            os.chmod(folder, 0o755)
            with Server(bin_dir, settings) as server:
                return with_server(args, server, pathlib.Path(folder), program, version, chosen)
    except ScriptError as error:
        print_progress(f"golden-pgbench: {error}")
        return 2


def tested_tool(args, folder, version):
    """The program under test."""
    command = shlex.split(args.prony)
    if os.sep in command[0]:
        command[0] = os.path.abspath(command[0])
    home = folder / "home"
    home.mkdir()
    # The full text of the level, so that banners are alike; a separate store of runs.
    env = {"PRONY_PGBENCH_COMPAT": version, "HOME": str(home)}
    env.update({f"XDG_{name}_HOME": str(home) for name in ("DATA", "STATE", "CACHE")})
    return Tool(folder / "prony", command, env)


def with_server(args, server, folder, program, version, chosen):
    """Compares on a running server."""
    if args.scenarios:
        return 1 if scenarios.run_all(server, tested_tool(args, folder, version)) else 0
    golden = ComparisonServer(server, args.jobs)
    measures = {"texts": golden.texts, "statements": golden.statements, "rows": golden.rows}
    pgbench = Tool(folder / "real", [str(program)], {}, is_reference=True)
    for kind, command_lines in chosen.items():
        print_progress(f"{kind} of {len(command_lines)} command lines, like pgbench {version}")

    def all_kinds(other):
        return {
            kind: compare(kind, command_lines, measures[kind], pgbench, other, args.jobs, args.record)
            for kind, command_lines in chosen.items()
        }

    if args.self_test:
        differing = all_kinds(Tool(folder / "same", [str(program)], {}))
        print(f"pgbench compared with itself: {differing} differ")
        undetected = faulty_tools.undetected(list(chosen), golden, folder, program, pgbench)
        print("faulty tools: " + ("all detected" if not undetected else "NOT detected: " + ", ".join(undetected)))
        return 1 if undetected or any(differing.values()) else 0
    differing = all_kinds(tested_tool(args, folder, version))
    for kind, command_lines in chosen.items():
        print(f"{kind}: {len(command_lines)} command lines compared, {differing[kind]} differ")
    return 1 if any(differing.values()) else 0
