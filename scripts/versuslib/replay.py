"""Recorded sessions, replayed as fast as the server replies, beside psql and pgbench.

In: a build of prony, PostgreSQL's programs. Out: Markdown. Must never: give two sides other statements, except that pgbench draws
the keys itself.

Programs that replay logs, such as pgreplay, are in no package registry. psql executes files of the same statements, a process for each
session, which is the least that a driver without a loop of its own does; pgbench -S in the simple protocol does not even
read its statements.
"""
import concurrent.futures
import dataclasses
import pathlib
import random

from . import cases, figures
from .server import Server, quiet_settings
from .sqlserver import INVALID
from .tools import Measurement, Program, execute, read_pgbench, read_prony

DATABASE = "replayed"
# Of all sessions of a case together.
STATEMENTS = 400_000
# A record of csvlog: session and statement.
RECORD = (
    '2026-01-01 00:00:00.000 UTC,"u","d",7,"[local]",{}.1,1,"SELECT",2026-01-01 00:00:00 UTC,3/4,0,LOG,00000,'
    '"duration: 0.010 ms  statement: {}",,,,,,,,,"app","client backend",,0\n'
)


def statements(case, scale):
    numbers = random.Random(case.clients)
    text = "SELECT abalance FROM pgbench_accounts WHERE aid = {}"
    count = STATEMENTS // case.clients
    return [[text.format(numbers.randint(1, 100_000 * scale)) for _ in range(count)] for _ in range(case.clients)]


def record(case, sessions, prony, server, folder):
    """Writes the sessions as a log, records it, and returns the recording."""
    log, recording = folder / "log.csv", folder / "recording"
    with open(log, "w") as out:
        # The sessions take turns, as in the log of a server.
        for number in range(len(sessions[0])):
            out.writelines(RECORD.format(f"s{index}", texts[number]) for index, texts in enumerate(sessions))
    prony.call([prony.build, "capture", "--log", log, "--keep-literals", "--out", recording], server)
    return recording


def sides_of(case, programs, server, args, folder):
    """What drives the two sides of a case, by name."""
    prony, other = programs
    sessions = statements(case, args.scale)
    recording = record(case, sessions, prony, server, folder)
    files = []
    for index, texts in enumerate(sessions):
        files.append(folder / f"{index}.sql")
        files[-1].write_text("".join(f"{text};\n" for text in texts))

    def replay(program):
        url = server.url("unix", DATABASE)
        command = [program.build, "replay", recording, "--speed", "max", "--url", url, "--threads", 1, "--no-observe", "--json"]
        result, output = program.call(command, server, accepted=(0, INVALID))
        result.transactions, result.tps = read_prony(output)
        return result

    def psql():
        def one(path):
            words = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f", path, "-d", server.url("unix", DATABASE)]
            return execute([server.bin_dir / "psql", *words], server.environment())[0]

        with concurrent.futures.ThreadPoolExecutor(len(files)) as pool:
            results = list(pool.map(one, files))
        wall_s, count = max(result.wall_s for result in results), sum(map(len, sessions))
        return Measurement(wall_s, sum(result.cpu_s for result in results), count, count / wall_s)

    def pgbench():
        called = dataclasses.replace(case, program="pgbench", options=("-S", "-M", "simple"))
        result, output = other.call(other.command(called, server, transactions=len(sessions[0]), database=DATABASE), server)
        result.transactions, result.tps = read_pgbench(output)
        return result

    def measured(run):
        result = server.with_cpu(run)
        return result, result.run_text("statements/s")

    second = {"other": lambda: replay(other)} if args.against else {case.other: {"psql": psql, "pgbench": pgbench}[case.other]}
    return {name: lambda run=run: measured(run) for name, run in ({"prony": lambda: replay(prony)} | second).items()}


def measure(session, home):
    """Measures the chosen cases; returns the parts of the report."""
    args = session.args
    with Server(session.bin_dir, quiet_settings(args, max_connections=300)) as server:
        programs = [Program("prony", home, args.prony), Program("other", home, args.against, session.bin_dir)]
        server.recreate_database(DATABASE)
        programs[0].load(cases.LOADS[0], server, args.scale, DATABASE)
        server.sql("select sum(abalance) from pgbench_accounts", DATABASE)
        columns = figures.run_columns("Prony / other", "statement", "statements/s")
        columns.append(figures.medians("statements per second of client CPU (medians)", "transactions_per_cpu_s", "{:,.0f}"))
        rows = []
        for case in session.chosen(cases.REPLAYS):
            folder = pathlib.Path(home, case.id)
            folder.mkdir()
            rows.append(session.row(case, columns, sides_of(case, programs, server, args, folder)))
    title = "## Recorded sessions, replayed with --speed max"
    notes = [
        *session.intro(session.bin_dir / "postgres"),
        f"- {STATEMENTS:,} point selects as text, scale {args.scale}; {args.pairs} interleaved pairs; statements/s of Prony and pgbench "
        "without connecting; CPU: of all client processes, start and connecting included",
    ]
    return [title, "\n".join(notes), figures.table(figures.heads(columns), rows)]
