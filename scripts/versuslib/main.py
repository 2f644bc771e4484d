"""Arguments, the order of runs, and the report.

In: arguments and the environment. Out: Markdown on stdout, progress on stderr. Must never: measure
both tools at the same time.
"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import tempfile

from . import cases, figures, orders, selftest, sysbench
from .server import Server, Trouble, find_bin_dir
from .tools import Pgbench, Prony

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATABASE = "versus"


def arguments(argv):
    """Command line; each option's default comes from the environment variable of its name."""
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="scripts/versus", description=__doc__)
    parser.add_argument("--pairs", type=int, default=int(env("PAIRS", 5)), help="pairs of runs for each case (PAIRS, 5)")
    parser.add_argument("--seconds", type=int, default=int(env("RUN_SECONDS", 5)), help="length of each run, s (RUN_SECONDS, 5)")
    parser.add_argument("--scale", type=int, default=int(env("SCALE", 50)), help="scale of the tables (SCALE, 50)")
    parser.add_argument("--cases", default=env("CASES", "all"), help=f"all (native plans), {', '.join(cases.GROUPS)}, or some of: {', '.join([*cases.ALL, *cases.GROUPS['pgbench']])} (CASES)")
    parser.add_argument("--memory-clients", type=int, default=int(env("MEMORY_CLIENTS", 500)), help="clients of the smaller memory run (MEMORY_CLIENTS, 500)")
    parser.add_argument("--warehouses", type=int, default=int(env("WAREHOUSES", 2)), help="warehouses of tpcc-load (WAREHOUSES, 2)")
    parser.add_argument("--memory-warehouses", default=env("MEMORY_WAREHOUSES", "1,10,20"), help="warehouses of the runs of tpcc-memory (MEMORY_WAREHOUSES, 1,10,20)")
    parser.add_argument("--prony", default=env("PRONY", str(ROOT / "target/release/prony")), help="the prony binary (PRONY)")
    parser.add_argument("--no-fsync", action="store_true", default=bool(env("NO_FSYNC")), help="fsync=off on the server; the report says so (NO_FSYNC)")
    parser.add_argument("--shared-buffers", default=env("SHARED_BUFFERS", "1GB"), help="of the server (SHARED_BUFFERS, 1GB)")
    parser.add_argument("--raw", metavar="FILE", help="write every measurement to FILE as JSON")
    parser.add_argument("--self-test", action="store_true", help="test this script with a made-up prony")
    asked = parser.parse_args(argv)
    for name in ("pairs", "seconds", "scale", "memory_clients", "warehouses"):
        if getattr(asked, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    try:
        asked.memory_warehouses = [int(word) for word in asked.memory_warehouses.split(",")]
        if len(asked.memory_warehouses) < 2 or sorted(set(asked.memory_warehouses)) != asked.memory_warehouses or asked.memory_warehouses[0] < 1:
            raise ValueError("--memory-warehouses takes two or more growing numbers")
        asked.cases = cases.choose(asked.cases)
    except ValueError as problem:
        parser.error(str(problem))
    return asked


def say(text):
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def in_turn(tools, pairs, measure):
    """Measures both tools `pairs` times; each pair begins with the other tool than the one before."""
    found = {tool.name: [] for tool in tools}
    for pair in range(pairs):
        order = tools if pair % 2 == 0 else tools[::-1]
        for tool in order:
            found[tool.name].append(measure(tool))
    return found


def row_of(case, make_row, tools, asked, measure, raw):
    """One case's row. A case that cannot be measured must not cost the others their figures."""
    first, second = (tool.name for tool in tools)
    try:
        found = in_turn(tools, asked.pairs, measure)
    except Trouble as problem:
        say(f"{case.id}: {problem}")
        raw[case.id] = {"failed": str(problem)}
        return [case.title, "could not be measured"] + [""] * 7
    raw[case.id] = found
    return make_row(case, found[first], found[second])


def compare_loads(chosen, tools, server, asked, raw):
    """Rows of the table of loads."""
    rows = []
    for case in (case for case in cases.LOADS if case.id in chosen):
        say(f"{case.id}: {asked.pairs} pairs")

        def measure(tool):
            # A fresh database, and no dirty pages of the run before, for each.
            server.sql("drop database if exists load_one")
            server.sql("create database load_one")
            server.sql("checkpoint")
            result = tool.load(asked.scale, "load_one", case.jobs)
            say(f"  {tool.name:8} {result.wall_s:6.2f} s, client CPU {result.cpu_s:5.2f} s")
            return result

        rows.append(row_of(case, figures.load_row, tools, asked, measure, raw))
    server.sql("drop database if exists load_one")
    return rows


def compare_runs(chosen, tools, server, asked, raw):
    """Rows of the table of runs."""
    rows = []
    for case in (case for case in cases.RUNS if case.id in chosen):
        say(f"{case.id}: {asked.pairs} pairs of {asked.seconds} s")

        def measure(tool):
            same_state(case, server)
            pin = server.on_cpu(min(case.cpus)) if case.cpus else contextlib.nullcontext()
            with pin:
                result = tool.run(case, asked.seconds, DATABASE)
            say(f"  {tool.name:8} {result.tps:9,.0f} TPS, {result.cpu_us_per_transaction:6.2f} µs CPU")
            return result

        rows.append(row_of(case, figures.run_row, tools, asked, measure, raw))
    return rows


def same_state(case, server):
    """The state that each run of a case finds: history and dead rows grow with every run."""
    if case.workload == "tpcb":
        server.sql("truncate pgbench_history; vacuum pgbench_branches, pgbench_tellers; checkpoint", DATABASE)


class Way:
    """One way to call a tool by pgbench's command line."""

    def __init__(self, name, tool, options):
        self.name = name
        self.tool = tool
        self.options = options


def compare_dialect(chosen, tools, server, asked, raw):
    """Rows of the tables of the pgbench dialect: Prony by pgbench, and -f by -S."""
    tables = []
    for known in (cases.DIALECT, cases.FILES):
        rows = []
        for case in (case for case in known if case.id in chosen):
            say(f"{case.id}: {asked.pairs} pairs of {asked.seconds} s")

            def measure(way):
                same_state(case, server)
                options = [word.format(scale=asked.scale) for word in way.options]
                result = way.tool.dialect(case, options, asked.seconds, DATABASE)
                say(f"  {way.name:8} {result.tps:9,.0f} TPS, {result.cpu_us_per_transaction:6.2f} µs CPU")
                return result

            if case.beside:
                ways = [Way("file", tools[0], case.options), Way("builtin", tools[0], case.beside)]
            else:
                ways = [Way(tool.name, tool, case.options) for tool in tools]
            rows.append(row_of(case, figures.run_row, ways, asked, measure, raw))
        tables.append(rows)
    return tables


def compare_memory(tools, asked, raw):
    """Rows of the table of memory."""
    clients = asked.memory_clients
    rows = []
    for tool in tools:
        peaks = []
        for count in (clients, 2 * clients):
            say(f"memory: {tool.name}, {count} clients")
            case = cases.Case("memory", "", "select-only", count, "unix", None, None, None)
            try:
                peaks.append(tool.run(case, asked.seconds, DATABASE, watch_memory=True).peak_bytes)
            except Trouble as problem:
                say(f"memory: {problem}")
                raw[f"memory {tool.name}"] = {"failed": str(problem)}
                break
        if len(peaks) < 2:
            rows.append([tool.name, "could not be measured"] + [""] * 5)
            continue
        raw[f"memory {tool.name}"] = peaks
        most = cases.MEMORY_MOST_BYTES if tool.name == "prony" else None
        rows.append(figures.memory_row(tool.name, *peaks, clients, most))
    return rows


def first_line(command):
    """What a program says first."""
    return subprocess.check_output([str(part) for part in command], text=True).splitlines()[0]


def machine():
    """The machine, as a line of a Markdown list."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
        model = found.group(1) if found else model
    return f"- kernel {platform.release()}, {len(os.sched_getaffinity(0))} CPUs ({model}), load average before: {os.getloadavg()[0]:.1f}"


def environment(server, asked):
    """The machine and the programs, as lines of a Markdown list."""
    settings = (
        "fsync synchronous_commit full_page_writes shared_buffers max_connections max_wal_size autovacuum"
    ).split()
    shown = ", ".join(f"{name} {server.sql('show ' + name)}" for name in settings)
    return [
        machine(),
        f"- {first_line([server.bin_dir / 'postgres', '--version'])}; {first_line([server.bin_dir / 'pgbench', '--version'])}; {first_line([asked.prony, '--version'])}",
        f"- {shown}",
        f"- scale {asked.scale}; {asked.pairs} interleaved pairs a case, the order changing from pair to pair; runs of {asked.seconds} s; one client thread; prepared statements unless the case says otherwise",
        "- ratios: median of the pairs (smallest–largest); CPU: user and system time of the whole client process, start and connecting included, for both tools",
    ]


def report(asked, server, rows):
    """The whole of it in Markdown."""
    parts = ["## Prony and pgbench in turn", "\n".join(environment(server, asked))]
    heads = {
        "runs": figures.RUN_HEAD,
        "loads": figures.LOAD_HEAD,
        "pgbench": figures.RUN_HEAD,
        "pgbench-file": figures.FILE_HEAD,
        "memory": [
            "tool",
            f"peak at {asked.memory_clients} clients, MB",
            f"peak at {2 * asked.memory_clients} clients, MB",
            "each further client, kB",
            "10,000 clients (by extrapolation), MB",
            "wanted",
            "",
        ],
    }
    parts += [figures.table(heads[name], found) for name, found in rows.items() if found]
    return "\n\n".join(parts)


def warm(server):
    """Reads table and key into memory, so that the first run finds what the others find."""
    try:
        server.sql(
            "create extension pg_prewarm; select pg_prewarm('pgbench_accounts'), pg_prewarm('pgbench_accounts_pkey')",
            DATABASE,
        )
    except Trouble:  # The extension is in another package on some systems.
        server.sql("select sum(abalance) from pgbench_accounts", DATABASE)


def measure_orders(asked, bin_dir):
    """Measures tpcc, on a server of its own; prints. Returns the server's directory, which is gone then."""
    with tempfile.TemporaryDirectory(prefix="prony-versus-home-", dir="/var/tmp") as home:
        text, raw, directory = orders.measure(asked, bin_dir, home, say, in_turn, environment)
    print(text)
    if asked.raw:
        pathlib.Path(asked.raw).write_text(json.dumps(raw, default=vars, indent=1))
    return directory


def measure_sysbench(asked):
    """Measures the sysbench dialect, on a server of its own; prints. Returns the server's directory, which is gone then."""
    def intro():
        return [machine(), f"- {first_line([sysbench.find_sysbench(), '--version'])}; {first_line([asked.prony, '--version'])}"]

    with tempfile.TemporaryDirectory(prefix="prony-versus-home-", dir="/var/tmp") as home:
        text, raw, directory = sysbench.measure(asked, home, say, in_turn, intro)
    print(text)
    if asked.raw:
        pathlib.Path(asked.raw).write_text(json.dumps(raw, default=vars, indent=1))
    told_failures(raw)
    return directory


def told_failures(raw):
    """Fails where a case could not be measured."""
    failed = [name for name, found in raw.items() if isinstance(found, dict) and "failed" in found]
    if failed:
        raise Trouble(f"could not be measured, see above: {', '.join(failed)}")


def measure_all(asked, bin_dir):
    """Starts the server, measures, prints; all that could be. Returns the server's directory, which is gone then."""
    raw = {}
    settings = {
        "cluster_name": "prony-versus",
        "max_connections": max(300, 2 * asked.memory_clients + 50),
        # Less noise, the same for both tools: the tables fit, and neither a checkpoint by volume
        # nor a vacuum falls into some runs and not into others. The report names these.
        "shared_buffers": asked.shared_buffers,
        "max_wal_size": "8GB",
        "checkpoint_timeout": "1h",
        "autovacuum": "off",
    }
    if asked.no_fsync:
        settings["fsync"] = "off"
    with tempfile.TemporaryDirectory(prefix="prony-versus-home-") as home, Server(bin_dir, settings) as server:
        tools = [Prony(server, asked.prony, home), Pgbench(server)]
        intro = environment(server, asked)
        say("\n".join(intro))
        rows = {"loads": compare_loads(asked.cases, tools, server, asked, raw)}
        if set(asked.cases) - set(cases.GROUPS["loads"]):
            say(f"loading scale {asked.scale} by pgbench -i, for all runs")
            server.sql(f"create database {DATABASE}")
            tools[1].load(asked.scale, DATABASE, 1)
            server.sql("checkpoint")
            warm(server)
        rows["runs"] = compare_runs(asked.cases, tools, server, asked, raw)
        rows["pgbench"], rows["pgbench-file"] = compare_dialect(asked.cases, tools, server, asked, raw)
        rows["memory"] = compare_memory(tools, asked, raw) if cases.MEMORY in asked.cases else []
        text = report(asked, server, rows)
    print(text)
    if asked.raw:
        pathlib.Path(asked.raw).write_text(json.dumps(raw, default=vars, indent=1))
    told_failures(raw)
    return server.directory


def main(argv):
    """Returns the exit status: 0 measured, 1 could not measure."""
    # SIGTERM unwinds like Ctrl-C, so that the server is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    asked = arguments(argv)
    try:
        bin_dir = find_bin_dir()
        if asked.self_test:
            return selftest.run(bin_dir, measure_all, measure_orders, measure_sysbench, arguments)
        if not os.access(asked.prony, os.X_OK):
            raise Trouble(f"there is no {asked.prony}: build it by `make build`, or name one by --prony")
        asked.prony = str(pathlib.Path(asked.prony).resolve())
        if set(asked.cases) & set(cases.ORDERS):
            measure_orders(asked, bin_dir)
        if set(asked.cases) & set(cases.SYSBENCH):
            measure_sysbench(asked)
        asked.cases = [case for case in asked.cases if case not in {*cases.ORDERS, *cases.SYSBENCH}]
        if asked.cases:
            measure_all(asked, bin_dir)
    except Trouble as problem:
        say(f"versus: {problem}")
        return 1
    except KeyboardInterrupt:
        say("versus: interrupted")
        return 130
    return 0
