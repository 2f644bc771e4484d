"""Tests of this script: its arithmetic, and a complete pass with a fake prony.

In: PostgreSQL's and MariaDB's programs. Out: an exit status. Must never: assert a speed.
"""
import argparse
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

from . import capacity, cases, counts, figures, maria, scaling, tpcc, sysbench, tools
from .namespace import Namespace
from .server import ScriptError, cpu_of_process

# A fake prony that calls pgbench, so that a complete pass runs before prony is built.
FAKE_PRONY = """\
#!{python}
import json, os, re, subprocess, sys
words = sys.argv[1:]
if os.path.basename(sys.argv[0]) == "pgbench":
    assert os.environ["PRONY_PGBENCH_COMPAT"] == "15"
    assert subprocess.call(["test", "-e", "select-only.sql"]) == 0
    os.execv("{pgbench}", ["pgbench", *words])
if words == ["--version"]:
    print("prony 0.0.0 (made up)"); sys.exit()
if os.path.basename(sys.argv[0]) == "sysbench":
    options = dict(word.split("=", 1) for word in words[:-2])
    config = dict(line.split("=", 1) for line in open(options["--config-file"]).read().splitlines())
    command = [os.environ["MARIADB"], "--no-defaults", "-S" + options["--mysql-socket"], "-u" + config["mysql-user"], config["mysql-db"]]
    table = "create table sbtest%d (id int primary key, k int, key k_1 (k)); insert into sbtest%d values (1, 5), (2, null);"
    text = "".join(table % (number, number) for number in range(1, int(options["--tables"]) + 1))
    env = dict(os.environ, MYSQL_PWD=config["mysql-password"])
    sys.exit(subprocess.run(command, input=text, text=True, env=env).returncode)
given = dict(zip(words[2::2], words[3::2]))
url = given["--url"]
psql = os.path.join(os.path.dirname("{pgbench}"), "psql")
if words[:2] == ["load", "tpcc"]:
    assert given["--profile"] == "hammerdb-4.6"
    if url.startswith("mysql:"):
        user, port, database = re.fullmatch("mysql://(.*)@127.0.0.1:(.*)/(.*)", url).groups()
        command = [os.environ["MARIADB"], "--no-defaults", "-h127.0.0.1", "-P" + port, "-u" + user, database]
        sys.exit(subprocess.run(command, input=os.environ["MADE_UP_TABLES"], text=True).returncode)
    command = [psql, "-Xqv", "ON_ERROR_STOP=1", "-d", url]
    sys.exit(subprocess.run(command, input=os.environ["MADE_UP_TABLES"], text=True).returncode)
if words[:2] == ["run", "tpcc"]:
    kind = dict(committed=1000, rolled_back=3, failed=0, tps=500.0)
    rates = [dict(name="NOPM", value=12_000.0), dict(name="TPM", value=27_000.0)]
    print(json.dumps(dict(state="complete", rates=rates, measured=dict(kinds=[kind], errors=[])))); sys.exit()
if words[0] == "load":
    assert words[1] == "tpcb"
    sys.exit(subprocess.call(["{pgbench}", "-iq", "-s", given["--scale"], "-d", url], stderr=2))
assert words[0] == "run" and words[-1] == "--json" or "--json" in words
words.remove("--json")
given = dict(zip(words[2::2], words[3::2]))
assert given["--threads"] == "1" and given["--protocol"] == "prepared"
script = dict([("select-only", "select-only"), ("tpcb", "tpcb-like")])[words[1]]
output = subprocess.check_output(["{pgbench}", "-n", "-b", script, "-M", "prepared", "-c", given["--clients"],
    "-T", given["--duration"].rstrip("s"), url], text=True)
count = int(re.search(r"actually processed: (\\d+)", output).group(1))
tps = float(re.search(r"tps = ([0-9.]+)", output).group(1))
kind = dict(committed=count, failed=0, tps=tps)
print(json.dumps(dict(state="complete", measured=dict(kinds=[kind], errors=[]))))
"""

# Nine small tables, and functions with the same parameters as prony's.
TABLES = """\
create table item (i_id int primary key); create table warehouse (w_id int); create table district (d_w_id int);
create table stock (s_w_id int, s_data varchar(50)); create table customer (c_w_id int not null, c_discount numeric(4,4));
create table history (h_w_id int); create table orders (o_w_id int); create table new_order (no_w_id int);
create table order_line (ol_w_id int, ol_amount numeric(6,2));
create index stock_data on stock (s_data);
insert into item values (1), (2), (3); insert into customer values (1, 0.1); insert into warehouse values (1), (2);
insert into stock values (1, null), (2, 'a tab\t and more');
"""
FUNCTIONS = """\
create function prony_tpcc_hammerdb_46_neword(int, int, int, int, int, int) returns numeric language sql as 'select 1.0';
create function prony_tpcc_hammerdb_46_payment(int, int, int, int, int, int, numeric, varchar, varchar, numeric) returns int
  language sql as 'select 1';
create function prony_tpcc_hammerdb_46_delivery(int, int) returns int language sql as 'select 1';
create function prony_tpcc_hammerdb_46_slev(int, int, int) returns int language sql as 'select 1';
create function prony_tpcc_hammerdb_46_ostat(int, int, int, int, varchar) returns setof record language sql
  as 'select 1, 1, 1::smallint, 1.0, now(), 1, null::varchar, null::varchar, null::varchar, 1.0, 1, now()::timestamp, 1';
"""

