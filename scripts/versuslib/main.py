"""Arguments, the order of runs, and the report.

In: arguments and the environment. Out: Markdown on stdout, progress on stderr. Must never: measure
both tools at the same time.
"""
import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import tempfile

from . import canned_tools, capacity, cases, counts, figures, scaling, sqlserver, tpcc, selftest, sysbench
from .namespace import Namespace
from .server import Server, ScriptError, find_bin_dir
from .tools import Pgbench, Prony, busy_programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATABASE = "versus"


def arguments(argv):
    """Command line; each option's default is the environment variable of the same name."""
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="scripts/versus", description=__doc__)
    parser.add_argument("--pairs", type=int, default=int(env("PAIRS", 5)), help="pairs of runs for each case (PAIRS, 5)")
    parser.add_argument("--seconds", type=int, default=int(env("RUN_SECONDS", 5)), help="length of each run, s (RUN_SECONDS, 5)")
    parser.add_argument("--scale", type=int, default=int(env("SCALE", 50)), help="scale of the tables (SCALE, 50)")
    parser.add_argument("--cases", default=env("CASES", "all"), help=f"all (native plans), {', '.join(cases.GROUPS)}, or some of: {', '.join([*cases.ALL, *cases.GROUPS['pgbench']])} (CASES)")
    parser.add_argument("--memory-clients", type=int, default=int(env("MEMORY_CLIENTS", 500)), help="clients of the smaller memory run (MEMORY_CLIENTS, 500)")
    parser.add_argument("--warehouses", type=int, default=int(env("WAREHOUSES", 2)), help="warehouses of tpcc-load (WAREHOUSES, 2)")
    parser.add_argument("--memory-warehouses", default=env("MEMORY_WAREHOUSES", "1,10,20"), help="warehouses of the runs of tpcc-memory (MEMORY_WAREHOUSES, 1,10,20)")
    parser.add_argument("--jobs-warehouses", type=int, default=int(env("JOBS_WAREHOUSES", 4)), help="warehouses of jobs-tpcc (JOBS_WAREHOUSES, 4)")
    parser.add_argument("--jobs-rows", type=int, default=int(env("JOBS_ROWS", 100_000)), help="rows of each table of jobs-prepare (JOBS_ROWS, 100000)")
    parser.add_argument("--prony", default=env("PRONY", str(ROOT / "target/release/prony")), help="the prony binary (PRONY)")
    parser.add_argument("--against", metavar="PRONY", default=env("AGAINST"), help="compare with this other build of prony instead of pgbench and sysbench (AGAINST)")
    parser.add_argument("--canned", default=env("CANNED", str(ROOT / "target/release/examples/canned_server")), help="the canned server, for capacity and counts (CANNED)")
    parser.add_argument("--no-fsync", action="store_true", default=bool(env("NO_FSYNC")), help="fsync=off on the server; the report says so (NO_FSYNC)")
    parser.add_argument("--shared-buffers", default=env("SHARED_BUFFERS", "1GB"), help="shared_buffers of the server (SHARED_BUFFERS, 1GB)")
    parser.add_argument("--raw", metavar="FILE", help="write every measurement to FILE as JSON")
    parser.add_argument("--self-test", action="store_true", help="test this script with a fake prony")
    args = parser.parse_args(argv)
    for name in ("pairs", "seconds", "scale", "memory_clients", "warehouses", "jobs_warehouses", "jobs_rows"):
        if getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    try:
        args.memory_warehouses = [int(word) for word in args.memory_warehouses.split(",")]
        if len(args.memory_warehouses) < 2 or sorted(set(args.memory_warehouses)) != args.memory_warehouses or args.memory_warehouses[0] < 1:
            raise ValueError("--memory-warehouses takes two or more growing numbers")
        args.cases = cases.choose(args.cases)
    except ValueError as error:
        parser.error(str(error))
    return args


def print_progress(text):
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def interleave(tools, pairs, measure):
    """Measures both tools `pairs` times; the tool that goes first alternates."""
    results = {tool.name: [] for tool in tools}
    for pair in range(pairs):
        order = tools if pair % 2 == 0 else tools[::-1]
        for tool in order:
            results[tool.name].append(measure(tool))
    return results


