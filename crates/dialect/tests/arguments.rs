//! Command lines against the real pgbench: what it refuses before it connects, Prony's reader must
//! refuse with the same text and status; what it accepts must be accepted.
//!
//! Every pgbench from 13 to 19 below /usr/lib/postgresql is compared with, at its level, and those in
//! PRONY_TEST_PGBENCH (paths with colons between them). Skipped, with a message, where there is none.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use prony_dialect::pgbench::{Host, Invocation, Level, Voice, list_text, read, show_text};

/// A real pgbench.
struct Real {
    path: String,
    level: Level,
}

/// The outside world of a test: a fixed environment, real files, the limits of this process.
struct World {
    variables: Vec<(&'static str, &'static str)>,
    said: String,
    open_files: (u64, u64),
    voice: Voice,
}

impl World {
    fn new(argv0: &str, level: &Level) -> Self {
        Self {
            variables: Vec::new(),
            said: String::new(),
            open_files: (1024, 4096),
            voice: Voice::new(argv0, level),
        }
    }
}

impl Host for World {
    fn variable(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    }

    fn say(&mut self, text: &str) {
        self.said += text;
    }

    fn load_script(&mut self, path: &Path) -> Result<(), String> {
        // What a parser of scripts says of no script at all; standard input is empty in these tests.
        let name = path.display();
        match std::fs::read(path) {
            Ok(script) if !script.is_empty() => Ok(()),
            Err(_) if path != Path::new("-") => Err(self.voice.fatal(&format!(
                "could not open file \"{name}\": No such file or directory"
            ))),
            _ => Err(self
                .voice
                .fatal(&format!("empty command list for script \"{name}\""))),
        }
    }

    fn open_files(&self) -> Option<(u64, u64)> {
        Some(self.open_files)
    }

    fn raise_open_files(&mut self, _to: u64) -> Result<(), String> {
        Ok(())
    }

    fn time_seed(&self) -> u64 {
        1
    }

    fn strong_seed(&self) -> Option<u64> {
        Some(2)
    }

    fn user_name(&self) -> Result<String, String> {
        Ok("somebody".to_owned())
    }
}

