"""The differences between two runs: in texts, statements or rows.

In: a server, two tools, a case. Out: lines that describe the differences. Must never: let one case's
state affect a second one: each worker has a database, and each run has its own folder.
"""
import contextlib
import difflib
import queue
import subprocess
import tempfile

from versuslib.server import ScriptError

from . import cases, corpus, shape, statements, wire

# How many differing lines to print per part: with a different seed, every line differs.
MAX_DIFF_LINES = 24


def shapes(actual):
    """The parts of a run's output that are compared, by name."""
    folder = actual["folder"]
    parts = {"exit status": str(actual["status"])}
    for name in ("stdout", "stderr"):
        parts[name] = shape.text_shape(actual[name], folder)
    for name, text in actual["logs"].items():
        key = "log " + shape.line_shape(name)
        # The files of several threads have names of the same shape.
        parts[key] = "\n".join(sorted({*parts.get(key, "").split("\n"), *shape.log_shape(text).split("\n")} - {""}))
    return parts


def differences(title, expected, actual, reference="pgbench"):
    """Lines that describe the differences between the parts of two runs; the first one is the title."""
    lines = []
    for part in dict.fromkeys([*expected, *actual]):
        a, b = expected.get(part), actual.get(part)
        if a == b:
            continue
        lines.append(f"  {part}:")
        if a is None or b is None:
            lines.append(f"    only {'the other' if a is None else reference} has it")
            continue
        diff = list(difflib.unified_diff(a.split("\n"), b.split("\n"), reference, "prony", lineterm="", n=1))
        lines += ["    " + line for line in diff[:MAX_DIFF_LINES]]
        if len(diff) > MAX_DIFF_LINES:
            lines.append(f"    ({len(diff) - MAX_DIFF_LINES} more lines)")
    return [title, *lines] if lines else []


class ComparisonServer:
    """A server with a database for each worker."""

    def __init__(self, server, workers):
        self.server = server
        self.environment = {**server.environment(), "PGHOST": server.host("unix"), "PGPORT": str(server.port)}
        self.environment.update(PGUSER="postgres", LC_ALL="C")
        self.databases = queue.SimpleQueue()
        server.sql("create database golden_template")
        server.sql(cases.SETUP + corpus.SETUP, "golden_template")
        subprocess.run(
            [server.bin_dir / "pgbench", "-i", "-q", "golden_template"],
            env=self.environment, capture_output=True, check=True,
        )
        for number in range(workers):
            server.sql(f"create database golden_{number} template golden_template")
            server.sql(f"create database fresh_{number}")
            self.databases.put(number)

    @contextlib.contextmanager
    def database(self, case, reset):
        """A database that no other run uses inside the block: empty, or with all tables."""
        number = self.databases.get()
        try:
            name = f"fresh_{number}" if case.fresh else f"golden_{number}"
            if case.fresh:
                self.server.sql(f"drop database {name}")
                self.server.sql(f"create database {name}")
            else:
                self.server.sql(reset, name)
            yield name
        finally:
            self.databases.put(number)

    def texts(self, case, tool):
        """The output of a run, by part."""
        with self.database(case, cases.RESET) as database:
            return tool.run(case, self.environment, database)

    def statements(self, case, tool):
        """The statements and messages of a run, by part."""
        with self.database(case, "select 1") as database:
            # This session must have ended before the log is read from here.
            reset_log = statements.ServerLog(self.server.log, database)
            self.server.sql(corpus.RESET, database)
            reset_log.entries()
            log = statements.ServerLog(self.server.log, database)
            with tempfile.TemporaryDirectory(prefix="w", dir="/var/tmp") as folder:
                with wire.Relay(folder, self.server.port, self.server.host("unix")) as relay:
                    actual = tool.run(case, {**self.environment, "PGHOST": folder}, database, corpus.SCRIPTS)
            parts = {"exit status": str(actual["status"]), **statements.ServerStatements(log.entries()).parts()}
            return {**parts, **statements.messages(relay.sessions)}

    def rows(self, case, tool):
        """The rows and logs that a run leaves, by part."""
        with self.database(case, corpus.RESET) as database:
            actual = tool.run(case, self.environment, database, corpus.SCRIPTS)
            if actual["status"] != 0 and tool.is_reference:
                raise ScriptError(f"pgbench {case.id} failed, so there is nothing to compare: {actual['stderr'][-500:]}")
            parts = {"exit status": str(actual["status"])}
            for name, query in case.queries.items():
                parts[name] = self.server.sql(query, database)
            if case.log_columns:
                lines = [line.split() for text in actual["logs"].values() for line in text.splitlines()]
                parts["log"] = "\n".join(" ".join(words[n] for n in case.log_columns) for words in lines)
            return parts
