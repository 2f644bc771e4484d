//! `prony report` and `prony verify`.
//!
//! In: runs of the store, or a page. Out: the page of the runs, or whether it is still what was written.
//! Must never: overwrite a file that is no report, or leave half a page under its name.

use super::compare::{Meant, side};
use super::stored::failure as store_failure;
use super::{file, output, price};
use crate::args::{ReportArgs, VerifyArgs};
use crate::exit::{Exit, Failure};
use prony_judge::price::Sheet;
use prony_report::html::{self, PlacedRun, PriceQuestion, SheetText, VerifyError};
use prony_report::text::{plain, system_error};
use prony_store::{Run, RunStore};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Largest page that is read, bytes: as much as a stored document may have, and the page around it.
const LARGEST: u64 = 2 << 30;
/// Share of the throughput that is used where none is named, as in `prony price`.
const UTILISATION: f64 = 0.3;

/// Writes the page of some runs.
pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let store = RunStore::open(None).map_err(|error| store_failure(&error))?;
    let page = if args.prices.is_empty() {
        let meant = match args.runs.len() {
            1 => Meant::Experiment,
            _ => Meant::Run,
        };
        let mut runs = Vec::new();
        for one in &args.runs {
            // As `prony compare` takes them: a run, several, or the variants of an experiment.
            let sides = side(&store, one, meant)?;
            runs.extend(sides.into_iter().flat_map(|side| side.runs));
        }
        Page {
            runs,
            question: None,
        }
    } else {
        priced(args, &store)?
    };
    if args.output.as_os_str() == "-" {
        output::show(|out, _| page.write(out))?;
        return Ok(Exit::Fine);
    }
    file::spare_others(&args.output, "report", html::is_report)?;
    file::write(&args.output, |out| page.write(out)).map_err(|error| {
        let what = format!("cannot write the report: {}", system_error(&error));
        let hint = "name a file in a folder that you may write to";
        Failure::new(Exit::Unexpected, what, hint).at(args.output.display().to_string())
    })?;
    output::tell(&format!("Written to {}", args.output.display()));
    Ok(Exit::Fine)
}

/// What a page is drawn from.
struct Page {
    runs: Vec<Run>,
    question: Option<PriceQuestion>,
}

impl Page {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.question {
            Some(question) => html::write_priced(out, &self.runs, question),
            None => html::write(out, &self.runs),
        }
    }
}

/// The runs with their configurations, and the sheets that have these.
fn priced(args: &ReportArgs, store: &RunStore) -> Result<Page, Failure> {
    let files = args.prices.iter();
    let texts: Vec<SheetText> = files
        .map(|file| price::read(file))
        .collect::<Result<_, _>>()?;
    let sheets: Vec<Sheet> = texts.iter().map(price::parsed).collect::<Result<_, _>>()?;
    let mut page = Page {
        runs: Vec::new(),
        question: None,
    };
    let mut placed = Vec::new();
    let (taken, notes) = price::place(&args.runs, &sheets, store)?;
    for note in notes {
        output::tell(&note.finding);
    }
    for one in taken {
        placed.push(PlacedRun {
            sheet: one.sheet,
            configuration: one.configuration,
            run: page.runs.len(),
        });
        page.runs.push(one.run);
    }
    let question = PriceQuestion {
        sheets: texts,
        today: price::today()?.to_string(),
        utilisation: args.utilisation.unwrap_or(UTILISATION),
        across_regions: args.across_regions,
        placed,
    };
    html::question(&page.runs, &question).map_err(|error| {
        let hint = "give all prices in one currency";
        Failure::new(Exit::Usage, error.to_string(), hint)
    })?;
    page.question = Some(question);
    Ok(page)
}

/// Says whether a page is still what was written.
pub fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let place = args.file.display().to_string();
    let text = read(&args.file).map_err(|error| {
        let what = format!("cannot read the report: {}", system_error(&error));
        let hint = "name a file that prony report has written";
        Failure::new(Exit::Unexpected, what, hint).at(&place)
    })?;
    let found = html::verify(&text).map_err(|error| failure(&error, &place))?;
    output::show(|out, _| {
        for document in &found.documents {
            let id = plain(&document.run.id);
            writeln!(out, "{}  {id}", document.sha256)?;
        }
        match &found.drawn_by {
            None => writeln!(out, "The page and its documents are as they were written."),
            Some(other) => writeln!(
                out,
                "The documents are as they were written. The page around them was drawn by Prony \
                 {other}, not by {}, and was not compared.",
                env!("CARGO_PKG_VERSION")
            ),
        }
    })?;
    Ok(Exit::Fine)
}

fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 2 GiB"));
    }
    // What is not UTF-8 was not written by us: it is found as a change.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn failure(error: &VerifyError, place: &str) -> Failure {
    let (exit, hint) = match error {
        error if error.is_changed() => (
            Exit::Invalid,
            "write it anew from the stored run with prony report, and do not edit it",
        ),
        VerifyError::Newer(_) => (Exit::Unexpected, ""),
        _ => (
            Exit::Unexpected,
            "name a file that prony report has written; prony show FILE reads a document of a run",
        ),
    };
    Failure::new(exit, error.to_string(), hint).at(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_report_is_replaced_and_any_other_file_is_not() {
        let folder = std::env::temp_dir().join(format!("prony-report-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.html");
        let spare_others = |path: &Path| file::spare_others(path, "report", html::is_report);
        assert!(spare_others(&path).is_ok());
        let page = |runs| Page {
            runs: vec![Run::default(); runs],
            question: None,
        };
        let write = |runs| file::write(&path, |out| page(runs).write(out));
        write(1).unwrap();
        assert!(spare_others(&path).is_ok());
        write(2).unwrap();
        let args = VerifyArgs { file: path.clone() };
        assert_eq!(verify(&args).unwrap(), Exit::Fine);
        let names = fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 1, "no other file is left");
        let cut = read(&path).unwrap();
        fs::write(&path, &cut[..cut.len() / 2]).unwrap();
        assert_eq!(verify(&args).unwrap_err().exit, Exit::Invalid);
        fs::write(&path, "{\"schema_version\":\"1.1\"}").unwrap();
        assert_eq!(spare_others(&path).unwrap_err().exit, Exit::Usage);
        assert_eq!(verify(&args).unwrap_err().exit, Exit::Unexpected);
        let args = VerifyArgs {
            file: folder.join("none"),
        };
        assert_eq!(verify(&args).unwrap_err().exit, Exit::Unexpected);
        fs::remove_dir_all(&folder).unwrap();
    }
}