PGBENCH_SCRIPTS = """\
transaction type: multiple scripts
number of transactions actually processed: 2300
tps = 230.500000 (without initial connection time)
SQL script 1: /tmp/home/new-order.sql
 - weight: 100 (targets 43.5% of total)
 - 1000 transactions (43.5% of total, tps = 100.200000)
SQL script 2: /tmp/home/payment-name.sql
 - 600 transactions (26.1% of total, tps = 60.000000)
"""

SYSBENCH_REPORT = """\
SQL statistics:
    queries performed:
        read:                            7000
        total:                           10000
    transactions:                        500    (2076.58 per sec.)
    queries:                             10000  (41531.54 per sec.)
    ignored errors:                      0      (0.00 per sec.)
"""

# A fake sysbench for both sides; it checks its arguments.
FAKE_SYSBENCH = """\
#!{python}
import os, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("sysbench 0.0.0 (made up)"); sys.exit()
config = open(words[0].split("=", 1)[1]).read()
assert "mysql-password=" in config and not any("password" in word for word in words), words
assert any(word.startswith(("--mysql-socket=/", "--mysql-port=")) for word in words), words
if words[-2].endswith(".lua"):
    assert "function event" in open(words[-2]).read()
if "--threads=4000" in words:
    print("FATAL: made-up | reason", file=sys.stderr); sys.exit(1)
if words[-1] == "run":
    print({report!r})
"""

PGBENCH_15 = """\
number of transactions actually processed: 123456
number of failed transactions: 0 (0.000%)
latency average = 2.3 ms
initial connection time = 50.1 ms
tps = 24691.215000 (without initial connection time)
"""


def raises(kind, action):
    """Whether `action` raises an exception of this kind."""
    try:
        action()
    except kind:
        return True
    return False


def arithmetic():
    """Checks ratios, verdicts and rows of known figures."""
    ratio = figures.ratio([1.0, 3.0, 2.0], [2.0, 2.0, 2.0])
    assert ratio.values == [0.5, 1.5, 1.0] and ratio.median == 1.0
    assert str(ratio) == "1.00 (0.50–1.50)"
    assert raises(ValueError, lambda: figures.ratio([1.0], [1.0, 2.0]))
    assert figures.verdict(ratio, 1.0, True) == "met (2 of 3 pairs)"
    assert figures.verdict(ratio, 0.4, True) == "met"
    assert figures.verdict(ratio, 1.6, True) == "missed"
    assert figures.verdict(ratio, 0.9, False) == "missed (1 of 3 pairs)"
    assert figures.verdict(ratio, None, True) == "–"
    # 20 MB at 500, 25 MB at 1,000: 10 kB each, so 20 + 9,500 × 0.01 = 115 MB.
    assert figures.memory_row("x", 20e6, 25e6, 500, 150e6)[3:5] == ["10.0", "115"]
    assert figures.memory_row("x", 20e6, 30e6, 500, 150e6)[6] == "missed"

    case = cases.RUNS[0]
    assert case.max_cpu and cases.without_bounds(case).max_cpu is None and cases.without_bounds(case).id == case.id
    prony = [tools.Measurement(5, 1.0, 500_000, 100_000.0)] * 3
    pgbench = [tools.Measurement(5, 2.0, 400_000, 80_000.0)] * 3
    row = figures.run_row(case, prony, pgbench)
    assert row[1] == "0.40 (0.40–0.40)" and row[3] == "met", row
    assert row[4] == "1.25 (1.25–1.25)" and row[6] == "met", row
    assert row[7] == "2.00 / 5.00" and row[9:] == ["0.0 / 0.0", "–"], row
    # S = 4 s and C = 2 s of 6 s on shared CPUs: without C, the rate is 1.5 times as high. On a CPU of its own the server
    # was busy for 4 s of 5 s.
    pgbench = [tools.Measurement(5, 2.0, 400_000, 80_000.0, server_cpu_s=4.0)] * 3
    assert figures.run_row(case, pgbench, pgbench)[9:] == ["10.0 / 10.0", "1.50"]
    apart = next(case for case in cases.LAYOUTS if "apart" in case.id)
    assert figures.free_client_text(dataclasses.replace(apart, server_cpus=frozenset({1})), pgbench) == "1.25"
    row = figures.load_row(cases.LOADS[0], [tools.Measurement(2.0, 0.3)], [tools.Measurement(3.0, 1.0)])
    assert row[1] == "1.50 (1.50–1.50)" and row[4] == "0.30 (0.30–0.30)", row


