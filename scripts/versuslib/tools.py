"""The programs that are compared: how to call them, and how to measure their cost and result.

In: a server and a case. Out: a Measurement. Must never: treat two programs differently: both have a private folder with the same
files, and CPU is user and system time of the whole client process (connecting and starting included), by wait4.
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from . import cases
from .namespace import enter_network_namespace
from .server import ScriptError, end_with_parent, raise_file_limit


# Prony's exit status for an invalid result, such as that of a client which is saturated, or of a busy machine.
INVALID = 7


@dataclasses.dataclass
class Measurement:
    """Cost and result of one run of one program. Of sysbench, `transactions` are queries and `tps` is QPS."""

    wall_s: float
    cpu_s: float
    transactions: int = 0
    tps: float = 0.0
    peak_bytes: int = 0
    server_cpu_s: float = 0.0
    log_bytes: int = 0

    # Client CPU per transaction, microseconds.
    cpu_us_per_transaction = property(lambda self: 1e6 * self.cpu_s / self.transactions)
    # Transactions in a second of the client's CPU.
    transactions_per_cpu_s = property(lambda self: self.transactions / self.cpu_s)
    # CPU of the server's processes per transaction, microseconds.
    server_cpu_us_per_transaction = property(lambda self: 1e6 * self.server_cpu_s / self.transactions)
    # What the server wrote into its write-ahead log per transaction, bytes.
    log_bytes_per_transaction = property(lambda self: self.log_bytes / self.transactions)
    # The CPU time of the client, and of the server, by the run's time; starting and ending are included in both.
    client_share = property(lambda self: self.cpu_s / self.wall_s)
    server_share = property(lambda self: self.server_cpu_s / self.wall_s)

    def load_text(self):
        server = f", server CPU {self.server_cpu_s:5.2f} s" if self.server_cpu_s else ""
        return f"{self.wall_s:6.2f} s, client CPU {self.cpu_s:5.2f} s{server}"

    def run_text(self, unit="TPS"):
        return f"{self.tps:9,.0f} {unit}, {self.cpu_us_per_transaction:6.2f} µs CPU"


def execute(command, env, cpus=None, watch_memory=False, folder=None, namespace_pid=None, accepted=(0,)):
    """Runs a client to its end; returns its Measurement so far and its standard output.

    `cpus`: where it runs; `folder`: its working directory; `namespace_pid`: a process whose network namespace it uses;
    `accepted`: its exit statuses that are no failure.
    """
    actions = [enter_network_namespace(namespace_pid)] if namespace_pid else []
    actions += [raise_file_limit, *([lambda: os.sched_setaffinity(0, cpus)] if cpus else [])]
    command = [str(part) for part in command]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.monotonic()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=folder,
            preexec_fn=end_with_parent(signal.SIGKILL, *actions),
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
    failed = re.search(r"number of failed transactions: (\d+)", output)
    if failed and failed.group(1) != "0":
        raise ScriptError(f"{failed.group(1)} transactions failed:\n{output}")
    return int(count.group(1)), float(tps.group(1))


def read_sysbench(output):
    """(queries, QPS) of sysbench's report."""
    queries = re.search(r"^    queries: +(\d+) +\(([0-9.]+) per sec\.\)", output, re.M)
    if not queries or int(queries.group(1)) == 0:
        raise ScriptError("cannot read the report:\n" + output[-2000:])
    return int(queries.group(1)), float(queries.group(2))


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


# Scripts as users write them for sysbench.
LUA = pathlib.Path(__file__).parent / "lua"
READERS = {"prony": read_prony, "pgbench": read_pgbench, "sysbench": read_sysbench}
# pgbench's options for the workloads of native plans.
BUILTINS = {"select-only": ("-b", "select-only", "-M", "prepared"), "tpcb": ("-b", "tpcb-like", "-M", "prepared")}


def find_sysbench():
    """The distribution's sysbench."""
    program = os.environ.get("SYSBENCH") or shutil.which("sysbench")
    if not program:
        raise ScriptError("there is no sysbench: apt install sysbench, or name one in SYSBENCH")
    return program


