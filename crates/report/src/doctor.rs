//! The findings of `prony doctor`: as text, and as a script that mends what commands can mend.
//!
//! In: a [`DoctorReport`]. Out: lines. Must never: leave out a finding.

use crate::printer::Printer;
use crate::style::Style;
use crate::text::plain;
use crate::units::count_of;
use prony_judge::doctor::is_risky;
use prony_store::{DoctorFinding, DoctorReport, DoctorState, DoctorSubject};
use std::io::{self, Write};

/// Width of the column of states, with the gap behind it.
const STATE_WIDTH: usize = 9;

/// Writes the findings, and a summary at the end.
pub fn write(out: &mut dyn Write, style: &Style, report: &DoctorReport) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let clients = count_of(report.clients.into(), "client");
    let threads = count_of(report.threads.into(), "thread");
    out.wrapped(Style::bold, &format!("Fit for {clients} on {threads}?"))?;
    for (subject, title) in [
        (DoctorSubject::Machine, "This machine"),
        (DoctorSubject::Server, "The server"),
    ] {
        let findings = report.findings.iter();
        let mut findings = findings
            .filter(|finding| finding.subject == subject)
            .peekable();
        if findings.peek().is_some() {
            out.heading(title)?;
        }
        for finding in findings {
            write_finding(out, finding)?;
        }
    }
    out.line("")?;
    out.wrapped(|_, line| line.to_owned(), &summary(report))
}

fn write_finding(out: &mut Printer<'_>, finding: &DoctorFinding) -> io::Result<()> {
    let format: fn(&Style, &str) -> String = match finding.state {
        DoctorState::Ok => |_, text| text.to_owned(),
        DoctorState::Unknown => Style::dim,
        DoctorState::Caution => Style::caution,
        DoctorState::Bad => Style::alarm,
    };
    let state = finding.state.name();
    let gap = " ".repeat(STATE_WIDTH - state.len());
    let label = format!("{}{gap}", format(out.style, state));
    let value = match finding.value.as_str() {
        "" => String::new(),
        value => format!("{}. ", plain(value)),
    };
    let text = format!("{}: {value}{}", plain(&finding.id), plain(&finding.reason));
    out.item(&label, STATE_WIDTH, &text)?;
    let indent = " ".repeat(STATE_WIDTH + 2);
    // A command is not wrapped, so that it can be copied.
    for command in finding.command.iter().flat_map(|text| text.lines()) {
        out.line(format!("  {indent}$ {}", plain(command)))?;
    }
    // The advice may say what to do after the command.
    if let Some(advice) = &finding.advice {
        out.item(&indent, STATE_WIDTH + 2, &plain(advice))?;
    }
    Ok(())
}

fn summary(report: &DoctorReport) -> String {
    let number = |state: DoctorState| {
        let findings = report.findings.iter();
        findings.filter(|finding| finding.state == state).count()
    };
    let [ok, unknown, caution, bad] = [
        DoctorState::Ok,
        DoctorState::Unknown,
        DoctorState::Caution,
        DoctorState::Bad,
    ]
    .map(number);
    let counts = format!("{bad} bad, {caution} caution, {unknown} unknown, {ok} ok.");
    let has_commands = report.findings.iter().any(|found| found.command.is_some());
    if has_commands {
        format!("{counts} --fix-script prints the commands as a script.")
    } else {
        counts
    }
}

/// Writes a script for `sh` with the commands that mend the findings. What no command mends is a comment.
pub fn write_fix_script(out: &mut dyn Write, report: &DoctorReport) -> io::Result<()> {
    writeln!(out, "#!/bin/sh")?;
    writeln!(
        out,
        "# Written by prony doctor; read it before you run it as root. Settings of sysctl and of files in /sys last\n\
         # until the next start of the machine."
    )?;
    let findings = report.findings.iter();
    let mut written = 0;
    for finding in findings.filter(|finding| finding.state >= DoctorState::Caution) {
        written += 1;
        let (state, value) = (finding.state.name(), plain(&finding.value));
        writeln!(
            out,
            "\n# {} ({state}): {value}. {}",
            plain(&finding.id),
            plain(&finding.reason)
        )?;
        for command in finding.command.iter().flat_map(|text| text.lines()) {
            if is_risky(command) {
                writeln!(
                    out,
                    "# To be decided by you: remove the next line's #.\n# {command}"
                )?
            } else {
                writeln!(out, "{command}")?
            }
        }
        if let Some(advice) = &finding.advice {
            writeln!(out, "# {}", plain(advice))?;
        }
    }
    match written {
        0 => writeln!(out, "\n# There is nothing to mend."),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::written;
    use prony_assertions::TextAssertions;

    fn report() -> DoctorReport {
        let finding = |id: &str, state, value: &str| DoctorFinding {
            id: id.to_owned(),
            state,
            value: value.to_owned(),
            reason: "A reason.".to_owned(),
            ..DoctorFinding::default()
        };
        DoctorReport {
            clients: 64,
            threads: 1,
            findings: vec![
                finding("mtu", DoctorState::Ok, "1500 bytes"),
                DoctorFinding {
                    command: Some("sysctl -w a=1\nswapoff -a\nsysctl -w b=2".to_owned()),
                    ..finding("tcp", DoctorState::Bad, "off")
                },
                finding("numa", DoctorState::Unknown, ""),
                DoctorFinding {
                    subject: DoctorSubject::Server,
                    advice: Some("Restart\nrm -rf /".to_owned()),
                    ..finding("tls", DoctorState::Caution, "none")
                },
            ],
        }
    }

    #[test]
    fn findings_are_listed_with_their_remedies() {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), &report()).unwrap();
        let expected = "\
Fit for 64 clients on 1 thread?

This machine
  ok       mtu: 1500 bytes. A reason.
  bad      tcp: off. A reason.
             $ sysctl -w a=1
             $ swapoff -a
             $ sysctl -w b=2
  unknown  numa: A reason.

The server
  caution  tls: none. A reason.
             Restart rm -rf /

1 bad, 1 caution, 1 unknown, 1 ok. --fix-script prints the commands as a script.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn the_script_has_commands_and_comments() {
        let script = written(|out| write_fix_script(out, &report()));
        let lines: Vec<&str> = script.lines().collect();
        let lines = lines.iter();
        let commands = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
        let commands: Vec<&str> = commands.copied().collect();
        // A line break in a text does not make a command of its rest.
        assert_eq!(commands, ["sysctl -w a=1", "sysctl -w b=2"]);
        script.assert_contains("# Restart rm -rf /\n");
        script.assert_contains("\n# swapoff -a\n");
        script.assert_lacks("mtu");
        let mut out = Vec::new();
        write_fix_script(&mut out, &DoctorReport::default()).unwrap();
        String::from_utf8(out)
            .unwrap()
            .assert_contains("nothing to mend");
    }
}
