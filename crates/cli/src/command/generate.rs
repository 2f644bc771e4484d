//! `prony completions` and `prony man-pages`: files for shells and `man`, generated from the definition of the
//! command line.

use super::{completed_names, file, output};
use crate::args::{Cli, CompletionsArgs, ManPagesArgs};
use crate::exit::{Exit, Failure};
use clap::CommandFactory;
use clap_mangen::Man;
use prony_plan::system_error;

pub fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut command = completed_names::with_values(Cli::command());
    // `generate` panics if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "prony", &mut script);
    let script = completed_names::adapt(
        args.shell,
        &command,
        String::from_utf8_lossy(&script).into_owned(),
    );
    output::show_raw(|out| out.write_all(script.as_bytes()))?;
    Ok(Exit::Success)
}

/// Writes the man pages: `prony.1`, and a page for each command, such as `prony-run.1`.
pub fn man_pages(args: &ManPagesArgs) -> Result<Exit, Failure> {
    std::fs::create_dir_all(&args.folder).map_err(|error| {
        let message = format!("cannot create the folder: {}", system_error(&error));
        let hint = "use a folder that you may write to";
        Failure::new(Exit::Unexpected, message, hint).at(args.folder.display().to_string())
    })?;
    // `help` repeats each command.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, args)?;
    Ok(Exit::Success)
}

fn write_pages(command: &clap::Command, args: &ManPagesArgs) -> Result<(), Failure> {
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for subcommand in subcommands {
        write_pages(subcommand, args)?;
    }
    // Pages with a date would differ from day to day.
    let version = concat!("Prony ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).manual("Prony").source(version);
    let path = args.folder.join(page.get_filename());
    file::write_result(&path, "man page", |out| {
        let mut roff = Vec::new();
        page.render(&mut roff)?;
        let roff = String::from_utf8_lossy(&roff);
        out.write_all(with_commands_unfilled(&roff).as_bytes())
    })
}

/// Headings of sections of a man page, by the lines that introduce them in the help.
const MAN_SECTIONS: [(&str, &str); 2] = [("Examples:", "EXAMPLES"), ("Exit codes:", "EXIT STATUS")];

/// A page on which indented lines of the text after the options, such as commands, are printed as they are. The
/// generator calls this text EXTRA and fills its lines, which breaks commands at hyphens.
fn with_commands_unfilled(page: &str) -> String {
    let Some((start, extra)) = page.split_once(".SH EXTRA\n") else {
        return page.to_owned();
    };
    let section = |line: &str| MAN_SECTIONS.iter().find(|(intro, _)| *intro == line);
    let mut text = start.to_owned();
    if extra
        .lines()
        .next()
        .is_some_and(|line| section(line).is_none())
    {
        text += ".SH NOTES\n";
    }
    let mut is_unfilled = false;
    for line in extra.lines() {
        if line.starts_with("  ") != is_unfilled {
            is_unfilled = !is_unfilled;
            text += if is_unfilled { ".nf\n" } else { ".fi\n" };
        }
        match section(line) {
            Some((_, heading)) => text += &format!(".SH {heading}\n"),
            None => text += &format!("{line}\n"),
        }
    }
    if is_unfilled {
        text += ".fi\n";
    }
    text
}
