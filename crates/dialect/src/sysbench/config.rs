//! The file of `--config-file`.
//!
//! In: its text. Out: names and values, in order. Must never: stop a run: sysbench does not either.

/// What a file gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Names as they stand, with their values.
    pub given: Vec<(String, String)>,
    /// What goes to standard error.
    pub complaint: Option<String>,
}

/// Reads `name=value[,value]`: values may be quoted, `#` outside of quotes ends one, and lines without
/// `=` do not count. A quote that is not closed ends the reading.
pub fn read(text: &str) -> Config {
    let mut config = Config::default();
    for (number, line) in text.lines().enumerate() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        if line.trim_start().starts_with('#') {
            continue;
        }
        let Some(value) = unquoted(value) else {
            config.complaint = Some(format!("unexpected EOL on line {}\n", number + 1));
            break;
        };
        // A line may be as on the command line.
        let name = name.strip_prefix("--").unwrap_or(name);
        config.given.push((name.to_owned(), value));
    }
    config
}

/// A value without its quotes and its comment; none if a quote is not closed.
fn unquoted(value: &str) -> Option<String> {
    let (mut text, mut quote) = (String::new(), None);
    for letter in value.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => text.push(letter),
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None if letter == '#' => break,
            None => text.push(letter),
        }
    }
    let text = text.trim();
    quote.is_none().then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Vec<(String, String)> {
        read(text).given
    }

    #[test]
    fn lines_are_names_and_values() {
        let text =
            "# no=1\nthreads=3\n\njunk\n[group]\nmysql-host='a b',\"c#d\" # two\n--rand-seed=9\n";
        let want = [
            ("threads", "3"),
            ("mysql-host", "a b,c#d"),
            ("rand-seed", "9"),
        ];
        assert_eq!(
            given(text),
            want.map(|(name, value)| (name.into(), value.into()))
        );
    }

    #[test]
    fn an_open_quote_ends_the_file() {
        let config = read("threads=3\nmysql-user='x\ntime=4\n");
        assert_eq!(config.given.len(), 1);
        assert_eq!(
            config.complaint.as_deref(),
            Some("unexpected EOL on line 2\n")
        );
    }

    #[test]
    fn a_blank_before_the_sign_belongs_to_the_name() {
        assert_eq!(given("time = 5"), [("time ".to_owned(), "5".to_owned())]);
    }
}
