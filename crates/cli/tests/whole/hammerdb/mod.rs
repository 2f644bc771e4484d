//! Prony called as hammerdbcli: the two scripts in the published guides, on a test server. Each minute of a
//! test lasts two seconds (`PRONY_HAMMERDB_MINUTE`).

mod errors;
mod layout;
mod maria;

use crate::common::*;
use std::io::Write;
use std::os::unix::fs::symlink;

/// The password of the role: a `#` within a word does not start a comment.
pub const ROLE_PASSWORD: &str = "Sesame#0815";

/// A link named hammerdbcli to Prony, and a folder for its files.
pub struct HammerdbCli {
    pub bench: TestBench,
    pub name: &'static str,
    link: PathBuf,
    port: u16,
}

impl HammerdbCli {
    /// `name` is that of a database and a role, which do not exist yet.
    pub fn new(name: &'static str) -> HammerdbCli {
        HammerdbCli::on(shared_postgres(), name)
    }

    /// Like [`HammerdbCli::new`], on a given server.
    pub fn on(server: &EmbeddedPostgres, name: &'static str) -> HammerdbCli {
        // An additional, empty database.
        let bench = TestBench::on(server, &format!("{name}_beside"));
        let link = bench.home.join("hammerdbcli");
        symlink(env!("CARGO_BIN_EXE_prony"), &link).expect("a link");
        HammerdbCli {
            bench,
            name,
            link,
            port: server.port(),
        }
    }

    pub fn log_folder(&self) -> PathBuf {
        self.bench.home.join("temp")
    }

