//! Tests that decimal values reach real servers exactly, in every mode. The servers are the embedded
//! ones and those listed in `PRONY_TEST_POSTGRES` and `PRONY_TEST_MYSQL`.

use prony_server::control::BlockingConnection;
use prony_server::{Environment, resolve};
use prony_test_servers::{shared_mariadb, shared_postgres};
use prony_wire::{ParameterType, QueryMode, Statement, StatementIds, Value};

/// Numbers as unscaled digits and scale; 30 is MySQL's largest scale.
const NUMBERS: [(i64, u8); 15] = [
    (0, 0),
    (0, 2),
    (7, 0),
    (-7, 0),
    (5, 2),
    (-5, 3),
    (-1_230, 2),
    (1, 30),
    (-1, 30),
    (i64::MAX, 0),
    (i64::MIN, 0),
    (i64::MAX, 19),
    (i64::MIN, 18),
    (i64::MAX, 30),
    (i64::MIN, 30),
];

/// The text of a number that may exceed 64 bits.
fn decimal_text(unscaled: i128, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let width = usize::from(scale) + 1;
    let digits = format!("{:0width$}", unscaled.unsigned_abs());
    match digits.split_at(digits.len() - usize::from(scale)) {
        (integer, "") => format!("{sign}{integer}"),
        (integer, fraction) => format!("{sign}{integer}.{fraction}"),
    }
}

/// The same number without the zeros at the end of its fraction.
fn without_trailing_zeros(number: &Option<String>) -> Option<String> {
    let number = number.as_ref()?;
    let trimmed = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    Some(trimmed.to_owned())
}

/// The first row of a statement with one parameter.
fn query_row(
    connection: &mut BlockingConnection,
    statement: &Statement,
    value: Value<'_>,
) -> Vec<Option<String>> {
    let request =
        connection.request(|exchange| exchange.request(std::iter::once((statement, &[value][..]))));
    request.unwrap_or_else(|error| panic!("{} {value:?}: {error}", statement.sql()));
    let (_, row) = connection.exchange().rows().next().expect("a row");
    let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into());
    row.values().map(text).collect()
}

/// Reads back each number, and twice its value, which integers and floating-point numbers cannot hold.
/// Uses a statement that declares the type of its parameter, and one that does not.
fn check_round_trip(url: &str, with_type: &str, without_type: &str) {
    let target = resolve(url, &Environment::without_home("tester")).expect("a valid URL");
    for mode in [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared] {
        let mut connection = BlockingConnection::connect(&target, mode).expect("connects");
        let mut set = StatementIds::new();
        for (sql, declares_type) in [(with_type, true), (without_type, false)] {
            for (unscaled, scale) in NUMBERS {
                let decimal_type = ParameterType::Decimal {
                    precision: 19 + scale,
                    scale,
                };
                let statement = set
                    .add(sql)
                    .with_types([declares_type.then_some(decimal_type)]);
                let sum = decimal_text(2 * i128::from(unscaled), scale);
                let mut expected = [sum, decimal_text(unscaled.into(), scale)].map(Some);
                // The declared type of a NULL must be that of the later values.
                if mode != QueryMode::Simple {
                    let null = query_row(&mut connection, &statement, Value::Null);
                    assert_eq!(null, [None, None], "{mode:?}");
                }
                let value = Value::Decimal { unscaled, scale };
                let mut values = query_row(&mut connection, &statement, value);
                // MySQL 8.0 and later derive the scale of the sum from the first execution, here of NULL: 30.
                (values[0], expected[0]) = (
                    without_trailing_zeros(&values[0]),
                    without_trailing_zeros(&expected[0]),
                );
                assert_eq!(
                    values, expected,
                    "{mode:?} declares_type: {declares_type} on {url}"
                );
            }
        }
    }
}

fn external_urls(variable: &str) -> Vec<String> {
    let urls = std::env::var(variable).unwrap_or_default();
    urls.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn decimals_are_exact_on_postgresql() {
    let mut urls = external_urls("PRONY_TEST_POSTGRES");
    urls.push(shared_postgres().url_for("postgres"));
    for url in urls {
        // In simple mode, the server knows only from the literal that the value is not an integer.
        check_round_trip(
            &url,
            "select ($1 + $1)::text, $1::text",
            "select ($1::numeric + $1)::text, $1::text",
        );
    }
}

#[test]
fn decimals_are_exact_on_mysql() {
    let mut urls = external_urls("PRONY_TEST_MYSQL");
    urls.push(shared_mariadb().url());
    for url in urls {
        let sql = "select cast($1 + $1 as char), cast($1 as char)";
        check_round_trip(&url, sql, sql);
    }
}
