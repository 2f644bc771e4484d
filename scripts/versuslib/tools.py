"""The two tools: how to call them, and how to measure their cost and result.

In: a server and a case. Out: a Measurement. Must never: treat the two differently: CPU is user and
system time of the whole client process (connecting and starting included), by wait4.
"""
import contextlib
import dataclasses
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

from .cases import SCRIPTS
from .namespace import enter_network_namespace
from .server import ScriptError, end_with_parent


@dataclasses.dataclass
class Measurement:
    """Cost and result of one run of one tool."""

    wall_s: float
    cpu_s: float
    transactions: int = 0
    tps: float = 0.0
    peak_bytes: int = 0
    server_cpu_s: float = 0.0

    @property
    def cpu_us_per_transaction(self):
        """Client CPU per transaction, microseconds."""
        return 1e6 * self.cpu_s / self.transactions

    @property
    def server_cpu_us_per_transaction(self):
        """CPU of the server's processes per transaction, microseconds."""
        return 1e6 * self.server_cpu_s / self.transactions


def execute(command, env, cpus=None, watch_memory=False, folder=None, namespace_pid=None, accepted=(0,)):
    """Runs a client to its end; returns its Measurement so far and its standard output.

    `cpus`: where it runs; `folder`: its working directory; `namespace_pid`: a process whose network namespace it uses;
    `accepted`: its exit statuses that are no failure.
    """
    set_parent_death_signal = end_with_parent(9)
    enter_namespace = enter_network_namespace(namespace_pid) if namespace_pid else lambda: None

    def in_child():
        set_parent_death_signal()
        enter_namespace()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        if cpus:
            os.sched_setaffinity(0, cpus)

    command = [str(part) for part in command]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.monotonic()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, preexec_fn=in_child, cwd=folder
        )
        peak = PeakMemory(child.pid) if watch_memory else None
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        wall_s = time.monotonic() - start
        # Popen must not wait for a child that is already reaped.
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        output, errors = out.read(), err.read()
    if child.returncode not in accepted:
        command_line = " ".join(command)
        raise ScriptError(f"{command_line}\nended with status {child.returncode}:\n{errors[-2000:]}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Measurement(wall_s, cpu_s, peak_bytes=peak.end() if peak else 0), output


def private_environment(environment, home):
    """The environment with a private home, in which a program finds no configuration and may write."""
    names = ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    return {**environment, **{name: str(home) for name in names}}


def without_tool_variables(environment):
    """The environment without the variables that only some of the tools read."""
    prefixes = ("MYSQL", "LUA_", "PRONY_")
    return {name: value for name, value in environment.items() if not name.startswith(prefixes)}


def write_scripts(folder):
    """Writes the pgbench scripts of the cases."""
    for name, text in SCRIPTS.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


@contextlib.contextmanager
def busy_programs(count):
    """Keeps so many CPUs busy inside a block."""
    command, in_child = [sys.executable, "-c", "while True: pass"], end_with_parent(signal.SIGKILL)
    programs = [subprocess.Popen(command, preexec_fn=in_child) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


class PeakMemory:
    """Follows a process's largest resident memory (VmHWM).

    Not wait4's ru_maxrss: that also counts the memory of the forked copy of this script before exec.
    """

    def __init__(self, pid):
        self.path = f"/proc/{pid}/status"
        self.own = executable_of(os.getpid())
        self.pid = pid
        self.bytes = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while not self.stopped.wait(0.02):
            try:
                if executable_of(self.pid) == self.own:
                    continue  # Before exec.
                with open(self.path) as file:
                    match = re.search(r"VmHWM:\s*(\d+) kB", file.read())
                if match:
                    self.bytes = max(self.bytes, int(match.group(1)) * 1024)
            except OSError:
                return

    def end(self):
        """Largest resident memory so far, bytes."""
        self.stopped.set()
        self.thread.join()
        return self.bytes


def executable_of(pid):
    """The program that a process runs."""
    return os.readlink(f"/proc/{pid}/exe")


def read_pgbench(output):
    """(transactions, TPS without connecting) of pgbench's report."""
    count = re.search(r"number of transactions actually processed: (\d+)", output)
    tps = re.search(r"tps = ([0-9.]+) \(without initial connection time\)", output)
    if not tps:  # Up to version 13.
        tps = re.search(r"tps = ([0-9.]+) \(excluding connections establishing\)", output)
    if not count or not tps:
        raise ScriptError("cannot read pgbench's report:\n" + output)
    return int(count.group(1)), float(tps.group(1))


def read_run(output):
    """A complete Run document, and the figures of its only kind of transaction."""
    run = json.loads(output)
    if run["state"] != "complete":
        raise ScriptError(f"the run is {run['state']}: {run.get('ended_because')}")
    kind = run["measured"]["kinds"][0]
    if kind["failed"]:
        raise ScriptError(f"{kind['failed']} transactions failed: {run['measured']['errors']}")
    return run, kind


def read_prony(output):
    """(transactions, TPS of the measured window) of a Run document.

    The transactions include those of the warm-up, because they cost CPU too; the TPS do not.
    """
    run, kind = read_run(output)
    warmup = run.get("warmup") or {"kinds": []}
    return kind["committed"] + sum(kind["committed"] for kind in warmup["kinds"][:1]), kind["tps"]


def sysbench_address(server, network):
    """sysbench's options for `unix` or `tcp`."""
    if network == "unix":
        return [f"--mysql-socket={server.socket}"]
    return ["--mysql-host=127.0.0.1", f"--mysql-port={server.port}"]


def dialect_command(program, server, case, options, length, database):
    """A pgbench command line, which is the same for every program; `length`: the options that end the run."""
    command = [program, "-h", server.host(case.network), "-p", server.port, "-U", "postgres"]
    return [*command, "-n", *options, "-c", case.clients, "-j", case.threads, *length, database]


def run_dialect(program, server, env, case, options, seconds, database, folder=None):
    """Runs a program with a pgbench command line."""
    command = dialect_command(program, server, case, options, ["-T", seconds], database)
    namespace_pid = server.namespace.pid if case.network == "namespace" else None
    result, output = execute(command, env, case.cpus, folder=folder, namespace_pid=namespace_pid)
    result.transactions, result.tps = read_pgbench(output)
    failed = re.search(r"number of failed transactions: (\d+)", output)
    if failed and failed.group(1) != "0":
        raise ScriptError(f"{failed.group(1)} transactions failed:\n{output}")
    return result


# Writes the statements that create the tables of a database, without their keys and indexes.
CREATE_TABLES = """\
select 'create table ' || c.relname || ' (' || coalesce(string_agg(a.attname || ' '
  || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end, ', ' order by a.attnum), '')
  || ') with (' || coalesce(array_to_string(c.reloptions, ', '), 'fillfactor=100') || ');'
from pg_class c join pg_attribute a on a.attrelid = c.oid
where a.attnum > 0 and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace group by c.relname, c.reloptions
"""


def execute_psql(server, path, database):
    """Runs a file of statements with psql, and measures it."""
    command = [server.bin_dir / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-f", path]
    return execute([*command, "-d", server.url("unix", database)], server.environment())[0]


class Pgbench:
    """The system's pgbench."""

    name = "pgbench"

    def __init__(self, server, home):
        self.server = server
        self.program = server.bin_dir / "pgbench"
        self.home = home
        write_scripts(home)

    def dialect(self, case, options, seconds, database):
        """Drives the load of a pgbench command line."""
        return run_dialect(self.program, self.server, self.server.environment(), case, options, seconds, database, self.home)

    def _connection_options(self, network):
        return ["-h", self.server.host(network), "-p", self.server.port, "-U", "postgres"]

    def run(self, case, seconds, database, watch_memory=False):
        """Drives the case's load."""
        script = {"select-only": "select-only", "tpcb": "tpcb-like"}[case.workload]
        command = [self.program, *self._connection_options(case.network), "-n", "-b", script, "-M", "prepared"]
        command += ["-c", case.clients, "-j", 1, "-T", seconds, database]
        result, output = execute(command, self.server.environment(), case.cpus, watch_memory)
        result.transactions, result.tps = read_pgbench(output)
        return result

    def load(self, scale, database, jobs):
        """Loads the tables; pgbench does this without jobs."""
        del jobs
        command = [self.program, *self._connection_options("unix"), "-i", "-q", "-s", scale, database]
        return execute(command, self.server.environment())[0]


class Prony:
    """A build of prony."""

    def __init__(self, server, program, home, name="prony"):
        """`home`: a private folder, in which this build has a folder for its store of runs."""
        self.name = name
        self.server = server
        self.program = program
        self.home = home = os.path.join(home, name)
        os.mkdir(home)
        # Under this name it runs as pgbench.
        self.link = os.path.join(home, "pgbench")
        os.symlink(program, self.link)
        write_scripts(home)

    def call(self, words, cpus=None, watch_memory=False):
        """Runs prony to its end; returns its Measurement so far and its standard output."""
        environment = private_environment(self.server.environment(), self.home)
        return execute([self.program, *words], environment, cpus, watch_memory)

    def dialect(self, case, options, seconds, database):
        """Drives the load of a pgbench command line, called as pgbench."""
        # The report has the format of version 15, regardless of the installed pgbench.
        env = {**private_environment(self.server.environment(), self.home), "PRONY_PGBENCH_COMPAT": "15"}
        return run_dialect(self.link, self.server, env, case, options, seconds, database, self.home)

    def run(self, case, seconds, database, watch_memory=False):
        """Drives the case's load."""
        words = ["run", case.workload, "--url", self.server.url(case.network, database), "--clients", case.clients]
        words += ["--threads", 1, "--duration", f"{seconds}s", "--protocol", "prepared", "--json"]
        words += ["--io", case.io] if case.io else []
        result, output = self.call(words, case.cpus, watch_memory)
        result.transactions, result.tps = read_prony(output)
        return result

    def load(self, scale, database, jobs, workload="tpcb", options=(), watch_memory=False):
        """Loads the tables."""
        words = ["load", workload, "--url", self.server.url("unix", database), "--scale", scale, "--jobs", jobs]
        return self.call([*words, *options], watch_memory=watch_memory)[0]
