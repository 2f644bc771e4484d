"""The canned server: it answers from memory, so that a client can be measured without a database.

In: the program, built from crates/drive/examples/canned_server. Out: a server on a unix socket and a free port.
Must never: outlive this process.
"""
import os
import resource
import select
import signal
import subprocess

from .server import Throwaway, ScriptError, end_with_parent, free_port

PROTOCOLS = ("postgres", "mysql", "sqlserver")
START_SECONDS = 60


class CannedServer(Throwaway):
    """A running canned server. Use it in a `with` block."""

    END = ((signal.SIGTERM, 10), (signal.SIGKILL, 10))
    user = "versus"
    database = "sbtest"

    def __init__(self, program, protocol, cpus=None, is_batch=False):
        """`cpus`: the CPUs on which it runs; `is_batch`: a request does not interrupt the client on the same CPU."""
        super().__init__({})
        if protocol not in PROTOCOLS:
            raise ValueError(protocol)
        self.program = program
        self.protocol = protocol
        self.cpus = cpus
        self.is_batch = is_batch

    def _start(self):
        set_parent_death_signal = end_with_parent(signal.SIGKILL)

        def in_child():
            set_parent_death_signal()
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            if self.cpus:
                os.sched_setaffinity(0, self.cpus)
            if self.is_batch:
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

        self.port = free_port()
        # The name that libpq gives a unix socket.
        self.socket = self.directory / f".s.PGSQL.{self.port}"
        command = [str(self.program), self.protocol, str(self.socket), f"127.0.0.1:{self.port}"]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=in_child, start_new_session=True
            )
        except OSError as error:
            raise ScriptError(f"cannot start {self.program}: {error.strerror}; build it by: cargo build --release -p prony-drive --example canned_server")
        ready = select.select([self.process.stdout], [], [], START_SECONDS)[0]
        if not ready or self.process.stdout.readline() != b"listening\n":
            raise ScriptError(f"the canned server did not start: {' '.join(command)}")

    def _stop(self):
        super()._stop()
        if self.process is not None:
            self.process.stdout.close()

    def host(self, network):
        """libpq's host for `unix` or `tcp`."""
        return str(self.directory) if network == "unix" else "127.0.0.1"

    def environment(self):
        """The environment of clients: this process's without PG*."""
        return {key: value for key, value in os.environ.items() if not key.startswith("PG")}
