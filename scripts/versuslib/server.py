"""Throw-away servers, and the one of PostgreSQL.

In: the programs of a server. Out: a server in a private directory, on a unix socket and a free port.
Must never: run as root, outlive this process, or signal a process that it did not start.
"""
import contextlib
import ctypes
import os
import pathlib
import pwd
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PR_SET_PDEATHSIG = 1


class ScriptError(Exception):
    """An error for the user; its text says what to do."""


def find_bin_dir():
    """The folder of initdb, postgres, pgbench and psql: PRONY_PG_BINDIR, or the newest found."""
    required = ("initdb", "postgres", "pgbench", "psql")
    bin_dir_variable = os.environ.get("PRONY_PG_BINDIR")
    if bin_dir_variable:
        folders = [pathlib.Path(bin_dir_variable)]
    else:
        folders = [pathlib.Path(p) for p in os.environ.get("PATH", "").split(":") if p]
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            output = subprocess.check_output(["pg_config", "--bindir"], text=True)
            folders.append(pathlib.Path(output.strip()))
        for pattern in ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql*/bin"):
            folders += sorted(pathlib.Path("/").glob(pattern))
    candidates = []
    for folder in folders:
        # A link on PATH may be Debian's wrapper (pgbench is a Perl script there, whose CPU would
        # count as pgbench's): the folder behind `postgres` holds the real programs.
        program = folder / "postgres"
        if program.exists():
            real = program.resolve().parent
            if all((real / name).exists() for name in required):
                candidates.append((version_of(real / "postgres"), real))
    if not candidates:
        raise ScriptError(
            "versus needs initdb, postgres, pgbench and psql in one folder: "
            "apt install postgresql, or name the folder in PRONY_PG_BINDIR"
        )
    return max(candidates)[1]


def version_of(program):
    """The version a program prints, as numbers: (15, 18)."""
    output = subprocess.check_output([str(program), "--version"], text=True)
    digits = output.split("(PostgreSQL)")[1].split()[0]
    return tuple(int(part) for part in digits.split(".") if part.isdigit())


def server_user():
    """Arguments for Popen that drop root to an ordinary user; empty if this is not root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise ScriptError("PostgreSQL must not run as root, and there is no user postgres or nobody")


def give_to_server(user, *paths):
    """Makes the user of `server_user` the owner of files and folders; does nothing if there is none."""
    for path in paths if user else ():
        os.chown(path, user["user"], user["group"])


def end_with_parent(number, *actions):
    """Runs in a child before exec: tells the kernel to end the child when this process ends, and calls `actions`."""
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def in_child():
        libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        for action in actions:
            action()

    return in_child


def raise_file_limit():
    """Lets this process open as many files as the system allows."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def without_postgres_variables():
    """This process's environment without PG*."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def output_of(command, text, env):
    """Runs a server's client with statements on its standard input; returns its output."""
    result = subprocess.run(command, input=text, capture_output=True, text=True, env=env)
    if result.returncode != 0:
        raise ScriptError(f"{pathlib.Path(command[0]).name}: {result.stderr.strip()}")
    return result.stdout.strip()


def cpu_of_process(pid):
    """CPU time of a process, of its live children and of those that have ended, seconds; the kernel counts it in steps
    of 10 ms."""
    def fields(number):
        # The second field, the name, may contain spaces.
        text = pathlib.Path(f"/proc/{number}/stat").read_text()
        return [int(word) for word in text.rsplit(")", 1)[1].split()[11:15]]

    ticks = sum(fields(pid))
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            ticks += sum(fields(child))
        except OSError:
            continue  # It has ended since, and is counted at the next reading.
    return ticks / os.sysconf("SC_CLK_TCK")


