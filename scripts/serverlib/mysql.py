"""Throw-away servers of MySQL and MariaDB from unpacked programs.

In: a folder of programs. Out: a server in a private directory, on loopback and a free port, whose `root`
has no password. Must never: run as root, listen beyond loopback, or outlive this process.
"""
import os
import pathlib
import signal
import socket
import subprocess
import time

from versuslib.server import Throwaway, Trouble, end_with_parent, free_port, server_user

PATIENCE_S = 120
SETTINGS = {
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "0",
    "max-connections": "200",
    "bind-address": "127.0.0.1",
    # A local file is what loads rows fast; 8.0 switches it off.
    "local-infile": "1",
}


class Mysql(Throwaway):
    """A running server. `programs`: the folder that holds bin, share and, where there are any, libraries."""

    END = ((signal.SIGTERM, 60), (signal.SIGKILL, 20))
    program = "mysqld"
    libraries = "lib/private"

    def __init__(self, programs, settings=None):
        super().__init__({**SETTINGS, **(settings or {})})
        self.programs = programs

    def _start(self):
        user = server_user()
        self.directory.chmod(0o755)
        run = self.directory / "run"
        run.mkdir(mode=0o755)
        if user:
            os.chown(run, user["user"], user["group"])
        self.data, self.log, self.port = run / "data", self.directory / "log", free_port()
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **self._libraries()}
        self.common = {"cwd": run, "env": env, "stdin": subprocess.DEVNULL, "start_new_session": True, **user}
        # A server that starts deletes the temporary tables of others that it finds in its folder.
        self.temporary = run / "tmp"
        self.temporary.mkdir()
        if user:
            os.chown(self.temporary, user["user"], user["group"])
        self._make()
        command = self._command() + [f"--port={self.port}", f"--socket={run}/s", f"--pid-file={run}/pid"]
        command += [f"--{name}={value}" for name, value in self.settings.items()]
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, preexec_fn=end_with_parent(signal.SIGKILL), **self.common
            )
        self._wait_ready()

    def _command(self):
        base = [f"--basedir={self.programs}", f"--lc-messages-dir={self.programs}/share"]
        return [f"{self.programs}/bin/{self.program}", "--no-defaults", *base, *self._folders()]

    def _folders(self):
        return [f"--datadir={self.data}", f"--tmpdir={self.temporary}"]

    def _libraries(self):
        return {"LD_LIBRARY_PATH": f"{self.programs}/{self.libraries}"} if self.libraries else {}

    def _make(self):
        """Makes the data folder: the program does so itself since 5.7."""
        self._run(self._command() + ["--initialize-insecure"])

    def _run(self, command, **more):
        with open(self.log, "a") as log:
            done = subprocess.run(command, stdout=log, stderr=log, **{**self.common, **more})
        if done.returncode != 0:
            raise Trouble(f"{pathlib.Path(command[0]).name} failed:\n{self._said()}")

    def _said(self):
        return self.log.read_text(errors="replace")[-2000:]

    def _wait_ready(self):
        """A server that greets lets clients in."""
        give_up = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as probe:
                    if probe.recv(5):
                        return
            except OSError:
                time.sleep(0.1)
        raise Trouble(f"{self.program} did not start:\n{self._said()}")

    def url(self):
        """What Prony connects to."""
        return f"mysql://root@127.0.0.1:{self.port}/"


class DebianMysql(Mysql):
    """Of a newer Debian than this machine's: by the C library and the loader that it came with."""

    libraries = None

    def _command(self):
        usr = self.programs / "usr"
        loader = next(usr.glob("lib*/*/ld-linux-x86-64.so.2"), None)
        if loader is None:
            raise Trouble("the package came without its loader")
        command = [str(loader), "--library-path", str(loader.parent), f"{usr}/sbin/{self.program}", "--no-defaults"]
        # The folder that the package has for files is not there.
        return [*command, *self._folders(), f"--lc-messages-dir={usr}/share/mysql", "--secure-file-priv="]


class Mysql56(Mysql):
    """Before 5.7 the tables of the server came by statements."""

    def _make(self):
        self.data.mkdir()
        (self.data / "mysql").mkdir()
        for folder in (self.data, self.data / "mysql"):
            os.chown(folder, self.common.get("user", -1), self.common.get("group", -1))
        files = ("mysql_system_tables.sql", "mysql_system_tables_data.sql", "fill_help_tables.sql")
        texts = [(self.programs / "share" / name).read_bytes() for name in files]
        statements = self.directory / "tables.sql"
        # A host name in the statements is the place of one more account, which nobody needs.
        statements.write_bytes(b"use mysql;\nset @current_hostname = 'localhost';\n" + b"\n".join(texts))
        with open(statements, "rb") as given:
            self._run(self._command() + ["--bootstrap"], stdin=given)


class Mariadb(Mysql):
    """MariaDB's own names and way of making the tables."""

    program = "mariadbd"
    libraries = "libs"

    def _make(self):
        script = [f"{self.programs}/scripts/mariadb-install-db", "--no-defaults", "--force", "--skip-name-resolve"]
        script += [f"--basedir={self.programs}", *self._folders(), "--skip-test-db"]
        self._run(["/bin/sh", *script, "--auth-root-authentication-method=normal"], cwd=self.programs)
