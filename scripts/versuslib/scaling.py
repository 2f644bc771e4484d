"""Loads with 1, 2 and 4 jobs, beside the server's bound: the same rows by the server's own client.

In: a release build of prony, psql, mariadb. Out: Markdown. Must never: measure two loads at once, or give the
bound a method that Prony could not use.

The bound sends files that were written from tables loaded by Prony: psql by COPY, mariadb by LOAD DATA. It has
as many sessions as Prony has jobs, the same transactions, and makes the same keys and indexes at the same point.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re

from . import figures, tools
from .figures import median_of
from .maria import Maria
from .server import ScriptError, Server, give_to_server, quiet_settings, server_user
from .session import interleave, print_progress
from .sysbench import Tool as Sysbench
from .sysbench import drop_tables, sysbench_link
from .tools import Measurement, execute

JOBS = (1, 2, 4)
DATABASE = "loaded"
# Of prepare.
TABLES = 10
PROFILE = "hammerdb-4.6"
# Accounts of a branch, and branches of a transaction of `prony load tpcb` with several jobs.
ACCOUNTS, PART_BRANCHES = 100_000, 8


@dataclasses.dataclass(frozen=True)
class ScalingCase:
    """A load that is measured with each number of jobs."""

    id: str
    title: str
    engine: str
    #: The workload of `prony load`, or `prepare` for Prony called as sysbench.
    workload: str


CASES = [
    ScalingCase("jobs-tpcb", "load tpcb, PostgreSQL", "postgres", "tpcb"),
    ScalingCase("jobs-prepare", f"sysbench prepare, {TABLES} tables, MariaDB", "maria", "prepare"),
    ScalingCase("jobs-tpcc", "load tpcc, PostgreSQL", "postgres", "tpcc"),
    ScalingCase("jobs-tpcc-maria", "load tpcc, MariaDB", "maria", "tpcc"),
]

# How the bound stores the rows, by engine.
METHODS = {
    "postgres": "PostgreSQL: COPY by psql, with one session in one transaction with FREEZE, with several in a transaction per part; "
    "then VACUUM (ANALYZE) and the keys and indexes, a statement per index, in as many sessions as jobs",
    "maria": "MariaDB: LOAD DATA LOCAL by mariadb into tables with their primary keys, a statement per part and table; "
    "then the secondary indexes and ANALYZE TABLE, in as many sessions as jobs",
}


def parts_of(case, args):
    """The transactions of a load: lists of (table, condition of its rows)."""
    if case.workload == "tpcb":
        bounds = [(low, min(low + PART_BRANCHES, args.scale)) for low in range(0, args.scale, PART_BRANCHES)]
        accounts = [f"aid > {low * ACCOUNTS} and aid <= {high * ACCOUNTS}" for low, high in bounds]
        return [[("pgbench_branches", "true"), ("pgbench_tellers", "true")], *([("pgbench_accounts", text)] for text in accounts)]
    if case.workload == "prepare":
        return [[(f"sbtest{number}", "true")] for number in range(1, TABLES + 1)]
    keys = {"warehouse": "w_id", "district": "d_w_id", "stock": "s_w_id", "customer": "c_w_id", "history": "h_w_id"}
    keys |= {"orders": "o_w_id", "new_order": "no_w_id", "order_line": "ol_w_id"}
    warehouses = range(1, args.jobs_warehouses + 1)
    return [[("item", "true")], *([(table, f"{key} = {number}") for table, key in keys.items()] for number in warehouses)]


def rows_text(case, args):
    """The size of a case's data."""
    return {
        "tpcb": f"scale {args.scale}",
        "tpcc": f"{args.jobs_warehouses} warehouses",
        "prepare": f"{args.jobs_rows:,} rows each",
    }[case.workload]


def distribute(pieces, sessions):
    """Pieces of (size, text) for each session: each piece goes to the session with the smallest sum, the largest first."""
    totals, texts = [0] * sessions, [[] for _ in range(sessions)]
    for size, text in sorted(pieces, key=lambda piece: -piece[0]):
        session = totals.index(min(totals))
        totals[session] += size
        texts[session].append(text)
    return [session for session in texts if session]


class Files:
    """The rows of a load in files, and the statements that make its tables and indexes."""

    def __init__(self, folder, parts):
        self.parts = parts
        self.paths = {}
        for number, (table, condition) in enumerate(piece for part in parts for piece in part):
            self.paths[table, condition] = os.path.join(folder, f"{number}-{table}.rows")
        self.tables = list(dict.fromkeys(table for part in parts for table, _ in part))

    def size(self, pieces):
        """Bytes of some pieces."""
        return sum(os.path.getsize(self.paths[piece]) for piece in pieces)

    def table_bytes(self, table):
        """Bytes of a table's rows."""
        return self.size(piece for piece in self.paths if piece[0] == table)