def measure_row(case, make_row, tools, args, measure, raw):
    """One case's row. A failure must not affect the other cases."""
    first, second = (tool.name for tool in tools)
    try:
        results = interleave(tools, args.pairs, measure)
    except ScriptError as error:
        print_progress(f"{case.id}: {error}")
        raw[case.id] = {"failed": str(error)}
        return [case.title, "could not be measured"] + [""] * 9
    raw[case.id] = results
    if args.against:
        case = cases.without_bounds(case)
    return make_row(case, results[first], results[second])


def compare_loads(chosen, tools, server, args, raw):
    """Rows of the table of loads."""
    rows = []
    for case in (case for case in cases.LOADS if case.id in chosen):
        print_progress(f"{case.id}: {args.pairs} pairs")

        def measure(tool):
            # Each run has a new database, and no dirty pages of the previous run.
            server.sql("drop database if exists load_one")
            server.sql("create database load_one")
            server.sql("checkpoint")
            result = tool.load(args.scale, "load_one", case.jobs)
            print_progress(f"  {tool.name:8} {result.wall_s:6.2f} s, client CPU {result.cpu_s:5.2f} s")
            return result

        rows.append(measure_row(case, figures.load_row, tools, args, measure, raw))
    server.sql("drop database if exists load_one")
    return rows


def compare_runs(chosen, tools, server, args, raw):
    """Rows of the table of runs."""
    rows = []
    for case in (case for case in cases.RUNS if case.id in chosen):
        print_progress(f"{case.id}: {args.pairs} pairs of {args.seconds} s")

        def measure(tool):
            reset_state(case, server)
            with placed(case, server):
                result = server.with_cpu(lambda: tool.run(case, args.seconds, DATABASE))
            print_progress(f"  {tool.name:8} {result.tps:9,.0f} TPS, {result.cpu_us_per_transaction:6.2f} µs CPU")
            return result

        rows.append(measure_row(case, figures.run_row, tools, args, measure, raw))
    return rows


def placed(case, server):
    """Puts the server on the case's CPUs inside a block."""
    cpus = getattr(case, "server_cpus", None) or case.cpus
    return server.on_cpus(cpus) if cpus else contextlib.nullcontext()


def skip_reason(case, namespace):
    """Why a case cannot be measured on this machine; None if it can."""
    if case.network == "namespace" and namespace.error:
        return namespace.error
    if case.server_cpus is not None and not case.server_cpus:
        return "needs two CPUs"
    return None


def reset_state(case, server):
    """Restores the state before each run of a case: history and dead rows grow with every run."""
    if case.workload == "tpcb":
        server.sql("truncate pgbench_history; vacuum pgbench_branches, pgbench_tellers; checkpoint", DATABASE)


class Invocation:
    """A tool with a pgbench command line."""

    def __init__(self, name, tool, options):
        self.name = name
        self.tool = tool
        self.options = options


def compare_dialect(chosen, tools, server, namespace, args, raw):
    """Rows of the tables of the pgbench dialect: Prony compared with pgbench, -f compared with -S, and the layouts."""
    tables = []
    for group in (cases.DIALECT, cases.FILES, cases.LAYOUTS):
        rows = []
        for case in (case for case in group if case.id in chosen):
            reason = skip_reason(case, namespace)
            if reason:
                print_progress(f"{case.id}: skipped: {reason}")
                raw[case.id] = {"skipped": reason}
                rows.append([case.title, f"skipped: {reason}"] + [""] * 9)
                continue
            if case.network == "namespace":
                case = dataclasses.replace(case, title=f"{case.title}, {namespace.link}")
            print_progress(f"{case.id}: {args.pairs} pairs of {args.seconds} s")

            def measure(invocation):
                reset_state(case, server)
                options = [word.format(scale=args.scale) for word in invocation.options]
                with placed(case, server), busy_programs(case.busy_programs):
                    result = server.with_cpu(lambda: invocation.tool.dialect(case, options, args.seconds, DATABASE))
                print_progress(f"  {invocation.name:8} {result.tps:9,.0f} TPS, {result.cpu_us_per_transaction:6.2f} µs CPU")
                return result

            if case.baseline_options:
                invocations = [Invocation("file", tools[0], case.options), Invocation("builtin", tools[0], case.baseline_options)]
            else:
                invocations = [Invocation(tool.name, tool, case.options) for tool in tools]
            rows.append(measure_row(case, figures.run_row, invocations, args, measure, raw))
        tables.append(rows)
    return tables