def report_parsing():
    """Checks that reports of the tools are parsed."""
    assert tools.read_pgbench(PGBENCH_15) == (123456, 24691.215)
    assert raises(ScriptError, lambda: tools.read_pgbench("pgbench: error"))
    kind = {"committed": 100, "failed": 0, "tps": 20.5}
    run = {"state": "complete", "measured": {"kinds": [kind], "errors": []}}
    assert tools.read_prony(json.dumps(run)) == (100, 20.5)
    run["warmup"] = {"kinds": [{"committed": 11}]}
    assert tools.read_prony(json.dumps(run)) == (111, 20.5)
    assert raises(ScriptError, lambda: tools.read_prony(json.dumps({**run, "state": "partial"})))
    kind["failed"] = 1
    assert raises(ScriptError, lambda: tools.read_prony(json.dumps(run)))


def tpcc_figures():
    """Checks the tables of tpcc for known figures."""
    assert tpcc.read_scripts(PGBENCH_SCRIPTS) == (2300, 230.5, 6012.0)
    assert raises(ScriptError, lambda: tpcc.read_scripts(PGBENCH_15))
    kind = {"committed": 990, "rolled_back": 10, "failed": 0, "tps": 99.0}
    run = {"state": "complete", "measured": {"kinds": [kind], "errors": []}, "rates": [{"name": "NOPM", "value": 5.0}]}
    assert tpcc.read_document(json.dumps(run)) == (1000, 99.0, 5.0, 0.0)
    assert raises(ScriptError, lambda: tpcc.read_document(json.dumps({**run, "state": "partial"})))
    kind["failed"] = 1
    assert raises(ScriptError, lambda: tpcc.read_document(json.dumps(run)))
    assert sum(weight for weight, _ in tpcc.SCRIPTS.values()) == 230

    prony, bound = [tools.Measurement(4.0, 0.8)] * 3, [tools.Measurement(2.0, 0.2)] * 3
    rows = tpcc.load_rows(2, prony, bound)
    assert rows[0][1:] == ["2.00 (2.00–2.00)", "0.40 (0.40–0.40)", "≤ 0.5", "met", "2.00 (2.00–2.00)"], rows
    rows = tpcc.load_rows(1, prony, bound)
    assert rows[0][4] == "missed", rows
    rows = tpcc.run_rows([tpcc.TpccRun(5, 0.1, 1000, 200.0, nopm=6000.0, tpm=13000.0)], [tpcc.TpccRun(5, 0.2, 1000, 200.0, nopm=8000.0)])
    assert rows[0][1:] == ["6,000 (6,000–6,000)", "13,000 (13,000–13,000)", "100.0 (100.0–100.0)", "0.75 (0.75–0.75)"], rows
    # 10 MB at 5, 13 MB at 20: 0.2 MB each, so 13 + 980 × 0.2 = 209 MB.
    def loads(*peaks):
        return [(count, tools.Measurement(count * 1.1, 0.1, 0, 0.0, peak)) for count, peak in peaks]

    rows = tpcc.memory_rows(loads((1, 9e6), (5, 10e6), (20, 13e6)))
    assert rows[1][:4] == ["5", "1.10", "10.0 times", "10.0"], rows[1]
    assert rows[-1][3:] == ["209", "≤ 300", "met"], rows[-1]
    assert tpcc.memory_rows(loads((5, 10e6), (20, 20e6)))[-1][5] == "missed"


def sysbench_report():
    """Checks that reports of sysbench are parsed."""
    assert sysbench.read_report(SYSBENCH_REPORT) == (10000, 41531.54, 500)
    assert raises(ScriptError, lambda: sysbench.read_report("FATAL: broken"))
    assert not set(cases.choose("all")) & set(cases.SYSBENCH)


STRACE_TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ------------------
 43.83    0.010991         392        28         1 futex
 33.59    0.008423           8      1006           io_uring_enter
