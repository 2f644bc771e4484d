//! Templates in `.sql` files, with parts that depend on a profile.
//!
//! `{name}` is replaced by a value. `{flag:text}` is included if the flag is set, `{!flag:text}` if it
//! is not. `{districts:text}` is repeated for the ten districts, with `{d}` (1) and `{dd}` (01) as the
//! district's number. Lines that begin with `--` are dropped.

use super::schema::DISTRICTS;

/// The flags and values that the parts of a text depend on.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    pub flags: &'a [(&'a str, bool)],
    pub values: &'a [(&'a str, &'a str)],
}

impl Template<'_> {
    /// The text with all its parts filled in.
    ///
    /// # Panics
    /// On an unknown name: the texts are compiled in, and tests fill in all of them.
    pub fn fill(&self, text: &str) -> String {
        let mut out = String::new();
        self.append(&without_comments(text), &mut out);
        out
    }

    fn append(&self, mut text: &str, out: &mut String) {
        while let Some(start) = text.find('{') {
            let end = start + matching_brace(&text[start..]);
            out.push_str(&text[..start]);
            let inside = &text[start + 1..end];
            match inside.split_once(':') {
                None => out.push_str(lookup(self.values, inside)),
                Some(("districts", part)) => {
                    for district in 1..=DISTRICTS {
                        let part = part.replace("{d}", &district.to_string());
                        self.append(&part.replace("{dd}", &format!("{district:02}")), out);
                    }
                }
                Some((flag, part)) => {
                    let is_included = match flag.strip_prefix('!') {
                        Some(name) => !lookup(self.flags, name),
                        None => lookup(self.flags, flag),
                    };
                    if is_included {
                        self.append(part, out);
                    }
                }
            }
            text = &text[end + 1..];
        }
        out.push_str(text);
    }
}

fn lookup<T: Copy>(entries: &[(&str, T)], name: &str) -> T {
    let entry = entries.iter().find(|(key, _)| *key == name);
    entry.unwrap_or_else(|| panic!("unknown name {name}")).1
}

/// The position of the brace that matches the one at the start of the text.
fn matching_brace(text: &str) -> usize {
    let mut depth = 0;
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return position;
        }
    }
    panic!("the braces are not balanced: {text}")
}

/// The text without comment lines.
pub fn without_comments(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("--")).collect()
}

/// The text on one line, with a single space between words.
pub fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn flags_values_and_districts_are_filled_in() {
        let template = Template {
            flags: &[("on", true), ("off", false)],
            values: &[("name", "x")],
        };
        let filled = template.fill("-- {gone}\na {name}{on: {name}{off:!}}{!on:?}{!off: :=}\n");
        assert_eq!(filled, "a x x :=\n");
        let districts = template.fill("{districts: {d}={dd}{on:,}}");
        districts.assert_starts_with(" 1=01, 2=02,");
        districts.assert_ends_with(" 10=10,");
        assert_eq!(on_one_line(" a\n  b c\n"), "a b c");
    }
}
