"""The canned server: it answers from memory, so that a client can be measured without a database.

In: the program, built from crates/drive/examples/canned_server. Out: a server on a unix socket and a free port.
Must never: outlive this process.
"""
import os
import subprocess

from .server import ScriptError, Throwaway, free_port, raise_file_limit


class CannedServer(Throwaway):
    """A running canned server. Use it in a `with` block."""

    user = "versus"
    database = "sbtest"
    login = {}

    def __init__(self, program, protocol, cpus=None, is_batch=False):
        """`protocol`: postgres, mysql or sqlserver; `cpus`: the CPUs on which it runs; `is_batch`: a request does not
        interrupt the client on the same CPU."""
        super().__init__()
        self.program = program
        self.protocol = protocol
        self.cpus = cpus
        self.is_batch = is_batch
        # It needs none.
        self.password = ""

    def _options(self):
        # Unlike a database, it may run as root, who can read the program wherever it is.
        return {"stdin": subprocess.DEVNULL}

    def _in_child(self):
        raise_file_limit()
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)
        if self.is_batch:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

    def _start(self):
        self.port = free_port()
        # The name that libpq gives a unix socket.
        self.socket = self.directory / f".s.PGSQL.{self.port}"
        command = [self.program, self.protocol, self.socket, f"127.0.0.1:{self.port}"]
        try:
            self._launch(command, lambda: "listening\n" in self.log.read_text())
        except OSError as error:
            raise ScriptError(f"cannot start {self.program}: {error.strerror}; build it by: cargo build --release -p prony-drive --example canned_server")

    def host(self, network):
        """libpq's host for `unix` or `tcp`."""
        return str(self.directory) if network == "unix" else "127.0.0.1"
