"""Arguments, the runs, and the differences.

In: arguments and the environment. Out: differences on stdout, progress on stderr. Must never: call a
run that could not be made equal.
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

from versuslib.server import Server, Trouble, find_bin_dir

from . import cases, corpus, liars, scenarios, shape, statements, wire
from .compare import Golden, differences, shapes
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
        help="what is to be like pgbench: a program, called by the name pgbench; or a command of several words (PRONY)",
    )
    parser.add_argument("--pgbench", help="the pgbench to be like (the newest found, or of PRONY_PG_BINDIR)")
    parser.add_argument("--cases", default="", help="only command lines that this regular expression finds")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth command line (1)")
    parser.add_argument("--statements", action="store_true", help="compare the statements that the server sees")
    parser.add_argument("--rows", action="store_true", help="compare the rows and values that the seed makes")
    parser.add_argument("--texts", action="store_true", help="compare what is printed and logged; so it is if nothing is chosen")
    parser.add_argument("--scenarios", action="store_true", help="run the command lines of published guides, small, and compare nothing else")
    parser.add_argument("--list", action="store_true", help="print the command lines")
    parser.add_argument("--jobs", type=int, default=4, help="cases at a time (4)")
    parser.add_argument("--record", metavar="FILE", help="write pgbench's reports, numbers kept, to FILE")
    parser.add_argument("--self-test", action="store_true", help="compare pgbench with itself, then with liars")
    return parser.parse_args(argv)


def say(text):
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def compare(kind, chosen, measure, pgbench, other, jobs, record=None):
    """Runs all cases with both tools; prints the differences and returns how many cases differ.

    `measure`: from a case and a tool to what is compared, a text for each part.
    """
    recorded = {}

    def both(case):
        expected = measure(case, pgbench)
        found = measure(case, other)
        if kind == "texts":
            if record is not None:
                recorded[case.id] = record_text(case, expected)
            expected, found = shapes(expected), shapes(found)
        return differences(case, expected, found)

    different = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for count, lines in enumerate(pool.map(both, chosen), 1):
            if lines:
                different += 1
                print(f"{kind}: " + "\n".join(lines) + "\n", flush=True)
            if count % 50 == 0:
                say(f"{kind}: {count} of {len(chosen)} command lines, {different} differ")
    if record is not None and kind == "texts":
        pathlib.Path(record).write_text("".join(recorded[case.id] for case in chosen))
    return different


def record_text(case, found):
    """A run with a report: the command line, the report, the first line of progress, and one line of
    each kind of the logs. Empty for other runs."""
    if "\ntps = " not in found["stdout"] and "\nnumber of failed" not in found["stdout"]:
        return ""
    lines = [f"$ {case.id}"] + ["| " + line for line in found["stdout"].splitlines()]
    progress = [line for line in found["stderr"].splitlines() if line.startswith("progress: ")]
    lines += ["progress| " + line for line in progress[:1]]
    kinds = {}
    for text in found["logs"].values():
        for line in text.splitlines():
            kinds.setdefault(shape.line_shape(line), line)
    lines += ["log| " + line for line in kinds.values()]
    return "\n".join(lines) + "\n"


def version_text(program):
    """What pgbench says of its version: `15.18 (Debian 15.18-0+deb12u1)`."""
    said = subprocess.check_output([str(program), "--version"], text=True)
    return said.strip().removeprefix("pgbench (PostgreSQL) ")


def choose(asked, major):
    """The cases asked for: a list for each kind of comparison."""
    lists = {"texts": cases.all_cases, "statements": corpus.statements, "rows": lambda _: corpus.rows()}
    kinds = [kind for kind in lists if getattr(asked, kind)] or ["texts"]
    chosen = {kind: [case for case in lists[kind](major) if re.search(asked.cases, case.id)][:: asked.every] for kind in kinds}
    if not any(chosen.values()):
        raise Trouble(f"no command line is like {asked.cases!r}")
    return chosen


def main(argv):
    """The whole of it; 0: no difference."""
    # SIGTERM unwinds like Ctrl-C, so that the server is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    asked = arguments(argv)
    shape.test()
    statements.test()
    scenarios.test()
    wire.test()
    try:
        bin_dir = find_bin_dir()
        program = pathlib.Path(asked.pgbench) if asked.pgbench else bin_dir / "pgbench"
        version = version_text(program)
        major = int(re.match(r"\d+", version).group())
        if major < 15 and (asked.statements or asked.rows):
            print(f"skipped: pgbench {version} draws other random numbers than 15 and later ones")
            return 0
        chosen = choose(asked, major)
        if asked.list:
            print("\n".join(case.id for found in chosen.values() for case in found))
            return 0
        # A snapshot of autovacuum would keep a VACUUM of either tool from marking pages all-visible.
        settings = {"fsync": "off", "max_connections": 100, "autovacuum": "off"}
        if asked.scenarios:
            settings["max_connections"] = 400
        if asked.statements:
            settings.update(statements.SETTINGS)
        with tempfile.TemporaryDirectory(prefix="prony-golden-", dir="/var/tmp") as place:
            os.chmod(place, 0o755)
            with Server(bin_dir, settings) as server:
                return with_server(asked, server, pathlib.Path(place), program, version, chosen)
    except Trouble as problem:
        say(f"golden-pgbench: {problem}")
        return 2


def under_test(asked, place, version):
    """What is to be like pgbench."""
    command = shlex.split(asked.prony)
    if os.sep in command[0]:
        command[0] = os.path.abspath(command[0])
    home = place / "home"
    home.mkdir()
    # The level with its whole text, so that banners are alike; a store of its own.
    env = {"PRONY_PGBENCH_COMPAT": version, "HOME": str(home)}
    env.update({f"XDG_{name}_HOME": str(home) for name in ("DATA", "STATE", "CACHE")})
    return Tool(place / "prony", command, env)


def with_server(asked, server, place, program, version, chosen):
    """Compares on a running server."""
    if asked.scenarios:
        return 1 if scenarios.Scenarios(server, under_test(asked, place, version), say).all() else 0
    golden = Golden(server, asked.jobs)
    measures = {"texts": golden.texts, "statements": golden.statements, "rows": golden.rows}
    pgbench = Tool(place / "real", [str(program)], {}, is_model=True)
    for kind, found in chosen.items():
        say(f"{kind} of {len(found)} command lines, like pgbench {version}")

    def all_kinds(other):
        return {
            kind: compare(kind, found, measures[kind], pgbench, other, asked.jobs, asked.record)
            for kind, found in chosen.items()
        }

    if asked.self_test:
        different = all_kinds(Tool(place / "same", [str(program)], {}))
        print(f"pgbench beside itself: {different} differ")
        missed = liars.missed(list(chosen), golden, place, program, pgbench)
        print("liars: " + ("found out" if not missed else "NOT found out: " + ", ".join(missed)))
        return 1 if missed or any(different.values()) else 0
    different = all_kinds(under_test(asked, place, version))
    for kind, found in chosen.items():
        print(f"{kind}: {len(found)} command lines compared, {different[kind]} differ")
    return 1 if any(different.values()) else 0
