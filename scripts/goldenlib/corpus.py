"""Command lines and scripts whose statements and rows depend only on the seed.

In: the major version. Out: lists of cases. Must never: contain a case whose statements vary between runs.
So there are no clients that share a sequence, read each other's rows, or share a thread's choice of
scripts, and no runs with a duration.
"""
from .cases import Case

MODES = ("simple", "extended", "prepared")

# Tables in addition to those of pgbench and of cases.SETUP. Each row names the script and client that wrote it.
SETUP = """
create table golden_rows (n bigserial primary key, client int, script text, name text, value text);
create table golden_pair (id int primary key, v int);
insert into golden_pair values (1, 10), (2, 20);
"""
RESET = """
select setval('golden_seq', 1, false);
truncate golden_rows restart identity;
truncate pgbench_history;
update pgbench_accounts set abalance = 0 where abalance <> 0;
update pgbench_tellers set tbalance = 0 where tbalance <> 0;
update pgbench_branches set bbalance = 0 where bbalance <> 0;
"""

SCRIPTS = {
    "plain.sql": "select 1;\n\n-- gone\nselect /* kept */ 2 as \"two;\" ;\nselect 'it''s; $1' || $$a;b$$\n",
    "lines.sql": "select\n  1,\n  2 -- two\n;\n  select 3",
    "set.sql": "\\set a random(1, 1000)\n\\set b :a * 2 + 1\n\\set c 1.0 / 3\n\\set d null\n\\set e :a > 500\n"
    "select :a, :b, :c, :d, ':e';\n",
    "set_typed.sql": "\\set a random(1, 1000)\n\\set c 1.0 / 3\n\\set e :a > 500\nselect :a::int, :c::float8, :e::bool;\n",
    "types.sql": "select :client_id::int, :scale::int, (:random_seed)::text, (:default_seed)::text;\n",
    "missing.sql": "select 1;\nselect :missing::text, ':none';\n",
    "quoted.sql": "\\set x 5\nselect ':x', E'\\n:x', :x::text;\n",
    "gset.sql": "\\set x random(1, 1000)\nselect :x::int + 1 as y, -2.50 as z \\gset\n"
    "select :y::int, 7 as y \\gset p_\nselect :p_y::int, :z::numeric;\n",
    "gset_text.sql": "select 'te xt' as z \\gset\nselect :z::text;\n",
    "gset_null.sql": "select null as a, true as b, 1.5 as c \\gset\nselect :a::text, :b::bool, :c::float8;\n",
    "gset_none.sql": "select 1 as x where false \\gset\nselect :x;\n",
    "aset.sql": "select 1 as a \\; select 2 as b, 3 as c \\; select 9 as none where false \\aset\nselect :a::int, :b::int, :c::int;\n",
    "aset_one.sql": "select id as i, v as w from golden_pair order by id \\aset q_\nselect :q_i::int, :q_w::int;\n",
    "joined.sql": "select 1 \\; select 2 \\; select 3;\nselect 4;\n",
    "if.sql": "\\set x random(1, 9)\n\\if :x > 6\nselect 'high', :x::int;\n\\elif :x > 3\nselect 'middle', :x::int;\n"
    "\\if :x = 4\nselect 'four';\n\\endif\n\\else\nselect 'low';\n\\endif\nselect 'end';\n",
    "case.sql": "\\set x random(1, 9)\n\\set y case when :x > 5 then 'a' is null else :x end\nselect :y::text;\n",
    "case_good.sql": "\\set x random(1, 9)\n\\set y case when :x > 5 then -:x else :x end\nselect :y::int;\n",
    "block.sql": "begin;\nselect :client_id::int;\n\\sleep 1 ms\nend;\n",
    "pipeline.sql": "\\set x random(1, 1000)\n\\startpipeline\nselect :x::int;\nselect :x::int + 1;\nselect 'three';\n\\endpipeline\n"
    "select 'after';\n",
    "pipeline_block.sql": "\\startpipeline\nbegin;\nselect 1;\nselect 1/(:client_id::int - 99);\ncommit;\n\\endpipeline\n",
    "pipeline_error.sql": "\\startpipeline\nselect 1;\nselect 1/0;\nselect 3;\n\\endpipeline\n",
    "pipeline_twice.sql": "\\startpipeline\nselect 1;\n\\endpipeline\n\\startpipeline\nselect 2;\nselect 1;\n\\endpipeline\n",
    "sync.sql": "\\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline\n",
    "retry.sql": "\\set x random(1, 1000)\nbegin;\nselect :x::int;\nselect golden_fail(3, '40001');\nend;\n",
    "retry_bare.sql": "\\set x random(1, 1000)\nselect golden_fail(2, '40P01'), :x::int;\n",
    "retry_pipeline.sql": "\\startpipeline\nbegin;\nselect 1;\nselect golden_fail(3, '40001');\nend;\n\\endpipeline\nselect 'after';\n",
    "broken.sql": "select 1;\nselect 1/0;\nselect 2;\n",
    "syntax.sql": "select 1;\nselec 2;\n",
    "noend.sql": "begin;\nselect 1;\n",
    "copy.sql": "copy golden_pair from stdin;\nselect 1;\n",
    "shell.sql": "\\setshell n echo 12\nselect :n::int;\n",
    "defined.sql": "select :one::int, :two::numeric;\n",
    "words.sql": "select ':words';\nselect :words::text;\n",
    "dash.sql": "select 'a' -- :x\n, :x::int;\n",
    # Scripts for --rows.
    "values.sql": "".join(
        f"\\set v {text}\ninsert into golden_rows (client, script, name, value) values (:client_id, 'values', '{name}', (:v)::text);\n"
        for name, text in {
            "random": "random(1, 1000000)",
            "whole": "random(-4611686018427387904, 4611686018427387902)",
            "narrow": "random(0, 1)",
            "exponential": "random_exponential(1, 1000000, 2.5)",
            "gaussian": "random_gaussian(-1000, 1000, 4.0)",
            "zipfian": "random_zipfian(1, 1000000, 1.07)",
            "zipfian steep": "random_zipfian(1, 100, 3.5)",
            "hash": "hash(random(1, 1000))",
            "fnv1a": "hash_fnv1a(random(1, 1000), 5432)",
            "murmur2": "hash_murmur2(random(1, 1000), 5432)",
            "permute": "permute(random(0, 999999), 1000000)",
            "permute seeded": "permute(random(0, 99), 100, 42)",
            "permute large": "permute(random(0, 4611686018427387903), 4611686018427387904, 7)",
            "seed": ":default_seed",
            "ratio": "random(1, 1000) / 7.0",
            "root": "sqrt(random(1, 1000))",
            "log": "ln(random(2, 1000)) * exp(1) + pi()",
            "power": "power(random(2, 9), 1.5)",
            "whole power": "pow(random(2, 9), 5)",
            "bits": "(random(1, 255) # 170) | (1 << 9) & ~6",
            "mod": "mod(-random(1, 99), 7) + greatest(1, 2, 3) - least(4, 5) * abs(-2)",
            "rounded": "int(random(1, 99) / 2.0) + double(3)",
        }.items()
    ),
    **{
        f"{name}.sql": "\\set x random(1, 1000000)\n"
        f"insert into golden_rows (client, script, name, value) values (:client_id, '{name}', 'x', :x::text);\n"
        for name in ("one", "two", "three")
    },
    "again.sql": "\\set x random(1, 1000000)\nbegin;\n"
    "insert into golden_rows (client, script, name, value) values (:client_id, 'again', 'x', :x::text);\n"
    "select golden_fail(3, '40001');\nend;\n",
}

