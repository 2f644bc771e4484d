//! The command that repeats a run.
//!
//! In: a Run. Out: a line for a shell. Must never: hold a password; the document has none.

use prony_store::Run;
use serde_json::Value;

/// The command, and what has to be said of it; nothing where the document does not know it.
pub fn command(run: &Run) -> Option<(String, Vec<&'static str>)> {
    let mut notes = Vec::new();
    let mut words = match (&run.asked["command"], &run.asked["arguments"]) {
        // Where the program lay does not matter.
        (Value::Array(_), _) => {
            let mut words = texts(&run.asked["command"])?;
            *words.first_mut()? = "prony".to_owned();
            words
        }
        (_, Value::Array(_)) => {
            let tool = match run.workload.name.as_str() {
                "script" => "pgbench",
                _ => "sysbench",
            };
            let mut words = vec!["prony".to_owned(), tool.to_owned()];
            words.extend(texts(&run.asked["arguments"])?);
            notes.push("In the folder in which its script files are, if it has any.");
            words
        }
        _ => return None,
    };
    let native = words.get(1).is_some_and(|word| word == "run");
    if native && !words.iter().any(|word| word.starts_with("--seed")) {
        words.push(format!("--seed={}", run.drive.seed));
        notes.push(
            "With the seed that was drawn for this run, so that its random numbers come again.",
        );
    }
    if words.iter().any(|word| word.contains("***")) {
        notes.push(
            "*** stands for a password: leave it out and give it in a password file or in PGPASSWORD \
             (MYSQL_PWD).",
        );
    }
    if native && words.iter().any(|word| word.ends_with(".toml")) {
        notes.push("The plan in effect is in the document below, under \"plan\".");
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    Some((words.join(" "), notes))
}

fn texts(list: &Value) -> Option<Vec<String>> {
    let each = list.as_array()?.iter().map(|one| one.as_str());
    each.map(|text| text.map(str::to_owned)).collect()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use serde_json::json;

    fn of(asked: Value, workload: &str) -> Option<String> {
        let mut run = closed();
        run.asked = asked;
        run.workload.name = workload.to_owned();
        command(&run).map(|(command, _)| command)
    }

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        let asked = json!({"command": ["/opt/x/prony", "run", "tpcb", "--url", "postgres://a:***@h/d o'n"]});
        let expected = "prony run tpcb --url 'postgres://a:***@h/d o'\\''n' --seed=42";
        assert_eq!(of(asked, "tpcb").unwrap(), expected);
        let asked = json!({"command": ["prony", "run", "tpcb", "--seed", "7"]});
        assert_eq!(of(asked, "tpcb").unwrap(), "prony run tpcb --seed 7");
    }

    #[test]
    fn other_tools_arguments_are_given_to_their_front() {
        let asked = json!({"arguments": ["-S", "-T", "2"]});
        assert_eq!(
            of(asked.clone(), "script").unwrap(),
            "prony pgbench -S -T 2"
        );
        assert_eq!(of(asked, "oltp_insert").unwrap(), "prony sysbench -S -T 2");
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        for asked in [
            Value::Null,
            json!({"audit": "x"}),
            json!({"command": [1]}),
            json!({"command": []}),
        ] {
            assert_eq!(of(asked, "tpcb"), None);
        }
    }
}