class Bound:
    """The engine's own client, which sends the files."""

    name = "bound"

    def __init__(self, server, folder, case, args):
        self.server = server
        self.folder = folder
        self.files = Files(folder, parts_of(case, args))

    def load(self, jobs):
        """Loads the files with this many sessions."""
        wall_s = cpu_s = 0.0
        for step in self.steps(jobs):
            # All sessions of a step end before the next step begins, as in Prony.
            result = self._run_together(step)
            wall_s, cpu_s = wall_s + result.wall_s, cpu_s + result.cpu_s
        return Measurement(wall_s, cpu_s)

    def _run_together(self, texts):
        paths = []
        for number, text in enumerate(texts):
            paths.append(os.path.join(self.folder, f"session{number}.sql"))
            pathlib.Path(paths[-1]).write_text(text)
        with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
            results = list(pool.map(self.call, paths))
        return Measurement(max(result.wall_s for result in results), sum(result.cpu_s for result in results))

    def per_table(self, command, jobs):
        """A step that executes a command for each table."""
        files = self.files
        return self.shared([(files.table_bytes(table), f"{command} {table};") for table in files.tables], jobs)

    def transactions(self, load, jobs):
        """A step with a transaction for each part; `load`: the statement that loads a piece."""
        texts = ["begin;\n" + "".join(map(load, part)) + "commit;" for part in self.files.parts]
        return self.shared([(self.files.size(part), text) for part, text in zip(self.files.parts, texts)], jobs)

    @staticmethod
    def shared(pieces, jobs):
        """A step of independent statements."""
        return ["\n".join(texts) + "\n" for texts in distribute(pieces, jobs)]


class Psql(Bound):
    """psql."""

    def call(self, path):
        """Executes a file."""
        return tools.execute_psql(self.server, path, DATABASE)

    def save(self):
        """Writes the rows and the statements of the loaded tables."""
        copies = []
        for (table, condition), path in self.files.paths.items():
            copies.append(f"\\copy (select * from {table} where {condition}) to '{path}' (format binary)")
        self._run_together(["\n".join(copies) + "\n"])
        self.create = self.server.sql(tools.CREATE_TABLES, DATABASE)
        indexes = "select pg_relation_size(indexrelid) || ' ' || pg_get_indexdef(indexrelid) || ';' from pg_stat_user_indexes"
        lines = (line.split(" ", 1) for line in self.server.sql(indexes, DATABASE).splitlines())
        self.indexes = [(int(size), text) for size, text in lines]

    def _copy(self, piece, freeze):
        # Binary: psql sends rows in text format one by one, which costs both sides more.
        return f"\\copy {piece[0]} from '{self.files.paths[piece]}' (format binary{', freeze' * freeze})\n"

    def steps(self, jobs):
        """The statements of each step, for each session."""
        if jobs == 1:
            copies = "".join(self._copy(piece, True) for part in self.files.parts for piece in part)
            indexes = "\n".join(text for _, text in self.indexes)
            analyze = "".join(f"analyze {table};\n" for table in self.files.tables)
            return [[f"begin;\n{self.create}\n{copies}{analyze}{indexes}\ncommit;\nvacuum;\n"]]
        parts = self.transactions(lambda piece: self._copy(piece, False), jobs)
        vacuum, indexes = self.per_table("vacuum (analyze)", jobs), self.shared(self.indexes, jobs)
        return [[f"begin;\n{self.create}\ncommit;\n"], parts, vacuum, indexes]


class MariaClient(Bound):
    """mariadb."""

    def call(self, path):
        """Executes a file."""
        server = self.server
        command = server.client_command("--local-infile=1", "-e", f"source {path}", server.database)
        return execute(command, server.environment())[0]

    def save(self):
        """Writes the rows and the statements of the loaded tables."""
        written = self.server.directory / "rows"
        written.mkdir(mode=0o755, exist_ok=True)
        give_to_server(server_user(), written)
        self.create, self.indexes = "", []
        for number, ((table, condition), path) in enumerate(self.files.paths.items()):
            target = written / str(number)
            self.server.sql(f"select * into outfile '{target}' from {table} where {condition}")
            os.replace(target, path)
        for table in self.files.tables:
            lines = self.server.sql(f"show create table {table}").split("\t", 1)[1].replace("\\n", "\n").splitlines()
            keys = [line.strip().rstrip(",") for line in lines if line.startswith("  KEY ")]
            rest = "\n".join(line for line in lines if not line.startswith("  KEY "))
            # The last line of the columns and keys has no comma.
            self.create += re.sub(r",\n\)", "\n)", rest) + ";\n"
            self.indexes += [(self.files.table_bytes(table), f"alter table {table} add {key};") for key in keys]

    def steps(self, jobs):
        """The statements of each step, for each session."""
        def load(piece):
            return f"load data local infile '{self.files.paths[piece]}' into table {piece[0]} character set latin1;\n"

        indexes, analyze = self.shared(self.indexes, jobs), self.per_table("analyze table", jobs)
        return [[self.create], self.transactions(load, jobs), indexes, analyze]