------ ----------- ----------- --------- --------- ------------------
100.00    0.025076          15      1034         1 total
"""


def canned_figures():
    """Checks the arithmetic of counts and of capacity for known figures."""
    assert counts.read_strace(STRACE_TABLE) == {"futex": 28, "io_uring_enter": 1006}
    assert raises(ScriptError, lambda: counts.read_strace("strace: error"))
    with tempfile.TemporaryDirectory() as folder:
        assert raises(ScriptError, lambda: counts.read_callgrind(folder))
        pathlib.Path(folder, "callgrind").write_text("events: Ir\n")
        for thread, number in ((1, 900), (2, 70)):
            pathlib.Path(folder, f"callgrind-0{thread}").write_text(f"events: Ir\nsummary: {number}\ntotals: {number}\n")
        assert counts.read_callgrind(folder) == {1: 900, 2: 70}
    transactions = counts.MANY_TRANSACTIONS - counts.FEW_TRANSACTIONS
    few, many = ({1: 9_000_000, 2: 500}, {"send": 10}), ({1: 9_000_100, 2: 500 + 40 * transactions}, {"send": 10 + transactions, "poll": transactions // 2})
    result = counts.per_transaction(few, many)
    assert (result.instructions, result.calls) == (40.0, 1.5), result
    row = counts.row(cases.COUNTS[0], [result], [counts.Counts(80.0, 3.0, {})])
    assert row[1:3] == ["0.50 (0.50–0.50)", "40 / 80"] and row[5] == "send 1.00, poll 0.50", row

    def runs(cpu_s, server_cpu_s):
        return [capacity.CapacityRun(5.0, cpu_s, 100_000, 20_000.0, 0, server_cpu_s)] * 3

    assert capacity.limit(runs(4.9, 2.0)) == "client"
    assert capacity.limit(runs(3.0, 4.9)).startswith("server")
    assert capacity.limit(runs(3.0, 3.0)).startswith("neither")
    row = capacity.row(cases.CAPACITY[0], runs(4.9, 2.0), runs(2.45, 4.9))
    assert row[4:7] == ["49.00 / 24.50", "98 / 49", "40 / 98"] and row[7].startswith("client / server"), row


def namespace_is_removed():
    """Checks that a namespace and its interfaces are gone after a block, also after an exception."""
    with Namespace() as namespace:
        interface = pathlib.Path("/sys/class/net", namespace.server_interface)
        if namespace.error:
            print(f"versus self-test: skipped: {namespace.error}")
            return
        assert interface.exists() and namespace.link
        listed = tools.execute(["ip", "-o", "link"], dict(os.environ), namespace_pid=namespace.pid)[1]
        assert namespace.client_interface in listed and namespace.server_interface not in listed, listed

    def interrupted():
        with Namespace():
            raise KeyboardInterrupt

    assert raises(KeyboardInterrupt, interrupted)
    assert not interface.exists()


def killed_namespace_is_removed():
    """Checks that the kernel removes the namespace's interfaces when this script is killed."""
    folder = str(pathlib.Path(__file__).resolve().parents[1])
    text = f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {folder!r})\n" + textwrap.dedent(
        """
        import signal
        from versuslib.namespace import Namespace
        # A shell ignores SIGINT in programs that it starts in the background, and they inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with Namespace() as namespace:
            print(namespace.error or namespace.server_interface, flush=True)
            signal.pause()
        """
    )
    for number in (signal.SIGINT, signal.SIGKILL):
        child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        interface = pathlib.Path("/sys/class/net", child.stdout.readline().strip())
        if not interface.name.startswith("prony") or not interface.exists():
            child.kill()
            child.wait()
            print("versus self-test: skipped: no network namespace")
            return
        child.send_signal(number)
        child.wait(timeout=60)
        deadline = time.monotonic() + 60
        while interface.exists():
            assert time.monotonic() < deadline, f"{interface} after signal {number}"
            time.sleep(0.05)


def canned_pass(bin_dir, measure_canned, arguments, canned):
    """Capacity and counts once, small, with the installed pgbench and sysbench on both sides, against the canned server."""
    passes = [(bin_dir / "pgbench", ["capacity-select-unix", "capacity-tpcb-tcp", "count-select-simple-unix"])]
    try:
        passes.append((sysbench.find_sysbench(), ["capacity-point-tcp", "count-read-write-unix"]))
    except ScriptError as error:
        print(f"versus self-test: skipped: {error}")
    for program, chosen in passes:
        with tempfile.TemporaryDirectory() as folder:
            raw = pathlib.Path(folder) / "raw.json"
            words = ["--pairs", "1", "--seconds", "1", "--cases", ",".join(chosen), "--raw", str(raw)]
            args = arguments([*words, "--prony", str(program), "--canned", canned])
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                measure_canned(args, bin_dir)
            text, results = out.getvalue(), json.loads(raw.read_text())
        for case in (case for case in [*cases.CAPACITY, *cases.COUNTS] if case.id in chosen):
            assert f"| {case.title} |" in text, text
            if "skipped" in results[case.id]:
                print(f"versus self-test: {case.id} skipped: {results[case.id]['skipped']}")
                continue
            for name in ("prony", "other"):
                (result,) = results[case.id][name]
                if case.id.startswith("capacity"):
                    assert result["transactions"] > 0 and result["cpu_s"] > 0, result
                else:
                    # Each transaction sends a request and reads a reply.
                    assert result["instructions"] > 100 and result["calls"] > 1.5, result