def compare_memory(tools, args, raw):
    """Rows of the table of memory."""
    clients = args.memory_clients
    rows = []
    for tool in tools:
        peaks = []
        for count in (clients, 2 * clients):
            print_progress(f"memory: {tool.name}, {count} clients")
            case = cases.Case("memory", "", "select-only", count, "unix", None, None, None)
            try:
                peaks.append(tool.run(case, args.seconds, DATABASE, watch_memory=True).peak_bytes)
            except ScriptError as error:
                print_progress(f"memory: {error}")
                raw[f"memory {tool.name}"] = {"failed": str(error)}
                break
        if len(peaks) < 2:
            rows.append([tool.name, "could not be measured"] + [""] * 5)
            continue
        raw[f"memory {tool.name}"] = peaks
        max_bytes = cases.MEMORY_MAX_BYTES if tool.name == "prony" else None
        rows.append(figures.memory_row(tool.name, *peaks, clients, max_bytes))
    return rows


def version_line(command):
    """The first line that a program prints."""
    return subprocess.check_output([str(part) for part in command], text=True).splitlines()[0]


def machine():
    """The machine, as a line of a Markdown list."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        match = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
        model = match.group(1) if match else model
    return f"- kernel {platform.release()}, {len(os.sched_getaffinity(0))} CPUs ({model}), load average before: {os.getloadavg()[0]:.1f}"


def environment(server, args):
    """The machine and the programs, as lines of a Markdown list."""
    settings = (
        "fsync synchronous_commit full_page_writes shared_buffers max_connections max_wal_size autovacuum"
    ).split()
    setting_texts = ", ".join(f"{name} {server.sql('show ' + name)}" for name in settings)
    return [
        machine(),
        f"- {version_line([server.bin_dir / 'postgres', '--version'])}; {version_line([args.against or server.bin_dir / 'pgbench', '--version'])}; {version_line([args.prony, '--version'])}",
        f"- {setting_texts}",
        f"- scale {args.scale}; {args.pairs} interleaved pairs a case, the order changing from pair to pair; runs of {args.seconds} s; one client thread and prepared statements unless the case says otherwise",
        "- ratios: median of the pairs (smallest–largest); CPU: user and system time of the whole client process, start and connecting included, for both tools",
        f"- {figures.BOUND_EXPLANATION}",
    ]


def report(args, server, rows):
    """The whole report in Markdown."""
    other = "other build" if args.against else "pgbench"
    parts = [f"## Prony and {other} in turn", "\n".join(environment(server, args))]
    heads = {
        "runs": figures.run_head(other),
        "loads": figures.load_head(other),
        "pgbench": figures.run_head(other),
        "pgbench-file": figures.FILE_HEAD,
        "layouts": figures.run_head(other),
        "memory": [
            "tool",
            f"peak at {args.memory_clients} clients, MB",
            f"peak at {2 * args.memory_clients} clients, MB",
            "each further client, kB",
            "10,000 clients (by extrapolation), MB",
            "required",
            "",
        ],
    }
    parts += [figures.table(heads[name], results) for name, results in rows.items() if results]
    return "\n\n".join(parts)


def warm_cache(server):
    """Reads the table and its key into memory, so that the first run has the same cache as the others."""
    try:
        server.sql(
            "create extension pg_prewarm; select pg_prewarm('pgbench_accounts'), pg_prewarm('pgbench_accounts_pkey')",
            DATABASE,
        )
    except ScriptError:  # On some systems a different package has the extension.
        server.sql("select sum(abalance) from pgbench_accounts", DATABASE)


def measure_tpcc(args, bin_dir):
    """Measures tpcc on a separate server; prints. Returns the server's directory, which no longer exists."""
    with tempfile.TemporaryDirectory(prefix="prony-versus-home-", dir="/var/tmp") as home:
        text, raw, directory = tpcc.measure(args, bin_dir, home, print_progress, interleave, environment)
    print(text)
    write_raw(args, raw)
    return directory


