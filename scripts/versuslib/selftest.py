"""Tests of this script: its arithmetic, and complete passes with a fake prony.

In: PostgreSQL's and MariaDB's programs. Out: an exit status. Must never: assert a speed.
"""
import argparse
import contextlib
import dataclasses
import functools
import io
import itertools
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
from unittest import mock

from . import capacity, cases, counts, figures, maria, pgbench, scaling, sysbench, tools, tpcc
from .namespace import Namespace
from .server import ScriptError, cpu_of_process
from .session import interleave

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

STRACE_TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ------------------
 43.83    0.010991         392        28         1 futex
 33.59    0.008423           8      1006           io_uring_enter
------ ----------- ----------- --------- --------- ------------------
100.00    0.025076          15      1034         1 total
"""

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


def raises(kind, action):
    """Whether `action` raises an exception of this kind."""
    try:
        action()
    except kind:
        return True
    return False


def runs(wall_s, cpu_s, transactions=0, tps=0.0, kind=tools.Measurement, **others):
    """Three equal measurements."""
    return [kind(wall_s, cpu_s, transactions, tps, **others)] * 3


def arithmetic():
    """Checks ratios, verdicts and rows of known figures."""
    ratio = figures.ratio([1.0, 3.0, 2.0], [2.0, 2.0, 2.0])
    assert ratio.values == [0.5, 1.5, 1.0] and str(ratio) == "1.00 (0.50–1.50)"
    assert raises(ValueError, lambda: figures.ratio([1.0], [1.0, 2.0]))
    for bound, is_minimum, expected in (
        (1.0, True, "met (2 of 3 pairs)"), (0.4, True, "met"), (1.6, True, "missed"),
        (0.9, False, "missed (1 of 3 pairs)"), (None, True, "–"),
    ):
        assert figures.verdict(ratio, bound, is_minimum) == expected, (bound, expected)
    # 20 MB at 500, 25 MB at 1,000: 10 kB each, so 20 + 9,500 × 0.01 = 115 MB.
    assert figures.memory_row("x", 20e6, 25e6, 500, 150e6)[3:5] == ["10.0", "115"]
    assert figures.memory_row("x", 20e6, 30e6, 500, 150e6)[6] == "missed"

    case = cases.RUNS[0]
    assert case.max_cpu and cases.without_bounds(case) == dataclasses.replace(case, max_cpu=None, min_tps=None)
    prony = runs(5, 1.0, 500_000, 100_000.0)
    # S = 4 s and C = 2 s of 6 s on shared CPUs: without C, the rate is 1.5 times as high. On a CPU of its own the
    # server was busy for 4 s of 5 s.
    other = runs(5, 2.0, 400_000, 80_000.0, server_cpu_s=4.0)
    row = figures.run_row(case, prony, other)
    assert row[1:8:2] == ["0.40 (0.40–0.40)", "met", "≥ 1.15", "2.00 / 5.00"] and row[9:] == ["0.0 / 10.0", "1.50"], row
    assert figures.run_row(case, prony, prony)[10] == "–"
    apart = next(case for case in cases.LAYOUTS if "apart" in case.id)
    assert figures.free_client_text(dataclasses.replace(apart, server_cpus=frozenset({1})), other) == "1.25"
    row = figures.load_row(cases.LOADS[0], runs(2.0, 0.3), runs(3.0, 1.0))
    assert row[1] == "1.50 (1.50–1.50)" and row[4] == "0.30 (0.30–0.30)", row


def report_parsing():
    """Checks that reports of the tools are read, and that incomplete and failed ones are refused."""
    assert tools.read_pgbench(PGBENCH_15) == (123456, 24691.215)
    assert tpcc.read_scripts(PGBENCH_SCRIPTS) == (2300, 230.5, 6012.0)
    assert sysbench.read_report(SYSBENCH_REPORT) == (10000, 41531.54, 500)
    kind = {"committed": 990, "rolled_back": 10, "failed": 0, "tps": 99.0}
    run = {"state": "complete", "measured": {"kinds": [kind], "errors": []}, "rates": [{"name": "NOPM", "value": 5.0}]}
    warm = {**run, "warmup": {"kinds": [{"committed": 11}]}}
    assert tools.read_prony(json.dumps(run)) == (990, 99.0) and tools.read_prony(json.dumps(warm)) == (1001, 99.0)
    assert tpcc.read_document(json.dumps(run)) == (1000, 99.0, 5.0, 0.0)
    failed = {**run, "measured": {"kinds": [{**kind, "failed": 1}], "errors": []}}
    bad_runs = (failed, {**run, "state": "partial"})
    for read, text in (
        (tools.read_pgbench, "pgbench: error"), (tpcc.read_scripts, PGBENCH_15),
        (sysbench.read_report, "FATAL: broken"), (counts.read_strace, "strace: error"),
        *itertools.product((tools.read_prony, tpcc.read_document), map(json.dumps, bad_runs)),
    ):
        assert raises(ScriptError, lambda: read(text)), text


def tpcc_figures():
    """Checks the tables of tpcc for known figures."""
    rows = tpcc.load_rows(2, runs(4.0, 0.8), runs(2.0, 0.2))
    assert rows[0][1:] == ["2.00 (2.00–2.00)", "0.40 (0.40–0.40)", "≤ 0.5", "met", "2.00 (2.00–2.00)"], rows
    assert tpcc.load_rows(1, runs(4.0, 0.8), runs(2.0, 0.2))[0][4] == "missed"
    prony, bound = (tpcc.TpccRun(5, cpu, 1000, 200.0, nopm=nopm, tpm=13e3) for cpu, nopm in ((0.1, 6e3), (0.2, 8e3)))
    rows = tpcc.run_rows([prony], [bound])
    expected = ["6,000 (6,000–6,000)", "13,000 (13,000–13,000)", "100.0 (100.0–100.0)", "0.75 (0.75–0.75)"]
    assert rows[0][1:] == expected, rows

    def loads(*peaks):
        return [(count, tools.Measurement(count * 1.1, 0.1, peak_bytes=peak)) for count, peak in peaks]

    # 10 MB at 5, 13 MB at 20: 0.2 MB each, so 13 + 980 × 0.2 = 209 MB.
    rows = tpcc.memory_rows(loads((1, 9e6), (5, 10e6), (20, 13e6)))
    assert rows[1][:4] == ["5", "1.10", "10.0 times", "10.0"] and rows[-1][3:] == ["209", "≤ 300", "met"], rows
    assert tpcc.memory_rows(loads((5, 10e6), (20, 20e6)))[-1][5] == "missed"


def scaling_figures():
    """Checks the distribution over sessions, and the table of loads with several jobs, for known figures."""
    assert scaling.distribute([(1, "a"), (5, "b"), (3, "c"), (3, "d")], 2) == [["b", "a"], ["c", "d"]]
    assert scaling.distribute([(1, "a")], 4) == [["a"]]
    results = {1: (runs(4.0, 0.5, server_cpu_s=3.0), runs(2.0, 0.5, server_cpu_s=1.9))}
    results[2] = (runs(2.0, 0.5, server_cpu_s=3.5), runs(1.6, 0.5, server_cpu_s=2.0))
    one, two = scaling.rows("x", results)
    assert one == ["x", "1", "4.00", "0.50", "3.00", "2.00", "0.50", "1.90", "2.00 (2.00–2.00)", "1.00", "1.00"], one
    assert two == ["x", "2", "2.00", "0.50", "3.50", "1.60", "0.50", "2.00", "1.25 (1.25–1.25)", "2.00", "1.25"], two
    accounts = scaling.parts_of(scaling.CASES[0], argparse.Namespace(scale=9))
    conditions = [condition for ((_, condition),) in accounts[1:]]
    assert conditions == ["aid > 0 and aid <= 800000", "aid > 800000 and aid <= 900000"]


def canned_figures():
    """Checks the arithmetic of counts and of capacity for known figures."""
    assert counts.read_strace(STRACE_TABLE) == {"futex": 28, "io_uring_enter": 1006}
    with tempfile.TemporaryDirectory() as folder:
        assert raises(ScriptError, lambda: counts.read_callgrind(folder))
        pathlib.Path(folder, "callgrind").write_text("events: Ir\n")
        for thread, number in ((1, 900), (2, 70)):
            text = f"events: Ir\nsummary: {number}\ntotals: {number}\n"
            pathlib.Path(folder, f"callgrind-0{thread}").write_text(text)
        assert counts.read_callgrind(folder) == {1: 900, 2: 70}
    number = counts.MANY_TRANSACTIONS - counts.FEW_TRANSACTIONS
    few = ({1: 9_000_000, 2: 500}, {"send": 10})
    many = ({1: 9_000_100, 2: 500 + 40 * number}, {"send": 10 + number, "poll": number // 2})
    row = counts.row(cases.COUNTS[0], [counts.per_transaction(few, many)], [counts.Counts(80.0, 3.0, {})])
    assert row[1:] == ["0.50 (0.50–0.50)", "40 / 80", "0.50 (0.50–0.50)", "1.50 / 3.00", "send 1.00, poll 0.50"], row

    def driven(cpu_s, server_cpu_s):
        return runs(5.0, cpu_s, 100_000, 20_000.0, capacity.CapacityRun, server_cpu_s=server_cpu_s)

    assert capacity.limit(driven(3.0, 3.0)).startswith("neither")
    row = capacity.row(cases.CAPACITY[0], driven(4.9, 2.0), driven(2.45, 4.9))
    assert row[4:7] == ["49.00 / 24.50", "98 / 49", "40 / 98"] and row[7].startswith("client / server"), row


def order_of_runs():
    """Checks that the tool that goes first alternates, and which cases names and groups choose."""
    order = []
    sides = [pgbench.Invocation(name, None) for name in "ab"]
    results = interleave(sides, 3, lambda side: order.append(side.name) or len(order))
    assert "".join(order) == "abbaab" and results == {"a": [1, 4, 5], "b": [2, 3, 6]}, (order, results)
    assert cases.choose("loads,unix64,load") == ["load", "load-jobs2", "jobs-tpcb", "jobs-prepare", "unix64"]
    assert raises(ValueError, lambda: cases.choose("nonsense"))
    assert cases.choose("jobs") == [case.id for case in scaling.CASES]
    other_groups = {name for group in ("pgbench", "jobs", "sysbench", "tpcc") for name in cases.GROUPS[group]}
    assert not set(cases.choose("all")) & other_groups


def skipped_cases():
    """Checks which cases are skipped, and that the layouts put client and server on different CPUs."""
    refused = argparse.Namespace(error="needs root")
    layouts = {case.id: case for case in cases.LAYOUTS}
    namespace, apart = layouts["layout-namespace"], layouts["layout-apart-tcp"]
    assert pgbench.skip_reason(namespace, refused) == "needs root"
    assert not apart.cpus & apart.server_cpus
    assert pgbench.skip_reason(dataclasses.replace(apart, server_cpus=frozenset()), None) == "needs two CPUs"
    assert pgbench.skip_reason(cases.LAYOUTS[0], None) is None


def cpu_time():
    """Checks that a child's CPU time is measured completely, without this script's, while it lives and afterwards."""
    burn = "import time\nwhile time.process_time() < 0.4: pass\nprint(time.process_time(), flush=True)"
    result, output = tools.execute([sys.executable, "-c", burn], dict(os.environ))
    # The child's own reading plus the time of its exit; far below twice as much.
    assert float(output) <= result.cpu_s + 0.01 <= 2 * float(output) + 1, (output, result)
    assert raises(ScriptError, lambda: tools.execute(["false"], dict(os.environ)))
    before_s = cpu_of_process(os.getpid())
    command = [sys.executable, "-c", burn + "; input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        assert cpu_of_process(os.getpid()) - before_s >= 0.37
        child.communicate(b"\n")
    assert cpu_of_process(os.getpid()) - before_s >= 0.37


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
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen([sys.executable, "-c", text], text=True, **pipes)
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


class Passes:
    """Complete passes: chosen cases once, small, with fake programs."""

    def __init__(self, bin_dir, canned, arguments, measure):
        self.bin_dir = bin_dir
        self.canned = canned
        self.arguments = arguments
        self.measure = measure
        self.fake_prony = FAKE_PRONY.format(python=sys.executable, pgbench=bin_dir / "pgbench")

    def measured(self, program, chosen, *options, against=None, **environment):
        """The report, the raw figures and the messages of a pass; `program`: the text of a fake prony, or a path."""
        folders, out, messages = [], io.StringIO(), io.StringIO()

        def recorded_folder(*words, make=tempfile.mkdtemp, **named):
            folders.append(pathlib.Path(make(*words, **named)))
            return str(folders[-1])

        with tempfile.TemporaryDirectory() as folder:
            raw, fake = pathlib.Path(folder, "raw.json"), pathlib.Path(folder, "prony")
            if isinstance(program, str):
                fake.write_text(program)
                fake.chmod(0o755)
                program = fake
            words = ["--pairs", "1", "--seconds", "1", "--scale", "1", "--shared-buffers", "32MB", "--raw", str(raw)]
            words += [*options, "--cases", ",".join(chosen), "--prony", str(program), "--canned", self.canned]
            args = self.arguments([*words, *(["--against", str(fake)] if against else [])])
            environment = {name: str(value or program) for name, value in environment.items()}
            with mock.patch.dict(os.environ, environment), mock.patch("tempfile.mkdtemp", recorded_folder):
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages):
                    status = self.measure(args, self.bin_dir)
            results = json.loads(raw.read_text())
        assert folders and not any(path.exists() for path in folders), folders
        failures = [line for line in messages.getvalue().splitlines() if "could not be measured" in line]
        assert (status == 1) == bool(failures), messages.getvalue()
        return out.getvalue(), results, failures

    @staticmethod
    def check(report, results, group, chosen, is_plausible):
        """Checks that each chosen case has a row in the report, and plausible figures or a reason for none."""
        for case in (case for case in group if case.id in chosen):
            assert f"| {case.title}" in report, report
            if "skipped" in results[case.id]:
                print(f"versus self-test: {case.id} skipped: {results[case.id]['skipped']}")
                continue
            assert len(results[case.id]) == 2, results[case.id]
            for measured in results[case.id].values():
                assert measured and all(is_plausible(run) for run in measured), (case.id, measured)

    def pgbench(self):
        """Native plans, command lines and loads, with pgbench on both sides."""
        groups = [*cases.LOADS, *cases.RUNS, *cases.DIALECT, *cases.FILES, *cases.LAYOUTS]
        chosen = ["load", "unix8", "one-cpu", "tpcb64", "memory"]
        chosen += ["pgbench-tpcb-prepared-unix1", "pgbench-file-simple-unix1"]
        chosen += ["layout-threads2-tcp", "layout-apart-unix", "layout-namespace"]
        # Few clients: on a loaded machine 64 may not even be connected within the run.
        for group in (cases.LAYOUTS, cases.RUNS):
            group[:] = [dataclasses.replace(case, clients=min(case.clients, 3)) for case in group]
        options = ["--pairs", "2", "--seconds", "2", "--memory-clients", "3"]
        text, results, failures = self.measured(self.fake_prony, chosen, *options)
        assert not failures, failures
        self.check(text, results, groups, chosen, lambda run: run["cpu_s"] > 0 and (run["tps"] > 0 or "wall_s" in run))
        assert all(len(measured) == 2 for measured in results["unix8"].values()), results["unix8"]
        assert "-f / -S" in text and "made up" in text and "fsync on" in text, text
        assert all(peak > 1_000_000 for peak in results["memory pgbench"]), results

    def two_builds(self):
        """A second build of prony instead of pgbench: no bounds, both called alike."""
        chosen = ["load", "unix8", "pgbench-select-simple-unix1"]
        text, results, failures = self.measured(self.fake_prony, chosen, against=True)
        assert not failures and all([*results[case]] == ["prony", "other"] for case in chosen), results
        assert "Prony / other build" in text and " met" not in text and "missed" not in text, text
        assert "pgbench (PostgreSQL)" not in text, text

    def a_failure_is_reported(self):
        """A failing prony loses only its row of the report, and the status shows the failure."""
        broken = "#!/bin/sh\ntest $1 = --version && echo prony 0 && exit\necho broken >&2; exit 3\n"
        text, results, failures = self.measured(broken, ["load", "memory"], "--memory-clients", "1")
        assert failures[-1].endswith("load, memory prony"), failures
        for title in ("load, --jobs 1", "prony"):
            assert f"| {title} | could not be measured |" in text, text
        assert "broken" in results["load"]["failed"] and results["memory pgbench"], results

    def tpcc(self):
        """All cases of tpcc."""
        options = ["--seconds", "2", "--memory-warehouses", "1,2"]
        text, results, _ = self.measured(self.fake_prony, cases.TPCC, *options, MADE_UP_TABLES=TABLES + FUNCTIONS)
        assert [len(results["tpcc-load"][tool]) for tool in ("prony", "bound")] == [1, 1], results
        assert all(m["nopm"] > 0 and m["transactions"] > 0 for m in results["tpcc-run"]["bound"]), results
        assert [count for count, _ in results["tpcc-memory"]] == [1, 2], results
        for words in ("| prony load tpcc --scale 2 |", "| 1,000 (by extrapolation) |", "synchronous_commit off"):
            assert words in text, text

    def scaling(self):
        """Loads with 1, 2 and 4 jobs: the bound stores the same rows and indexes as prony."""
        stored = []

        def recording_reset(case, server, reset=scaling.reset):
            """Records what each load has stored before it is removed."""
            stored.append((case.id, stored_rows(case, server)))
            reset(case, server)

        environment = {"MADE_UP_TABLES": TABLES, "MARIADB": maria.find("client")}
        with mock.patch.object(scaling, "reset", recording_reset):
            text, results, failures = self.measured(self.fake_prony, ["jobs"], "--jobs-warehouses", "2", **environment)
        assert not failures, failures
        for case in scaling.CASES:
            assert f"| {case.title}, " in text, text
            measured = [run for jobs in "124" for side in results[case.id][jobs] for run in side]
            assert len(measured) == 6 and all(run["wall_s"] > 0 for run in measured), results[case.id]
            # The first load writes the files; then each number of jobs has a pair.
            loads = [found for name, found in stored if name == case.id and found]
            assert len(loads) == 7 and all(load == loads[0] for load in loads), loads
            assert int(loads[0][0]) > 0 and any(rows for _, rows in loads[0][1]), loads[0]

    def sysbench(self):
        """All cases of the sysbench dialect, on a real MariaDB, with a fake sysbench on both sides."""
        fake = FAKE_SYSBENCH.format(python=sys.executable, report=SYSBENCH_REPORT)
        text, results, failures = self.measured(fake, ["sysbench"], SYSBENCH=None)
        group = [*cases.SYSBENCH_RUNS, *cases.SYSBENCH_LOADS]
        self.check(text, results, group, cases.SYSBENCH, lambda run: run["cpu_s"] > 0)
        assert not failures and "MariaDB" in text and "fails: FATAL: made-up / reason" in text, text

    def canned_server(self):
        """Capacity and counts, with the installed pgbench and sysbench on both sides."""
        chosen = ["capacity-select-unix", "capacity-tpcb-tcp", "count-select-simple-unix"]
        programs = [(self.bin_dir / "pgbench", chosen)]
        if shutil.which("sysbench"):
            programs.append((pathlib.Path(sysbench.find_sysbench()), ["capacity-point-tcp", "count-read-write-unix"]))
        for program, chosen in programs:
            text, results, _ = self.measured(program, chosen)
            self.check(text, results, cases.CAPACITY, chosen, lambda run: run["transactions"] > 0 and run["cpu_s"] > 0)
            # Each transaction sends a request and reads a reply.
            enough = lambda run: run["instructions"] > 100 and run["calls"] > 1.5  # noqa: E731
            self.check(text, results, cases.COUNTS, chosen, enough)

    def sqlserver(self):
        """The cases of SQL Server, with other clients on both sides."""
        bsqldb = shutil.which("bsqldb")
        if not bsqldb:
            print("versus self-test: sqlserver skipped: bsqldb is not installed")
            return
        fake = FAKE_SQLSERVER_PRONY.format(python=sys.executable, pgbench=self.bin_dir / "pgbench", bsqldb=bsqldb)
        chosen = ["sqlserver-select", "sqlserver-bsqldb", "sqlserver-load"]
        text, results, _ = self.measured(fake, chosen)
        self.check(text, results, cases.SQLSERVER, chosen, lambda run: run["cpu_us_per_transaction"] > 0)
        peaks = results["sqlserver-load"]
        assert peaks["64"] - peaks["1"] > 40_000_000 and "| missed |" in text, (peaks, text)


def stored_rows(case, server):
    """The number of indexes and the rows of all tables that a load has stored; of large tables, their number."""
    if case.engine == "postgres":
        if server.sql(f"select count(*) from pg_database where datname = '{scaling.DATABASE}'") == "0":
            return None
        query = functools.partial(server.sql, database=scaling.DATABASE)
        schema, indexes = "table_schema = 'public'", "pg_indexes where schemaname = 'public'"
    else:
        query, schema = server.sql, "table_schema = database()"
        indexes = f"information_schema.statistics where {schema}"
    names = query(f"select table_name from information_schema.tables where {schema} order by 1").split()
    columns = {name: "count(*)" if "pgbench" in name else "*" for name in names}
    found = [(name, query(f"select {columns[name]} from {name} order by 1")) for name in names]
    return (query(f"select count(*) from {indexes}"), found) if names else None


def run(bin_dir, canned, arguments, measure):
    """Returns the exit status."""
    passes = Passes(bin_dir, canned, arguments, measure)
    tests = [arithmetic, report_parsing, tpcc_figures, scaling_figures, canned_figures, order_of_runs, skipped_cases]
    tests += [cpu_time, namespace_is_removed, killed_namespace_is_removed]
    if os.access(canned, os.X_OK):
        tests += [passes.canned_server, passes.sqlserver]
    else:
        print(f"versus self-test: canned_server skipped: there is no {canned}")
    tests += [passes.tpcc, passes.scaling, passes.sysbench, passes.pgbench, passes.two_builds]
    tests.append(passes.a_failure_is_reported)
    for test in tests:
        test()
        print(f"versus self-test: {test.__name__} ok", flush=True)
    return 0
