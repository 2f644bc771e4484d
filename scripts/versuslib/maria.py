"""A throw-away MariaDB server.

In: MariaDB's programs. Out: a server in a private directory, on a unix socket and a free port. Must
never: run as root, outlive this process, or signal a process that it did not start.
"""
import os
import signal
import subprocess
import time

from .server import Throwaway, ScriptError, end_with_parent, free_port, give_to_server, server_user

PROGRAMS = {"server": ("mariadbd",), "install": ("mariadb-install-db",), "client": ("mariadb",)}


def find(role):
    """A program of MariaDB: from PRONY_MARIADB_BINDIR, PATH or the usual folders."""
    folders = [os.environ.get("PRONY_MARIADB_BINDIR", ""), *os.environ.get("PATH", "").split(":")]
    for folder in filter(None, [*folders, "/usr/sbin", "/usr/bin", "/usr/libexec"]):
        for name in PROGRAMS[role]:
            if os.access(os.path.join(folder, name), os.X_OK):
                return os.path.join(folder, name)
    raise ScriptError(f"{PROGRAMS[role][0]} is not installed: apt install mariadb-server, or name its folder in PRONY_MARIADB_BINDIR")


class Maria(Throwaway):
    """A running server with a user `versus` and an empty database `sbtest`. Use it in a `with` block."""

    END = ((signal.SIGTERM, 60), (signal.SIGKILL, 20))
    user = "versus"
    database = "sbtest"

    def __init__(self, settings):
        super().__init__(settings)
        self.programs = {role: find(role) for role in PROGRAMS}

    def _start(self):
        user = server_user()
        self.directory.chmod(0o711)
        data, self.socket, self.log = self.directory / "data", self.directory / "s" / "sock", self.directory / "log"
        # Clients of any user may reach the socket; the password decides what they may do.
        self.socket.parent.mkdir(mode=0o755)
        data.mkdir(mode=0o700)
        give_to_server(user, data, self.socket.parent)
        common = {"cwd": self.directory, "start_new_session": True, **user}
        install = [self.programs["install"], "--no-defaults", f"--datadir={data}", "--skip-test-db"]
        install.append("--auth-root-authentication-method=normal")
        # A starting server deletes the temporary tables of other servers in the same folder.
        install.append(f"--tmpdir={self.socket.parent}")
        process_result = subprocess.run(install, capture_output=True, text=True, **common)
        if process_result.returncode != 0:
            raise ScriptError("mariadb-install-db failed:\n" + process_result.stdout + process_result.stderr)
        self.port = free_port()
        start = self.directory / "start.sql"
        start.write_text(
            f"create database {self.database};\n"
            f"create user '{self.user}'@'%' identified by '{self.password}';\n"
            f"grant all on *.* to '{self.user}'@'%';\n"
            # After the start, nothing needs root without a password.
            "drop user if exists 'root'@'127.0.0.1';\ndrop user if exists 'root'@'::1';\n"
            f"alter user 'root'@'localhost' identified by '{self.password}';\n"
        )
        start.chmod(0o600)
        give_to_server(user, start)
        command = [self.programs["server"], "--no-defaults", f"--datadir={data}", f"--socket={self.socket}"]
        command += [f"--tmpdir={self.socket.parent}", f"--port={self.port}", "--bind-address=127.0.0.1"]
        command += [f"--pid-file={self.directory}/data/pid", f"--init-file={start}"]
        command += [f"--{name}={value}" for name, value in self.settings.items()]
        self._launch(command, signal.SIGKILL, common)
        self._wait_ready()
        start.unlink()

    def _wait_ready(self):
        deadline, output = time.monotonic() + 60, ""
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                self.sql("select 1")
                return
            except ScriptError as error:
                output = str(error)
            time.sleep(0.1)
        raise ScriptError("the server did not start: " + output + "\n" + self.log.read_text()[-2000:])

    def url(self, _network, _database):
        """The URL without a password; there is one database."""
        return f"mysql://{self.user}@127.0.0.1:{self.port}/{self.database}"

    def environment(self):
        """The environment of clients: this process's, with the password."""
        return {**os.environ, "MYSQL_PWD": self.password}

    def client_command(self, *options):
        """The client program's command line."""
        address = [f"--socket={self.socket}", f"--user={self.user}"]
        return [self.programs["client"], "--no-defaults", "-BN", *address, *options]

    def sql(self, text):
        """Runs statements with the client program, not measured; returns their output."""
        command = self.client_command(self.database)
        process_result = subprocess.run(command, input=text, capture_output=True, text=True, env=self.environment())
        if process_result.returncode != 0:
            raise ScriptError(f"mariadb: {process_result.stderr.strip()}")
        return process_result.stdout.strip()
