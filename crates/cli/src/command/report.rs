//! `prony report` and `prony verify`.
//!
//! Write the page of runs, and verify that a page is unchanged. A file that is not a report is never
//! overwritten, and a failed write never leaves an incomplete page.

use super::compare::{NameScope, load_sides};
use super::{file, output, price};
use crate::args::{ReportArgs, ReportForm, VerifyArgs};
use crate::exit::{Exit, Failure};
use prony_judge::price::PriceSheet;
use prony_plan::system_error;
use prony_report::html::{
    self, PageContents, PageForm, PriceInputs, RunPlacement, SheetText, VerifyError,
};
use prony_report::text::plain;
use prony_runner::host::this_build;
use prony_store::{Annotation, Run, RunStore};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Largest page to read, bytes: the limit of a stored document, plus the page around it.
const MAX_PAGE_BYTES: u64 = 2 << 30;

pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let store = super::stored::open_store()?;
    let mut page = if args.sheet.is_empty() {
        let scope = match args.runs.len() {
            1 => NameScope::Experiment,
            _ => NameScope::Run,
        };
        let mut page = ReportPage::default();
        for name in &args.runs {
            // As in `prony compare`: a run, several, or the variants of an experiment.
            let sides = load_sides(&store, name, scope, RunStore::load)?;
            page.runs
                .extend(sides.into_iter().flat_map(|side| side.runs));
        }
        page
    } else {
        priced_page(args, &store)?
    };
    let annotations = page.runs.iter().map(|run| store.annotation(&run.id));
    page.annotations = annotations.collect();
    page.form = match args.form {
        ReportForm::Full => PageForm::Full,
        ReportForm::Apsaradb => PageForm::ApsaraDb,
    };
    if args.output.as_os_str() == "-" {
        output::show_raw(|out| page.write(out))?;
        return Ok(Exit::Success);
    }
    file::check_replaceable(&args.output, "a report", html::is_report)?;
    file::write_result(&args.output, "report", |out| page.write(out))?;
    output::notice(&format!("Written to {}", args.output.display()));
    Ok(Exit::Success)
}

#[derive(Default)]
struct ReportPage {
    runs: Vec<Run>,
    annotations: Vec<Annotation>,
    price_inputs: Option<PriceInputs>,
    form: PageForm,
}

impl ReportPage {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let contents = PageContents {
            form: self.form,
            runs: &self.runs,
            annotations: &self.annotations,
            prices: self.price_inputs.as_ref(),
        };
        html::write_contents(out, &contents, &this_build())
    }
}

/// The page of priced runs: the runs with their configurations, and the sheets.
fn priced_page(args: &ReportArgs, store: &RunStore) -> Result<ReportPage, Failure> {
    let texts = args.sheet.iter().map(|file| price::read_sheet(file));
    let texts: Vec<SheetText> = texts.collect::<Result<_, _>>()?;
    let sheets: Vec<PriceSheet> = texts
        .iter()
        .map(price::parse_sheet)
        .collect::<Result<_, _>>()?;
    let (mut runs, mut placements) = (Vec::new(), Vec::new());
    let (priced_runs, notes) = price::assign_runs(&args.runs, &sheets, store)?;
    for note in notes {
        output::notice(&note.finding);
    }
    for priced in priced_runs {
        placements.push(RunPlacement {
            sheet: priced.position.sheet,
            configuration: priced.position.configuration,
            run: runs.len(),
        });
        runs.push(priced.run);
    }
    let price_inputs = PriceInputs {
        sheets: texts,
        today: price::today()?.to_string(),
        utilisation: args.utilisation,
        across_regions: args.across_regions,
        placements,
    };
    html::check_price_inputs(&runs, &price_inputs).map_err(|error| {
        let hint = "give all prices in one currency";
        Failure::usage(error.to_string(), hint)
    })?;
    Ok(ReportPage {
        runs,
        price_inputs: Some(price_inputs),
        ..ReportPage::default()
    })
}

pub fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let path = args.file.display().to_string();
    let text = read_page(&args.file).map_err(|error| {
        let message = format!("cannot read the report: {}", system_error(&error));
        let hint = "name a file that prony report has written";
        Failure::new(Exit::Unexpected, message, hint).at(&path)
    })?;
    let verified =
        html::verify(&text, &this_build()).map_err(|error| verify_failure(&error, &path))?;
    let mut runs = verified.documents.iter().map(|document| &document.run);
    let contradiction = runs.find_map(|run| Some((run, prony_judge::contradiction(run)?)));
    output::show(|out, _| {
        for document in &verified.documents {
            let id = plain(&document.run.id);
            writeln!(out, "{}  {id}", document.json.sha256)?;
        }
        if contradiction.is_some() {
            // Also the page of a changed document is unchanged: that is no praise.
            return Ok(());
        }
        match &verified.generated_by_other_build {
            None => writeln!(out, "The page and its documents are unchanged."),
            Some(build) => writeln!(
                out,
                "The documents are unchanged. The page around them was made by a different build, Prony {build}, \
                 and was not compared."
            ),
        }
    })?;
    match contradiction {
        None => Ok(Exit::Success),
        Some((run, check)) => {
            let message = format!("{}: {}", plain(&run.id), plain(&check.finding));
            Err(Failure::new(Exit::Invalid, message, &check.advice).at(&path))
        }
    }
}

fn read_page(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_PAGE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_PAGE_BYTES {
        return Err(io::Error::other("it is larger than 2 GiB"));
    }
    // Prony writes only UTF-8, so replaced bytes are detected as a change.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn verify_failure(error: &VerifyError, path: &str) -> Failure {
    let exit = if error.is_changed() { Exit::Invalid } else { Exit::Unexpected };
    let hint = match error {
        VerifyError::NewerFormat(_) => "",
        _ if error.is_changed() => "generate it again from the stored run with prony report",
        _ => "name a file that prony report has written; prony show FILE reads a document of a run",
    };
    Failure::new(exit, error.to_string(), hint).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TestFolder;
    use std::fs;

    #[test]
    fn only_reports_are_replaced() {
        let folder = TestFolder::create();
        let path = folder.join("a.html");
        let check_replaceable =
            |path: &Path| file::check_replaceable(path, "a report", html::is_report);
        assert!(check_replaceable(&path).is_ok());
        let page = |runs| ReportPage {
            runs: vec![Run::default(); runs],
            ..ReportPage::default()
        };
        let write = |runs| file::write_result(&path, "report", |out| page(runs).write(out));
        write(1).unwrap();
        assert!(check_replaceable(&path).is_ok());
        write(2).unwrap();
        let args = VerifyArgs { file: path.clone() };
        assert_eq!(verify(&args).unwrap(), Exit::Success);
        let names = fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 1, "no other file is left");
        let page_text = read_page(&path).unwrap();
        fs::write(&path, &page_text[..page_text.len() / 2]).unwrap();
        assert_eq!(verify(&args).unwrap_err().exit, Exit::Invalid);
        fs::write(&path, "{\"schema_version\":\"1.1\"}").unwrap();
        assert_eq!(check_replaceable(&path).unwrap_err().exit, Exit::Usage);
        assert_eq!(verify(&args).unwrap_err().exit, Exit::Unexpected);
        let args = VerifyArgs {
            file: folder.join("none"),
        };
        assert_eq!(verify(&args).unwrap_err().exit, Exit::Unexpected);
    }
}