def measure_scaling(args, bin_dir):
    """Measures loads with several jobs, each engine on a separate server; prints."""
    def intro():
        return [machine(), f"- {version_line([bin_dir / 'postgres', '--version'])}; {version_line([args.prony, '--version'])}"]

    with tempfile.TemporaryDirectory(prefix="prony-versus-home-", dir="/var/tmp") as home:
        text, raw = scaling.measure(args, bin_dir, home, print_progress, interleave, intro)
    print(text)
    write_raw(args, raw)
    raise_failures(raw)


def measure_sysbench(args):
    """Measures the sysbench dialect on a separate server; prints. Returns the server's directory, which no longer exists."""
    def intro():
        return [machine(), f"- {version_line([args.against or sysbench.find_sysbench(), '--version'])}; {version_line([args.prony, '--version'])}"]

    with tempfile.TemporaryDirectory(prefix="prony-versus-home-", dir="/var/tmp") as home:
        text, raw, directory = sysbench.measure(args, home, print_progress, interleave, intro)
    print(text)
    write_raw(args, raw)
    raise_failures(raw)
    return directory


def measure_canned(args, bin_dir):
    """Measures capacity and counts, which need no database; prints."""
    other = "other build" if args.against else "other tool"
    raw, parts = {}, [f"## Prony and {'another build' if args.against else 'the tools that it replaces'}, with a server that answers from memory", machine()]
    parts[-1] += f"\n- {version_line([args.prony, '--version'])}; median of {args.pairs} interleaved pairs (smallest–largest)"
    for module, text in (
        (capacity, f"Runs of {args.seconds} s; of sysbench, queries are counted, else transactions"),
        (counts, "Instructions in user space by callgrind, system calls by strace, without starting and ending"),
    ):
        with tempfile.TemporaryDirectory(prefix="prony-versus-home-", dir="/var/tmp") as home:
            rows = module.compare(args, bin_dir, home, print_progress, measure_row, raw)
        if rows:
            parts += [f"{text}:", figures.table(module.head(other), rows)]
    print("\n\n".join(parts))
    write_raw(args, raw)
    raise_failures(raw)


def measure_sqlserver(args):
    """Measures SQL Server's protocol with canned servers; prints."""
    raw = {}
    parts = ["## Prony on SQL Server's protocol, with servers that answer from memory", machine()]
    parts[-1] += f"\n- {version_line([args.prony, '--version'])}; median of {args.pairs} interleaved pairs (smallest–largest)"
    with tempfile.TemporaryDirectory(prefix="prony-versus-home-", dir="/var/tmp") as home:
        parts += sqlserver.measure(args, home, print_progress, measure_row, raw)
    print("\n\n".join(parts))
    write_raw(args, raw)
    raise_failures(raw)


def write_raw(args, raw):
    """Writes all measurements so far to the file of --raw."""
    args.measured = {**getattr(args, "measured", {}), **raw}
    if args.raw:
        pathlib.Path(args.raw).write_text(json.dumps(args.measured, default=vars, indent=1))


def raise_failures(raw):
    """Fails if a case could not be measured."""
    failed = [name for name, results in raw.items() if isinstance(results, dict) and "failed" in results]
    if failed:
        raise ScriptError(f"could not be measured, see above: {', '.join(failed)}")


