//! Reads the file of `--config-file`.
//!
//! Must never: stop a run, which sysbench does not do either.

/// The contents of a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Names as written, with their values.
    pub given: Vec<(String, Vec<String>)>,
    /// A message for standard error.
    pub error: Option<String>,
}

/// Reads `name=value[,value]`. Values may be quoted and are separated by commas or blanks; `#` outside of
/// quotes ends them; lines without `=` are ignored. A quote that is not closed ends the reading.
pub fn read(text: &str) -> Config {
    let mut config = Config::default();
    for (number, line) in text.lines().enumerate() {
        let Some((name, rest)) = line.split_once('=') else {
            continue;
        };
        if line.trim_start().starts_with('#') {
            continue;
        }
        let Some(values) = values(rest) else {
            config.error = Some(format!("unexpected EOL on line {}\n", number + 1));
            break;
        };
        config.given.push((name.to_owned(), values));
    }
    config
}

/// The values without quotes and comment; none if a quote is not closed.
fn values(text: &str) -> Option<Vec<String>> {
    let (mut values, mut value, mut quote) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
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

    fn given(text: &str) -> Vec<(String, String)> {
        let given = read(text).given.into_iter();
        given
            .map(|(name, values)| (name, values.join("|")))
            .collect()
    }

    #[test]
    fn lines_are_names_and_values() {
        let text = "# no=1\nthreads=3\n\njunk\n[group]\nmysql-host='a b',\"c#d\" # two\n\
                    report-checkpoints= 3, 4 5,,\nmysql-password=\"\"\nrand-seed=\n";
        let want = [
            ("threads", "3"),
            ("mysql-host", "a b|c#d"),
            ("report-checkpoints", "3|4|5"),
            ("mysql-password", ""),
            ("rand-seed", ""),
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
        assert_eq!(config.error.as_deref(), Some("unexpected EOL on line 2\n"));
    }

    #[test]
    fn a_blank_before_the_sign_belongs_to_the_name() {
        assert_eq!(given("time = 5"), [("time ".to_owned(), "5".to_owned())]);
    }
}
