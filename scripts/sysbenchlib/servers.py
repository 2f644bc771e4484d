"""Throw-away servers for comparisons, and the options by which sysbench reaches them.

In: the programs of MariaDB and PostgreSQL. Out: servers on unix sockets, with a fresh database when asked
for. Must never: run as root, or outlive this process.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from versuslib.server import Server as Postgres
from versuslib.server import Trouble, end_with_parent, find_bin_dir, server_user

DATABASE = "golden"


class Mysql:
    """A MariaDB that logs all statements."""

    name = "mysql"

    def __enter__(self):
        programs = ("mariadbd", "mariadb-install-db", "mariadb")
        folder = os.environ.get("PRONY_MARIADB_BINDIR")
        path = f"{folder or ''}:{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"
        found = [shutil.which(name, path=path) for name in programs]
        if not all(found):
            raise Trouble("MariaDB's programs are not installed: apt install mariadb-server")
        self.mariadbd, self.install, self.client = found
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="prony-golden-", dir="/var/tmp"))
        self.process = None
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        user = server_user()
        self.directory.chmod(0o755)
        data = self.directory / "data"
        data.mkdir(mode=0o755)
        if user:
            os.chown(data, user["user"], user["group"])
        self.socket, self.log = data / "s", data / "general.log"
        common = {"cwd": data, "stdin": subprocess.DEVNULL, **user}
        install = [self.install, "--no-defaults", f"--datadir={data}/d", "--auth-root-authentication-method=normal"]
        # A server that starts deletes the temporary tables of others that it finds in its folder for them.
        install += ["--skip-test-db", f"--tmpdir={data}"]
        done = subprocess.run(install, capture_output=True, text=True, **common)
        if done.returncode != 0:
            raise Trouble("mariadb-install-db failed:\n" + done.stderr[-2000:])
        command = [self.mariadbd, "--no-defaults", f"--datadir={data}/d", f"--socket={self.socket}", f"--tmpdir={data}"]
        command += ["--skip-networking", f"--pid-file={data}/pid", "--innodb-flush-log-at-trx-commit=0"]
        command += ["--general-log=1", f"--general-log-file={self.log}"]
        with open(self.directory / "log", "w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, preexec_fn=end_with_parent(signal.SIGKILL), **common
            )
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                self.sql("create user sbtest@localhost identified by 'sb-secret'; grant all on *.* to sbtest@localhost", None)
                return
            except Trouble:
                time.sleep(0.1)
        raise Trouble("MariaDB did not start:\n" + (self.directory / "log").read_text()[-2000:])

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(20)
        shutil.rmtree(self.directory, ignore_errors=True)

    def sql(self, text, database=DATABASE):
        """Runs statements outside of what is compared."""
        command = [self.client, "--no-defaults", "-uroot", f"--socket={self.socket}", "-N", "-e", text]
        done = subprocess.run(command + ([database] if database else []), capture_output=True, text=True)
        if done.returncode != 0:
            raise Trouble(f"mariadb: {done.stderr.strip()}")
        return done.stdout

    def fresh(self):
        """An empty database."""
        self.sql(f"drop database if exists {DATABASE}; create database {DATABASE}", None)

    def options(self, words):
        """The options of the log-in, before which the placeholders of a line go."""
        given = {"user": "sbtest", "password": "sb-secret", "db": DATABASE, "socket": self.socket}
        given.update({"BADPASSWORD": {"password": "no"}, "NODATABASE": {"db": "nosuch"}}.get(words, {}))
        if words == "NOWHERE":
            given["socket"] = "/nonexistent/s"
        return ["--db-driver=mysql"] + [f"--mysql-{name}={value}" for name, value in given.items()]


class Pgsql:
    """A PostgreSQL."""

    name = "pgsql"

    def __enter__(self):
        self.server = Postgres(find_bin_dir(), {"fsync": "off"})
        self.server.__enter__()
        return self

    def __exit__(self, *given):
        self.server.__exit__(*given)

    def fresh(self):
        """An empty database."""
        self.server.sql(f"drop database if exists {DATABASE} (force)")
        self.server.sql(f"create database {DATABASE}")

    def options(self, words):
        """As for MariaDB."""
        given = {"user": "postgres", "db": DATABASE, "host": self.server.host("unix"), "port": self.server.port}
        wrong = {"BADPASSWORD": {"user": "nobody1"}, "NODATABASE": {"db": "nosuch"}, "NOWHERE": {"port": 1}}
        given.update(wrong.get(words, {}))
        return ["--db-driver=pgsql"] + [f"--pgsql-{name}={value}" for name, value in given.items()]
