"""The command lines that are compared.

Out: cases. Must never: contain a case with a random outcome, such as threads that access each other's
rows, or a time limit that a slow machine exceeds.
"""
import dataclasses

TESTS = [
    "oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_insert", "oltp_delete",
    "oltp_update_index", "oltp_update_non_index", "select_random_points", "select_random_ranges",
]
SIZE = "--tables=2 --table-size=1000"


@dataclasses.dataclass(frozen=True)
class Case:
    """One command line; the command lines in `before` prepare its data."""

    line: str
    before: tuple = ()
    # Whether counts are deterministic and are compared unchanged.
    exact: bool = False
    # Whether the number of lines depends on time: a case that differs is run again, as the machine may have stalled.
    timed: bool = False
    # Whether standard error goes to standard output, so that the order of their lines is compared.
    merged: bool = False


def prepared(line, exact=False, timed=False):
    return Case(line, (f"{SIZE} oltp_read_write prepare",), exact, timed)


def runs():
    """Every test with options of every kind."""
    for test in TESTS:
        for options in ("--threads=1", "--threads=3", "--db-ps-mode=disable", "--verbosity=4", "--percentile=50"):
            exact = "threads=3" not in options and test != "oltp_delete"
            yield prepared(f"{SIZE} --time=0 {options} --events=20 {test} run", exact)
        yield prepared(f"{SIZE} --time=0 --skip-trx=on --events=5 --rand-type=uniform {test} run")
    for options in (
        "--point-selects=3", "--range-selects=off", "--range-size=7", "--simple-ranges=2", "--sum-ranges=0",
        "--order-ranges=3", "--distinct-ranges=2", "--index-updates=4", "--non-index-updates=0",
        "--delete-inserts=2", "--rand-type=gaussian", "--rand-type=pareto", "--rand-type=special",
        "--rand-seed=42", "--percentile=0", "--verbosity=2", "--verbosity=0", "--num-threads=2", "--max-time=5",
        "--validate", "--forced-shutdown=60", "--time=0", "--thread-stack-size=32K", "--tx-rate=100",
        "--rate=1000", "--report-interval=30", "--report-checkpoints=20,30", "--mysql-ignore-errors=all",
        "--db-debug", "--auto_inc=off", "--histogram --percentile=99",
    ):
        exact = not any(word in options for word in ("threads", "rate"))
        yield prepared(f"{SIZE} {options} --events=10 oltp_read_write run", exact)
    yield prepared(f"{SIZE} --time=3 --report-interval=2 oltp_point_select run", timed=True)
    rated = "--time=4 --rate=50 --report-interval=3 --report-checkpoints=2"
    yield prepared(f"{SIZE} {rated} oltp_point_select run", timed=True)
    yield prepared(f"{SIZE} --random-points=3 --events=5 select_random_points run", True)
    yield prepared(f"{SIZE} --number-of-ranges=3 --delta=9 --events=5 select_random_ranges run", True)
    yield prepared(f"{SIZE} --rate=10000000 oltp_read_write run")
    yield Case("--threads=2 --events=2000 bulk_insert run", ("--threads=2 bulk_insert prepare",))


def tables():
    """Commands that create, read and drop tables."""
    for test in TESTS + ["bulk_insert"]:
        yield Case(f"{'' if test == 'bulk_insert' else SIZE} {test} prepare", (), True)
        yield Case(f"--threads=2 {'' if test == 'bulk_insert' else SIZE} {test} prepare", (), True)
    for options in ("--auto_inc=off", "--create_secondary=off", "--table-size=1"):
        yield Case(f"{SIZE} {options} oltp_read_write prepare", (), True)
    yield Case(f"{SIZE} --auto_inc=off oltp_insert prepare", (), True)
    yield prepared(f"{SIZE} oltp_read_write prepare", True)
    yield prepared(f"{SIZE} oltp_read_write prewarm", True)
    yield prepared(f"{SIZE} oltp_read_only cleanup", True)
    yield Case("--tables=3 oltp_read_only cleanup", (), True)
    yield Case("--threads=2 bulk_insert cleanup", ("--threads=2 bulk_insert prepare",), True)


def errors():
    """Command lines that are refused, and commands that fail."""
    for line in (
        "", "--help", "--version", "nosuch run", "oltp_read_write", "oltp_read_write dance", "oltp_read_write help",
        "select_random_points help", "select_random_ranges help", "bulk_insert help", "oltp_read_write run more",
        "--nosuch=1 oltp_read_write run", "--threads=0 oltp_read_write run", "--threads=x oltp_read_write run",
        "--rand-type=foo oltp_read_write run", "--percentile=101 oltp_read_write run",
        "--histogram --percentile=0 oltp_read_write run", "--report-checkpoints=x oltp_read_write run",
        "--forced-shutdown=x oltp_read_write run", "--thread-stack-size=0 oltp_read_write run",
        "--db-driver=foo oltp_read_write run", "--db-ps-mode=foo oltp_read_write run",
        "--db-driver=foo oltp_read_write prepare", "--test=nosuch run", "--test=oltp_read_write help",
    ):
        if line:
            yield Case(line, (), True)
    for command in ("run", "prepare", "cleanup"):
        yield Case(f"BADPASSWORD oltp_read_write {command}", (), True)
        yield Case(f"NOWHERE oltp_read_write {command}", (), True)
        yield Case(f"NODATABASE oltp_read_write {command}", (), True)
    yield Case("--events=5 oltp_insert run", (), True)
    yield Case("--events=5 --db-ps-mode=disable oltp_read_write run", ())
    for test in ("oltp_read_write", "oltp_point_select", "select_random_points", "oltp_delete"):
        yield Case(f"--events=5 {test} run", (), True)


