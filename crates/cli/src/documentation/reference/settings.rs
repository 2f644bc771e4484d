//! The page of plan files, from the table of settings.

use super::{code, page_head, table, without_brackets};
use prony_plan::settings::{TABLES, settings_of_table};

const INTRODUCTION: &str = "\
The keys of a plan file, with the flags of `prony run` that override them. `prony plan schema` prints the JSON Schema,
`prony plan check FILE` reports every mistake in a file. Times are written as `500ms`, `30s` or `1m30s`, or as a number of
seconds.

```toml
[server]
url = \"postgres://bench@db1/bench\"

[workload]
name = \"oltp_read_write\"
table_size = 25000          # an option of the workload

[run]
clients = 16
duration = \"30s\"
warmup = \"5s\"

[variants.prepared]         # changes nothing

[variants.simple.run]       # changes one key of [run]
protocol = \"simple\"
```";

const VARIANTS: &str = "
## [variants.NAME]

What to compare: each variant changes `[variants.NAME.server]`, `[variants.NAME.workload]` or `[variants.NAME.run]`, and an empty one
changes nothing. [Experiments](../how-to/experiments.md) says how they are run.
";

pub fn page() -> String {
    let mut text = page_head("Plan files", INTRODUCTION);
    for (name, help) in TABLES {
        let rows = settings_of_table(name).map(|setting| {
            let default = setting.default().map(|value| value.to_string());
            [
                code(setting.key()),
                code(&setting.flag_name()),
                code(&default.unwrap_or_default()),
                without_brackets(setting.help()) + ".",
            ]
        });
        let rows = table(["key", "flag", "default", "meaning"], rows);
        text += &format!("\n## [{name}]\n\n{help}\n\n{rows}");
    }
    text + VARIANTS
}
