"""Arguments, the parts of a report, and their order.

In: arguments and the environment. Out: Markdown on stdout, progress on stderr. Must never: measure two parts at the
same time.
"""
import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile

from . import canned_tools, cases, ledger, pgbench, replay, scaling, selftest, sqlserver, sysbench, tpcc
from .server import ScriptError, find_bin_dir
from .session import Session, print_progress

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Options that take a number: name, environment variable, default, help.
NUMBERS = (
    ("--pairs", "PAIRS", 5, "pairs of runs for each case"),
    ("--seconds", "RUN_SECONDS", 5, "length of each run, s"),
    ("--scale", "SCALE", 50, "scale of the tables"),
    ("--memory-clients", "MEMORY_CLIENTS", 500, "clients of the smaller memory run"),
    ("--warehouses", "WAREHOUSES", 2, "warehouses of tpcc-load"),
    ("--jobs-warehouses", "JOBS_WAREHOUSES", 4, "warehouses of jobs-tpcc"),
    ("--jobs-rows", "JOBS_ROWS", 100_000, "rows of each table of jobs-prepare"),
)

# The parts of a report, and the cases that each measures.
PARTS = (
    (tpcc.measure, cases.TPCC),
    (scaling.measure, cases.GROUPS["jobs"]),
    (sysbench.measure, cases.GROUPS["sysbench"]),
    (pgbench.measure, cases.PGBENCH),
    (replay.measure, cases.GROUPS["replay"]),
    (canned_tools.measure, cases.CANNED),
    (sqlserver.measure, cases.SQLSERVER_IDS),
    (ledger.measure, cases.ids(cases.LEDGER, cases.LEDGER_COUNTS)),
)


def at_least_one(text):
    """A number of an option."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


def growing_numbers(text):
    """Two or more growing numbers, separated by commas."""
    numbers = [int(word) for word in text.split(",")]
    if len(numbers) < 2 or sorted(set(numbers)) != numbers or numbers[0] < 1:
        raise argparse.ArgumentTypeError("takes two or more growing numbers")
    return numbers


def arguments(argv):
    """Command line; each option's default is the environment variable that its help names."""
    env = os.environ.get
    release = ROOT / "target/release"
    parser = argparse.ArgumentParser(prog="scripts/versus", description=__doc__)
    add = parser.add_argument
    for option, variable, default, text in NUMBERS:
        add(option, type=at_least_one, default=env(variable, str(default)), help=f"{text} ({variable}, {default})")
    names = ", ".join([*cases.ALL, *cases.GROUPS["pgbench"]])
    add("--cases", default=env("CASES", "all"),
        help=f"all (native plans), {', '.join(cases.GROUPS)}, or some of: {names} (CASES)")
    add("--memory-warehouses", type=growing_numbers, default=env("MEMORY_WAREHOUSES", "1,10,20"),
        help="warehouses of the runs of tpcc-memory (MEMORY_WAREHOUSES, 1,10,20)")
    add("--prony", default=env("PRONY", str(release / "prony")), help="the prony binary (PRONY)")
    add("--against", metavar="PRONY", default=env("AGAINST"),
        help="compare with this other build of prony instead of pgbench and sysbench (AGAINST)")
    add("--canned", default=env("CANNED", str(release / "examples/canned_server")),
        help="the canned server, for capacity and counts (CANNED)")
    add("--no-fsync", action="store_true", default=bool(env("NO_FSYNC")),
        help="fsync=off on the server; the report says so (NO_FSYNC)")
    add("--shared-buffers", default=env("SHARED_BUFFERS", "1GB"),
        help="shared_buffers of the server (SHARED_BUFFERS, 1GB)")
    add("--raw", metavar="FILE", help="write every measurement to FILE as JSON")
    add("--self-test", action="store_true", help="test this script by small passes of each part")
    args = parser.parse_args(argv)
    try:
        args.cases = cases.choose(args.cases)
    except ValueError as error:
        parser.error(str(error))
    return args


def check_programs(args):
    """Fails if a program is missing, or if the chosen cases cannot be compared with another build."""
    if not os.access(args.prony, os.X_OK):
        raise ScriptError(f"there is no {args.prony}: build it by `make build`, or name one by --prony")
    args.prony = str(pathlib.Path(args.prony).resolve())
    if args.against:
        if not os.access(args.against, os.X_OK):
            raise ScriptError(f"there is no {args.against}: --against names a build of prony")
        for group, names, others in (
            ("sqlserver", cases.SQLSERVER_IDS, "other programs"), ("tpcc", cases.TPCC, "bounds of the server"),
        ):
            if set(args.cases) & set(names):
                raise ScriptError(f"--against does not go with the cases of {group}: they compare with {others}")
        args.against = str(pathlib.Path(args.against).resolve())
    if set(args.cases) & (cases.CANNED | cases.SQLSERVER_IDS) and not shutil.which(args.canned):
        raise ScriptError(f"there is no {args.canned}: build it by `make canned`, or name it by --canned")


def measure(args, bin_dir):
    """Measures the chosen cases, one server after the other. Returns the exit status: the failure of a part does not
    affect the others."""
    session, status = Session(args, bin_dir), 0
    for measure_part, names in PARTS:
        if set(args.cases) & set(names):
            try:
                with tempfile.TemporaryDirectory(prefix="prony-versus-home-", dir="/var/tmp") as home:
                    texts = measure_part(session, home)
                print("\n\n".join(texts), flush=True)
                session.write_raw()
            except ScriptError as error:
                print_progress(f"versus: {error}")
                status = 1
    if session.failed():
        print_progress(f"versus: could not be measured, see above: {', '.join(session.failed())}")
        status = 1
    return status


def main(argv):
    """Returns the exit status: 0 measured, 1 could not measure."""
    # SIGTERM raises an exception like Ctrl-C, so that the server is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args = arguments(argv)
    try:
        bin_dir = find_bin_dir()
        check_programs(args)
        if args.self_test:
            return selftest.run(args, lambda words: measure(arguments(words), bin_dir))
        return measure(args, bin_dir)
    except ScriptError as error:
        print_progress(f"versus: {error}")
        return 1
    except KeyboardInterrupt:
        print_progress("versus: interrupted")
        return 130