PIPELINES = ("pipeline.sql", "pipeline_block.sql", "pipeline_error.sql", "pipeline_twice.sql", "retry_pipeline.sql")


def line(text, mode, queries=None, log_columns=()):
    """A case from a command line, with a mode and a seed."""
    seed = [] if "--random-seed" in text else ["--random-seed=7"]
    return Case((*text.split(), *seed, "-M", mode), queries=queries or {}, log_columns=log_columns)


def statements(major):
    """Command lines whose statements are compared, in the three query modes."""
    lines = ["-t 5", "-t 5 -v", "-t 5 -N", "-t 5 -S", "-n -t 5 -b se@2 -b si@3 -b tpcb@1", "-t 3 -s 7"]
    lines += ["-n -c 3 -j 2 -t 4", "-n -c 3 -j 2 -t 4 -S", "-n -c 3 -j 3 -t 4 -N", "-n -C -t 3 -S", "-n -C -c 3 -j 2 -t 3"]
    lines += ["-n -R 200 -t 4 -S", "-n -S -t 4 -l -r -P 1", "-n -S -t 4 -L 9000 --max-tries=2 --failures-detailed"]
    plain = ["plain", "lines", "set", "set_typed", "types", "quoted", "missing", "gset", "gset_text", "gset_null", "gset_none", "aset", "aset_one"]
    plain += ["joined", "if", "case", "case_good", "broken", "syntax", "noend", "copy", "shell", "dash"]
    lines += [f"-n -t 4 -f {name}.sql" for name in plain]
    lines += ["-n -t 3 -f gset.sql -c 3 -j 2", "-n -t 4 -f if.sql -c 3 -j 2", "-n -t 3 -f types.sql -c 3 -j 2 -s 12"]
    lines += ["-n -t 3 -f block.sql -c 3 -j 2", "-n -t 3 -f block.sql -C", "-n -t 2 -f types.sql -D scale=3 -D default_seed=11"]
    lines += ["-n -t 2 -f defined.sql -D one=1 -D two=2.50", "-n -t 2 -f words.sql -D words=x,y", "-n -t 2 -f dash.sql -D x=3", "-n -t 2 -f set_typed.sql -D a=9"]
    lines += ["-n -t 9 -f if.sql@3 -f set_typed.sql@1 -f joined.sql@0 -r", "-n -t 6 -c 2 -j 2 -f if.sql@2 -f set_typed.sql@3"]
    lines += [f"-n -t 7 -f {name}.sql {tries}" for name in ("retry", "retry_bare") for tries in ("", "--max-tries=2", "--max-tries=5")]
    lines += ["-n -t 7 -f retry.sql --max-tries=0 -L 60000 --verbose-errors", "-n -t 5 -f retry.sql -C --max-tries=3"]
    for name in PIPELINES:
        lines += [f"-n -t 4 -f {name}", f"-n -t 3 -c 3 -j 2 -f {name}" if "retry" not in name else f"-n -t 7 -f {name} --max-tries=3"]
    if major >= 17:
        lines += ["-n -t 3 -f sync.sql"]
    return [line(text, mode) for text in lines for mode in MODES]


