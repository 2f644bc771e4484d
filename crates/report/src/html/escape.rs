//! Foreign text in a page: names of tables, statements, messages of servers.
//!
//! In: text and JSON from a document. Out: the same, harmless in HTML. Must never: let a text end the
//! element or attribute that it stands in, or a document the script element that holds it.

use std::fmt::{self, Display, Write};

/// Text as it may stand between tags and in quoted attributes. Control characters become spaces, and
/// marks that turn the direction of writing become visible.
pub struct Text<T>(pub T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(out), "{}", self.0)
    }
}

struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    self.0.write_char('\u{fffd}')?
                }
                c if c.is_control() => self.0.write_char(' ')?,
                c => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// JSON as it may stand in a script element: each `<` as `\u003c`, so that neither `</script` nor
/// `<!--` can occur. A `<` occurs in JSON only inside strings, where the two mean the same.
pub fn embedded(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// The JSON that [`embedded`] was made of, byte by byte.
pub fn unembedded(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        json.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(behind) = after.strip_prefix("u003c") {
            json.push('<');
            rest = behind;
            continue;
        }
        // An escaped backslash is passed over whole: what follows it is plain text.
        let length = after.chars().next().map_or(0, char::len_utf8);
        json.push('\\');
        json.push_str(&after[..length]);
        rest = &after[length..];
    }
    json.push_str(rest);
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_element_or_attribute() {
        let bad = "</td><script>alert(\"1\")</script>' onload='x&\u{1b}[31m\u{202e}";
        let safe = Text(bad).to_string();
        assert!(
            !safe.contains(['<', '>', '"', '\'', '\u{1b}', '\u{202e}']),
            "{safe}"
        );
        assert!(
            safe.starts_with("&lt;/td&gt;&lt;script&gt;alert(&quot;1"),
            "{safe}"
        );
        assert!(safe.contains("x&amp; "), "{safe}");
        assert_eq!(Text(12.5).to_string(), "12.5");
    }

    #[test]
    fn documents_come_back_byte_by_byte() {
        for text in [
            "</script>",
            "<!--",
            "\\u003c",
            "\\",
            "a\\\"<b\u{e9}<",
            "\\\\<\\n",
        ] {
            let json = serde_json::to_string(text).unwrap();
            let safe = embedded(&json);
            assert!(!safe.contains('<'), "{safe}");
            assert_eq!(unembedded(&safe), json);
            assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }
        assert_eq!(unembedded("\\"), "\\", "a broken one is no reason to panic");
    }
}