/// The soft and the hard limit of open files, from /proc; children inherit them.
fn open_files() -> (u64, u64) {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    let mut numbers = line
        .split_whitespace()
        .skip(3)
        .map(|word| word.parse().unwrap_or(u64::MAX));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[derive(Debug, PartialEq)]
struct Spoken {
    stdout: String,
    stderr: String,
    status: i32,
}

fn spoken(path: &str, arguments: &[&str], variables: &[(&'static str, &'static str)]) -> Spoken {
    let output = Command::new(path)
        .args(arguments)
        .env_clear()
        .env("PGHOST", "/nonexistent")
        .env("LC_ALL", "C")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Spoken {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// What Prony says, or `None` and what it said so far where pgbench would connect.
fn ours(real: &Real, arguments: &[&str], world: &mut World) -> Option<Spoken> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let (stdout, stderr, status) = match read(&real.path, &arguments, &real.level, world) {
        Ok(Invocation::Run(_) | Invocation::Initialize(_)) => return None,
        Ok(Invocation::Help(text) | Invocation::Version(text)) => (text, String::new(), 0),
        Ok(Invocation::ListBuiltins) => (String::new(), list_text(), 0),
        Ok(Invocation::ShowScript(builtin)) => (String::new(), show_text(builtin), 0),
        Err(refused) => (
            String::new(),
            refused.stderr,
            i32::from(refused.exit_status),
        ),
    };
    Some(Spoken {
        stdout,
        stderr: world.said.clone() + &stderr,
        status,
    })
}

/// Whether Prony refuses or does this before connecting; panics where it differs from pgbench.
fn compare(real: &Real, arguments: &[&str], variables: &[(&'static str, &'static str)]) -> bool {
    let expected = spoken(&real.path, arguments, variables);
    let mut world = World {
        variables: variables.to_vec(),
        open_files: open_files(),
        ..World::new(&real.path, &real.level)
    };
    match ours(real, arguments, &mut world) {
        Some(spoken) => {
            assert_eq!(spoken, expected, "{arguments:?} {variables:?}");
            true
        }
        None => {
            // 13 says the second.
            let tries = ["could not create connection for", "connection to database"];
            let connected = expected.stderr.strip_prefix(world.said.as_str());
            assert!(
                connected.is_some_and(|rest| tries.iter().any(|words| rest.contains(words))),
                "{arguments:?} {variables:?}: Prony would connect after {:?}; pgbench: {expected:?}",
                world.said
            );
            false
        }
    }
}

/// Those that are installed.
fn installed() -> Vec<Real> {
    let mut paths: Vec<String> = (13..=19)
        .map(|major| format!("/usr/lib/postgresql/{major}/bin/pgbench"))
        .collect();
    let more = std::env::var("PRONY_TEST_PGBENCH").unwrap_or_default();
    paths.extend(
        more.split(':')
            .filter(|path| !path.is_empty())
            .map(str::to_owned),
    );
    paths.retain(|path| Path::new(path).exists());
    if paths.is_empty() {
        eprintln!("skipped: there is no pgbench from 13 to 19 below /usr/lib/postgresql");
    }
    let with_level = |path: String| {
        let version = spoken(&path, &["--version"], &[]).stdout;
        let text = version
            .trim()
            .strip_prefix("pgbench (PostgreSQL) ")
            .unwrap();
        Real {
            level: Level::parse(text).unwrap(),
            path,
        }
    };
    paths.into_iter().map(with_level).collect()
}

/// Command lines, a blank between arguments; `_` stands for a blank and `""` for an empty argument.
const LINES: &str = r#"
--version
-V
-n --version
-n -V
-n --help
-n -?
--vers
--hel
--foo
--foo=bar
-z
-Cz
-C-
-:
-;
-c
-c5x
-c x
-c 0
-c -1
-c 1.5
-c ""
-c _7
-c 7_
-c _
-c 0x10
-c 2147483647
-c 2147483648
-c 99999999999999999999
-c -99999999999999999999
-c 1e3
--client
--client=
--client=0
--clients=5
--cli=5
--c=5
--connect=1
--con --cli 3
-j eleven
-j 0
-j3x
--jobs= 3
--jobs=999999999999
-s two
-s 0
-s=3
-i -s 0
-i -s two
-i -s 2147483648
-t zil
-t 0
-t -3
-T ten
-T 0
--time
--ti
--ti=5
--t=5
--trans=5 --sel
--transactions=x
-t 5 -T 5
-T 5 -t 5
-P 0
-P x
--progress=0
--prog=5
--progress-t
--progress-timestamp
-P 1 --progress-timestamp
--pro=simple
--p=3
--par=3
--partition=3
--partitions -1
--partitions x
-i --partitions -1
-i --partitions 0
-i --partitions 3
-i --partitions 0 --partition-method=hash
-i --partition-method=hash
-i --partition-method=HASH --partitions=2
-i --partition-method=BAD
-i --partition-method=
-i --partition-m=range
-i --partitions=99999999999
-F 9
-F 10
-F 100
-F 101
-F x
-i -F 9
-i -F 101
-i -F x
-i -F ""
-i -F 10
--fillfactor=50
--fill=50
--f=50
--fi=50
-I d
-i -I ""
-i -I dta
-i -I x
-i -I dtgGvpfdtg
-i -I d_t_g
-i -Idt
-i --init-steps=d,t
-i --init=dt
-i --in=dt
-I dtg
-q
-i -q
--quiet
--unlogged-tables
-i --unlogged
--un
--tablespace=x
-i --tablespace x
-i --table=
--index-tablespace=x
-i --index-tablespace=x
--foreign-keys
-i --foreign-keys
--fo
-i --fo
-i -S
-i -N
-i -f /nonexistent.sql
-i -b tpcb
-i -c 2
-i -C
-i -D x=1
-i -j 2
-i -l
-i -L 5
-i -M simple
-i -P 1
-i -r
-i -R 5
-i -t 5
-i -T 5
-i -v
-i -n
-i -d
-i --max-tries=3
-i --verbose-errors
-i --failures-detailed
-i --random-seed=5
-i --sampling-rate=0.5
-i --aggregate-interval=5
-i --log-prefix=x
-i --progress-timestamp
-L 0
-L x
-L -1
-L nan
-L inf
-L 1e-9
-L 0x1
--latency-limit=0.0
--latency-limit
--la=5
--l=5
--lo
--log
--log=x
--log-p=x
-l --log-p=x
--log-prefix=x
-R 0
-R -5
-R x
-R inf
-R 1e3x
--rate=0.0
--ra=5
--r=5
--re
--report
--report-latencies
--report-per-command
--report-per-command=1
-M
-M no-such-mode
-M sim
-M simple
-M extended
-M prepared
-M PREPARED
-M ""
--prot=prepared
-D x
-D x=
-D =1
-D x=1
-D x=1=2
-D 1x=1
-D a-b=1
-D é=1
-D _x1=1
-D ""
--define foobla
--define=x=1
--de=x
--d=x
--debug
--debug=3
-d
-dd
-h home -p 5432 -U calvin -d --bad-option
-f no-such-file
-f
-f -
-f no-such-file@3
-f a@b.sql
-f a@b.sql@1
-f /dev/null@x
--file=no-such-file
-b
-b list
-b list@3
-b lis
-b no-such-builtin
-b s
-b ""
-b @3
-b se
-b si
-b t
-b tpcb-like@5
-b se@
-b se@x
-b se@-1
-b se@2147483647
-b se@2147483648
-b se@99999999999999999999
-b se@1@2
-b se@_3
-b se@+3
-b se@0
-b se@0 -b si@0 -b tpcb@0
-b se@0 -b si@1
--builtin=select-only@one
--bu=se
-b x -b list
-b list -b x
-c x -b list
-b list -c x
--show-script
--show-script=
--show-script=s
--show-script=se
--show-script se
--show-script=tpcb-like
--show-script=simple-update
--show=t
--sh=si@3
--s=5
--sc=5
--se
--sk
--select-only --skip-some-updates
--sa=0.5
--sampling-rate=0
--sampling-rate=1.1
--sampling-rate=x
--sampling-rate=-1
--sampling-rate=0.5
--sampling-rate=nan
-l --sampling-rate=0.5
-l --sampling-rate=1
-l --sampling-rate=0.5 --aggregate-interval=1
--aggregate-interval=-3
--aggregate-interval=0
--aggregate-interval=x
--aggregate-interval=5
--agg=5
-l --aggregate-interval=5
-l --aggregate-interval=5 -T 3
-l --aggregate-interval=5 -T 6
-l --aggregate-interval=5 -T 10
-l --aggregate-interval=5 -t 3
-T 3 --aggregate-interval=5
-N -l --aggregate-interval=5 --log-prefix=notused -t 1000 -T 1
-P 1 --progress-timestamp -l --sampling-rate=0.001 -T 10 -t 1000
--max-tries -10
--max-tries 0
--max-tries x
--max-tries=
--max-tries 0 -T 5
--max-tries 0 -L 5
--max-tries 0 -L 1e-9
--max-tries=99999999999
--max-tries=4294967295
--ma=3
--random-seed=one
--random-seed=
--random-seed=42
--random-seed=-1
--random-seed=+7
--random-seed=42x
--random-seed=_42
--random-seed=42_
--random-seed=0x10
--random-seed=18446744073709551615
--random-seed=18446744073709551616
--random-seed=1 --random-seed=2 --foo
--rand=5
--random
--failures-detailed
--fail
--verbose-errors
--ver
--ve
--v
--vacuum-all
-v -n
--no-vacuum
--no=3
--host=x --nonsense
--ho
--ho=/nowhere
--user=x
--us
--username
--port=x1
db
db extra
db -c 2
db -c x
db extra -c x
db -- -c
-- -c x
--
-- db
-- db extra
- 
-c 2 -
-c 2 - -
-S -F 90
-S -i
-F 90 -i -S
--exit-on-abort
--continue-on-error
--dbname=x
--percentile=3
-Cc2
-CSc2x
-lrNSvn
-lrc
-nST5 -c2 -j2 db
"#;

fn words(line: &str) -> Vec<String> {
    let word = |word: &str| {
        if word == "\"\"" {
            String::new()
        } else {
            word.replace('_', " ")
        }
    };
    line.split_whitespace().map(word).collect()
}

#[test]
fn single_command_lines() {
    for real in &installed() {
        let mut before_connecting = 0;
        for line in LINES.lines().filter(|line| !line.is_empty()) {
            let words = words(line);
            let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
            before_connecting += usize::from(compare(real, &arguments, &[]));
        }
        assert!(
            before_connecting > 200,
            "only {before_connecting} lines end before connecting"
        );
    }
}

/// Which of two mistakes is complained of depends on their order and on the order of the checks.
#[test]
fn pairs_of_options() {
    let pieces = [
        "-i",
        "-S",
        "-b nothing",
        "-F 9",
        "-F 90",
        "-I d",
        "-c x",
        "-c 2",
        "-t 5",
        "-T 7",
        "-l",
        "--sampling-rate=0.5",
        "--aggregate-interval=2",
        "--log-prefix=x",
        "--progress-timestamp",
        "--max-tries=0",
        "-L 5",
        "--partition-method=hash",
        "-b se@0",
        "db",
        "--bad",
        "-D x",
        "--random-seed=7",
        "-f /nonexistent",
        "-d",
    ];
    for real in &installed() {
        for first in pieces {
            for second in pieces {
                let line = format!("{first} {second}");
                let arguments: Vec<&str> = line.split(' ').collect();
                compare(real, &arguments, &[]);
            }
        }
    }
}

#[test]
fn environment() {
    for real in &installed() {
        for seed in ["", "one", "42", "time_", "-1"] {
            let seed = [("PGBENCH_RANDOM_SEED", seed)];
            compare(real, &["--foo"], &seed);
            compare(real, &["--random-seed=5", "-c", "x"], &seed);
            compare(real, &["-V"], &seed);
        }
        let posix = [("POSIXLY_CORRECT", "1")];
        compare(real, &["db", "-c", "x"], &posix);
        compare(real, &["-c", "x", "db"], &posix);
        compare(real, &["-n", "db"], &posix);
        compare(real, &["a", "b"], &[("PGDATABASE", "c")]);
    }
}

#[test]
fn too_many_scripts() {
    for real in &installed() {
        assert!(compare(real, &["-S"; 129], &[]));
        assert!(!compare(real, &["-S"; 128], &[]));
    }
}

#[test]
fn help_has_the_headings_and_options_of_the_real_one() {
    for real in &installed() {
        let expected = spoken(&real.path, &["--help"], &[]).stdout;
        let mut world = World::new(&real.path, &real.level);
        let found = ours(real, &["--help"], &mut world).unwrap().stdout;
        for line in expected.lines() {
            for option in line
                .split_whitespace()
                .filter(|word| word.starts_with("--"))
            {
                let name = option.split(['=', ',']).next().unwrap();
                assert!(found.contains(name), "--help does not name {name}");
            }
            if line.ends_with(':') {
                let heading = !line.trim_start().starts_with(|c: char| c.is_lowercase());
                assert!(!heading || found.contains(line), "--help has no {line:?}");
            }
        }
    }
}

/// Whatever is typed, at any level: an answer, and messages that begin with the program's name.
mod anything {
    use super::*;
    use proptest::prelude::*;

    fn word() -> impl Strategy<Value = String> {
        prop_oneof![
            "-[a-zA-Z?:;-]{1,4}[0-9@x=]{0,3}",
            "--[a-z]{1,9}(-[a-z]{1,6})?(=[-0-9a-z.,@+ ]{0,12})?",
            "--(client|jobs|rate|latency-limit|max-tries|partitions|builtin|define|random-seed|percentiles)=\\PC{0,12}",
            "\\PC{0,8}",
        ]
    }

    proptest! {
        #[test]
        fn is_answered(words in proptest::collection::vec(word(), 0..6), major in 13_u16..20) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            let level = Level::of_major(major).unwrap();
            let mut world = World::new("/x/pgbench", &level);
            if let Err(refused) = read("/x/pgbench", &words, &level, &mut world) {
                prop_assert!(refused.stderr.contains("pgbench: "), "{}", refused.stderr);
                prop_assert!(refused.stderr.ends_with('\n'));
                prop_assert_eq!(refused.exit_status, 1);
            }
        }
    }
}

/// What each level has of its own.
#[test]
fn levels_differ() {
    let say = |major: u16, line: &str| {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let level = Level::of_major(major).unwrap();
        read(
            "pgbench",
            &words,
            &level,
            &mut World::new("pgbench", &level),
        )
    };
    let refusal = |major, line: &str| say(major, line).unwrap_err().stderr;
    assert_eq!(
        refusal(14, "-c x"),
        "pgbench: fatal: invalid number of clients: \"x\"\n"
    );
    assert_eq!(
        refusal(14, "-F 5"),
        "pgbench: fatal: invalid fillfactor: \"5\"\n"
    );
    assert_eq!(
        refusal(13, "--max-tries=3"),
        "pgbench: unrecognized option '--max-tries=3'\nTry \"pgbench --help\" for more information.\n"
    );
    assert_eq!(
        refusal(15, "--report-latencies"),
        "pgbench: unrecognized option '--report-latencies'\npgbench: hint: Try \"pgbench --help\" for more information.\n"
    );
    assert!(refusal(19, "-j 0").contains("-j/--jobs must be in range 1..2147483647"));
    assert!(refusal(19, "-c 0").contains("-c/--client must be"));
    assert!(
        refusal(18, "-c 5000").contains("need at least 5003 open files, but system limit is 4096")
    );
    assert!(say(18, "-c 2000").is_ok());
    assert!(refusal(16, "--exit-on-abort").contains("unrecognized"));
    assert!(refusal(18, "--continue-on-error").contains("unrecognized"));
    assert!(
        refusal(18, "-d one two").contains("too many command-line arguments (first is \"two\")")
    );
    let run = |major, line: &str| match say(major, line) {
        Ok(Invocation::Run(options)) => options,
        other => panic!("{other:?}"),
    };
    assert!(run(16, "-d db").debug && run(16, "-d db").connection.dbname == "db");
    assert!(!run(17, "-d db").debug && run(17, "-d db").connection.dbname == "db");
    assert!(run(19, "--exit-on-abort --continue-on-error").continue_on_error);
    assert!(run(14, "-r").report_per_command && run(13, "--report-l").report_per_command);
    assert_eq!(run(13, "-c 3x -j 9").clients, 3);
    assert_eq!(run(18, "-c 3 -j 9 --percentiles=99,50").threads, 3);
    assert_eq!(run(18, "--percentiles=99,50").percentiles, [50.0, 99.0]);
}
