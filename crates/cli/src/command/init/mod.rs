//! `prony init`.
//!
//! Writes a plan for a goal, with what it found on the server. Changes nothing on the server, replaces no file, and writes
//! no password.

mod found;
mod goals;

use super::{file, output, server};
use crate::args::{Goal, InitArgs};
use crate::exit::{Exit, Failure};
use found::Found;
use prony_plan::shell_word;
use prony_runner::Signals;
use std::path::{Path, PathBuf};

/// The price sheet beside a plan for prices.
const SHEET: &str = "prices.toml";

pub fn init(args: &InitArgs) -> Result<Exit, Failure> {
    let default = || PathBuf::from(format!("{}.toml", args.goal.name()));
    let path = args.out.clone().unwrap_or_else(default);
    let sheet = (args.goal == Goal::Price).then(|| path.with_file_name(SHEET));
    if sheet.as_ref() == Some(&path) {
        let message = format!("{SHEET} is the name of the price sheet that stands beside the plan");
        return Err(Failure::usage(message, "use another name with --out"));
    }
    for path in sheet.iter().chain([&path]) {
        file::check_absent(path)?;
    }
    // From here on, a signal ends a wait for the server, and the exit code says so. Nothing else asks for it here.
    Signals::listen()?;
    let target = server::target_with_timeout(args.flags.url(), &args.timeout)?;
    let mut control = server::connect(&target)?;
    let found = Found::read(&mut control, &target, args.flags.url(), args.goal)?;
    let plan = goals::plan(args.goal, &found, &mut control, &path)?;
    // A mistake of this program must not become the user's.
    let input = prony_plan::PlanInput::from_toml("plan", &plan)
        .map_err(|problems| super::plan::failure("the plan that was made", problems))?;
    if let Some(sheet) = &sheet {
        file::write_new(sheet, "price sheet", &goals::price_sheet(&found, &path))?;
        output::notice(&format!("Written to {}", sheet.display()));
    }
    file::write_new(&path, "plan", &plan)?;
    output::notice(&format!("Written to {}", path.display()));
    for command in goals::commands(args.goal, &found, &path) {
        output::notice(&format!("  {command}"));
    }
    if input.url.is_none() && args.flags.url().is_some() {
        output::notice(
            "The URL has a password and is not in the plan: give --url with each of these commands.",
        );
    }
    Ok(Exit::Success)
}

fn word(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

#[cfg(test)]
mod tests;
