"""Runs both tools and prints what differs.

In: arguments. Out: differences, a summary, an exit status. Must never: skip a case silently.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from goldenlib.compare import differences
from versuslib.server import ScriptError

from . import cases, servers

REFERENCE = "/usr/bin/sysbench"
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lua", "")
PLACEHOLDERS = ("BADPASSWORD", "NODATABASE", "NOWHERE")
# With PostgreSQL, sysbench crashes on a missing table and does not support prewarm.
NOT_FOR_PGSQL = re.compile(r"--events=5 (oltp_(read_write|point_select|delete)|select_random_points) run")


class Tool:
    """sysbench, or the program under test."""

    def __init__(self, name, program, folder):
        self.name, self.program, self.folder = name, program, folder

    def run(self, server, line, merged=False):
        words = [re.sub("^LUA/", SCRIPTS, word) for word in line.split()]
        kind = words[0] if words and words[0] in PLACEHOLDERS else ""
        command = [self.program, *server.options(kind), *words[1 if kind else 0:]]
        environment = {**os.environ, "PRONY_HOME": self.folder, "HOME": self.folder, "LC_ALL": "C"}
        environment.pop("PRONY_SYSBENCH_COMPAT", None)
        result = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if merged else subprocess.PIPE, text=True,
            timeout=300, stdin=subprocess.DEVNULL, cwd=self.folder, env=environment,
        )
        return {"exit status": str(result.returncode), "stdout": result.stdout, "stderr": result.stderr or ""}


def shape(text, exact):
    """The text with N for numbers; failures of threads, which come in any order, are listed once each."""
    # The position of an error in sysbench's own Lua files, and the text of its CREATE TABLE statements.
    text = re.sub(r"/usr/share/sysbench/\w+\.lua:\d+: ", "", text)
    text = re.sub(r"(query ')create table.*?\)[^')]*'$", r"\1CREATE'", text, flags=re.S | re.M | re.I)
    text = re.sub(r"(query was: )create table.*?\n(?=FATAL|\Z)", r"\1CREATE\n", text, flags=re.S | re.I)
    # The error that restarts an event, thrown outside an event: sysbench does not print its text.
    text = re.sub(r"(function failed: )(\(not a string\)|duplicate key|Duplicate entry).*", r"\1THROWN", text)
    # Bars of the histogram: how many there are depends on time.
    text = re.sub(r"(^ *[\d.]+ \|\*.*\n)+", "BARS\n", text, flags=re.M)
    text = re.sub(r"^prony: .*\n", "", text, flags=re.M)
    seen_failures, lines = set(), []
    for line in text.split("\n"):
        if not (exact and re.match(r"\s+(read|write|other|total|total number of events):", line)):
            line = re.sub(r"\d+(\.\d+)?", "N", line)
        line = re.sub(r" +", " ", line)
        if line.startswith("(last message") or (line.startswith("FATAL") and line in seen_failures):
            continue
        seen_failures.add(line)
        lines.append(line)
    return "\n".join(lines)


def texts(server, case, tool):
    """One run in a separate database."""
    server.fresh()
    for line in case.before:
        result = tool.run(server, line)
        if result["exit status"] != "0":
            raise ScriptError(f"{tool.name} {line} failed: {result['stdout'][-500:]}{result['stderr'][-500:]}")
    outcome = tool.run(server, case.line, case.merged)
    exact = case.exact and "ignored errors:                      0 " in outcome["stdout"]
    parts = {name: shape(text, exact) for name, text in outcome.items()}
    if "prepare" in case.line and "--threads=2" in case.line:
        # The order of threads is random, and a thread may print before a line of a different thread ends.
        parts["stdout"] = "\n".join(sorted(re.findall(r"(?:Creating|Inserting|FATAL)\b[^\n]*?(?='sb|$)", parts["stdout"], re.M)))
    return parts


def statements(server, case, tool):
    """The statements of the connection that runs the events."""
    server.fresh()
    for line in case.before:
        tool.run(server, line)
    start = server.statements.stat().st_size
    outcome = tool.run(server, case.line)
    with open(server.statements, errors="replace") as log:
        log.seek(start)
        text = log.read()
    sessions, last = collections.defaultdict(list), []
    for line in text.split("\n"):
        entry = re.match(r"(?:\d{6} +[\d:]+)?\s*(\d+) (\w[\w ]*)\t(.*)", line)
        if entry:
            last = sessions[entry[1]] if entry[2] in ("Query", "Execute") else []
            last.append(entry[3])
        elif last:
            # This line continues the statement of the line before.
            last[-1] += " " + line
    sessions = {number: [without_values(one) for one in output] for number, output in sessions.items() if output}
    # A connection that runs events begins with an event's statement, not with a set-up query.
    events = [s for s in sessions.values() if re.match(r"(BEGIN|(SELECT|UPDATE|DELETE|INSERT)\b.*\bsbtest)", s[0])]
    event_sessions = [s for s in events if not any("information_schema" in one or "max(id)" in one for one in s)]
    if not event_sessions and tool.program == REFERENCE:
        raise ScriptError(f"no statement of sysbench is in the log: {case.line}")
    return {"exit status": outcome["exit status"], "statements": "\n".join("\n".join(one) for one in event_sessions)}


def without_values(text):
    """A statement without its values and extra spaces."""
    text = re.sub(r"\s+", " ", re.sub(r"'[^']*'", "'S'", text)).strip()
    return re.sub(r"-?\b\d+\b", "N", re.sub(r"sbtest\d+", "sbtestN", text))


def compare(server, part, chosen, reference, other):
    """The number of cases that differ."""
    differing = 0
    compared = texts if part == "texts" else statements
    for case in chosen:
        title = f"{server.name} {part}: {case.line}"
        for _ in range(3 if case.timed else 1):
            try:
                lines = differences(title, compared(server, case, reference), compared(server, case, other), "sysbench")
            except subprocess.TimeoutExpired:
                lines = [title, "  timed out"]
            if not lines:
                break
        if lines:
            differing += 1
            print("\n".join(lines), flush=True)
    print(f"{server.name} {part}: {len(chosen)} compared, {differing} differ", flush=True)
    return differing


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--prony", help="the program; called by a link named sysbench")
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--statements", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="run only every Nth case of texts")
    parser.add_argument("--cases", default="", help="only command lines that match this regular expression")
    parser.add_argument("--driver", choices=("mysql", "pgsql"))
    parser.add_argument("--self-test", action="store_true", help="compare sysbench with itself: nothing may differ")
    args = parser.parse_args(arguments)
    if not os.path.exists(REFERENCE):
        print("there is no sysbench to compare with: apt install sysbench", file=sys.stderr)
        return 2
    if not args.prony and not args.self_test:
        parser.error("--prony PROGRAM, or --self-test")
    parts = [part for part in ("texts", "statements") if getattr(args, part)] or ["texts", "statements"]
    is_selected = lambda case: re.search(args.cases, case.line)
    differing = 0
    with tempfile.TemporaryDirectory(prefix="prony-golden-", dir="/var/tmp") as folder:
        program = os.path.join(folder, "sysbench")
        source = REFERENCE if args.self_test else os.path.abspath(shutil.which(args.prony) or args.prony)
        os.symlink(source, program)
        reference, other = Tool("sysbench", REFERENCE, folder), Tool("prony", program, folder)
        try:
            for kind in (servers.Mysql, servers.Pgsql):
                if args.driver and kind.name != args.driver:
                    continue
                with kind() as server:
                    for part in parts:
                        all_cases = cases.texts()[::args.every] if part == "texts" else list(cases.statements())
                        if server.name == "pgsql":
                            if part == "statements":
                                continue
                            all_cases = [case for case in all_cases if not NOT_FOR_PGSQL.search(case.line)]
                        differing += compare(server, part, list(filter(is_selected, all_cases)), reference, other)
        except ScriptError as error:
            print(error, file=sys.stderr)
            return 2
    return 1 if differing else 0
