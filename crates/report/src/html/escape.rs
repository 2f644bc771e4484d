//! Escaping of text in a page, such as names of tables, statements and messages of servers.
//!
//! In: text and JSON from a document. Out: escaped text and JSON. Must never: produce text that ends its
//! element or attribute, or JSON that ends its script element.

use super::markup::Markup;
use crate::visible::is_control;
use std::fmt::{self, Display, Write};

/// Text escaped for use between tags and in quoted attributes. Control characters become spaces, and characters that
/// reorder text become replacement characters.
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(EscapingWriter(out), "{}", self.0)
    }
}

pub(super) struct EscapingWriter<'a, 'b>(pub &'a mut fmt::Formatter<'b>);

impl Write for EscapingWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // What needs no escape is written in whole pieces: a finding may have many megabytes.
        let mut written = 0;
        for (index, c) in text.char_indices() {
            let escaped = match c {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                '\'' => "&#39;",
                c if is_control(c) => {
                    if c.is_control() {
                        " "
                    } else {
                        "\u{fffd}"
                    }
                }
                _ => continue,
            };
            self.0.write_str(&text[written..index])?;
            self.0.write_str(escaped)?;
            written = index + c.len_utf8();
        }
        self.0.write_str(&text[written..])
    }
}

/// A name escaped for use between tags, with `<wbr>` after separators: paths and settings have no spaces.
pub struct EscapedName<T>(pub T);

impl<T: Display> Display for EscapedName<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Escaped(&self.0).to_string();
        for part in text.split_inclusive(['/', '_', ',']) {
            out.write_str(part)?;
            if part.len() < text.len() && part.ends_with(['/', '_', ',']) {
                out.write_str("<wbr>")?;
            }
        }
        Ok(())
    }
}

impl<T: Display> Markup for EscapedName<T> {
    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, out)
    }
}

/// JSON for a script element: each `<` becomes `\u003c`, so neither `</script` nor `<!--` can occur. In JSON, `<`
/// occurs only in strings, where both forms are equivalent.
pub struct EmbeddedJson<'a>(pub &'a str);

impl Markup for EmbeddedJson<'_> {
    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.replace('<', "\\u003c"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::markup::markup;
    use prony_assertions::TextAssertions;

    #[test]
    fn names_get_line_breaks_and_stay_escaped() {
        let name = EscapedName("/a/long_name.sql").to_string();
        assert_eq!(name, "/<wbr>a/<wbr>long_<wbr>name.sql");
        assert_eq!(EscapedName("plain").to_string(), "plain");
        assert_eq!(EscapedName("_<b>").to_string(), "_<wbr>&lt;b&gt;");
    }

    #[test]
    fn text_cannot_end_its_element_or_attribute() {
        let bad = "</td><script>alert(\"1\")</script>' onload='x&\u{1b}[31m\u{202e}";
        let safe = Escaped(bad).to_string();
        assert!(
            !safe.contains(['<', '>', '"', '\'', '\u{1b}', '\u{202e}']),
            "{safe}"
        );
        safe.assert_starts_with("&lt;/td&gt;&lt;script&gt;alert(&quot;1");
        safe.assert_contains("x&amp; ");
        assert_eq!(Escaped(12.5).to_string(), "12.5");
        for mark in ['\u{61c}', '\u{200e}', '\u{200f}', '\u{202b}', '\u{2067}'] {
            let safe = Escaped(format!("1{mark}2\t3")).to_string();
            assert_eq!(safe, "1\u{fffd}2 3", "{mark:?}");
        }
    }

    #[test]
    fn embedded_json_cannot_end_its_element_and_keeps_its_meaning() {
        for text in ["</script>", "<!--", "\\u003c", "a\\\"<b\u{e9}<"] {
            let json = serde_json::to_string(text).unwrap();
            let safe = markup!("{}", EmbeddedJson(&json));
            assert!(!safe.contains('<'), "{safe}");
            assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }
    }
}