# A fake prony for the cases of SQL Server: other clients send its queries.
FAKE_SQLSERVER_PRONY = """\
#!{python}
import os, re, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("prony 0.0.0 (made up)"); sys.exit()
given = dict(zip(words[2::2], words[3::2]))
engine, port, database = re.fullmatch("([a-z]+)://[^@]*@127.0.0.1:([0-9]+)[/?](?:database=)?([a-z]+).*", given["--url"]).groups()
if words[0] == "load":
    assert engine == "sqlserver" and database == "empty"
    # Not this Python, whose memory is not distinguished from that of the script.
    os.execvp("dd", ["dd", "if=/dev/zero", "of=/dev/null", f"bs={{given['--jobs']}}M", f"count={{8000 // int(given['--jobs'])}}", "status=none"])
assert words[0] == "run" and "--no-observe" in words
clients, transactions = given["--clients"], int(given["--transactions"])
if engine == "postgres":
    os.execv("{pgbench}", ["pgbench", "-n", "-S", "-Mprepared", "-h127.0.0.1", "-p" + port, "-Uversus", "-c" + clients, f"-t{{transactions}}", database])
with open(f"{{port}}.sql", "w") as file:
    file.write("SELECT 1\\ngo\\n" * (transactions * int(clients)))
os.execv("{bsqldb}", ["bsqldb", "-q", "-S127.0.0.1:" + port, "-Uversus", "-Px", "-D" + database, "-i" + file.name])
"""


def sqlserver_pass(bin_dir, measure_sqlserver, arguments, canned):
    """The cases of SQL Server once, with other clients on both sides, against the canned servers."""
    bsqldb = shutil.which("bsqldb")
    if not bsqldb:
        print("versus self-test: sqlserver_pass skipped: bsqldb is not installed")
        return
    chosen = ["sqlserver-select", "sqlserver-bsqldb", "sqlserver-load"]
    with tempfile.TemporaryDirectory() as folder:
        program, raw = pathlib.Path(folder, "prony"), pathlib.Path(folder, "raw.json")
        program.write_text(FAKE_SQLSERVER_PRONY.format(python=sys.executable, pgbench=bin_dir / "pgbench", bsqldb=bsqldb))
        program.chmod(0o755)
        args = arguments(["--pairs", "1", "--cases", ",".join(chosen), "--raw", str(raw), "--prony", str(program), "--canned", canned])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            measure_sqlserver(args)
        text, results = out.getvalue(), json.loads(raw.read_text())
    for case in (case for case in cases.SQLSERVER if case.id in chosen):
        assert f"| {case.title} |" in text, text
        if "skipped" in results[case.id]:
            print(f"versus self-test: {case.id} skipped: {results[case.id]['skipped']}")
            continue
        for name in ("prony", "other"):
            (result,) = results[case.id][name]
            assert result["cpu_us_per_transaction"] > 0, result
    peaks = results["sqlserver-load"]
    assert peaks["64"] - peaks["1"] > 40_000_000 and "| missed |" in text, (peaks, text)


def child_cpu_time():
    """Checks that a child's CPU time and memory are measured completely, and without this script's."""
    burn = textwrap.dedent(
        """
        import os, time
        held = bytearray(50_000_000)
        while time.process_time() < 0.4: pass
        print(time.process_time())
        """
    )
    result, output = tools.execute([sys.executable, "-c", burn], dict(os.environ))
    # The child's own reading plus the time of its exit; far below twice as much.
    assert float(output) <= result.cpu_s + 0.01 <= 2 * float(output) + 1, (output, result)
    failing = lambda: tools.execute(["false"], dict(os.environ))  # noqa: E731
    assert raises(ScriptError, failing)


def layout_cases():
    """Checks which cases are skipped, and that the layouts put client and server on different CPUs."""
    from .main import skip_reason

    class Refused:
        error = "needs root"

    namespace, apart = (next(c for c in cases.LAYOUTS if c.id == name) for name in ("layout-namespace", "layout-apart-tcp"))
    assert skip_reason(namespace, Refused) == "needs root"
    assert not apart.cpus & apart.server_cpus and bool(skip_reason(apart, None)) != bool(cases.OTHER_CPUS)
    assert skip_reason(dataclasses.replace(apart, server_cpus=frozenset()), None) == "needs two CPUs"
    assert skip_reason(cases.LAYOUTS[0], None) is None
    assert all((c.threads == 2) == ("threads2" in c.id) for c in cases.LAYOUTS)


def interleaving():
    """Checks that the tool that goes first alternates."""
    from .main import interleave

    class Tool:
        def __init__(self, name):
            self.name = name

    order_seen = []
    results = interleave([Tool("a"), Tool("b")], 3, lambda tool: order_seen.append(tool.name) or len(order_seen))
    assert "".join(order_seen) == "abbaab" and results == {"a": [1, 4, 5], "b": [2, 3, 6]}, (order_seen, results)
    assert cases.choose("loads,unix64,load") == ["load", "load-jobs2", "jobs-tpcb", "jobs-prepare", "unix64"]
    assert raises(ValueError, lambda: cases.choose("nonsense"))
    for group, names in cases.GROUPS.items():
        assert cases.choose(group) == names, group
    assert not set(cases.choose("all")) & set(cases.choose("pgbench"))
    assert cases.choose("jobs") == [case.id for case in scaling.CASES]
    assert not set(cases.choose("all")) & set(cases.choose("jobs"))