class Prony(tools.Prony):
    """A build of prony."""

    def __init__(self, name, program, server, case, args, home):
        folder = os.path.join(home, f"{case.id}-{name}")
        os.mkdir(folder)
        super().__init__(server, program, folder, name)
        self.case = case
        self.args = args
        if case.workload == "prepare":
            self.sysbench = Sysbench(name, sysbench_link(program, self.home), server, self.home)

    def load(self, jobs):
        """Loads with this many jobs."""
        workload, args = self.case.workload, self.args
        if workload == "prepare":
            return self.sysbench.prepare(TABLES, args.jobs_rows, jobs)
        scale, options = (args.scale, []) if workload == "tpcb" else (args.jobs_warehouses, ["--profile", PROFILE])
        return super().load(scale, DATABASE, jobs, workload, options)


def reset(case, server):
    """Empties the database, and flushes the dirty pages of the previous load."""
    if case.engine == "maria":
        return drop_tables(server)
    return server.recreate_database(DATABASE)


HEAD = [
    "load", "jobs", "time, s", "client CPU, s", "server CPU, s", "bound: time, s", "client CPU, s", "server CPU, s",
    "time, Prony / bound", "times as fast as 1 job", "bound: times as fast as 1 session",
]


def rows(title, results):
    """Lines of the table for one case; `results`: by the number of jobs, the two lists of LoadRuns."""
    lines = []
    for jobs, pair in results.items():
        cells = [f"{median_of(name, runs):.2f}" for runs in pair for name in ("wall_s", "cpu_s", "server_cpu_s")]
        first = results[min(results)]
        speedups = [f"{median_of('wall_s', one) / median_of('wall_s', many):.2f}" for one, many in zip(first, pair)]
        lines.append([title, str(jobs), *cells, str(figures.ratio_of("wall_s", *pair)), *speedups])
    return lines


def compare(case, server, session, home):
    """Measures a case with each number of jobs; returns lists of Measurements of Prony and of the other, by jobs."""
    args = session.args
    prony = Prony("prony", args.prony, server, case, args, home)
    if args.against:
        other = Prony("other", args.against, server, case, args, home)
    else:
        folder = os.path.join(home, f"{case.id}-bound")
        os.mkdir(folder)
        other = (Psql if case.engine == "postgres" else MariaClient)(server, folder, case, args)
        reset(case, server)
        prony.load(1)
        other.save()
    results = {}
    for jobs in JOBS:
        print_progress(f"{case.id}: {args.pairs} pairs, {jobs} jobs")

        def measure_load(tool, jobs=jobs):
            reset(case, server)
            result = server.with_cpu(lambda: tool.load(jobs))
            client = f"{result.wall_s:6.2f} s, client CPU {result.cpu_s:5.2f} s"
            print_progress(f"  {tool.name:6} {client}, server CPU {result.server_cpu_s:5.2f} s")
            return result

        results[jobs] = tuple(interleave([prony, other], args.pairs, measure_load).values())
    reset(case, server)
    return results


def new_server(engine, session):
    """A server with durable settings."""
    args = session.args
    if engine == "maria":
        size = args.shared_buffers.replace("GB", "G").replace("MB", "M")
        return Maria({"innodb-buffer-pool-size": size, "innodb-log-file-size": "1G"})
    return Server(session.bin_dir, quiet_settings(args))


def measure(session, home):
    """Measures the chosen cases, each engine on a separate server; returns the parts of the report."""
    args, chosen, lines = session.args, session.chosen(CASES), []
    engines = list(dict.fromkeys(case.engine for case in chosen))
    intro = session.programs(session.bin_dir / "postgres")
    for engine in engines:
        try:
            with new_server(engine, session) as server:
                for case in (case for case in chosen if case.engine == engine):
                    results = compare(case, server, session, home)
                    session.raw[case.id] = {str(jobs): pair for jobs, pair in results.items()}
                    lines += rows(f"{case.title}, {rows_text(case, args)}", results)
        except ScriptError as error:
            session.fail(engine, error)
            lines.append([engine, "", "could not be measured"])
    methods = "; ".join(METHODS[engine] for engine in engines)
    notes = [
        *intro,
        f"- {'the other build takes the place of the bound' if args.against else methods}",
        f"- medians of {args.pairs} interleaved pairs; the ratio with its smallest and largest; "
        "CPU: user and system time; the server's includes its background processes until the client ends",
    ]
    title = "## Loads with 1, 2 and 4 jobs, and " + ("another build" if args.against else "the server's bound")
    return [title, "\n".join(notes), figures.table(HEAD, lines)]
