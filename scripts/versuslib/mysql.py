"""Throw-away servers of MySQL and MariaDB.

In: the programs of a server. Out: a server in a private directory, on loopback, a unix socket and a free port. Must
never: run as root, listen beyond loopback, outlive this process, or signal a process that it did not start.
"""
import os
import socket

from .server import ScriptError, Throwaway, free_port, output_of

START_TIMEOUT_S = 120
PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb")


def find(program):
    """A program of MariaDB: from PRONY_MARIADB_BINDIR, PATH or the usual folders."""
    folders = [os.environ.get("PRONY_MARIADB_BINDIR", ""), *os.environ.get("PATH", "").split(":")]
    for folder in filter(None, [*folders, "/usr/sbin", "/usr/bin", "/usr/libexec"]):
        if os.access(os.path.join(folder, program), os.X_OK):
            return os.path.join(folder, program)
    raise ScriptError(f"{program} is not installed: apt install mariadb-server, or name its folder in PRONY_MARIADB_BINDIR")


class Mysql(Throwaway):
    """A running server. Subclasses say which program it is, and how its folder of data is created."""

    def _start(self):
        self.run = self._folder(self.directory / "run", 0o755)
        self.data, self.socket, self.temporary = self.run / "data", self.run / "s", self._folder(self.run / "tmp")
        self.port = free_port()
        self._create_data_directory()
        command = self._command() + [f"--port={self.port}", f"--socket={self.socket}", f"--pid-file={self.run}/pid", "--bind-address=127.0.0.1"]
        command += [f"--{name}={value}" for name, value in self.settings.items()]
        self._launch(command, self._is_ready, seconds=START_TIMEOUT_S)

    def _folders(self):
        # A starting server deletes the temporary tables of other servers in the same folder.
        return [f"--datadir={self.data}", f"--tmpdir={self.temporary}"]

    def _is_ready(self):
        """A server that sends its greeting accepts clients."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as probe:
                return bool(probe.recv(5))
        except OSError:
            return False


class Maria(Mysql):
    """The installed MariaDB, with a user `versus` who may do everything and an empty database `sbtest`."""

    user = "versus"
    database = "sbtest"

    def __init__(self, settings):
        super().__init__(settings)
        self.server, self.install, self.client = map(find, PROGRAMS)

    def _command(self):
        return [self.server, "--no-defaults", *self._folders(), f"--init-file={self.start}"]

    def _create_data_directory(self):
        self._run([self.install, "--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal", *self._folders()])
        self.start = self._secret_file(
            "start.sql",
            f"create database {self.database};\n"
            f"create user '{self.user}'@'%' identified by '{self.password}';\n"
            f"grant all on *.* to '{self.user}'@'%';\n"
            # After the start, nothing needs root without a password.
            "drop user if exists 'root'@'127.0.0.1';\ndrop user if exists 'root'@'::1';\n"
            f"alter user 'root'@'localhost' identified by '{self.password}';\n"
        )

    def url(self, _network, _database):
        """The URL without a password; there is one database."""
        return f"mysql://{self.user}@127.0.0.1:{self.port}/{self.database}"

    def environment(self):
        """The environment of clients: this process's, with the password."""
        return {**os.environ, **self.login}

    @property
    def login(self):
        """The variables with which clients log in."""
        return {"MYSQL_PWD": self.password}

    def client_command(self, *options):
        """The client program's command line."""
        return [self.client, "--no-defaults", "-BN", f"--socket={self.socket}", f"--user={self.user}", *options]

    def sql(self, text):
        """Runs statements with the client program, not measured; returns their output."""
        return output_of(self.client_command(self.database), text, self.environment())

    def recreate_database(self, _database=None):
        """Drops the tables, and flushes their dirty pages."""
        for table in self.sql(f"select table_name from information_schema.tables where table_schema = '{self.database}'").split():
            self.sql(f"drop table `{table}`")
        self.sql("set global innodb_max_dirty_pages_pct = 0")
        self.sql("do sleep(1); set global innodb_max_dirty_pages_pct = 90")