def full_pass(bin_dir, measure_all, arguments):
    """All cases once, small, with pgbench on both sides."""
    with tempfile.TemporaryDirectory() as folder:
        fake = pathlib.Path(folder) / "prony"
        fake.write_text(FAKE_PRONY.format(python=sys.executable, pgbench=bin_dir / "pgbench"))
        fake.chmod(0o755)
        raw = pathlib.Path(folder) / "raw.json"
        small = ["--pairs", "2", "--seconds", "2", "--scale", "1", "--memory-clients", "3"]
        small += ["--shared-buffers", "32MB"]
        dialect = ["pgbench-select-simple-tcp8", "pgbench-tpcb-prepared-unix1", "pgbench-file-simple-unix1"]
        layouts = ["layout-threads2-tcp", "layout-apart-unix", "layout-namespace"]
        chosen = ["--cases", ",".join(["load,unix8,tcp64,one-cpu,tpcb64,memory", *dialect, *layouts]), "--raw", str(raw)]
        # Few clients: on a loaded machine 64 may not even be connected within the run.
        cases.LAYOUTS[:] = [dataclasses.replace(c, clients=3) for c in cases.LAYOUTS]
        cases.RUNS[:] = [dataclasses.replace(c, clients=min(c.clients, 3)) for c in cases.RUNS]
        args = arguments([*small, *chosen, "--prony", str(fake)])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            directory = measure_all(args, bin_dir)
        text = out.getvalue()
        results = json.loads(raw.read_text())
    for case in ("unix8", "tcp64", "one-cpu", "tpcb64"):
        for tool in ("prony", "pgbench"):
            assert len(results[case][tool]) == 2, case
            assert all(m["transactions"] > 0 and m["cpu_s"] > 0 for m in results[case][tool]), case
        title = next(c.title for c in cases.RUNS if c.id == case)
        assert f"| {title} |" in text, text
    for case, names in zip(dialect, (("prony", "pgbench"), ("prony", "pgbench"), ("file", "builtin"))):
        assert [len(results[case][name]) for name in names] == [2, 2], results[case]
        assert all(m["transactions"] > 0 and m["cpu_s"] > 0 for name in names for m in results[case][name]), case
        assert f"| {next(c.title for c in [*cases.DIALECT, *cases.FILES] if c.id == case)} |" in text, text
    for case in layouts:
        assert f"| {next(c.title for c in cases.LAYOUTS if c.id == case)}" in text, text
        if "skipped" in results[case]:
            print(f"versus self-test: {case} skipped: {results[case]['skipped']}")
        else:
            assert all(m["transactions"] > 0 for name in ("prony", "pgbench") for m in results[case][name]), case
    assert "-f / -S" in text, text
    assert "made up" in text and "fsync on" in text and "| load, --jobs 1 |" in text, text
    assert all(peak > 1_000_000 for peak in results["memory pgbench"]), results
    assert not directory.exists(), directory


def two_builds_pass(bin_dir, measure_all, arguments):
    """A second build of prony instead of pgbench: no bounds, both called alike, each with a separate folder."""
    with tempfile.TemporaryDirectory() as folder:
        builds = [pathlib.Path(folder) / name for name in ("new", "old")]
        for build in builds:
            build.write_text(FAKE_PRONY.format(python=sys.executable, pgbench=bin_dir / "pgbench"))
            build.chmod(0o755)
        raw = pathlib.Path(folder) / "raw.json"
        small = ["--pairs", "1", "--seconds", "1", "--scale", "1", "--shared-buffers", "32MB", "--raw", str(raw)]
        chosen = ["--cases", "load,unix8,pgbench-select-simple-unix1"]
        args = arguments([*small, *chosen, "--prony", str(builds[0]), "--against", str(builds[1])])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            measure_all(args, bin_dir)
        text, results = out.getvalue(), json.loads(raw.read_text())
    for case in ("load", "unix8", "pgbench-select-simple-unix1"):
        assert [len(results[case][name]) for name in ("prony", "other")] == [1, 1], results
    assert "Prony / other build" in text and " met" not in text and "missed" not in text, text
    assert "pgbench (PostgreSQL)" not in text, text


