//! JUnit XML, for a CI server.
//!
//! In: names and messages. Out: a document. Must never: let a name end its attribute or element.

use crate::text::plain;
use std::fmt::{self, Write as _};
use std::io::{self, Write};

pub(crate) struct TestCase {
    pub name: String,
    pub message: String,
    pub failed: bool,
}

pub(crate) struct TestSuite {
    pub title: String,
    pub cases: Vec<TestCase>,
}

pub(crate) fn write_document(
    out: &mut dyn Write,
    name: &str,
    suites: &[TestSuite],
) -> io::Result<()> {
    let document = document(name, suites).map_err(io::Error::other)?;
    out.write_all(document.as_bytes())
}

fn document(name: &str, suites: &[TestSuite]) -> Result<String, fmt::Error> {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    writeln!(out, "<testsuites name=\"{}\">", escape_xml(name))?;
    for TestSuite { title, cases } in suites {
        let title = escape_xml(title);
        let (total, failed) = (cases.len(), cases.iter().filter(|case| case.failed).count());
        writeln!(
            out,
            "  <testsuite name=\"{title}\" tests=\"{total}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">"
        )?;
        for case in cases {
            let (name, message) = (escape_xml(&case.name), escape_xml(&case.message));
            writeln!(out, "    <testcase classname=\"{title}\" name=\"{name}\">")?;
            if case.failed {
                writeln!(out, "      <failure message=\"{message}\"/>")?
            } else {
                writeln!(out, "      <system-out>{message}</system-out>")?
            }
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    Ok(out)
}

/// Text escaped for elements and attributes; characters that XML does not allow are left out.
fn escape_xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c => safe.push(c),
        }
    }
    safe
}
