"""A throw-away MariaDB server.

In: MariaDB's programs. Out: a server in a private directory, on a unix socket and a free port. Must
never: run as root, outlive this process, or signal a process that it did not start.
"""
import os
import signal
import subprocess
import time

from .server import Throwaway, Trouble, end_with_parent, free_port, server_user

PROGRAMS = {"server": ("mariadbd",), "install": ("mariadb-install-db",), "client": ("mariadb",)}


def find(role):
    """A program of MariaDB: from PRONY_MARIADB_BINDIR, PATH or the usual folders."""
    folders = [os.environ.get("PRONY_MARIADB_BINDIR", ""), *os.environ.get("PATH", "").split(":")]
    for folder in filter(None, [*folders, "/usr/sbin", "/usr/bin", "/usr/libexec"]):
        for name in PROGRAMS[role]:
            if os.access(os.path.join(folder, name), os.X_OK):
                return os.path.join(folder, name)
    raise Trouble(f"versus needs {PROGRAMS[role][0]}: apt install mariadb-server, or name its folder in PRONY_MARIADB_BINDIR")


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
        # Clients of any user may reach the socket; what they may do is decided by their password.
        self.socket.parent.mkdir(mode=0o755)
        data.mkdir(mode=0o700)
        if user:
            for path in (data, self.socket.parent):
                os.chown(path, user["user"], user["group"])
        common = {"cwd": self.directory, "start_new_session": True, **user}
        install = [self.programs["install"], "--no-defaults", f"--datadir={data}", "--skip-test-db", "--auth-root-authentication-method=normal"]
        # A server that starts deletes the temporary tables of others that it finds in its folder for them.
        install.append(f"--tmpdir={self.socket.parent}")
        done = subprocess.run(install, capture_output=True, text=True, **common)
        if done.returncode != 0:
            raise Trouble("mariadb-install-db failed:\n" + done.stdout + done.stderr)
        self.port = free_port()
        start = self.directory / "start.sql"
        start.write_text(
            f"create database {self.database};\n"
            f"create user '{self.user}'@'%' identified by '{self.password}';\n"
            f"grant all on *.* to '{self.user}'@'%';\n"
            # root without a password is nobody's business after the start.
            "drop user if exists 'root'@'127.0.0.1';\ndrop user if exists 'root'@'::1';\n"
            f"alter user 'root'@'localhost' identified by '{self.password}';\n"
        )
        start.chmod(0o600)
        if user:
            os.chown(start, user["user"], user["group"])
        command = [self.programs["server"], "--no-defaults", f"--datadir={data}", f"--socket={self.socket}", f"--tmpdir={self.socket.parent}"]
        command += [f"--port={self.port}", "--bind-address=127.0.0.1", f"--pid-file={self.directory}/data/pid", f"--init-file={start}"]
        command += [f"--{name}={value}" for name, value in self.settings.items()]
        died = end_with_parent(signal.SIGKILL)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=died, **common)
        self._wait_ready()
        start.unlink()

    def _wait_ready(self):
        give_up, said = time.monotonic() + 60, ""
        while time.monotonic() < give_up:
            if self.process.poll() is not None:
                break
            try:
                self.sql("select 1")
                return
            except Trouble as problem:
                said = str(problem)
            time.sleep(0.1)
        raise Trouble("the server did not start: " + said + "\n" + self.log.read_text()[-2000:])

    def sql(self, text):
        """Runs statements by the client program, outside of what is measured; returns what they print."""
        command = [self.programs["client"], "--no-defaults", "-BN", f"--socket={self.socket}", f"--user={self.user}", self.database]
        environment = {**os.environ, "MYSQL_PWD": self.password}
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise Trouble(f"mariadb: {done.stderr.strip()}")
        return done.stdout.strip()