def orders():
    """Lines of standard output and standard error, in one order."""
    for line in (
        "LUA/legacy.lua --events=1 run", "LUA/legacy.lua help", "LUA/legacy.lua dance", "nosuch run", "oltp_read_write",
        "oltp_read_write help", "oltp_read_write --max-time=x run", "oltp_read_write --nosuch=1 run",
        "oltp_read_write --threads=x run", "oltp_read_write --version", "oltp_read_write run more",
    ):
        yield Case(f"--max-requests=1 --config-file=nosuch --test={line}", merged=True)


def outside():
    """Queries of scripts outside threads and in commands."""
    script = "LUA/outside.lua"
    for mode in ("queries", "prepared", "bulk", "twice", "twice_prepared", "caught", "missing", "missing_prepared"):
        yield Case(f"--events=5 --time=0 {script} --mode={mode} run", (), True)
        for command in ("prepare", "cleanup", "mine"):
            yield Case(f"{script} --mode={mode} {command}", (), True)
    for mode in ("twice", "twice_prepared", "caught"):
        yield Case(f"--mysql-ignore-errors=1062 --events=5 --time=0 {script} --mode={mode} run", (), True)
    yield Case(f"--db-ps-mode=disable --events=5 --time=0 {script} --mode=prepared run", (), True)
    yield Case(f"--verbosity=5 --events=5 --time=0 {script} --mode=missing run", (), True)


def scripts():
    """The script API, and commands of scripts."""
    given = "--with-dash=9 --flag=off --number=4 --real=2.5 --size=3K --names=a,b"
    for part in ("options", "freed", "closed", "types", "bulk"):
        for command in ("prepare", "one", "all", "run"):
            yield Case(f"--events=1 --time=0 LUA/api.lua --part={part} {command}", (), True)
    for options in (given, "--with_dash=9"):
        yield Case(f"LUA/api.lua {options} prepare", (), True)
    yield Case("LUA/api.lua help", (), True)
    yield Case("--events=1 --time=0 LUA/api.lua --flag=off run", (), True)
    for command in ("fails", "gives_up"):
        yield Case(f"LUA/api.lua {command}", (), True)
    for command in ("help", "prepare", "cleanup", "run"):
        yield Case(f"--events=1 --time=0 LUA/legacy.lua {command}", (), True)
    yield Case("--db-ps-mode=disable --events=5 oltp_point_select run", (), True)
    for number in range(1, 14):
        for command in ("help", "run", "mine"):
            yield Case(f"LUA/wrong_options.lua --wrong={number} {command}", (), True)
    for part in (
        "execute", "query", "bulk", "empty", "boolean", "table", "few", "many", "fraction", "changed", "no_statement",
        "no_result",
    ):
        for options in ("--db-ps-mode=auto", "--mysql-ignore-errors=1062"):
            yield Case(f"--events=1 {options} LUA/legacy_errors.lua --part={part} run", (), True)
    yield Case("--time=3 --report-interval=1 LUA/hooks.lua run", timed=True)
    yield Case("--verbosity=1 oltp_read_write --table-size=10 prepare", (), True)


def texts():
    return [*runs(), *tables(), *errors(), *orders(), *outside(), *scripts()]


def statements():
    """The cases whose statements are compared: they have one thread, so the order is fixed."""
    for test in TESTS:
        for mode in ("auto", "disable"):
            yield prepared(f"{SIZE} --db-ps-mode={mode} --events=8 {test} run")
    for options in ("--skip-trx", "--range-selects=off --point-selects=2", "--delete-inserts=3 --sum-ranges=2"):
        yield prepared(f"{SIZE} {options} --events=8 oltp_read_write run")
    # The bundled scripts, called by path: by its name a test runs natively, without its script.
    for test in TESTS:
        size = SIZE.replace("tables=2", "tables=1") if "random" in test else SIZE
        for mode in ("auto", "disable"):
            yield prepared(f"{size} --db-ps-mode={mode} --events=8 LUA/required.lua --required={test} run")
    for options in ("--skip-trx", "--range-selects=off --point-selects=2", "--delete-inserts=3 --sum-ranges=2"):
        yield prepared(f"{SIZE} {options} --events=8 LUA/required.lua --required=oltp_read_write run")
    yield Case("--events=500 bulk_insert run", ("bulk_insert prepare",))
