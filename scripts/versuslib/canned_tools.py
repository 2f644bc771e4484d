"""Programs that are called with identical command lines against the canned server: Prony, pgbench and sysbench.

In: a program and a canned server. Out: a command line and an environment. Must never: give only one of two programs
an option.
"""
import os
import shutil

from . import lua_scripts, sysbench, tools
from .server import ScriptError


class Program:
    """One of the two programs of a comparison."""

    def __init__(self, name, program, home):
        """`home`: a private folder, in which it finds no configuration and may write."""
        self.name = name
        self.program = program
        self.home = home

    def environment(self, server):
        """The environment: only the variables that every program has, and a private home."""
        env = {key: value for key, value in server.environment().items() if not key.startswith(("MYSQL", "LUA_", "PRONY_"))}
        for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            env[name] = self.home
        # The report has the format of version 15, regardless of the installed pgbench. Others ignore it.
        return {**env, "PRONY_PGBENCH_COMPAT": "15"}

    def command(self, case, server, seconds=None, transactions=None):
        """The command line of a case that ends after a time, or after this many transactions of each client."""
        if case.dialect == "pgbench":
            length = ["-T", seconds] if seconds else ["-t", transactions]
            return tools.dialect_command(self.program, server, case, [*case.options, "--random-seed=1"], length, server.database)
        address = [f"--mysql-socket={server.socket}"] if case.network == "unix" else ["--mysql-host=127.0.0.1", f"--mysql-port={server.port}"]
        length = [f"--time={seconds}", "--events=0"] if seconds else ["--time=0", f"--events={transactions * case.clients}"]
        words = [f"--mysql-user={server.user}", f"--mysql-db={server.database}", "--rand-seed=1", "--rand-type=uniform"]
        return [self.program, *address, *words, f"--threads={case.clients}", *length, *case.options, "run"]


def programs(dialect, args, bin_dir, home):
    """Prony and the program that it is compared with, both called as `dialect`."""
    result = []
    for name, build in (("prony", args.prony), ("other", args.against)):
        folder = os.path.join(home, name)
        os.makedirs(folder, exist_ok=True)
        lua_scripts.write(folder)
        if build:
            program = os.path.join(folder, dialect)
            os.symlink(build, program)
        elif dialect == "pgbench":
            program = bin_dir / "pgbench"
        else:
            program = sysbench.find_sysbench()
        result.append(Program(name, program, folder))
    return result


def missing(dialect, args):
    """Why the cases of a dialect cannot be measured on this machine; None if they can."""
    if dialect == "sysbench" and not args.against:
        try:
            sysbench.find_sysbench()
        except ScriptError as error:
            return str(error)
    return None


def need_server(args):
    """Fails if the canned server is not built."""
    if not shutil.which(args.canned):
        raise ScriptError(f"there is no {args.canned}: build it by `make canned`, or name it by --canned")