def measure_all(args, bin_dir):
    """Starts the server, measures, and prints everything that could be measured. Returns the server's directory, which no longer exists."""
    raw = {}
    settings = {
        "cluster_name": "prony-versus",
        "max_connections": max(300, 2 * args.memory_clients + 50),
        # Less noise, the same for both tools: the tables fit into memory, and no checkpoint by volume or
        # vacuum falls into only some of the runs. The report lists these settings.
        "shared_buffers": args.shared_buffers,
        "max_wal_size": "8GB",
        "checkpoint_timeout": "1h",
        "autovacuum": "off",
    }
    if args.no_fsync:
        settings["fsync"] = "off"
    needs_namespace = any(case.network == "namespace" and case.id in args.cases for case in cases.LAYOUTS)
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="prony-versus-home-"))
        namespace = stack.enter_context(Namespace()) if needs_namespace else None
        server = stack.enter_context(Server(bin_dir, settings, namespace))
        other = Prony(server, args.against, home, "other") if args.against else Pgbench(server, home)
        tools = [Prony(server, args.prony, home), other]
        intro = environment(server, args)
        print_progress("\n".join(intro))
        rows = {"loads": compare_loads(args.cases, tools, server, args, raw)}
        if set(args.cases) - {*(case.id for case in cases.LOADS), *cases.ELSEWHERE}:
            print_progress(f"loading scale {args.scale} by {tools[1].name}, for all runs")
            server.sql(f"create database {DATABASE}")
            tools[1].load(args.scale, DATABASE, 1)
            server.sql("checkpoint")
            warm_cache(server)
        rows["runs"] = compare_runs(args.cases, tools, server, args, raw)
        rows["pgbench"], rows["pgbench-file"], rows["layouts"] = compare_dialect(args.cases, tools, server, namespace, args, raw)
        rows["memory"] = compare_memory(tools, args, raw) if cases.MEMORY in args.cases else []
        text = report(args, server, rows)
    print(text)
    write_raw(args, raw)
    raise_failures(raw)
    return server.directory


def measure_parts(args, bin_dir):
    """Measures the chosen cases, one server after the other; the failure of a part does not affect the others. Returns the exit status."""
    parts = (
        (cases.TPCC, lambda: measure_tpcc(args, bin_dir)),
        (cases.GROUPS["jobs"], lambda: measure_scaling(args, bin_dir)),
        (cases.SYSBENCH, lambda: measure_sysbench(args)),
        (set(args.cases) - cases.ELSEWHERE, lambda: measure_all(args, bin_dir)),
        (cases.CANNED, lambda: measure_canned(args, bin_dir)),
        (cases.SQLSERVER_IDS, lambda: measure_sqlserver(args)),
    )
    status = 0
    for names, measure in parts:
        if set(args.cases) & set(names):
            try:
                measure()
            except ScriptError as error:
                print_progress(f"versus: {error}")
                status = 1
    return status


def main(argv):
    """Returns the exit status: 0 measured, 1 could not measure."""
    # SIGTERM raises an exception like Ctrl-C, so that the server is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args = arguments(argv)
    try:
        bin_dir = find_bin_dir()
        if args.self_test:
            return selftest.run(bin_dir, measure_all, measure_tpcc, measure_scaling, measure_sysbench, measure_canned, measure_sqlserver, args, arguments)
        if not os.access(args.prony, os.X_OK):
            raise ScriptError(f"there is no {args.prony}: build it by `make build`, or name one by --prony")
        args.prony = str(pathlib.Path(args.prony).resolve())
        if args.against:
            if not os.access(args.against, os.X_OK):
                raise ScriptError(f"there is no {args.against}: --against names a build of prony")
            if set(args.cases) & cases.SQLSERVER_IDS:
                raise ScriptError("--against does not go with the cases of sqlserver: they compare with other programs")
            if set(args.cases) & set(cases.TPCC):
                raise ScriptError("--against does not go with the cases of tpcc: they compare with bounds of the server")
            args.against = str(pathlib.Path(args.against).resolve())
        if set(args.cases) & (cases.CANNED | cases.SQLSERVER_IDS):
            canned_tools.need_server(args)
        return measure_parts(args, bin_dir)
    except ScriptError as error:
        print_progress(f"versus: {error}")
        return 1
    except KeyboardInterrupt:
        print_progress("versus: interrupted")
        return 130