# A single client's rows are in table order, because the table was empty.
HISTORY = {
    "rows of pgbench_history": "select tid, bid, aid, delta from pgbench_history order by ctid",
    "balances": "select 'a', aid, abalance from pgbench_accounts where abalance <> 0 union all"
    " select 't', tid, tbalance from pgbench_tellers where tbalance <> 0 union all"
    " select 'b', bid, bbalance from pgbench_branches where bbalance <> 0 order by 1, 2",
}
VALUES = {"values of each client": "select client, name, value from golden_rows order by client, n"}
SCRIPTS_AND_VALUES = {"scripts and values of each client": "select client, script, value from golden_rows order by client, n"}
# Two clients of a thread take scripts from one generator, in the order of their requests. How often
# each script is chosen is deterministic, and so is each client's own random stream.
SCRIPTS_PER_THREAD = {
    "values of each client": "select client, value from golden_rows order by client, n",
    "scripts of each thread": "select client / 2, script, count(*) from golden_rows group by 1, 2 order by 1, 2",
}


# The result of -i, without the order of rows in a table, which pgbench does not guarantee.
PGBENCH_TABLES = "c.relnamespace = 'public'::regnamespace and c.relname like 'pgbench%'"
TABLES = {
    "relations": "select c.relname, c.relkind, c.relpersistence, c.reloptions, pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid),"
    f" t.spcname from pg_class c left join pg_tablespace t on t.oid = c.reltablespace where {PGBENCH_TABLES} order by 1",
    "columns": "select c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull"
    f" from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 where {PGBENCH_TABLES} order by 1, 2",
    "constraints": "select c.relname, k.conname, pg_get_constraintdef(k.oid), k.convalidated"
    f" from pg_class c join pg_constraint k on k.conrelid = c.oid where {PGBENCH_TABLES} order by 1, 2, 3",
    "indexes": f"select c.relname, pg_get_indexdef(c.oid) from pg_class c where {PGBENCH_TABLES} and c.relkind in ('i', 'I') order by 1",
    "vacuumed": "select c.relname, c.reltuples::bigint, c.relallvisible = c.relpages, count(s.attname) from pg_class c"
    " left join pg_stats s on s.schemaname = 'public' and s.tablename = c.relname"
    f" where {PGBENCH_TABLES} and c.relkind in ('r', 'p') group by c.oid, 1, 2, 3 order by 1",
    "rows": "create function pg_temp.sum_of(name regclass, out text) language plpgsql as $$ begin"
    " execute format('select count(*) || '' '' || md5(string_agg(t::text, '','' order by t::text)) from %s t', name) into $2; end $$;"
    f" select c.relname, pg_temp.sum_of(c.oid) from pg_class c where {PGBENCH_TABLES} and c.relkind = 'r' order by 1",
}
INITIALIZATIONS = [
    "-i", "-i -s 2", "-i -n", "-i -I dtG", "-i -I dtgvpf", "-i --foreign-keys -q", "-i -F 70 -s 2", "-i --unlogged-tables -F 90",
    "-i --partitions=3", "-i -s 2 --partitions=7 --partition-method=hash --foreign-keys", "-i -I dtGpv --partitions=2 -F 50",
    "-i --partitions=2 --unlogged-tables", "-i --tablespace=pg_default --index-tablespace=pg_default", "-i -I dt", "-i -I dtgpgv",
]


