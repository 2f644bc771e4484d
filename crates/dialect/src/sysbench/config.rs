//! Reads the file of `--config-file`.
//!
//! Must never: end a run because of an invalid file, because sysbench does not end the run.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The options: names as written, and their values.
    pub options: Vec<(String, Vec<String>)>,
    /// The message for standard error about the line at which parsing ended; `None` if the file is valid.
    pub error: Option<String>,
}

/// Parses lines of `name=value[,value]`. Values may be quoted, and are separated by commas or blanks. A `#`
/// outside of quotes begins a comment. Lines without `=` are ignored. Parsing ends at a quote that is not
/// closed.
pub fn read(text: &str) -> Config {
    let mut config = Config::default();
    for (number, line) in text.lines().enumerate() {
        let Some((name, values_text)) = line.split_once('=') else {
            continue;
        };
        if line.trim_start().starts_with('#') {
            continue;
        }
        let Some(values) = values(values_text) else {
            config.error = Some(format!("unexpected EOL on line {}\n", number + 1));
            break;
        };
        config.options.push((name.to_owned(), values));
    }
    config
}

/// Parses values, without quotes and comment; `None` if a quote is not closed.
fn values(text: &str) -> Option<Vec<String>> {
    let mut values = Vec::new();
    // The value that has begun, and the quote in which it is.
    let mut value: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(quote_mark), _) if letter == quote_mark => quote = None,
            (Some(_), _) => value.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                value.get_or_insert_default();
            }
            (None, '#') => break,
            (None, ',') => values.extend(value.take()),
            (None, _) if letter.is_whitespace() => values.extend(value.take()),
            (None, _) => value.get_or_insert_default().push(letter),
        }
    }
    values.extend(value);
    quote.is_none().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Vec<(String, String)> {
        let options = read(text).options.into_iter();
        options
            .map(|(name, values)| (name, values.join("|")))
            .collect()
    }

    #[test]
    fn lines_are_names_and_values() {
        let text = "# no=1\nthreads=3\n\njunk\n[group]\nmysql-host='a b',\"c#d\" # two\n\
                    report-checkpoints= 3, 4 5,,\nmysql-password=\"\"\nrand-seed=\n";
        let expected = [
            ("threads", "3"),
            ("mysql-host", "a b|c#d"),
            ("report-checkpoints", "3|4|5"),
            ("mysql-password", ""),
            ("rand-seed", ""),
        ];
        assert_eq!(
            options(text),
            expected.map(|(name, value)| (name.into(), value.into()))
        );
    }

    #[test]
    fn an_unclosed_quote_ends_parsing() {
        let config = read("threads=3\nmysql-user='x\ntime=4\n");
        assert_eq!(config.options.len(), 1);
        assert_eq!(config.error.as_deref(), Some("unexpected EOL on line 2\n"));
    }

    #[test]
    fn a_blank_before_the_equals_sign_belongs_to_the_name() {
        assert_eq!(options("time = 5"), [("time ".to_owned(), "5".to_owned())]);
    }
}
