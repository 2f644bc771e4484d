"""Programs that are called with identical command lines against the canned server: Prony, pgbench and sysbench.

In: a program and a canned server. Out: a command line and an environment. Must never: give only one of two programs
an option.
"""
import os

from . import capacity, counts, figures, lua_scripts, sysbench, tools
from .canned import CannedServer
from .server import ScriptError
from .session import print_progress


class Program:
    """One of the two programs of a comparison."""

    def __init__(self, name, program, home):
        """`home`: a private folder, in which it finds no configuration and may write."""
        self.name = name
        self.program = program
        self.home = home

    def environment(self, server):
        """The environment: only the variables that every program has, and a private home."""
        env = tools.private_environment(tools.without_tool_variables(server.environment()), self.home)
        # The report has the format of version 15, regardless of the installed pgbench. Others ignore it.
        return {**env, "PRONY_PGBENCH_COMPAT": "15"}

    def command(self, case, server, seconds=None, transactions=None):
        """The command line of a case that ends after a time, or after this many transactions of each client."""
        if case.dialect == "pgbench":
            length = ["-T", seconds] if seconds else ["-t", transactions]
            options = [*case.options, "--random-seed=1"]
            return tools.dialect_command(self.program, server, case, options, length, server.database)
        time, events = (seconds, 0) if seconds else (0, transactions * case.clients)
        length = [f"--time={time}", f"--events={events}"]
        words = [f"--mysql-user={server.user}", f"--mysql-db={server.database}", "--rand-seed=1", "--rand-type=uniform"]
        words += [f"--threads={case.clients}", *length, *case.options, "run"]
        return [self.program, *tools.sysbench_address(server, case.network), *words]


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


def compare(session, module, home):
    """Rows of the table of capacity or of counts; `module` measures a case and makes its row."""
    rows, args = [], session.args
    for dialect in ("pgbench", "sysbench"):
        chosen = [case for case in session.chosen(module.CASES) if case.dialect == dialect]
        reason = module.missing() or missing(dialect, args)
        if reason or not chosen:
            rows += [session.skip(case, reason) for case in chosen]
            continue
        pair = programs(dialect, args, session.bin_dir, home)
        with CannedServer(args.canned, chosen[0].protocol, module.SERVER_CPUS, module.IS_BATCH) as server:
            for case in chosen:

                def measure_one(program, case=case, server=server):
                    result = module.measure(program, case, server, args.seconds)
                    print_progress(f"  {program.name:8} {result}")
                    return result

                rows.append(session.row(case, module.row, pair, measure_one))
    return rows


def measure(session, home):
    """Measures capacity and counts, which need no database; returns the parts of the report."""
    args = session.args
    other, others = ("other build", "another build") if args.against else ("other tool", "the tools that it replaces")
    intro = session.programs()
    intro[-1] += f"; median of {args.pairs} interleaved pairs (smallest–largest)"
    parts = [f"## Prony and {others}, with a server that answers from memory", "\n".join(intro)]
    for module in (capacity, counts):
        folder = os.path.join(home, module.__name__)
        os.mkdir(folder)
        rows = compare(session, module, folder)
        if rows:
            parts += [f"{module.TITLE.format(seconds=args.seconds)}:", figures.table(module.head(other), rows)]
    return parts
