//! The command that repeats a run.
//!
//! In: a Run. Out: a shell command line. Must never: contain a password; the document has none.

use crate::text::joined;
use prony_plan::shell_word;
use prony_store::Run;
use serde_json::Value;

pub struct RepeatCommand {
    pub command: String,
    /// What to know before it is run.
    pub notes: Vec<&'static str>,
}

/// The command that repeats a run; `None` if the document does not contain it. With `seed`, that of the run, it repeats the
/// random numbers too.
pub fn repeat_command(run: &Run, seed: Option<u64>) -> Option<RepeatCommand> {
    let mut notes = Vec::new();
    let mut words = match (&run.request["command"], &run.request["arguments"]) {
        // Replace the path of the program, which differs between machines.
        (Value::Array(_), _) => {
            let mut words = array_of_strings(&run.request["command"])?;
            *words.first_mut()? = "prony".to_owned();
            words
        }
        (_, Value::Array(_)) => {
            let tool = match run.workload.name.as_str() {
                "script" => "pgbench",
                _ => "sysbench",
            };
            let mut words = vec!["prony".to_owned(), tool.to_owned()];
            words.extend(array_of_strings(&run.request["arguments"])?);
            notes.push("Run it in the folder of its script files, if it has any.");
            words
        }
        _ => return None,
    };
    let is_prony_run = words.get(1).is_some_and(|word| word == "run");
    let has_seed = words.iter().any(|word| word.starts_with("--seed"));
    if let Some(seed) = seed
        && is_prony_run
        && !has_seed
    {
        words.push(format!("--seed={seed}"));
        notes.push("The seed of this run repeats its random numbers.");
    }
    // Without the flag, the run may begin with a warm-up.
    let has_plan = words.iter().any(|word| word.ends_with(".toml"));
    let has_warmup = words.iter().any(|word| word.starts_with("--warmup"));
    if is_prony_run && run.window.warmup_s == 0.0 && !has_plan && !has_warmup {
        words.push("--warmup=0s".to_owned());
    }
    if words.iter().any(|word| word.contains("***")) {
        notes.push(
            "*** stands for a password: leave it out, and provide it in a password file or in PGPASSWORD \
             (MYSQL_PWD).",
        );
    }
    if words.iter().any(|word| word.starts_with("--at")) {
        notes.push(
            "A command that ran during the load is not stored: write it in place of \"a command\".",
        );
    }
    if is_prony_run && has_plan {
        notes.push("The plan in effect is in the document below, under \"plan\".");
    }
    let command = joined(words.iter().map(|word| shell_word(word)), " ");
    Some(RepeatCommand { command, notes })
}

fn array_of_strings(list: &Value) -> Option<Vec<String>> {
    let texts = list.as_array()?.iter().map(|value| value.as_str());
    texts.map(|text| text.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use serde_json::json;

    fn command_for(request: Value, workload: &str) -> Option<String> {
        let mut run = closed();
        run.request = request;
        run.workload.name = workload.to_owned();
        let repeat = repeat_command(&run, Some(run.drive.seed));
        repeat.map(|repeat| repeat.command)
    }

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        let request = json!({"command": ["/opt/x/prony", "run", "tpcb", "--url", "postgres://a:***@h/d o'n"]});
        let expected = "prony run tpcb --url 'postgres://a:***@h/d o'\\''n' --seed=42";
        assert_eq!(command_for(request, "tpcb").unwrap(), expected);
        let request = json!({"command": ["prony", "run", "tpcb", "--seed", "7"]});
        assert_eq!(
            command_for(request, "tpcb").unwrap(),
            "prony run tpcb --seed 7"
        );
    }

    #[test]
    fn arguments_of_a_replaced_tool_get_its_name() {
        let request = json!({"arguments": ["-S", "-T", "2"]});
        assert_eq!(
            command_for(request.clone(), "script").unwrap(),
            "prony pgbench -S -T 2"
        );
        assert_eq!(
            command_for(request, "oltp_insert").unwrap(),
            "prony sysbench -S -T 2"
        );
    }

    #[test]
    fn an_unknown_command_is_omitted() {
        for request in [
            Value::Null,
            json!({"audit": "x"}),
            json!({"command": [1]}),
            json!({"command": []}),
        ] {
            assert_eq!(command_for(request, "tpcb"), None);
        }
    }
}