def rows():
    """Command lines whose rows or tables are compared."""
    weighted = "-f one.sql@3 -f two.sql@2 -f three.sql@1"
    result = []
    for mode in MODES:
        result += [
            line("-n -c 1 -t 1000 -b tpcb-like --random-seed=42", mode, HISTORY),
            line("-n -c 1 -t 1000 -b simple-update --random-seed=20261121", mode, HISTORY),
            line("-n -c 1 -t 40 -f values.sql --random-seed=42", mode, VALUES),
            line("-n -c 4 -j 2 -t 10 -f values.sql --random-seed=18446744073709551615", mode, VALUES),
            line(f"-n -c 1 -t 200 {weighted}", mode, SCRIPTS_AND_VALUES),
            line(f"-n -c 2 -j 2 -t 200 {weighted}", mode, SCRIPTS_AND_VALUES),
            line(f"-n -c 4 -j 2 -t 200 {weighted}", mode, SCRIPTS_PER_THREAD),
            line("-n -c 1 -t 60 -f again.sql --max-tries=4", mode, VALUES),
        ]
    result.append(line("-n -c 1 -t 300 -f one.sql -f two.sql@2 -l --sampling-rate=0.4", "simple", SCRIPTS_AND_VALUES, (0, 1, 3)))
    result.append(line("-n -c 1 -t 60 -f again.sql --max-tries=4 -l", "simple", VALUES, (0, 1, 3, 6)))
    result += [Case(tuple(text.split()), fresh=True, queries=TABLES) for text in INITIALIZATIONS]
    return result
