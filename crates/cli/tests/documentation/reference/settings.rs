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
changes nothing. `[variants.NAME.settings]` is short for `[variants.NAME.server.settings]`. [Experiments](../how-to/experiments.md) says how they are run.

## [sweep]

Points of an experiment: every combination of the values. A key is a setting of `[workload]` or `[run]`, an option of the workload, or `settings.NAME` of the server;
the last key varies fastest. `--sweep KEY=VALUES` adds a key or replaces its values. [Sweeps](../how-to/sweeps.md) has examples.

| key | meaning |
| --- | --- |
| a setting or option | its values: a list such as `[1, 2, 4]`, or a range such as `\"1..64 step 8\"` or `\"1..64 times 2\"` |
| `prices` | a price sheet; the table then has throughput for the money |
| `configuration` | the configuration of that sheet, if the sweep has no machines |
| `machine.NAME` | a table for each machine: `url`, the facts that `[server.declared]` may have, `server_metrics` as in `[observe]`, and `configuration`, by default the one of its name |
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
