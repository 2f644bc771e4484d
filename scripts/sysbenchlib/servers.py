"""Throw-away servers for comparisons, and the options with which sysbench connects to them.

In: the programs of MariaDB and PostgreSQL. Out: servers on unix sockets, with a new database on
request. Must never: run as root, or outlive this process.
"""
import signal
import subprocess
import time

from versuslib.maria import find
from versuslib.server import Server as Postgres
from versuslib.server import Throwaway, ScriptError, end_with_parent, find_bin_dir, give_to_server, server_user

DATABASE = "golden"


class Mysql(Throwaway):
    """A MariaDB that logs all statements."""

    END = ((signal.SIGTERM, 30), (signal.SIGKILL, 20))
    name = "mysql"

    def __init__(self):
        super().__init__({})
        self.mariadbd, self.install, self.client = (find(role) for role in ("server", "install", "client"))

    def _start(self):
        user = server_user()
        self.directory.chmod(0o755)
        data = self.directory / "data"
        data.mkdir(mode=0o755)
        give_to_server(user, data)
        self.socket, self.log = data / "s", data / "general.log"
        common = {"cwd": data, "stdin": subprocess.DEVNULL, **user}
        install = [self.install, "--no-defaults", f"--datadir={data}/d", "--auth-root-authentication-method=normal"]
        # A starting server deletes the temporary tables of other servers in the same folder.
        install += ["--skip-test-db", f"--tmpdir={data}"]
        result = subprocess.run(install, capture_output=True, text=True, **common)
        if result.returncode != 0:
            raise ScriptError("mariadb-install-db failed:\n" + result.stderr[-2000:])
        command = [self.mariadbd, "--no-defaults", f"--datadir={data}/d", f"--socket={self.socket}", f"--tmpdir={data}"]
        command += ["--skip-networking", f"--pid-file={data}/pid", "--innodb-flush-log-at-trx-commit=0"]
        command += ["--general-log=1", f"--general-log-file={self.log}"]
        with open(self.directory / "log", "w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, preexec_fn=end_with_parent(signal.SIGKILL), **common
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.sql("create user sbtest@localhost identified by 'sb-secret'; grant all on *.* to sbtest@localhost", None)
                return
            except ScriptError:
                time.sleep(0.1)
        raise ScriptError("MariaDB did not start:\n" + (self.directory / "log").read_text()[-2000:])

    def sql(self, text, database=DATABASE):
        """Runs statements that are not compared."""
        command = [self.client, "--no-defaults", "-uroot", f"--socket={self.socket}", "-N", "-e", text]
        result = subprocess.run(command + ([database] if database else []), capture_output=True, text=True)
        if result.returncode != 0:
            raise ScriptError(f"mariadb: {result.stderr.strip()}")
        return result.stdout

    def fresh(self):
        """An empty database."""
        self.sql(f"drop database if exists {DATABASE}; create database {DATABASE}", None)

    def options(self, placeholder):
        """The log-in options; `placeholder`, if given, makes one of them invalid."""
        login = {"user": "sbtest", "password": "sb-secret", "db": DATABASE, "socket": self.socket}
        login.update({"BADPASSWORD": {"password": "no"}, "NODATABASE": {"db": "nosuch"}}.get(placeholder, {}))
        if placeholder == "NOWHERE":
            login["socket"] = self.directory / "absent"
        return ["--db-driver=mysql"] + [f"--mysql-{name}={value}" for name, value in login.items()]


class Pgsql:
    """A PostgreSQL."""

    name = "pgsql"

    def __enter__(self):
        self.server = Postgres(find_bin_dir(), {"fsync": "off"})
        self.server.__enter__()
        return self

    def __exit__(self, *exception):
        self.server.__exit__(*exception)

    def fresh(self):
        """An empty database."""
        self.server.sql(f"drop database if exists {DATABASE} (force)")
        self.server.sql(f"create database {DATABASE}")

    def options(self, placeholder):
        """As for MariaDB."""
        login = {"user": "postgres", "db": DATABASE, "host": self.server.host("unix"), "port": self.server.port}
        wrong_logins = {"BADPASSWORD": {"user": "nobody1"}, "NODATABASE": {"db": "nosuch"}, "NOWHERE": {"port": 1}}
        login.update(wrong_logins.get(placeholder, {}))
        return ["--db-driver=pgsql"] + [f"--pgsql-{name}={value}" for name, value in login.items()]
