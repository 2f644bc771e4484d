"""Throw-away servers of MySQL and MariaDB from unpacked programs.

In: a folder of programs. Out: a server in a private directory, on loopback and a free port, whose `root`
has no password. Must never: run as root, listen beyond loopback, or outlive this process.
"""
import pathlib
import signal
import socket
import subprocess
import time

from versuslib.server import Throwaway, ScriptError, end_with_parent, free_port, give_to_server, server_user

START_TIMEOUT_S = 120
SETTINGS = {
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "0",
    "max-connections": "200",
    "bind-address": "127.0.0.1",
    # Allow LOAD DATA LOCAL, which loads rows fast; 8.0 refuses it by default.
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
        self.temporary = run / "tmp"
        for folder in (run, self.temporary):
            folder.mkdir(mode=0o755)
        give_to_server(user, run, self.temporary)
        self.data, self.log, self.port = run / "data", self.directory / "log", free_port()
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **self._libraries()}
        self.common = {"cwd": run, "env": env, "stdin": subprocess.DEVNULL, "start_new_session": True, **user}
        self._create_data_directory()
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
        # A starting server deletes the temporary tables of other servers in the same folder.
        return [f"--datadir={self.data}", f"--tmpdir={self.temporary}"]

    def _libraries(self):
        return {"LD_LIBRARY_PATH": f"{self.programs}/{self.libraries}"} if self.libraries else {}

    def _create_data_directory(self):
        """Creates the data folder; since 5.7 the server program does so itself."""
        self._run(self._command() + ["--initialize-insecure"])

    def _run(self, command, **more):
        with open(self.log, "a") as log:
            result = subprocess.run(command, stdout=log, stderr=log, **{**self.common, **more})
        if result.returncode != 0:
            raise ScriptError(f"{pathlib.Path(command[0]).name} failed:\n{self._output()}")

    def _output(self):
        return self.log.read_text(errors="replace")[-2000:]

    def _wait_ready(self):
        """A server that sends its greeting accepts clients."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as probe:
                    if probe.recv(5):
                        return
            except OSError:
                time.sleep(0.1)
        raise ScriptError(f"{self.program} did not start:\n{self._output()}")

    def url(self):
        """The URL for Prony."""
        return f"mysql://root@127.0.0.1:{self.port}/"


class DebianMysql(Mysql):
    """A server of a newer Debian than this machine's, run with its own C library and loader."""

    libraries = None

    def _command(self):
        usr = self.programs / "usr"
        loader = next(usr.glob("lib*/*/ld-linux-x86-64.so.2"), None)
        if loader is None:
            raise ScriptError("the package came without its loader")
        command = [str(loader), "--library-path", str(loader.parent), f"{usr}/sbin/{self.program}", "--no-defaults"]
        # The package's folder for files does not exist here.
        return [*command, *self._folders(), f"--lc-messages-dir={usr}/share/mysql", "--secure-file-priv="]


class Mysql56(Mysql):
    """A server before 5.7, whose own tables are created by statements."""

    def _create_data_directory(self):
        tables = self.data / "mysql"
        tables.mkdir(parents=True)
        give_to_server(server_user(), self.data, tables)
        files = ("mysql_system_tables.sql", "mysql_system_tables_data.sql", "fill_help_tables.sql")
        texts = [(self.programs / "share" / name).read_bytes() for name in files]
        statements = self.directory / "tables.sql"
        # The statements create one more account for the host name, which is not needed.
        statements.write_bytes(b"use mysql;\nset @current_hostname = 'localhost';\n" + b"\n".join(texts))
        with open(statements, "rb") as sql_file:
            self._run(self._command() + ["--bootstrap"], stdin=sql_file)


class Mariadb(Mysql):
    """A MariaDB, which has its own program names and installer."""

    program = "mariadbd"
    libraries = "libs"

    def _create_data_directory(self):
        script = [f"{self.programs}/scripts/mariadb-install-db", "--no-defaults", "--force", "--skip-name-resolve"]
        script += [f"--basedir={self.programs}", *self._folders(), "--skip-test-db"]
        self._run(["/bin/sh", *script, "--auth-root-authentication-method=normal"], cwd=self.programs)
