use super::*;

#[test]
fn every_flag_sets_its_setting_and_no_other() {
    for setting in SETTINGS.iter().filter(|setting| setting.flag.is_some()) {
        let text = match &setting.value_type {
            SettingType::Bool => "true",
            SettingType::Duration => "3s",
            SettingType::Rate => "7.5",
            SettingType::Choice(names) => names()[0],
            SettingType::Facts => "cpus=7",
            SettingType::ServerSettings => "work_mem=7MB",
            SettingType::Requirements => "p99<7ms",
            SettingType::Commands => "ssh vm1\nssh vm2",
            SettingType::Marks => "7s kill -9 1",
            _ => "7",
        };
        let mut input = PlanInput::default();
        input.set_flag(setting, &[text]).unwrap();
        let values: Vec<_> = input.given_settings().collect();
        assert_eq!(values.len(), 1, "{}", setting.path);
        let (changed, value, location) = values[0];
        assert_eq!(
            (changed.path, value.to_texts()),
            (setting.path, vec![text.to_owned()])
        );
        assert_eq!(location.to_string(), setting.flag_name());
    }
}

/// A text is one value, whatever it contains: neither nothing nor several.
#[test]
fn each_text_of_a_repeated_flag_is_one_value() {
    let set = |path: &str, texts: &[&str]| {
        let mut input = PlanInput::default();
        let setting = SETTINGS.iter().find(|setting| setting.path == path);
        input.set_flag(setting.unwrap(), texts)?;
        let values = input.given_settings().map(|(_, value, _)| value.to_texts());
        Ok::<_, String>(values.flatten().collect::<Vec<_>>())
    };
    for (path, texts) in [
        ("run.require", ["p99<7ms", "errors=0"]),
        ("server.settings", ["jit=off", "work_mem=4MB"]),
        ("server.declared", ["cpus=4", "zones=3"]),
    ] {
        assert_eq!(set(path, &texts), Ok(texts.map(str::to_owned).to_vec()));
        for wrong in ["", &texts.join("\n")] {
            set(path, &[wrong]).expect_err(wrong);
            set(path, &[texts[0], wrong]).expect_err(wrong);
        }
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

const URL: &str = "postgres://localhost/other";

/// A plan file with `setting` and what it needs, and that value in JSON, which is not the setting's default.
fn plan_with(setting: &Setting) -> (String, Value) {
    let value = match (&setting.value_type, setting.default()) {
        _ if setting.path == "server.url" => Value::from(URL),
        _ if setting.path == "observe.server_metrics" => Value::from("http://db1:9100/metrics"),
        _ if setting.path == "observe.metrics_listen" => Value::from("127.0.0.1:9187"),
        (SettingType::Bool, default) => Value::from(default != Some(Value::from(true))),
        (SettingType::Text, _) => Value::from("ycsb"),
        (SettingType::WholeNumber { .. }, _) => Value::from(7),
        (SettingType::Rate, _) => Value::from(7.5),
        (SettingType::Facts, _) => serde_json::json!({"cpus": "16", "region": "eu"}),
        (SettingType::ServerSettings, _) => serde_json::json!({"a.b": "x y", "work_mem": "7MB"}),
        (SettingType::Commands, _) => serde_json::json!(["ssh vm1", "ssh vm2"]),
        (SettingType::Marks, _) => serde_json::json!(["1s kill -9 1", "2s sleep 1 && ./promote"]),
        (SettingType::Requirements, _) => serde_json::json!(["p99<20ms", "lost=0"]),
        (SettingType::Duration, _) => Value::from("67s"),
        (SettingType::Choice(names), default) => {
            let mut names = names().into_iter().map(Value::from);
            names
                .find(|name| Some(name) != default.as_ref())
                .expect("another name")
        }
    };
    let mut tables = BTreeMap::from([("workload", BTreeMap::from([("name", "tpcb".into())]))]);
    let mut set = |path: &'static str, value: Value| {
        let (table, key) = path.split_once('.').expect("table and key");
        tables.entry(table).or_default().insert(key, value);
    };
    if setting.path != "server.embedded" {
        set("server.url", Value::from(URL));
    }
    if setting.path == "run.read_share" {
        set("server.read_from", Value::from("postgres://standby/d"));
    }
    if setting.path == "run.arrival" {
        set("run.rate", Value::from(100.0));
    }
    set(setting.path, value.clone());
    (toml::to_string(&tables).expect("valid TOML"), value)
}

#[test]
fn every_setting_reaches_the_checked_plan_the_written_file_and_the_document() {
    // Settings of an experiment become its runs; experiment/tests.rs covers them.
    let of_runs = |setting: &&Setting| setting.table() != "experiment";
    for setting in SETTINGS.iter().filter(of_runs) {
        let (text, value) = plan_with(setting);
        let check = |text: &str| {
            let input = PlanInput::from_toml("plan.toml", text);
            let checked = input.and_then(PlanInput::check);
            checked.unwrap_or_else(|problems| panic!("{}: {problems}", setting.path))
        };
        let plan = check(&text);
        let input = PlanInput::from_plan(&plan, Some(URL));
        let mut given = input.given_settings();
        let found = given.find(|(given, ..)| given.path == setting.path);
        let checked = found.map(|(_, value, _)| value.to_json());
        assert_eq!(checked.as_ref(), Some(&value), "{}", setting.path);
        let written = crate::to_toml(&plan, Some(URL)).expect("TOML");
        assert_eq!(check(&written), plan, "{}", setting.path);
        // A command may contain a password.
        if !["server", "fleet"].contains(&setting.table()) {
            let value = match setting.path {
                "run.at" => serde_json::json!(["1s a command", "2s a command"]),
                _ => value,
            };
            let document = crate::to_json(&plan, URL);
            assert_eq!(
                document[setting.table()][setting.key()],
                value,
                "{}",
                setting.path
            );
        }
    }
}
