//! Two runs side by side.
//!
//! In: two documents, and what `judge` made of them. Out: the verdict, what differs, and the figures
//! with their ratio, for a person or as JSON. Must never: print a ratio that the verdict forbids, or
//! call a difference of two single runs certain.

use crate::style::Style;
use crate::table::Table;
use crate::text::{cut, plain, wrap};
use crate::units;
use prony_judge::compare::{Comparison, Difference, Pair, Unit, Verdict};
use prony_store::{Run, Severity};
use serde_json::json;
use std::io::{self, Write};

/// The widest cell of a difference: long ones are cut, the document has them whole.
const CELL: usize = 28;

/// The longest line that names a run.
const LINE: usize = 95;

/// Which run, in a line.
fn named(run: &Run) -> String {
    let workload = &run.workload;
    let settings: String = workload
        .settings
        .iter()
        .map(|one| format!(", {one}"))
        .collect();
    plain(&format!(
        "{}: {}, scale {}, {}{settings}",
        run.id,
        workload.name,
        units::count(workload.scale.into()),
        units::counted(run.drive.clients.into(), "client", "clients"),
    ))
}

/// Writes it for a person.
pub fn write(
    out: &mut dyn Write,
    style: &Style,
    runs: [&Run; 2],
    found: &Comparison,
) -> io::Result<()> {
    writeln!(out, "{}", style.bold(found.verdict.words()))?;
    for (name, run) in ["A", "B"].iter().zip(runs) {
        writeln!(out, "  {name}  {}", cut(&named(run), LINE))?;
    }
    for (severity, heading) in [
        (Severity::Invalid, "Why not"),
        (Severity::Caveat, "To be weighed"),
        (Severity::Note, "To be known"),
    ] {
        let of_it = found.differences.iter();
        let of_it: Vec<&Difference> = of_it.filter(|one| one.severity == severity).collect();
        if !of_it.is_empty() {
            writeln!(out, "\n{}", style.bold(heading))?;
            differences(out, style, &of_it)?;
        }
    }
    if !found.figures.is_empty() {
        writeln!(out, "\n{}", style.bold("Figures"))?;
        figures(out, style, &found.figures)?;
        let caution = "One run each: runs of the same thing differ too, and two runs do not say by \
             how much. Repeat both in turn before a conclusion is drawn from a small difference.";
        writeln!(out)?;
        for line in wrap(caution, 78) {
            writeln!(out, "  {line}")?;
        }
    } else if found.verdict == Verdict::NotComparable {
        writeln!(
            out,
            "\n  No ratio is given: prony show has the figures of each."
        )?;
    }
    Ok(())
}

fn differences(out: &mut dyn Write, style: &Style, of: &[&Difference]) -> io::Result<()> {
    let mut table = Table::new(&["", "A<", "B<"]);
    for one in of {
        let cell = |text: &str| cut(&plain(text), CELL);
        table.row([plain(&one.what), cell(&one.a), cell(&one.b)]);
    }
    table.write(out, style, 2)?;
    let mut whys: Vec<&str> = Vec::new();
    for one in of {
        if !whys.contains(&one.why) {
            whys.push(one.why);
        }
    }
    for line in wrap(&format!("Because {}.", whys.join("; ")), 78) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn figures(out: &mut dyn Write, style: &Style, pairs: &[Pair]) -> io::Result<()> {
    let mut table = Table::new(&["", "A", "B", "B against A"]);
    for pair in pairs {
        let show = |value: f64| match pair.unit {
            Unit::Rate => units::rate(value),
            Unit::Nanoseconds => units::time(value),
        };
        table.row([plain(&pair.name), show(pair.a), show(pair.b), change(pair)]);
    }
    table.write(out, style, 2)
}

/// How much more or less, of the first.
pub(crate) fn change(pair: &Pair) -> String {
    if pair.a <= 0.0 {
        return "–".to_owned();
    }
    format!("{:+.1} %", (pair.b / pair.a - 1.0) * 100.0)
}

/// Writes it as one JSON document.
pub fn json(out: &mut dyn Write, runs: [&Run; 2], found: &Comparison) -> io::Result<()> {
    let [a, b] = runs;
    let document = json!({
        "a": a.id,
        "b": b.id,
        "verdict": found.verdict,
        "differences": found.differences,
        "figures": found.figures,
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_judge::compare::compare;

    fn shown(a: &Run, b: &Run) -> String {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), [a, b], &compare(a, b)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_compares_has_a_ratio_and_a_caution() {
        let a = closed();
        let mut b = a.clone();
        b.measured.kinds[0].tps *= 1.1;
        let text = shown(&a, &b);
        assert!(text.starts_with("COMPARABLE\n"), "{text}");
        assert!(text.contains("+10.0 %"), "{text}");
        assert!(text.contains("One run each"), "{text}");
    }

    #[test]
    fn what_does_not_compare_has_none() {
        let a = closed();
        let mut b = a.clone();
        b.workload.settings = vec!["profile \u{1b}[31mhammerdb".to_owned()];
        b.server.version = "9".repeat(200);
        let text = shown(&a, &b);
        assert!(text.starts_with("NOT COMPARABLE\n"), "{text}");
        assert!(text.contains("profile"), "{text}");
        assert!(
            !text.contains("B against A") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn programs_get_all_of_it() {
        let a = closed();
        let mut b = a.clone();
        b.drive.clients += 1;
        let mut out = Vec::new();
        json(&mut out, [&a, &b], &compare(&a, &b)).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(read["verdict"], "with_caveats");
        assert_eq!(read["differences"][0]["what"], "clients");
        assert!(read["figures"][0]["a"].is_number());
    }
}