def tpcc_pass(bin_dir, measure_tpcc, arguments):
    """All cases of tpcc once, small, with a fake prony."""
    with tempfile.TemporaryDirectory() as folder:
        fake = pathlib.Path(folder) / "prony"
        fake.write_text(FAKE_PRONY.format(python=sys.executable, pgbench=bin_dir / "pgbench"))
        fake.chmod(0o755)
        raw = pathlib.Path(folder) / "raw.json"
        small = ["--pairs", "2", "--seconds", "2", "--shared-buffers", "32MB", "--memory-warehouses", "1,2"]
        args = arguments([*small, "--cases", ",".join(cases.TPCC), "--raw", str(raw), "--prony", str(fake)])
        out = io.StringIO()
        os.environ["MADE_UP_TABLES"] = TABLES + FUNCTIONS
        with contextlib.redirect_stdout(out):
            directory = measure_tpcc(args, bin_dir)
        del os.environ["MADE_UP_TABLES"]
        text, results = out.getvalue(), json.loads(raw.read_text())
    assert [len(results["tpcc-load"][tool]) for tool in ("prony", "bound")] == [2, 2], results
    assert all(m["nopm"] > 0 and m["transactions"] > 0 for m in results["tpcc-run"]["bound"]), results
    # The measured process is not a copy of this script's own program, as the fake prony is.
    assert [count for count, _ in results["tpcc-memory"]] == [1, 2], results
    for words in ("| prony load tpcc --scale 2 |", "| pgbench -M prepared, the same calls |", "| 1,000 (by extrapolation) |", "synchronous_commit off"):
        assert words in text, text
    assert not directory.exists(), directory


def scaling_figures():
    """Checks the distribution over sessions, and the table of loads with several jobs, for known figures."""
    assert scaling.distribute([(1, "a"), (5, "b"), (3, "c"), (3, "d")], 2) == [["b", "a"], ["c", "d"]]
    assert scaling.distribute([(1, "a")], 4) == [["a"]]

    def runs(wall_s, server_cpu_s):
        return [tools.Measurement(wall_s, 0.5, server_cpu_s=server_cpu_s)] * 3

    one, two = scaling.rows("x", {1: (runs(4.0, 3.0), runs(2.0, 1.9)), 2: (runs(2.0, 3.5), runs(1.6, 2.0))})
    assert one == ["x", "1", "4.00", "0.50", "3.00", "2.00", "0.50", "1.90", "2.00 (2.00–2.00)", "1.00", "1.00"], one
    assert two == ["x", "2", "2.00", "0.50", "3.50", "1.60", "0.50", "2.00", "1.25 (1.25–1.25)", "2.00", "1.25"], two
    assert len(one) == len(scaling.HEAD)
    accounts = scaling.parts_of(scaling.CASES[0], argparse.Namespace(scale=9))
    assert [condition for ((_, condition),) in accounts[1:]] == ["aid > 0 and aid <= 800000", "aid > 800000 and aid <= 900000"]
    # A child's time is counted while it lives and after it has ended.
    before_s = cpu_of_process(os.getpid())
    burn = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        assert cpu_of_process(os.getpid()) - before_s >= 0.27
        child.communicate(b"\n")
    assert cpu_of_process(os.getpid()) - before_s >= 0.27


def scaling_pass(bin_dir, measure_scaling, arguments):
    """Loads with 1, 2 and 4 jobs once, small, with a fake prony: the bound stores the same rows and indexes as prony."""
    with tempfile.TemporaryDirectory() as folder:
        fake = pathlib.Path(folder) / "prony"
        fake.write_text(FAKE_PRONY.format(python=sys.executable, pgbench=bin_dir / "pgbench"))
        fake.chmod(0o755)
        raw = pathlib.Path(folder) / "raw.json"
        small = ["--pairs", "1", "--scale", "1", "--jobs-warehouses", "2", "--shared-buffers", "32MB"]
        args = arguments([*small, "--cases", "jobs", "--raw", str(raw), "--prony", str(fake)])
        out, stored = io.StringIO(), []

        def checked_reset(case, server, reset=scaling.reset):
            """Records what each load has stored, which the next load's reset would remove."""
            if case.engine == "postgres":
                exists = server.sql(f"select count(*) from pg_database where datname = '{scaling.DATABASE}'") == "1"
                tables = "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1"
                names = server.sql(tables, scaling.DATABASE).split() if exists else []
                found = [(name, server.sql(f"select * from {name} order by 1", scaling.DATABASE)) for name in names if "pgbench" not in name]
                found += [(name, server.sql(f"select count(*) from {name}", scaling.DATABASE)) for name in names if "pgbench" in name]
                count = server.sql("select count(*) from pg_indexes where schemaname = 'public'", scaling.DATABASE) if names else 0
            else:
                names = server.sql("select table_name from information_schema.tables where table_schema = database() order by 1").split()
                found = [(name, server.sql(f"select * from {name} order by 1")) for name in names]
                count = server.sql("select count(*) from information_schema.statistics where table_schema = database()")
            if names:
                stored.append((case.id, count, found))
            reset(case, server)

        os.environ |= {"MADE_UP_TABLES": TABLES, "MARIADB": maria.find("client")}
        original, scaling.reset = scaling.reset, checked_reset
        try:
            with contextlib.redirect_stdout(out):
                measure_scaling(args, bin_dir)
        finally:
            scaling.reset = original
        del os.environ["MADE_UP_TABLES"], os.environ["MARIADB"]
        text, results = out.getvalue(), json.loads(raw.read_text())
    for case in scaling.CASES:
        assert f"| {case.title}, " in text, text
        assert [[len(runs) for runs in results[case.id][jobs]] for jobs in "124"] == [[1, 1]] * 3, results[case.id]
        assert all(run["wall_s"] > 0 and run["server_cpu_s"] >= 0 for jobs in "124" for runs in results[case.id][jobs] for run in runs)
        # The first load writes the files; then each number of jobs has a pair.
        loads = [(count, found) for name, count, found in stored if name == case.id]
        assert len(loads) == 7 and all(load == loads[0] for load in loads), loads
        assert int(loads[0][0]) > 0 and any(rows for _, rows in loads[0][1]), loads[0]


