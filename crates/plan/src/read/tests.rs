use crate::problem::{MAX_PROBLEMS, Problems};
use crate::{Plan, PlanInput};
use prony_assertions::TextAssertions;
use proptest::prelude::*;

fn check(text: &str) -> Result<Plan, Problems> {
    PlanInput::from_toml("p.toml", text).and_then(PlanInput::check)
}

fn problems(text: &str) -> String {
    check(text).expect_err("has problems").to_string()
}

const WITH_NAME: &str = "[workload]\nname = \"tpcb\"\n";

/// Reading 20,000 variants took a minute, because each was compared with all others.
#[test]
fn variants_beyond_the_limit_are_not_read() {
    let variants = (0..300).map(|n| format!("[variants.v{n}.run]\nclients = 1\n"));
    let text = WITH_NAME.to_owned() + &variants.collect::<String>();
    let input = PlanInput::from_toml("p.toml", &text).expect("it is TOML");
    assert_eq!(input.variants.len(), 101);
    let problems = input.check_experiment().expect_err("too many").to_string();
    problems.assert_contains("(variants.v100): exceeds the limit of 100 variants");
}

#[test]
fn mistakes_of_all_kinds_are_reported_at_once_with_their_locations() {
    let text = r#"
[server]
url = "postgres://u:secret@h/d"
embedded = true

[workload]
name = "tpcb"

[run]
cleints = 64
threads = "2"
duration = "60x"
protocol = "prepard"
rate = 0
"#;
    let expected = r#"p.toml:4:12 (server.embedded): embedded and url (p.toml:3:7 (server.url)) exclude each other
  hint: name a server or let Prony start one: remove one of the two
p.toml:10:1 (run.cleints): unknown key cleints
  hint: did you mean clients?
p.toml:11:11 (run.threads): must be a whole number, is a string
  hint: write it without quotes: threads = 2
p.toml:12:12 (run.duration): 'x' in '60x' is not a unit of time
  hint: write a duration as 500ms, 60s, 5m, 1h or 1m30s (a plain number is in seconds)
p.toml:13:12 (run.protocol): must be one of "simple", "extended", "prepared", is "prepard"
  hint: did you mean "prepared"?
p.toml:14:8 (run.rate): must be above 0 and at most 1000000000, is 0
  hint: omit rate for a closed loop, in which each client sends as soon as the server has answered"#;
    assert_eq!(problems(text), expected);
}

#[test]
fn the_content_of_a_misspelt_table_is_checked() {
    let message = problems("[wrokload]\nname = \"tpcb\"\n[rnu]\nclients = 0\n");
    assert_eq!(message.matches("did you mean [").count(), 2, "{message}");
    message.assert_contains("p.toml:4:11 (rnu.clients): must be from 1");
    message.assert_lacks("missing");
}

#[test]
fn hints_name_the_right_table() {
    let message =
        problems("clients = 3\n[workload]\nname = \"tpcb\"\nthreads = 2\n[run]\nscale = 3\n");
    message.assert_contains("clients belongs under [run]");
    message.assert_contains("it belongs under [run]");
    message.assert_contains("scale belongs under [workload]");
    let message =
        problems("[workload]\nname = \"tpcb\"\n[run]\njobs = 4\nbanana = 1\nhost = \"h\"\n");
    message.assert_contains("did you mean threads?");
    message.assert_contains("[run] has clients, threads");
    message.assert_contains("did you mean url under [server]?");
}

#[test]
fn problems_that_follow_from_another_are_not_reported() {
    // threads > the default of 8 clients is not a problem if clients could not be read.
    for clients in ["cleints = 64", "clients = \"64\"", "clients = 0"] {
        let message = problems(&format!("{WITH_NAME}[run]\nthreads = 16\n{clients}\n"));
        message.assert_lacks("more than");
    }
    let message = problems(&format!(
        "{WITH_NAME}[run]\narrival = \"even\"\nrate = \"5\"\n"
    ));
    message.assert_lacks("without a rate");
    for name in ["nmae = \"tpcb\"", "name = 5"] {
        let message = problems(&format!("[workload]\n{name}\n"));
        message.assert_lacks("missing");
    }
    let message = problems("workload = 5\n");
    assert_eq!(message.lines().count(), 2, "{message}");
    message.assert_contains("(workload): must be a table");
}

