use super::*;
use std::fmt::Write;
use std::path::Path;

/// The keys of plan files and their flags, as in docs/plan-files.md.
fn reference() -> String {
    let mut text = "# Plan files\n\nThe keys of a plan file, with the flags of `prony run` that override them. A test writes this page from \
                    the table of settings:\n`PRONY_WRITE_DOCS=1 cargo test -p prony-plan reference` updates it. `prony plan schema` prints the JSON \
                    Schema, `prony plan check\nFILE` reports every mistake in a file. Times are written as `500ms`, `30s` or `1m30s`, or as a number of \
                    seconds.\n"
        .to_owned();
    for (table, help) in TABLES {
        write!(text, "\n## [{table}]\n\n{help}\n\n| key | flag | default | meaning |\n| --- | --- | --- | --- |\n").unwrap();
        for setting in settings_of_table(table) {
            let flag = match setting.flag_name() {
                name if name.is_empty() => String::new(),
                name => format!("`{name}`"),
            };
            let default = setting
                .default()
                .map_or(String::new(), |value| format!("`{value}`"));
            let (key, help) = (setting.key(), setting.help());
            writeln!(text, "| `{key}` | {flag} | {default} | {help}. |").unwrap();
        }
    }
    text + "\n## [variants.NAME]\n\nWhat to compare: each variant changes `[variants.NAME.server]`, `[variants.NAME.workload]` or \
            `[variants.NAME.run]`, and an empty one\nchanges nothing.\n"
}

#[test]
fn the_reference_of_plan_files_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan-files.md");
    if std::env::var_os("PRONY_WRITE_DOCS").is_some() {
        std::fs::write(&path, reference()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        reference()
    );
}

#[test]
fn every_flag_sets_its_setting_and_no_other() {
    for setting in SETTINGS.iter().filter(|setting| setting.flag.is_some()) {
        let text = match &setting.value_type {
            SettingType::Bool => "true",
            SettingType::Duration => "3s",
            SettingType::Rate => "7.5",
            SettingType::Choice(names) => names()[0],
            _ => "7",
        };
        let mut input = PlanInput::default();
        input.set_flag(setting, text).unwrap();
        let values: Vec<_> = input.given_settings().collect();
        assert_eq!(values.len(), 1, "{}", setting.path);
        let (changed, value, location) = values[0];
        assert_eq!(
            (changed.path, value.to_text().as_str()),
            (setting.path, text)
        );
        assert_eq!(location.to_string(), setting.flag_name());
    }
}

#[test]
fn long_and_short_names_of_flags_are_unique() {
    let flags = || SETTINGS.iter().filter_map(|setting| setting.flag.as_ref());
    for (index, flag) in flags().enumerate() {
        for later in flags().skip(index + 1) {
            assert_ne!(flag.long, later.long);
            assert!(
                flag.short.is_none() || flag.short != later.short,
                "-{:?}",
                flag.short
            );
        }
    }
}
