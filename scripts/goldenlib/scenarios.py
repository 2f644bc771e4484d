"""Command lines of published benchmark guides, with smaller tables and shorter durations.

In: a server and a pgbench. Out: the failures, line by line. Must never: report a speed.

Only scale, durations and most numbers of clients are reduced. Host, user and database come from the
environment variables that the guides use.
"""
import dataclasses
import re

from versuslib.session import print_progress

from .cases import Case

SCALE = 2
SECONDS = 2
DATABASE = "pgbench"
# The options that are changed in a guide's command line.
DURATION = re.compile(r"(?P<name>--time=|-T )\d+")
CLIENTS = re.compile(r"(?P<name>--jobs=|--client=|-c |-j )(?P<count>\d+)")
CLIENTS_DIVISOR = 8


def inserts(max_id, max_delta):
    """A transaction that only fills the indexes of the history."""
    ranges = "".join(f"\\set {name} random(1, {max_id})\n" for name in ("aid", "bid", "tid"))
    row = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);"
    return f"{ranges}\\set delta random(-{max_delta}, {max_delta})\nBEGIN;\n{row}\nEND;\n"


SKEWED_AID = "\\set aid random_gaussian(1, :range, 10.0)\n"
SKEWED_SELECT = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
SKEWED_WRITE = (
    SKEWED_AID + "\\set bid random(1, 1 * :scale)\n\\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n"
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n" + SKEWED_SELECT
    + "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n"
    "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\nEND;\n"
)
INDEXES = "".join(f"create index {name} on pgbench_history ({name});\n" for name in ("tid", "bid", "aid", "delta", "mtime"))


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Tables to load, and the runs on them."""

    name: str
    load: str
    runs: tuple
    # Files in the folder of the run.
    scripts: dict = dataclasses.field(default_factory=dict)
    # Statements between load and runs.
    sql: str = ""
    # Whether to keep the guide's number of clients.
    all_clients: bool = False


INSERT_RUN = "--host=$PGHOST --user=postgres --time=3900 --client=256 --jobs=256 --scale=25000 --progress=1 --file=./index-inserts-only.sql pgbench"
SELECT_RUN = "--host=$PGHOST --user=postgres --builtin=select-only --time=3900 --jobs=256 --client=256 --scale=15000 --protocol=simple --progress=1 pgbench"
SKEWED_RUN = "-M prepared {vacuum} -r -P 1 -f ./{file} -c {clients} -j {clients} -T 120 -D scale={scale} -D range={range}"


def skewed_runs(file, clients, scale, *ranges):
    """The runs for one size; the first one vacuums all tables."""
    return tuple(
        SKEWED_RUN.format(file=file, clients=clients, scale=scale, range=max_row, vacuum="-n" if number else "-v")
        for number, max_row in enumerate(ranges)
    )


SCENARIOS = [
    Scenario(
        "AlloyDB 2023, TPC-B-like",
        "-i --host=$PGHOST --user=postgres --scale=4000 pgbench",
        ("--host=$PGHOST --user=postgres --builtin=tpcb-like --time=3900 --jobs=256 --client=256 --scale=4000 --protocol=simple --progress=1 pgbench",),
    ),
    Scenario(
        "AlloyDB 2023, index insert only",
        "-i --host=$PGHOST --user=postgres --scale=25000 pgbench",
        (INSERT_RUN,),
        {"index-inserts-only.sql": inserts(100_000_000, 50_000_000)},
        INDEXES,
    ),
    Scenario("AlloyDB 2023, select only", "-i --host=$PGHOST --user=postgres --scale=15000 pgbench", (SELECT_RUN,), all_clients=True),
    Scenario(
        "AlloyDB web page, TPC-B-like",
        "-i --host=$PGHOST --scale=50000 pgbench",
        ("--host=$PGHOST --builtin=tpcb-like --time=3900 --jobs=384 --client=384 --scale=50000 --protocol=prepared --progress=1 pgbench",),
    ),
    Scenario(
        "AlloyDB web page, index insert only",
        "-i  --host=$PGHOST --user=postgres --scale=25000 pgbench",
        (INSERT_RUN,),
        {"index-inserts-only.sql": inserts(1_000_000_000, 500_000_000)},
        INDEXES,
    ),
    Scenario(
        "ApsaraDB 2022, hot rows",
        "-i -s 50000",
        skewed_runs("ro.sql", 240, 50_000, 100_000_000, 5_000_000_000) + skewed_runs("rw.sql", 16, 50_000, 500_000_000, 1_000_000_000),
        {"ro.sql": SKEWED_AID + SKEWED_SELECT, "rw.sql": SKEWED_WRITE},
    ),
    Scenario("Aiven 2019, TPC-B-like", "--initialize --scale=50000", ("--jobs=8 --client=200 --time=3600",)),
]


def scaled_down(text, host, all_clients=False):
    """A guide's arguments with large numbers scaled down."""
    text = DURATION.sub(lambda match: f"{match['name']}{SECONDS}", text)
    if not all_clients:
        text = CLIENTS.sub(lambda match: f"{match['name']}{max(1, int(match['count']) // CLIENTS_DIVISOR)}", text)
    scale = re.search(r"(?:--scale=|-s |-D scale=)(\d+)", text)
    if scale:
        ratio = int(scale.group(1)) / SCALE
        text = text.replace(scale.group(0), scale.group(0).replace(scale.group(1), str(SCALE)))
        # The same fraction of the rows stays hot.
        text = re.sub(r"-D range=(\d+)", lambda match: f"-D range={int(int(match.group(1)) / ratio)}", text)
    return tuple(text.replace("$PGHOST", host).split())