#[test]
fn a_syntax_error_is_the_only_problem_and_its_message_quotes_no_text() {
    let text = "[server]\nurl = \"postgres://u:secret@h/d\n[run]\nclients = 0\n";
    let error = PlanInput::from_toml("p.toml", text).unwrap_err();
    assert_eq!(error.0.len(), 1);
    let message = error.to_string();
    message.assert_starts_with("p.toml:2:");
    message.assert_contains("is not TOML: ");
    let escape = "[workload]\nname = \"sql\"\nsql = \"\"\"\n\\set n 1\n\"\"\"\n";
    let message = PlanInput::from_toml("p.toml", escape)
        .unwrap_err()
        .to_string();
    message.assert_contains("p.toml:4:2");
    message.assert_contains("between '''");
    message.assert_lacks("secret");
    for name in ["tpcb", "fast", "hello", "infra", "nano"] {
        let text = format!("[workload]\nname = {name}\n");
        let error = PlanInput::from_toml("p.toml", &text).unwrap_err();
        error
            .to_string()
            .assert_contains("is not TOML: put text in double quotes");
    }
}

#[test]
fn a_password_is_never_quoted() {
    let text = "[server]\nurl = [\"postgres://u:secret@h/d\"]\npassword = \"secret\"\n\
                [workload]\nname = \"tpcb\"\n[run]\nclients = \"secret\"\nduration = [\"secret\"]\n";
    let message = problems(text);
    message.assert_lacks("secret");
    message.assert_contains("did you mean url?");
}

#[test]
fn options_are_passed_to_the_workload_unchanged() {
    let plan = check(&format!(
        "{WITH_NAME}fillfactor = 90\nmix = {{ read = 0.5 }}\nday = 2026-11-20\nlist = [1, \"a\"]\n"
    ))
    .unwrap();
    let options = &plan.workload.options;
    assert_eq!(options.len(), 4);
    assert_eq!(options["fillfactor"].as_integer(), Some(90));
    assert_eq!(options["mix"]["read"].as_float(), Some(0.5));
    assert_eq!(options["list"][1].as_str(), Some("a"));
    assert!(options["day"].is_datetime());
}

#[test]
fn numbers_are_read_in_every_notation() {
    let plan = check(&format!(
        "{WITH_NAME}scale = 1_000\n[run]\nclients = 0x40\nrate = 5e3\nseed = 18446744073709551615\nwarmup = 10\n"
    ))
    .unwrap();
    assert_eq!(plan.workload.scale, Some(1000));
    assert_eq!(plan.drive.clients, 64);
    assert_eq!(plan.drive.seed, Some(u64::MAX));
    assert_eq!(plan.drive.warmup.as_secs(), 10);
    let message = problems(&format!(
        "{WITH_NAME}[run]\nclients = -5\nseed = 18446744073709551616\nwarmup = -1\n"
    ));
    message.assert_contains("must not be negative, is -5");
    message.assert_contains("must be at most 18446744073709551615");
    message.assert_contains("(run.warmup): '-1' is not a duration");
    let message = problems(&format!("{WITH_NAME}[run]\nwarmup = \"a; b\"\n"));
    message.assert_contains("(run.warmup): 'a; b' is not a duration\n  hint: write a duration as");
}

#[test]
fn columns_count_characters_and_crlf_is_accepted() {
    let text = "workload.name = \"tpcb\"\r\nrun = { \"öäü\" = 1, io = 5 }\r\n";
    let message = problems(text);
    message.assert_contains("p.toml:2:9 (run.öäü)");
    message.assert_contains("p.toml:2:25 (run.io)");
}