    /// The program, called through the link.
    pub fn command(&self) -> Command {
        let mut command = self.bench.command("");
        let mut linked = Command::new(&self.link);
        for (name, value) in command.stdin(Stdio::piped()).get_envs() {
            match value {
                Some(value) => linked.env(name, value),
                None => linked.env_remove(name),
            };
        }
        std::fs::create_dir_all(self.log_folder()).expect("a folder");
        linked
            .env("TMP", self.log_folder())
            .env("PRONY_HAMMERDB_MINUTE", "2s")
            .env_remove("PRONY_HAMMERDB_COMPAT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        linked
    }

    /// Starts `command` with a script on standard input.
    pub fn start(&self, mut command: Command, script: &str) -> Child {
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take();
        input
            .expect("piped")
            .write_all(script.as_bytes())
            .expect("it reads");
        child
    }

    /// Runs a script from standard input to its end.
    pub fn execute(&self, script: &str) -> Output {
        let child = self.start(self.command(), script);
        self.finish(child)
    }

    pub fn execute_file(&self, script: &str) -> Output {
        let path = self.bench.home.write("script.tcl", script);
        let mut command = self.command();
        let output = command.arg("auto").arg(&path).output().expect("it starts");
        // The script contains the passwords.
        std::fs::remove_file(&path).expect("the file exists");
        let server = shared_mariadb();
        assert_hidden(server.password().reveal(), &output, &self.bench.home);
        self.assert_no_password(output)
    }

    /// Waits for the end of a command; asserts that its output and files contain neither password.
    pub fn finish(&self, child: Child) -> Output {
        self.assert_no_password(child.wait_with_output().expect("it ends"))
    }

    fn assert_no_password(&self, output: Output) -> Output {
        assert_hidden(ROLE_PASSWORD, &output, &self.bench.home);
        self.bench.assert_no_password(output)
    }

    /// Script lines that set the server's address and the logins.
    pub fn login_lines(&self) -> String {
        format!(
            "dbset db pg\ndbset bm tpc-c\n\n# WHERE\n# -----\n\
             diset connection pg_host 127.0.0.1\ndiset connection pg_port {}\n\
             diset tpcc pg_superuser postgres\ndiset tpcc pg_superuserpass {}\n\
             diset tpcc pg_user {name}\ndiset tpcc pg_pass {ROLE_PASSWORD}\n\
             diset tpcc pg_dbase {name}\n",
            self.port,
            self.bench.password,
            name = self.name
        )
    }

    pub fn build_script(&self, warehouses: u32, users: u32) -> String {
        format!(
            "{}diset tpcc pg_count_ware {warehouses}\ndiset tpcc pg_num_vu {users}\n\n\
             vuset logtotemp 1\nprint dict\n\nbuildschema\n\nwaittocomplete\nvudestroy\nquit\n\n",
            self.login_lines()
        )
    }

    /// The guide's script that runs the test, as the superuser.
    pub fn test_script(&self, rampup: u32, users: u32) -> String {
        format!(
            "{}diset tpcc pg_user postgres\ndiset tpcc pg_pass {}\n\
             diset tpcc pg_driver timed\ndiset tpcc pg_rampup {rampup}\n\
             diset tpcc pg_duration 1\ndiset tpcc pg_vacuum false\n\
             diset tpcc pg_partition false\ndiset tpcc pg_allwarehouse true\n\
             diset tpcc pg_timeprofile true\ndiset tpcc pg_connect_pool false\n\
             diset tpcc pg_dritasnap false\n\nloadscript\nprint dict\nvuset logtotemp 1\n\
             vuset vu {users}\nvucreate\nvurun\nwaittocomplete\nquit\n",
            self.login_lines(),
            self.bench.password
        )
    }

    pub fn read_log(&self, name: &str) -> String {
        std::fs::read_to_string(self.log_folder().join(name)).expect(name)
    }
}

/// Returns the lines of an output, without carriage returns and empty lines.
pub fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim_matches('\r').to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns NOPM and TPM of the only result.
pub fn parse_result(stdout: &str) -> (u64, u64) {
    parse_result_of("PostgreSQL", stdout)
}

/// Like [`parse_result`], for another database.
pub fn parse_result_of(database: &str, stdout: &str) -> (u64, u64) {
    let lines = stdout.lines();
    let results: Vec<&str> = lines.filter(|line| line.contains("NOPM")).collect();
    assert_eq!(results.len(), 1, "{stdout}");
    let line = results[0].trim_start_matches('\r');
    let figures = line.strip_prefix("Vuser 1:TEST RESULT : System achieved ");
    let words: Vec<&str> = figures.expect(line).split(' ').collect();
    assert_eq!(
        [words[1], words[2], words[4], words[5]],
        ["NOPM", "from", database, "TPM"]
    );
    let number = |word: &str| word.parse().expect("a number");
    (number(words[0]), number(words[3]))
}

#[test]
fn scripts_of_the_guide_build_and_run() {
    let hammer = HammerdbCli::new("guide");
    let stdout = ok_stdout(&hammer.execute(&hammer.build_script(2, 2)));
    let printed_lines = lines(&stdout);
    for line in [
        "Building 2 Warehouses with 3 Virtual Users, 2 active + 1 Monitor VU(dict value pg_num_vu is set to 2)",
        "Vuser 3 created - WAIT IDLE",
        "Vuser 1:CREATING DATABASE guide under OWNER guide",
        "Vuser 1:Workers: 0 Active 2 Done",
        "Vuser 3:FINISHED SUCCESS",
        "Vuser 1:GUIDE SCHEMA COMPLETE",
        "ALL VIRTUAL USERS COMPLETE",
        "Shutting down HammerDB CLI",
    ] {
        assert!(
            printed_lines.iter().any(|printed| printed == line),
            "{line}: {stdout}"
        );
    }
    let mut control = connect(&shared_postgres().url_for("guide"));
    let orders = "SELECT sum(d_next_o_id) FROM district";
    let before = query_number(&mut control, orders);
    assert_eq!(before, 2 * 10 * 3001);
    let owner =
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tableowner = 'guide'";
    assert_eq!(query_number(&mut control, owner), 9);
    let functions = "SELECT count(*) FROM pg_proc WHERE proname LIKE 'prony_tpcc_hammerdb%'";
    // hammerdb-4.6 has an additional function that generates random numbers.
    assert_eq!(
        query_number(&mut control, functions),
        11,
        "of both profiles"
    );

    let output = hammer.execute(&hammer.test_script(1, 3));
    let stdout = ok_stdout(&output);
    let notice = "Prony runs TPC-C with the profile hammerdb (";
    assert_eq!(
        stderr_text(&output).matches(notice).count(),
        1,
        "{}",
        stderr_text(&output)
    );
    let (nopm, tpm) = parse_result(&stdout);
    // One minute lasts two seconds.
    let (orders_in_window, ordered) = (nopm / 30, query_number(&mut control, orders) - before);
    // The statistics behind TPM lag by up to a second.
    assert!(nopm > 0 && tpm > 0, "{nopm} {tpm}");
    assert!(orders_in_window <= ordered, "{orders_in_window} {ordered}");
    for line in [
        "Vuser 1:Rampup 1 minutes complete ...",
        "Vuser 4:VU 4 : Assigning WID=1 based on VU count 3, Warehouses = 2 (1 out of 1)",
        "Vuser 1:3 Active Virtual Users configured",
        "Vuser 4:FINISHED SUCCESS",
    ] {
        assert!(
            lines(&stdout).iter().any(|printed| printed == line),
            "{line}: {stdout}"
        );
    }
    assert_time_profile(&hammer, 3);
    let log = hammer.read_log("hammerdb.log");
    assert_eq!(
        log.matches("Hammerdb Log @ ").count(),
        2,
        "of the build and of the run"
    );
    log.assert_contains(&format!("System achieved {nopm} NOPM"));
    log.assert_lacks("RUNNING").assert_lacks("FINISHED");
    assert_state_stored(&hammer, nopm);
    // PostgreSQL does not drop a database that is in use.
    drop(control);
    let checked = hammer.execute(&format!(
        "{}diset tpcc pg_count_ware 2\ncheckschema\nvudestroy\n",
        hammer.login_lines()
    ));
    ok_stdout(&checked).assert_contains("guide TPROC-C Schema has been checked successfully.");
    assert_deleted(&hammer);
}

/// Asserts that the time profile lists calls per virtual user and that their sum equals the summary's.
pub fn assert_time_profile(hammer: &HammerdbCli, users: usize) {
    let profile = hammer.read_log("hdbxtprofile.log");
    let title = format!(">>>>> SUMMARY OF {users} ACTIVE VIRTUAL USERS");
    profile.assert_contains(&title);
    let (per_user, summary) = profile.split_once(&title).expect("it is there");
    let calls = |text: &str| -> u64 {
        let mut parts = text.split("PROC: NEWORD\nCALLS: ");
        parts.next();
        let number = |part: &str| part.split('\t').next().and_then(|n| n.parse::<u64>().ok());
        parts.map(|part| number(part).expect("a count")).sum()
    };
    assert!(calls(per_user) > 0);
    assert_eq!(calls(per_user), calls(summary), "each call once: {profile}");
}

/// Asserts that the settings, the run and the jobs are stored after the call, and the password is not.
fn assert_state_stored(hammer: &HammerdbCli, nopm: u64) {
    let run = last_run(&hammer.bench);
    assert_eq!(run.workload.setting("profile"), Some("hammerdb"));
    assert_eq!((run.workload.scale, run.drive.clients), (2, 3));
    let names: Vec<&str> = run.rates.iter().map(|rate| rate.name.as_str()).collect();
    assert_eq!(names, ["NOPM", "TPM"]);
    let output = hammer.execute("print dict\njobs result\nquit\n");
    let stdout = ok_stdout(&output);
    stdout.assert_contains(" pg_user             = postgres\n");
    stdout.assert_contains(" pg_timeprofile      = true\n");
    let line = format!("\"TEST RESULT : System achieved {nopm} NOPM from ");
    stdout.assert_contains(&line);
    let ids = files_below(&hammer.bench.home.join("hammerdb/jobs"));
    assert_eq!(ids.len(), 2, "the build and the run");
    // The password of the previous call is not stored, and the output reports that.
    let output = hammer.execute("loadscript\nvurun\nquit\n");
    let stdout = ok_stdout(&output);
    stdout.assert_contains("Passwords are not stored between calls");
}

/// Deletes the schema and asserts that the database and its role are dropped.
fn assert_deleted(hammer: &HammerdbCli) {
    let stdout =
        ok_stdout(&hammer.execute(&format!("{}deleteschema\nquit\n", hammer.login_lines())));
    stdout.assert_contains("Vuser 1:FINISHED SUCCESS");
    let mut control = hammer.bench.control();
    let remaining = "SELECT (SELECT count(*) FROM pg_database WHERE datname = 'guide') \
         + (SELECT count(*) FROM pg_roles WHERE rolname = 'guide')";
    let started = Instant::now();
    while query_number(&mut control, remaining) > 0 && started.elapsed() < WAIT_TIMEOUT {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(query_number(&mut control, remaining), 0, "{stdout}");
}
