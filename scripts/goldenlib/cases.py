"""Command lines and scripts that together produce every line of pgbench's reports, logs and progress.

In: the major version. Out: the list of cases. Must never: contain a case whose output has a random shape.
"""
import dataclasses
import itertools

# With golden_fail(3, ...) every third call fails with the given error; nextval is not rolled back, so a retry succeeds.
SETUP = """
create sequence golden_seq;
create function golden_fail(every int, code text) returns int language plpgsql as $$
begin
  if nextval('golden_seq') % every = 0 then
    raise exception 'made to fail' using errcode = code;
  end if;
  return 1;
end $$;
"""
RESET = "select setval('golden_seq', 1, false)"

SCRIPTS = {
    "one.sql": "\\set x random(1, 10)\nselect :x as a_column;\n",
    "two.sql": "begin;\nselect 2 as y \\gset\nend;\n",
    "fail.sql": "select 1;\nselect golden_fail(3, '40001');\n",
    "deadlock.sql": "begin;\nselect golden_fail(3, '40P01');\nend;\n",
    "always.sql": "select golden_fail(1, '40001');\n",
    "broken.sql": "select 1;\nselect 1/0;\n",
    "slow.sql": "\\sleep 20 ms\nselect 1;\n",
    "badset.sql": "\\set x 1 +\n",
    "badmeta.sql": "select 1;\n\\nonsense x\n",
    "noend.sql": "begin;\nselect 1;\n",
    "notice.sql": "do $$ begin raise notice 'seen'; raise warning 'w' using hint = 'h'; end $$;\ncommit;\n",
    "idle.sql": "set idle_session_timeout = 200;\n\\sleep 600 ms\nselect 2;\n",
    "killed.sql": "select 1;\nselect 2\\; select pg_terminate_backend(pg_backend_pid());\n",
    "setshell.sql": "\\setshell x no-such-program\nselect :x;\n",
    "setshell-status.sql": "\\setshell x sh -c \"exit 3\"\nselect :x;\n",
    "setshell-text.sql": "\\setshell x echo text\nselect :x;\n",
    "shell.sql": "\\shell no-such-program\nselect 1;\n",
    "empty.sql": "-- nothing\n",
    "debug.sql": "\\set x debug(5432.1)\n\\if :x > 1\nselect :x;\n\\endif\n",
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One command line."""

    arguments: tuple
    # Whether the database starts without tables.
    fresh: bool = False
    stdin: str = ""
    # Of comparisons of rows: queries whose results must be equal, by description; columns of the log files that must be
    # equal, in this order.
    queries: dict = dataclasses.field(default_factory=dict, compare=False)
    log_columns: tuple = ()

    @property
    def id(self):
        """The command line."""
        return " ".join(self.arguments)


def subsets(options):
    """Every subset of the options; an option is a string of arguments."""
    for chosen in itertools.product(*[("", option) for option in options]):
        yield tuple(word for option in chosen for word in option.split())


def reports(major):
    """Short runs with all combinations of options that change the report."""
    options = ["-r", "-C", "-R 5000", "-L 9000", "-l"]
    if major >= 15:
        options += ["--failures-detailed", "--max-tries=3"]
    for scripts in ("-S", "-S -f two.sql@3"):
        for chosen in subsets(options):
            yield Case(("-n", "-t", "6", "--random-seed=7", *scripts.split(), *chosen))
    if major >= 15:
        options = ["-r", "-l", "-L 9000", "--failures-detailed", "--max-tries=3", "--verbose-errors"]
        for scripts in ("-f fail.sql", "-f fail.sql -f deadlock.sql"):
            for chosen in subsets(options):
                yield Case(("-n", "-t", "9", "--random-seed=7", *scripts.split(), *chosen))
        for chosen in subsets(["-r", "-l", "-P 1", "-L 9000", "--failures-detailed", "--max-tries=2"]):
            yield Case(("-n", "-t", "3", "-f", "always.sql", *chosen))


def timed(major):
    """Runs with a duration: progress lines, skipped transactions, aggregated logs."""
    tries = ["--max-tries=3", "--failures-detailed"] if major >= 15 else []
    for chosen in subsets(["--progress-timestamp", "-R 200", "-L 9000", *tries[:1]]):
        yield Case(("-n", "-S", "-T", "2", "-P", "1", *chosen))
    for chosen in subsets(["-R 200", "-L 9000", *tries]):
        yield Case(("-n", "-S", "-T", "3", "-l", "--aggregate-interval=1", *chosen))
    for chosen in subsets(["-r", "-l", "-P 1"]):
        yield Case(("-n", "-T", "2", "-R", "1000", "-L", "30", "-f", "slow.sql", *chosen))


def others(major):
    lines = [
        "-t 5", "-t 5 -v", "-t 5 -n", "-t 5 -s 3", "-t 5 -N", "-t 5 -M extended -r", "-t 5 -M prepared -r",
        "-n -S -c 4 -j 2 -t 5", "-n -S -c 4 -j 2 -t 5 -l", "-n -S -c 4 -j 2 -t 5 -l --log-prefix=other",
        "-n -S -c 2 -j 8 -t 5", "-n -S -T 1", "-n -S -t 200 -l --sampling-rate=0.5",
        "-n -S@3 -t 5", "-n -b se@3 -b si@2 -b tpcb@0 -t 20 --random-seed=5", "-n -t 3 -f one.sql@0 -f two.sql@1 -r",
        "-n -t 3 -f broken.sql", "-n -t 3 -f broken.sql -r", "-n -t 3 -f broken.sql -P 1 -l",
        "-n -t 1 -f badset.sql", "-n -t 1 -f badmeta.sql", "-n -t 1 -f noend.sql", "-n -t 1 -f empty.sql",
        *(f"-n -t 2 -f idle.sql -M {mode}" for mode in ("simple", "extended", "prepared") if major >= 14),
        "-n -t 2 -f killed.sql", *(f"-n -t 2 -f {name}.sql" for name in ("setshell", "setshell-status", "setshell-text", "shell")),
        "-n -t 1 -f missing.sql", "-n -t 2 -f debug.sql", "-n -t 2 -f notice.sql", "-n -t 2 -f notice.sql -M prepared", "-n -t 2 -f debug.sql -d", "-n -t 2 -f one.sql -D x=5",
        "-b list", "--show-script=tpcb", "--version", "-c x", "--nonsense", "-n --random-seed=42 -S -t 2",
        "-n -t 2 -S no_such_database", "-n -S -C -t 3 -c 2", "-n -S -C -t 3 -P 1 -r",
    ]
    if major < 17:
        lines.append("-n -S -t 1 -d")
    else:
        lines += ["-n -S -t 1 --debug", "-n -t 3 -f broken.sql -c 2 --exit-on-abort"]
    if major >= 19:
        lines += ["-n -t 3 -f broken.sql --continue-on-error --failures-detailed -r -l"]
    for line in lines:
        if line == "-n -t 2 -f debug.sql -d" and major >= 17:
            line = "-n -t 2 -f debug.sql --debug"
        yield Case(tuple(line.split()))
    yield Case(("-n", "-t", "3", "-f", "-"), stdin="select 3;\n")
    yield Case(("-t", "3"), fresh=True)
    yield Case(("-n", "-t", "3", "-f", "one.sql"), fresh=True)


def initializations():
    """Variants of `-i`; each begins with an empty database."""
    lines = [
        "-i", "-i -q", "-i -s 2", "-i -n", "-i -I dtgvp", "-i -I dtG", "-i -I dtgvpf", "-i --foreign-keys",
        "-i -F 70", "-i --unlogged-tables", "-i --partitions=3", "-i --partitions=2 --partition-method=hash",
        "-i --partitions=2 --unlogged-tables --foreign-keys", "-i -I dt", "-i -I d_t", "-i -I v",
        "-i --tablespace=missing", "-i --tablespace=pg_default --index-tablespace=pg_default", "-i -I p",
    ]
    for line in lines:
        words = line.replace("d_t", "d\0t").split()
        yield Case(tuple(word.replace("\0", " ") for word in words), fresh=True)


def all_cases(major):
    """All cases for a major version; no command line twice."""
    unique = {}
    for case in itertools.chain(others(major), initializations(), timed(major), reports(major)):
        unique.setdefault((case.arguments, case.fresh, case.stdin), case)
    return list(unique.values())
