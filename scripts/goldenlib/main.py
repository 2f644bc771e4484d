"""Arguments, the runs, and the differences.

In: arguments and the environment. Out: differences on stdout, progress on stderr. Must never: let one
case's state reach another: each worker has a database, and each run a folder of its own.
"""
import argparse
import concurrent.futures
import difflib
import os
import pathlib
import queue
import re
import shlex
import subprocess
import sys
import tempfile

from versuslib.server import Server, Trouble, end_with_parent, find_bin_dir

from . import cases, shape

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN_SECONDS = 120


def arguments(argv):
    """Command line."""
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="scripts/golden-pgbench")
    prony = env("PRONY", str(ROOT / "target/release/prony"))
    parser.add_argument(
        "--prony",
        default=prony,
        help="what is to be like pgbench: a program, called by the name pgbench; or a command of several words (PRONY)",
    )
    parser.add_argument("--pgbench", help="the pgbench to be like (the newest found, or of PRONY_PG_BINDIR)")
    parser.add_argument("--cases", default="", help="only command lines that this regular expression finds")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth command line (1)")
    parser.add_argument("--list", action="store_true", help="print the command lines")
    parser.add_argument("--jobs", type=int, default=4, help="cases at a time (4)")
    parser.add_argument("--record", metavar="FILE", help="write pgbench's reports, numbers kept, to FILE")
    parser.add_argument("--self-test", action="store_true", help="compare pgbench with itself, then with a liar")
    return parser.parse_args(argv)


def say(text):
    """Progress."""
    print(text, file=sys.stderr, flush=True)


class Tool:
    """A pgbench, under that name in a folder of its own, so that both are called alike."""

    def __init__(self, folder, command, env):
        self.folder = folder
        self.env = env
        folder.mkdir()
        self.program = folder / "pgbench"
        # A program's name stays `.../pgbench`, as it is called. A command of several words, such as
        # `prony pgbench`, has a name of its own.
        self.named = len(command) == 1
        name = '-a "$0" ' if self.named else ""
        self.program.write_text(f'#!/bin/bash\nexec {name}{shlex.join(command)} "$@"\n')
        self.program.chmod(0o755)

    def run(self, case, environment, database):
        """One run: outputs, status and log files as they are."""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            for name, script in cases.SCRIPTS.items():
                (pathlib.Path(place) / name).write_text(script)
            env = {**environment, **self.env, "PGDATABASE": database}
            try:
                done = subprocess.run(
                    [self.program, *case.arguments],
                    cwd=place,
                    env=env,
                    input=case.stdin,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=RUN_SECONDS,
                    preexec_fn=end_with_parent(9),
                )
                status, out, err = done.returncode, done.stdout, done.stderr
            except subprocess.TimeoutExpired:
                status, out, err = "none: it ran too long", "", ""
            logs = {}
            for path in sorted(pathlib.Path(place).iterdir()):
                if path.name not in cases.SCRIPTS:
                    logs[path.name] = path.read_text(errors="replace")
        folder = str(self.folder)
        if not self.named:
            err = re.sub(r"^pgbench: (?=unrecognized|invalid option|option )", f"{folder}/pgbench: ", err, flags=re.M)
        return {"status": status, "stdout": out, "stderr": err, "logs": logs, "folder": folder}


def shapes(found):
    """What is compared of a run: a text for each part."""
    folder = found["folder"]
    parts = {"exit status": str(found["status"])}
    for name in ("stdout", "stderr"):
        parts[name] = shape.text_shape(found[name], folder)
    for name, text in found["logs"].items():
        key = "log " + shape.line_shape(name)
        # Several threads' files have the same shape of a name.
        parts[key] = "\n".join(sorted({*parts.get(key, "").split("\n"), *shape.log_shape(text).split("\n")} - {""}))
    return parts


def differences(case, expected, found):
    """Lines that tell what differs, none if nothing does."""
    lines = []
    for part in dict.fromkeys([*expected, *found]):
        a, b = expected.get(part), found.get(part)
        if a == b:
            continue
        lines.append(f"  {part}:")
        if a is None or b is None:
            lines.append(f"    only {'the other' if a is None else 'pgbench'} has it")
            continue
        diff = difflib.unified_diff(a.split("\n"), b.split("\n"), "pgbench", "prony", lineterm="", n=1)
        lines += ["    " + line for line in diff]
    return [f"pgbench {case.id}"] + lines if lines else []


class Golden:
    """A server with a database for each worker."""

    def __init__(self, server, workers):
        self.server = server
        self.environment = {**server.environment(), "PGHOST": server.host("unix"), "PGPORT": str(server.port)}
        self.environment.update(PGUSER="postgres", LC_ALL="C")
        self.databases = queue.SimpleQueue()
        server.sql("create database golden_template")
        server.sql(cases.SETUP, "golden_template")
        subprocess.run(
            [server.bin_dir / "pgbench", "-i", "-q", "golden_template"],
            env=self.environment, capture_output=True, check=True,
        )
        for number in range(workers):
            server.sql(f"create database golden_{number} template golden_template")
            server.sql(f"create database fresh_{number}")
            self.databases.put(number)

    def run(self, case, tool):
        """One run in a database that no other run has."""
        number = self.databases.get()
        try:
            database = f"golden_{number}"
            if case.fresh:
                database = f"fresh_{number}"
                self.server.sql(f"drop database {database}")
                self.server.sql(f"create database {database}")
            else:
                self.server.sql(cases.RESET, database)
            return tool.run(case, self.environment, database)
        finally:
            self.databases.put(number)


