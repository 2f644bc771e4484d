//! Names and values as parts of an SQL text.
//!
//! In: any text. Out: the same, quoted. Must never: let a part of it end its quotes.

use super::Product;

impl Product {
    /// A name in the form that this product quotes names in.
    pub fn quote_identifier(self, name: &str) -> String {
        match self {
            Product::Postgres => quote_identifier(name),
            Product::Mysql | Product::MariaDb => format!("`{}`", name.replace('`', "``")),
        }
    }

    /// A string literal, which means the same whatever the session's settings: MySQL's one with a
    /// backslash is written in hexadecimal, because `sql_mode` decides what a backslash is.
    pub fn quote_literal(self, text: &str) -> String {
        match self {
            Product::Postgres => quote_literal(text),
            Product::Mysql | Product::MariaDb if text.contains('\\') => {
                let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
                format!("_utf8mb4 x'{hex}'")
            }
            Product::Mysql | Product::MariaDb => format!("'{}'", text.replace('\'', "''")),
        }
    }
}

/// A name, quoted always: `a"b` becomes `"a""b"`.
pub fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string literal. One with a backslash is written as `E'...'`, which means the same whatever
/// `standard_conforming_strings` says.
pub fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') {
        format!(" E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes() {
        assert_eq!(quote_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_literal("a\\'b"), " E'a\\\\''b'");
        let product = Product::MariaDb;
        assert_eq!(product.quote_identifier("a`b"), "`a``b`");
        assert_eq!(product.quote_literal("it's"), "'it''s'");
        assert_eq!(product.quote_literal("\\'"), "_utf8mb4 x'5c27'");
        assert_eq!(Product::Postgres.quote_identifier("a"), "\"a\"");
    }
}
