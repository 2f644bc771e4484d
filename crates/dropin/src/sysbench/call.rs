//! One call of sysbench: its output and its exit status.
//!
//! In: texts with log levels. Out: text on stdout and stderr. Must never: buffer output, so that texts appear
//! in order.

pub use crate::output::eprint;
use crate::output::{self, lock, print_bytes};
use prony_dialect::sysbench::{
    Command, Compat, GeneralOptions, LogLevel, Output, failing_function, fatal_line,
    function_failed, repetitions_line, threads_failed,
};
use prony_report::visible::visible_colored;
use std::io::{IsTerminal, stdout};
use std::sync::Mutex;

/// One call of the tool.
#[derive(Clone)]
pub struct SysbenchCall {
    verbosity: u8,
    /// The version of sysbench.
    pub compat: Compat,
    /// The arguments without passwords, for the store.
    pub redacted_arguments: Vec<String>,
}

/// Advice about an error, printed after the error's lines.
struct Advice {
    /// The advice to print after the next FATAL line.
    pending: Option<&'static str>,
    /// Advice already printed: if several threads get the same error, its advice is printed only once.
    printed: Vec<&'static str>,
}

/// The last text of the log, and how often it was repeated since. Like sysbench, the log prints a repeated
/// text once, and later the number of repetitions.
static LAST_TEXT: Mutex<(String, u64)> = Mutex::new((String::new(), 0));

static ADVICE: Mutex<Advice> = Mutex::new(Advice {
    pending: None,
    printed: Vec::new(),
});

/// Sets the advice to print on standard error after the log lines about the error.
pub fn set_advice(text: Option<&'static str>) {
    let mut advice = lock(&ADVICE);
    advice.pending = text.filter(|text| !advice.printed.contains(text));
}

/// Prints the advice that is pending, if there is any and it was not printed before.
pub fn print_advice() {
    let mut advice = lock(&ADVICE);
    if let Some(text) = advice.pending.take() {
        eprint(&format!("prony: hint: {text}\n"));
        advice.printed.push(text);
    }
}

/// The exit status of a call that failed; the error is already printed.
pub struct CommandError(pub u8);

impl SysbenchCall {
    /// A call with these settings.
    pub fn new(settings: &GeneralOptions, redacted_arguments: Vec<String>) -> SysbenchCall {
        SysbenchCall {
            verbosity: settings.verbosity,
            compat: settings.compat,
            redacted_arguments,
        }
    }

    /// Prints to the log (stdout) if the verbosity includes this level. Repetitions of an error are counted
    /// and printed as one line before the next text.
    pub fn log(&self, level: LogLevel, text: &str) {
        if level.is_printed_at(self.verbosity) && !text.is_empty() {
            let mut last_text = lock(&LAST_TEXT);
            let is_error = matches!(level, LogLevel::Fatal | LogLevel::Alert | LogLevel::Warning);
            if is_error && last_text.0 == text {
                last_text.1 += 1;
                return;
            }
            let (_, repetitions) = std::mem::replace(&mut *last_text, (text.to_owned(), 0));
            if repetitions > 0 {
                output::print(&repetitions_line(repetitions));
            }
            output::print(text);
        }
        if level == LogLevel::Fatal {
            print_advice();
        }
    }

    /// Prints why the call failed. The exit status is 1.
    pub fn fail(&self, lines: &str) -> CommandError {
        self.log(LogLevel::Fatal, lines);
        CommandError(1)
    }

    /// Prints why the threads of a command did not start: `lines`, and then the name of the function of sysbench that
    /// failed for `reason`.
    pub fn fail_to_start(&self, command: Command, lines: String, reason: &str) -> CommandError {
        let mut lines = lines + &function_failed(failing_function(command, false), reason);
        if command == Command::Run {
            lines += &threads_failed(self.compat);
        }
        self.fail(&lines)
    }

    /// Like `fail`, for one line without the prefix of the log level.
    pub fn fail_with_text(&self, text: &str) -> CommandError {
        self.fail(&fatal_line(text))
    }
}

/// Prints the output of parsing the arguments.
pub fn print(output: &Output) {
    eprint(&output.warnings);
    output::print(&output.stdout);
    eprint(&output.stderr);
}

/// Prints an error of usage on standard error.
pub fn print_usage_error(text: &str) -> CommandError {
    eprint(text);
    CommandError(1)
}

/// Prints output, such as a script's, in any encoding. On a terminal, control characters other than colours
/// become visible, because they may come from rows of the server.
pub fn print_output_bytes(bytes: &[u8]) {
    if stdout().is_terminal() {
        print_bytes(visible_colored(bytes).as_bytes())
    } else {
        print_bytes(bytes)
    }
}