def compare(golden, chosen, pgbench, other, jobs, record=None):
    """Runs all cases with both tools; prints the differences and returns how many cases differ."""
    recorded = {}

    def both(case):
        expected = golden.run(case, pgbench)
        found = golden.run(case, other)
        if record is not None:
            recorded[case.id] = record_text(case, expected)
        return differences(case, shapes(expected), shapes(found))

    different = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for count, lines in enumerate(pool.map(both, chosen), 1):
            if lines:
                different += 1
                print("\n".join(lines) + "\n", flush=True)
            if count % 50 == 0:
                say(f"{count} of {len(chosen)} command lines, {different} differ")
    if record is not None:
        pathlib.Path(record).write_text("".join(recorded[case.id] for case in chosen))
    return different


def record_text(case, found):
    """A run with a report: the command line, the report, the first line of progress, and one line of
    each kind of the logs. Empty for other runs."""
    if "\ntps = " not in found["stdout"] and "\nnumber of failed" not in found["stdout"]:
        return ""
    lines = [f"$ {case.id}"] + ["| " + line for line in found["stdout"].splitlines()]
    progress = [line for line in found["stderr"].splitlines() if line.startswith("progress: ")]
    lines += ["progress| " + line for line in progress[:1]]
    kinds = {}
    for text in found["logs"].values():
        for line in text.splitlines():
            kinds.setdefault(shape.line_shape(line), line)
    lines += ["log| " + line for line in kinds.values()]
    return "\n".join(lines) + "\n"


def version_text(program):
    """What pgbench says of its version: `15.18 (Debian 15.18-0+deb12u1)`."""
    said = subprocess.check_output([str(program), "--version"], text=True)
    return said.strip().removeprefix("pgbench (PostgreSQL) ")


def choose(asked, major):
    """The cases asked for."""
    chosen = [case for case in cases.all_cases(major) if re.search(asked.cases, case.id)]
    return chosen[:: asked.every]


def main(argv):
    """The whole of it; 0: no difference."""
    asked = arguments(argv)
    shape.test()
    try:
        bin_dir = find_bin_dir()
        program = pathlib.Path(asked.pgbench) if asked.pgbench else bin_dir / "pgbench"
        version = version_text(program)
        chosen = choose(asked, int(re.match(r"\d+", version).group()))
        if asked.list:
            print("\n".join(case.id for case in chosen))
            return 0
        if not chosen:
            raise Trouble(f"no command line is like {asked.cases!r}")
        with tempfile.TemporaryDirectory(prefix="prony-golden-", dir="/var/tmp") as place:
            os.chmod(place, 0o755)
            with Server(bin_dir, {"fsync": "off", "max_connections": 100}) as server:
                return with_server(asked, server, pathlib.Path(place), program, version, chosen)
    except Trouble as problem:
        say(f"golden-pgbench: {problem}")
        return 2


def with_server(asked, server, place, program, version, chosen):
    """Compares on a running server."""
    golden = Golden(server, asked.jobs)
    pgbench = Tool(place / "real", [str(program)], {})
    say(f"{len(chosen)} command lines, like pgbench {version}")
    if asked.self_test:
        return self_test(asked, golden, place, program, pgbench, chosen)
    command = shlex.split(asked.prony)
    if os.sep in command[0]:
        command[0] = os.path.abspath(command[0])
    home = place / "home"
    home.mkdir()
    # The level with its whole text, so that banners are alike; a store of its own.
    env = {"PRONY_PGBENCH_COMPAT": version, "HOME": str(home)}
    env.update({f"XDG_{name}_HOME": str(home) for name in ("DATA", "STATE", "CACHE")})
    different = compare(golden, chosen, pgbench, Tool(place / "prony", command, env), asked.jobs, asked.record)
    print(f"{len(chosen)} command lines compared, {different} differ")
    return 1 if different else 0


def self_test(asked, golden, place, program, pgbench, chosen):
    """pgbench is like itself; and who changes a blank, a word or a status is found out."""
    different = compare(golden, chosen, pgbench, Tool(place / "same", [str(program)], {}), asked.jobs, asked.record)
    print(f"pgbench beside itself: {len(chosen)} command lines, {different} differ")
    liar = place / "liar"
    liar.write_text(
        "#!/bin/bash\n"
        f"set -o pipefail\n{shlex.quote(str(program))} \"$@\" | sed 's/^tps = /tps= /'\n"
        "status=$?\nfor log in pgbench_log.*; do [ -e \"$log\" ] && sed -i 's/ /  /' \"$log\"; done\nexit $status\n"
    )
    liar.chmod(0o755)
    line = cases.Case(("-n", "-S", "-t", "3", "-l"))
    lies = differences(
        line,
        shapes(golden.run(line, pgbench)),
        shapes(golden.run(line, Tool(place / "other", [str(liar)], {}))),
    )
    caught = any("tps=" in text for text in lies) and any("log " in text for text in lies)
    print("a liar: " + ("found out" if caught else "NOT found out"))
    return 0 if caught and not different else 1