class Program:
    """A program of a comparison: a build of prony, which is also called as pgbench and as sysbench, or the installed two."""

    def __init__(self, name, home, build=None, bin_dir=None):
        """`home`: a folder, in which it gets a private one with all scripts; `bin_dir`: the folder of the installed pgbench."""
        self.name = name
        self.build = build
        self.bin_dir = bin_dir
        self.home = pathlib.Path(home, name)
        self.home.mkdir(parents=True)
        for tool in ("pgbench", "sysbench") if build else ():
            (self.home / tool).symlink_to(build)
        for script, text in cases.SCRIPTS.items():
            (self.home / script).write_text(text)
        shutil.copytree(LUA, self.home, dirs_exist_ok=True)

    def path(self, tool):
        """The program that is called as `pgbench` or `sysbench`."""
        if self.build:
            return self.home / tool
        return self.bin_dir / "pgbench" if tool == "pgbench" else find_sysbench()

    def call(self, command, server, **options):
        """Runs a command to its end; returns its Measurement so far and its standard output.

        The environment has no variables that only some programs read, and a home without configuration.
        """
        prefixes = ("PG", "MYSQL", "LUA_", "PRONY_")
        env = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        env |= {name: str(self.home) for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
        # The report has the format of version 15, regardless of the installed pgbench. Others ignore it.
        return execute(command, {**env, **server.login, "PRONY_PGBENCH_COMPAT": "15"}, folder=self.home, **options)

    def pgbench(self, server, network, *words):
        """A command line of pgbench."""
        return [self.path("pgbench"), "-h", server.host(network), "-p", server.port, "-U", "postgres", *words]

    def sysbench(self, server, network, *words):
        """A command line of sysbench. A password is in a file, because all users can see the arguments."""
        login = [f"--mysql-user={server.user}", f"--mysql-db={server.database}"]
        if server.password:
            config = self.home / "config"
            config.touch(mode=0o600)
            config.write_text(f"mysql-user={server.user}\nmysql-password={server.password}\nmysql-db={server.database}\n")
            login = [f"--config-file={config}"]
        address = [f"--mysql-socket={server.socket}"] if network == "unix" else ["--mysql-host=127.0.0.1", f"--mysql-port={server.port}"]
        return [self.path("sysbench"), *login, *address, *words]

    def is_native(self, case):
        """Whether it drives a case as prony; the installed pgbench has its own command line for the same load."""
        return case.program == "prony" and self.build is not None

    def command(self, case, server, seconds=None, transactions=None, database=None):
        """The command line of a case that ends after a time, or after this many transactions of each client."""
        database = database or server.database
        if case.program == "sysbench":
            time_s, events = (seconds, 0) if seconds else (0, transactions * case.clients)
            length = [f"--threads={case.clients}", f"--time={time_s}", f"--events={events}", "--rand-type=uniform"]
            return self.sysbench(server, case.network, *length, *case.options, "run")
        if self.is_native(case):
            words = ["run", case.workload, "--url", server.url(case.network, database), "--clients", case.clients]
            length = ["--duration", f"{seconds}s"] if seconds else ["--transactions", transactions]
            words += ["--threads", 1, "--warmup", "0s", *length, "--protocol", "prepared", "--json"]
            return [self.build, *words, *case.options]
        options = BUILTINS[case.workload] if case.program == "prony" else case.options
        length = ["-T", seconds] if seconds else ["-t", transactions]
        return self.pgbench(server, case.network, "-n", *options, "-c", case.clients, "-j", case.threads, *length, database)

    def drive(self, case, server, seconds, database=None, **options):
        """Drives a case's load for a time."""
        command = self.command(case, server, seconds, database=database)
        namespace_pid = server.namespace.pid if case.network == "namespace" else None
        result, output = self.call(command, server, cpus=case.cpus, namespace_pid=namespace_pid, **options)
        called_as = "pgbench" if case.program == "prony" and not self.build else case.program
        result.transactions, result.tps = READERS[called_as](output)
        return result

    def load(self, case, server, scale, database, watch_memory=False):
        """Loads a case's tables with as many jobs as it has clients; the installed pgbench has no jobs."""
        if case.program == "sysbench":
            words = [f"--threads={case.clients}", *case.options, "oltp_read_write", "prepare"]
            command = self.sysbench(server, "unix", *words)
        elif self.is_native(case):
            address = ["--url", server.url("unix", database), "--scale", scale, "--jobs", case.clients]
            command = [self.build, "load", case.workload, *address, *case.options]
        else:
            command = self.pgbench(server, "unix", "-i", "-q", "-s", scale, database)
        return self.call(command, server, watch_memory=watch_memory)[0]