def sysbench_pass(measure_sysbench, arguments):
    """All cases of the sysbench dialect once, on a real MariaDB, with a fake sysbench on both sides."""
    with tempfile.TemporaryDirectory() as folder:
        fake = pathlib.Path(folder) / "prony"
        fake.write_text(FAKE_SYSBENCH.format(python=sys.executable, report=SYSBENCH_REPORT))
        fake.chmod(0o755)
        raw = pathlib.Path(folder) / "raw.json"
        small = ["--pairs", "2", "--seconds", "1", "--shared-buffers", "32MB"]
        args = arguments([*small, "--cases", "sysbench", "--raw", str(raw), "--prony", str(fake)])
        out = io.StringIO()
        os.environ["SYSBENCH"] = str(fake)
        with contextlib.redirect_stdout(out):
            directory = measure_sysbench(args)
        del os.environ["SYSBENCH"]
        text, results = out.getvalue(), json.loads(raw.read_text())
    for case in [*cases.SYSBENCH_RUNS, *cases.SYSBENCH_LOADS]:
        assert f"| {case.title} |" in text, text
        assert [len(results[case.id][tool]) for tool in ("prony", "sysbench")] == [2, 2], results
    assert "MariaDB" in text and "fails: FATAL: made-up / reason" in text, text
    assert not directory.exists(), directory


def a_failure_is_reported(bin_dir, measure_all, arguments):
    """Checks that a failing prony loses only its row of the report, and that the status shows the failure."""
    with tempfile.TemporaryDirectory() as folder:
        fake = pathlib.Path(folder) / "prony"
        fake.write_text("#!/bin/sh\ntest $1 = --version && echo prony 0 && exit\necho broken >&2; exit 3\n")
        fake.chmod(0o755)
        few = ["--pairs", "1", "--seconds", "1", "--scale", "1", "--cases", "load,memory"]
        args = arguments([*few, "--memory-clients", "1", "--shared-buffers", "32MB", "--prony", str(fake)])
        out = io.StringIO()
        message = ""
        with contextlib.redirect_stdout(out):
            try:
                measure_all(args, bin_dir)
            except ScriptError as error:
                message = str(error)
    assert "load, memory prony" in message, message
    assert "| load, --jobs 1 | could not be measured |" in out.getvalue(), out.getvalue()
    assert "| prony | could not be measured |" in out.getvalue(), out.getvalue()


def run(bin_dir, measure_all, measure_tpcc, measure_scaling, measure_sysbench, measure_canned, measure_sqlserver, args, arguments):
    """Returns the exit status."""
    for test in (
        arithmetic,
        report_parsing,
        tpcc_figures,
        scaling_figures,
        sysbench_report,
        canned_figures,
        child_cpu_time,
        interleaving,
        layout_cases,
        namespace_is_removed,
        killed_namespace_is_removed,
    ):
        test()
        print(f"versus self-test: {test.__name__} ok")
    if os.access(args.canned, os.X_OK):
        canned_pass(bin_dir, measure_canned, arguments, args.canned)
        print("versus self-test: canned_pass ok")
    else:
        print(f"versus self-test: canned_pass skipped: there is no {args.canned}")
    if os.access(args.canned, os.X_OK):
        sqlserver_pass(bin_dir, measure_sqlserver, arguments, args.canned)
        print("versus self-test: sqlserver_pass ok")
    tpcc_pass(bin_dir, measure_tpcc, arguments)
    print("versus self-test: tpcc_pass ok")
    scaling_pass(bin_dir, measure_scaling, arguments)
    print("versus self-test: scaling_pass ok")
    sysbench_pass(measure_sysbench, arguments)
    print("versus self-test: sysbench_pass ok")
    for test in (full_pass, two_builds_pass, a_failure_is_reported):
        test(bin_dir, measure_all, arguments)
        print(f"versus self-test: {test.__name__} ok")
    return 0