/// Unknown keys in one long line and in lines of their own: the time grows with their number, not with its square.
#[test]
fn many_unknown_keys_are_located_and_summarised() {
    let keys: Vec<String> = (0..3_000).map(|key| format!("öä_{key}")).collect();
    let quoted = |separator: &str| -> String {
        let entries = keys.iter().map(|key| format!("\"{key}\" = 1"));
        entries.collect::<Vec<_>>().join(separator)
    };
    let lines = problems(&format!(
        "workload.name = \"tpcb\"\n[run]\n{}\n",
        quoted("\n")
    ));
    lines.assert_contains("p.toml:52:1 (run.öä_49)");
    lines.assert_contains("p.toml:103:1 (run.öä_100): and 2900 problems");
    let one_line = problems(&format!(
        "workload.name = \"tpcb\"\nrun = {{ {} }}\n",
        quoted(", ")
    ));
    // 9 characters before the keys, 12 for each of the first ten and 13 for each of the next 89.
    one_line.assert_contains("p.toml:2:1286 (run.öä_99)");
}

/// A hint costs more than the rest of reading a key, and 100 are shown, in the order of the file.
#[test]
fn only_problems_that_are_shown_get_a_hint() {
    // A parsed table is sorted by name: the last name of the file comes first.
    let unknown: String = (0..2_000)
        .map(|key| format!("x{:05} = 1\n", 99_999 - key))
        .collect();
    let tables: String = (0..2_000).map(|table| format!("[y{table}]\n")).collect();
    for text in [unknown.clone(), format!("[run]\n{unknown}"), tables] {
        let input = PlanInput::from_toml("p.toml", &text).expect("TOML");
        let problems = input.file.problems.iter();
        let with_hint = problems.filter(|found| found.hint.is_some());
        assert_eq!(with_hint.count(), MAX_PROBLEMS + 1);
        assert_eq!(input.file.problems.len(), 2_000);
        let shown = Problems::sorted(input.file.problems).0;
        assert!(shown.iter().all(|found| found.hint.is_some()), "{shown:#?}");
    }
}

const EXAMPLE: &str = include_str!("../../../../plans/open-loop-rate.toml");

proptest! {
    #[test]
    fn parsing_never_panics_on_any_text(text in "(?s).{0,200}") {
        let _ = check(&text);
    }

    #[test]
    fn parsing_never_panics_on_a_damaged_plan(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<Option<char>>()), 1..12)
    ) {
        let mut text: Vec<char> = EXAMPLE.chars().collect();
        for (position, edit) in edits {
            let position = position.index(text.len());
            match edit {
                Some(c) => text[position] = c,
                None => { text.remove(position); }
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(problems) = check(&text) {
            prop_assert!(!problems.0.is_empty());
        }
    }

    #[test]
    fn checking_never_panics_on_odd_values_of_known_keys(
        entries in prop::collection::btree_map(
            prop::sample::select(vec![
                "clients", "threads", "duration", "transactions", "warmup", "grace", "rate",
                "arrival", "protocol", "describe", "io", "tcp_sample", "seed", "pin", "statement_latency",
                "expect_outage",
                "claints",
            ]),
            prop::sample::select(vec![
                "-1", "0", "1", "1.5", "nan", "-inf", "true", "\"\"", "\"60s\"", "\"even\"",
                "99999999999999999999", "1e400", "2026-11-20", "[]", "[1]", "{}", "{a = 1}",
                "0xffffffffffffffff", "\"1m1m\"", "\"prepared\"",
            ]),
            0..8,
        )
    ) {
        let mut text = WITH_NAME.to_owned() + "[run]\n";
        for (key, value) in &entries {
            text += &format!("{key} = {value}\n");
        }
        match check(&text) {
            Ok(plan) => prop_assert!(!entries.contains_key("claints") && plan.drive.clients >= 1),
            Err(problems) => prop_assert!(!problems.0.is_empty()),
        }
    }
}
