//! The published JSON Schema of the Run document matches its types.

use prony_store::Run;
use serde_json::Value;

/// `PRONY_WRITE_DOCS=1` writes the schema instead of comparing it.
#[test]
fn the_published_schema_is_current() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/src/reference/run.schema.json"
    );
    let schema = serde_json::to_value(schemars::schema_for!(Run)).unwrap();
    if std::env::var_os("PRONY_WRITE_DOCS").is_some() {
        let text = serde_json::to_string_pretty(&schema).unwrap();
        std::fs::write(path, text + "\n").unwrap();
    }
    let published: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(
        published == schema,
        "docs/src/reference/run.schema.json is not current: run `make docs-reference`"
    );
}
