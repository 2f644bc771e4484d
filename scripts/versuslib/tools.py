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


def write_scripts(folder):
    """Writes the pgbench scripts of the cases."""
    for name, text in SCRIPTS.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


@contextlib.contextmanager
def busy_programs(count):
    """Keeps so many CPUs busy inside a block."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=end_with_parent(signal.SIGKILL)) for _ in range(count)]
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


def read_prony(output):
    """(transactions, TPS of the measured window) of a Run document.

    The transactions include those of the warm-up, because they cost CPU too; the TPS do not.
    """
    run = json.loads(output)
    if run["state"] != "complete":
        raise ScriptError(f"the run is {run['state']}: {run.get('ended_because')}")
    kind = run["measured"]["kinds"][0]
    if kind["failed"]:
        raise ScriptError(f"{kind['failed']} transactions failed: {run['measured']['errors']}")
    warmup = run.get("warmup") or {"kinds": []}
    warmup_transactions = warmup["kinds"][0]["committed"] if warmup["kinds"] else 0
    return kind["committed"] + warmup_transactions, kind["tps"]


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

    def dialect(self, case, options, seconds, database):
        """Drives the load of a pgbench command line, called as pgbench."""
        # The report has the format of version 15, regardless of the installed pgbench.
        env = {**self._env(), "PRONY_PGBENCH_COMPAT": "15"}
        return run_dialect(self.link, self.server, env, case, options, seconds, database, self.home)

    def _env(self):
        env = self.server.environment()
        for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            env[name] = self.home
        return env

    def run(self, case, seconds, database, watch_memory=False):
        """Drives the case's load."""
        url = self.server.url(case.network, database)
        command = [self.program, "run", case.workload, "--url", url, "--clients", case.clients]
        command += ["--threads", 1, "--duration", f"{seconds}s", "--protocol", "prepared", "--json"]
        if case.io:
            command += ["--io", case.io]
        result, output = execute(command, self._env(), case.cpus, watch_memory)
        result.transactions, result.tps = read_prony(output)
        return result

    def load(self, scale, database, jobs):
        """Loads the tables."""
        url = self.server.url("unix", database)
        command = [self.program, "load", "tpcb", "--url", url, "--scale", scale, "--jobs", jobs]
        return execute(command, self._env())[0]
