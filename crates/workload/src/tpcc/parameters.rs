//! Types of a statement's parameters, which the `.sql` files contain after the placeholders, such as
//! `$3:smallint`. They must be the types that the server would infer: a different type may lead to a
//! different plan.

use prony_wire::ParameterType;

/// Removes the types from the text of a statement; returns the text and the type of each parameter, or
/// `None` for one that the server infers.
///
/// # Panics
/// On an unknown type: the texts are compiled in, and tests read all of them.
pub fn split_types(sql: &str) -> (String, Vec<Option<ParameterType>>) {
    let (mut text, mut types) = (String::new(), Vec::new());
    let mut remaining = sql;
    while let Some(dollar) = remaining.find('$') {
        let digits = remaining[dollar + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit);
        let end = dollar + 1 + digits.count();
        let (before, after) = remaining.split_at(end);
        text.push_str(before);
        remaining = after;
        let Ok(number @ 1..) = before[dollar + 1..].parse::<usize>() else {
            continue;
        };
        if types.len() < number {
            types.resize(number, None);
        }
        if let Some((declared, after)) = type_at_start(remaining) {
            let parsed = declared.parse();
            types[number - 1] =
                Some(parsed.unwrap_or_else(|error| panic!("{declared} is {error}: {sql}")));
            remaining = after;
        }
    }
    text.push_str(remaining);
    (text, types)
}

/// The type after the colon at the start of the text, if there is one, and the text after it.
fn type_at_start(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(':')?;
    let name = text.bytes().take_while(u8::is_ascii_lowercase).count();
    if name == 0 {
        // PostgreSQL's cast, `::`.
        return None;
    }
    let arguments = if text[name..].starts_with('(') {
        text[name..].find(')').map_or(0, |end| end + 1)
    } else {
        0
    };
    Some(text.split_at(name + arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn types_follow_their_placeholders() {
        let amount = ParameterType::Decimal {
            precision: 6,
            scale: 2,
        };
        let (text, types) = split_types(
            "update t set a = a + $2:decimal(6,2), b = $2, c = $4::int where d = $1:int and (e = $5:char(2))",
        );
        text.assert_equals(
            "update t set a = a + $2, b = $2, c = $4::int where d = $1 and (e = $5)",
        );
        let int = Some(ParameterType::Int);
        let char = Some(ParameterType::Char(2));
        assert_eq!(types, [int, Some(amount), None, None, char]);
        assert_eq!(split_types("commit"), ("commit".to_owned(), Vec::new()));
        assert_eq!(split_types("'$'").0, "'$'");
    }

    #[test]
    #[should_panic(expected = "integer is not a parameter type")]
    fn unknown_types_panic() {
        split_types("select $1:integer");
    }
}