def problems(arguments, result, before, after):
    """The errors of a run; `before` and `after`: number of rows in the history."""
    words = " ".join(arguments)
    out, err = result["stdout"], result["stderr"]
    errors = [] if result["status"] == 0 else [f"exit status {result['status']}"]
    tps = re.search(r"^tps = ([\d.]+) ", out, re.M)
    count = re.search(r"^number of transactions actually processed: (\d+)", out, re.M)
    if not tps or float(tps.group(1)) <= 0 or not count or int(count.group(1)) <= 0:
        return [*errors, "no tps"]
    clients = re.search(r"(?:--client=|-c )(\d+)", words).group(1)
    for expected in (f"number of clients: {clients}", f"duration: {SECONDS} s"):
        if expected not in out.split("\n"):
            errors.append(f"no line `{expected}`")
    if re.search(r"^number of failed transactions: [1-9]", out, re.M):
        errors.append("failed transactions")
    if re.search(r"--progress=1|-P 1", words) and not re.search(r"^progress: [\d.]+ s, [\d.]+ tps, lat [\d.]+ ms", err, re.M):
        errors.append("no progress")
    if "-r" in arguments and "statement latencies in milliseconds" not in out:
        errors.append("no latencies of statements")
    writes = "select-only" not in words and "ro.sql" not in words
    # Without -n pgbench empties the history first.
    rows_before = before if "-n" in arguments else 0
    written = int(count.group(1)) if writes else 0
    if after != rows_before + written:
        errors.append(f"{after - rows_before} rows of history for {written} transactions")
    return errors


def history(server):
    """The number of rows in the history."""
    return int(server.sql("select count(*) from pgbench_history", DATABASE))


def load(scenario, server, tool, environment):
    """Loads a scenario's tables into a new database; returns (arguments, result, errors)."""
    server.sql(f"drop database if exists {DATABASE}")
    server.sql(f"create database {DATABASE}")
    arguments = scaled_down(scenario.load, environment["PGHOST"])
    result = tool.run(Case(arguments), environment, DATABASE, {})
    errors = [] if result["status"] == 0 and "done in " in result["stderr"] else [f"exit status {result['status']}"]
    tables = {"accounts": 100_000, "tellers": 10, "branches": 1, "history": 0}
    counts = "select " + ", ".join(f"(select count(*) from pgbench_{name})" for name in tables)
    expected = "|".join(str(SCALE * each) for each in tables.values())
    if not errors and server.sql(counts, DATABASE) != expected:
        errors.append(f"not {expected} rows")
    return arguments, result, errors


def outcomes(scenario, server, tool, environment):
    """(arguments, result, errors) of each command line of a scenario; without tables, there are no runs."""
    loaded = load(scenario, server, tool, environment)
    yield loaded
    if loaded[-1]:
        return
    server.sql(scenario.sql or "select 1", DATABASE)
    for text in scenario.runs:
        arguments = scaled_down(text, environment["PGHOST"], scenario.all_clients)
        print_progress(f"{scenario.name}: pgbench {' '.join(arguments)}")
        before = history(server)
        result = tool.run(Case(arguments), environment, DATABASE, scenario.scripts)
        yield arguments, result, problems(arguments, result, before, history(server))


def run_all(server, tool):
    """Runs all scenarios in sequence; returns the number of command lines that failed."""
    environment = {**server.environment(), "PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "postgres", "LC_ALL": "C"}
    count = failed = 0
    for scenario in SCENARIOS:
        for arguments, result, errors in outcomes(scenario, server, tool, environment):
            count += 1
            if errors:
                failed += 1
                print(f"{scenario.name}: pgbench {' '.join(arguments)}\n  {'; '.join(errors)}")
                print("".join(f"    {line}\n" for line in (result["stdout"] + result["stderr"]).splitlines()[-12:]), flush=True)
    print(f"scenarios: {count} command lines, {failed} failed", flush=True)
    return failed


def test():
    """Only large numbers change, and each check detects its error."""
    assert scaled_down("-n -T 120 -c 240 -j 240 -D scale=50000 -D range=100000000", "h") == (
        *f"-n -T {SECONDS} -c 30 -j 30 -D scale=2 -D range=4000".split(),
    )
    arguments = ("-n", "-P", "1", "-c", "4", "-T", str(SECONDS))
    out = f"number of clients: 4\nduration: {SECONDS} s\nnumber of transactions actually processed: 9\ntps = 3.1 (x)\n"
    result = {"status": 0, "stdout": out, "stderr": "progress: 1.0 s, 3.0 tps, lat 1.0 ms stddev 0\n"}
    assert problems(arguments, result, 1, 10) == []
    assert problems(arguments, result, 1, 9) == ["8 rows of history for 9 transactions"]
    assert problems(arguments, {**result, "stderr": ""}, 1, 10) == ["no progress"]
    assert problems(arguments, {**result, "status": 2}, 1, 10) == ["exit status 2"]
    assert problems(arguments, {**result, "stdout": ""}, 1, 10) == ["no tps"]
