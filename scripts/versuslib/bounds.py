"""The server's bound of a load: the same rows by the server's own client.

In: the rows and statements of a load by Prony. Out: a Measurement. Must never: give the bound a method that Prony could not use.

The bound sends files that were written from tables loaded by Prony: psql by COPY, mariadb by LOAD DATA. It has
as many sessions as Prony has jobs, the same transactions, and makes the same keys and indexes at the same point.
"""
import concurrent.futures
import os
import pathlib
import re

from . import cases
from .server import give_to_server, server_user
from .tools import Measurement, execute

# Accounts of a branch, and branches of a transaction of `prony load tpcb` with several jobs.
ACCOUNTS, PART_BRANCHES = 100_000, 8
TPCC_KEYS = {"warehouse": "w_id", "district": "d_w_id", "stock": "s_w_id", "customer": "c_w_id", "history": "h_w_id"} | {
    "orders": "o_w_id", "new_order": "no_w_id", "order_line": "ol_w_id"
}
# Writes the statements that create the tables of a database, without their keys and indexes.
CREATE_TABLES = """\
select 'create table ' || c.relname || ' (' || coalesce(string_agg(a.attname || ' '
  || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end, ', ' order by a.attnum), '')
  || ') with (' || coalesce(array_to_string(c.reloptions, ', '), 'fillfactor=100') || ');'
from pg_class c join pg_attribute a on a.attrelid = c.oid
where a.attnum > 0 and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace group by c.relname, c.reloptions
"""
INDEXES = "select pg_relation_size(indexrelid) || ' ' || pg_get_indexdef(indexrelid) || ';' from pg_stat_user_indexes"


def parts_of(case, scale):
    """The transactions of a load: lists of (table, condition of its rows)."""
    if case.program == "sysbench":
        return [[(f"sbtest{number}", "true")] for number in range(1, cases.TABLES + 1)]
    if case.workload == "tpcb":
        bounds = [(low, min(low + PART_BRANCHES, scale)) for low in range(0, scale, PART_BRANCHES)]
        accounts = [f"aid > {low * ACCOUNTS} and aid <= {high * ACCOUNTS}" for low, high in bounds]
        return [[("pgbench_branches", "true"), ("pgbench_tellers", "true")], *([("pgbench_accounts", text)] for text in accounts)]
    warehouses = range(1, scale + 1)
    return [[("item", "true")], *([(table, f"{key} = {number}") for table, key in TPCC_KEYS.items()] for number in warehouses)]


def distribute(pieces, sessions):
    """Pieces of (size, text) for each session: each piece goes to the session with the smallest sum, the largest first."""
    totals, texts = [0] * sessions, [[] for _ in range(sessions)]
    for size, text in sorted(pieces, key=lambda piece: -piece[0]):
        session = totals.index(min(totals))
        totals[session] += size
        texts[session].append(text)
    return ["\n".join(session) + "\n" for session in texts if session]


class Bound:
    """The server's own client, which sends the files. A piece is (table, condition of its rows) and has a file."""

    name = "bound"

    def __init__(self, server, home, case, scale, database):
        self.server = server
        self.database = database
        self.folder = pathlib.Path(home, f"{case.id}-bound")
        self.folder.mkdir()
        self.parts = parts_of(case, scale)
        pieces = [piece for part in self.parts for piece in part]
        self.paths = {piece: self.folder / f"{number}-{piece[0]}.rows" for number, piece in enumerate(pieces)}
        self.tables = list(dict.fromkeys(table for table, _ in pieces))

    def size(self, pieces):
        """Bytes of some pieces."""
        return sum(os.path.getsize(self.paths[piece]) for piece in pieces)

    def table_bytes(self, table):
        """Bytes of a table's rows."""
        return self.size(piece for piece in self.paths if piece[0] == table)

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
            paths.append(self.folder / f"session{number}.sql")
            paths[-1].write_text(text)
        with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
            results = list(pool.map(lambda path: execute(self.command(path), self.server.environment())[0], paths))
        return Measurement(max(result.wall_s for result in results), sum(result.cpu_s for result in results))

    def per_table(self, command, jobs):
        """A step that executes a command for each table."""
        return distribute([(self.table_bytes(table), f"{command} {table};") for table in self.tables], jobs)

    def transactions(self, load, jobs):
        """A step with a transaction for each part; `load`: the statement that loads a piece."""
        return distribute([(self.size(part), "begin;\n" + "".join(map(load, part)) + "commit;") for part in self.parts], jobs)


class Psql(Bound):
    """psql."""

    def command(self, path):
        """The command line that executes a file."""
        command = [self.server.bin_dir / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-f", path]
        return [*command, "-d", self.server.url("unix", self.database)]

    def save(self):
        """Writes the rows and the statements of the loaded tables."""
        copies = []
        for (table, condition), path in self.paths.items():
            copies.append(f"\\copy (select * from {table} where {condition}) to '{path}' (format binary)\n")
        self._run_together(["".join(copies)])
        self.create = self.server.sql(CREATE_TABLES, self.database)
        lines = (line.split(" ", 1) for line in self.server.sql(INDEXES, self.database).splitlines())
        self.indexes = [(int(size), text) for size, text in lines]

    def _copy(self, piece, options=""):
        # Binary: psql sends rows in text format one by one, which costs both sides more.
        return f"\\copy {piece[0]} from '{self.paths[piece]}' (format binary{options})\n"

    def steps(self, jobs):
        """The statements of each step, for each session."""
        if jobs == 1:
            copies = "".join(self._copy(piece, ", freeze") for piece in self.paths)
            indexes = "\n".join(text for _, text in self.indexes)
            analyze = "".join(f"analyze {table};\n" for table in self.tables)
            return [[f"begin;\n{self.create}\n{copies}{analyze}{indexes}\ncommit;\nvacuum;\n"]]
        vacuum, indexes = self.per_table("vacuum (analyze)", jobs), distribute(self.indexes, jobs)
        return [[f"begin;\n{self.create}\ncommit;\n"], self.transactions(self._copy, jobs), vacuum, indexes]


class MariaClient(Bound):
    """mariadb."""

    def command(self, path):
        """The command line that executes a file."""
        return self.server.client_command("--local-infile=1", "-e", f"source {path}", self.server.database)

    def save(self):
        """Writes the rows and the statements of the loaded tables."""
        written = self.server.directory / "rows"
        written.mkdir(mode=0o755, exist_ok=True)
        give_to_server(server_user(), written)
        self.create, self.indexes = "", []
        for number, ((table, condition), path) in enumerate(self.paths.items()):
            target = written / str(number)
            self.server.sql(f"select * into outfile '{target}' from {table} where {condition}")
            os.replace(target, path)
        for table in self.tables:
            lines = self.server.sql(f"show create table {table}").split("\t", 1)[1].replace("\\n", "\n").splitlines()
            keys = [line.strip().rstrip(",") for line in lines if line.startswith("  KEY ")]
            rest = "\n".join(line for line in lines if not line.startswith("  KEY "))
            # The last line of the columns and keys has no comma.
            self.create += re.sub(r",\n\)", "\n)", rest) + ";\n"
            self.indexes += [(self.table_bytes(table), f"alter table {table} add {key};") for key in keys]

    def steps(self, jobs):
        """The statements of each step, for each session."""
        def load(piece):
            return f"load data local infile '{self.paths[piece]}' into table {piece[0]} character set latin1;\n"

        indexes, analyze = distribute(self.indexes, jobs), self.per_table("analyze table", jobs)
        return [[self.create], self.transactions(load, jobs), indexes, analyze]