class Throwaway:
    """A server for one `with` block, in a private directory. Subclasses start it in `_start`."""

    #: How to stop the server: signals in order, with the seconds to wait after each.
    END = ((signal.SIGTERM, 60), (signal.SIGKILL, 20))
    #: The environment of its programs; None for this process's.
    env = None

    def __init__(self, settings=None):
        """`settings`: name to value; durability settings are the server's defaults unless named here."""
        self.settings = settings or {}
        self.password = secrets.token_hex(16)
        self.process = None

    def __enter__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="prony-versus-", dir="/var/tmp"))
        self.directory.chmod(0o711)
        self.log = self.directory / "log"
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_):
        self._stop()

    def _folder(self, path, mode=0o700):
        """Creates a folder that belongs to the server's user."""
        path.mkdir(mode=mode)
        give_to_server(server_user(), path)
        return path

    def _secret_file(self, name, text):
        """Creates a file that only the server's user can read."""
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(text)
        give_to_server(server_user(), path)
        return path

    def _options(self):
        return {"cwd": self.directory, "env": self.env, "stdin": subprocess.DEVNULL, **server_user()}

    def _in_child(self):
        """Runs in the server's process before its program."""

    def _run(self, command, **options):
        """Runs one of the server's programs to its end, as the server's user."""
        command = [str(word) for word in command]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", **{**self._options(), **options})
        if result.returncode != 0:
            raise ScriptError(f"{pathlib.Path(command[0]).name} failed:\n{(result.stdout + result.stderr)[-2000:]}")

    def _launch(self, command, is_ready, signal_with_parent=signal.SIGKILL, seconds=60):
        """Starts the server's process, whose output goes to `log` and which ends with this process, and waits until it is ready."""
        options = {**self._options(), "start_new_session": True, "preexec_fn": end_with_parent(signal_with_parent, self._in_child)}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, **options)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            if is_ready():
                return
            time.sleep(0.02)
        name = pathlib.Path(command[0]).name
        raise ScriptError(f"{name} did not start:\n{self.log.read_text(errors='replace')[-2000:]}")

    def _stop(self):
        if self.process is not None:
            for number, seconds in self.END:
                if self.process.poll() is None:
                    self.process.send_signal(number)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self.process.wait(seconds)
        shutil.rmtree(self.directory, ignore_errors=True)

    def cpu_s(self):
        """CPU time of the server's processes so far, seconds."""
        return cpu_of_process(self.process.pid)

    def with_cpu(self, run):
        """The Measurement that `run` returns, with the server's CPU time meanwhile."""
        before_s = self.cpu_s()
        measurement = run()
        measurement.server_cpu_s = self.cpu_s() - before_s
        return measurement


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def quiet_settings(args, **others):
    """Settings of a PostgreSQL with less noise, the same for both tools: the tables fit into memory, and no checkpoint
    by volume or vacuum falls into only some of the runs. Reports list them."""
    settings = {"cluster_name": "prony-versus", "shared_buffers": args.shared_buffers, "max_wal_size": "8GB"}
    settings |= {"checkpoint_timeout": "1h", "autovacuum": "off", **others}
    return settings | ({"fsync": "off"} if args.no_fsync else {})


class Server(Throwaway):
    """A running PostgreSQL. Use it in a `with` block."""

    END = ((signal.SIGINT, 30), (signal.SIGQUIT, 20), (signal.SIGKILL, 20))

    def __init__(self, bin_dir, settings, namespace=None):
        """`namespace`: the network namespace of some clients; the server listens on its address too."""
        super().__init__(settings)
        self.bin_dir = bin_dir
        self.namespace = namespace if namespace and not namespace.error else None
        self.addresses = {"tcp": "127.0.0.1"}
        if self.namespace:
            self.addresses["namespace"] = namespace.server_address

    def _start(self):
        data, self.sockets = (self._folder(self.directory / name) for name in ("data", "s"))
        self.env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        pwfile = self._secret_file("pw", self.password + "\n")
        options = ["-U", "postgres", f"--pwfile={pwfile}", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._run([self.bin_dir / "initdb", "-D", data, *options])
        pwfile.unlink()
        # `password` on loopback: SCRAM costs a client milliseconds of CPU per connection, much more than
        # what is measured here.
        clients = ["127.0.0.1", *([self.namespace.client_address] if self.namespace else [])]
        hosts = "".join(f"host all all {address}/32 password\n" for address in clients)
        (data / "pg_hba.conf").write_text("local all all trust\n" + hosts)
        self.port = free_port()
        settings = {"listen_addresses": ",".join(self.addresses.values()), "unix_socket_directories": self.sockets, **self.settings}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

        def is_ready():
            with contextlib.suppress(OSError, IndexError):
                lines = (data / "postmaster.pid").read_text().splitlines()
                return lines[0].strip() == str(self.process.pid) and lines[7].strip() == "ready"

        self._launch([self.bin_dir / "postgres", "-D", data, "-p", self.port, *words], is_ready, signal.SIGQUIT)

    def host(self, network):
        """libpq's host for `unix`, `tcp` or `namespace`."""
        return str(self.sockets) if network == "unix" else self.addresses[network]

    def url(self, network, database):
        """Connection URI without a password."""
        return f"postgresql://postgres@/{database}?host={self.host(network)}&port={self.port}"

    def environment(self):
        """The environment of clients: this process's without PG*, and with the password."""
        return {**without_postgres_variables(), **self.login}

    @property
    def login(self):
        """The variables with which clients log in."""
        return {"PGPASSWORD": self.password}

    def sql(self, text, database="postgres"):
        """Runs statements with psql, not measured; returns their output."""
        command = [self.bin_dir / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.url("unix", database)]
        return output_of(command, text, self.environment())

    def recreate_database(self, database):
        """Creates an empty database, and flushes the dirty pages of the previous one."""
        for text in (f"drop database if exists {database}", f"create database {database}", "checkpoint"):
            self.sql(text)

    @contextlib.contextmanager
    def on_cpus(self, cpus):
        """Makes new backends run only on these CPUs inside the block."""
        before = os.sched_getaffinity(self.process.pid)
        os.sched_setaffinity(self.process.pid, cpus)
        try:
            yield
        finally:
            os.sched_setaffinity(self.process.pid, before)
