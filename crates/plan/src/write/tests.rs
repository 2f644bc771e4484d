use super::*;
use crate::{
    Arrival, DrivePlan, IoEngine, ListenAddress, ObservePlan, Pace, QueryMode, ServerPlan, Stop,
    WorkloadPlan,
};
use prony_assertions::TextAssertions;
use prony_document::{Declared, DeclaredFact, Requirement, Requirements, ServerSettings};
use proptest::prelude::*;
use std::path::Path;
use std::time::Duration;

fn example_plans() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut plans = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            plans.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
    assert!(plans.len() >= 3, "{}", plans.len());
    plans
}

fn checked_plan(name: &str, text: &str) -> Plan {
    let input = PlanInput::from_toml(name, text).unwrap_or_else(|problems| panic!("{problems}"));
    input
        .check()
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn known_tables() -> Vec<(&'static str, Vec<&'static str>)> {
    let keys = |name| {
        let keys = settings_of_table(name).map(Setting::key);
        // Options of a workload with forms of their own.
        let options = [TRANSACTIONS, "samples"];
        keys.chain(options.into_iter().filter(|_| name == "workload"))
            .collect()
    };
    TABLES.map(|(name, _)| (name, keys(name))).to_vec()
}

/// Follows `$ref` to its definition.
fn resolve_ref<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    match node["$ref"].as_str() {
        Some(path) => schema.pointer(path.trim_start_matches('#')).unwrap(),
        None => node,
    }
}

/// The schema of table `name` of `owner`, a plan or a variant. `schema` is the whole document, to resolve
/// `$ref`.
fn table_schema_of<'a>(owner: &'a Value, schema: &'a Value, name: &str) -> &'a Value {
    resolve_ref(schema, &owner["properties"][name])
}

#[test]
fn the_schema_has_exactly_the_keys_that_are_read() {
    let schema = json_schema();
    let tables: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let known_tables = known_tables();
    // The schema has two more properties: `variants` and `sweep`.
    assert_eq!(tables.len(), known_tables.len() + 2);
    let machine = &schema["properties"]["sweep"]["properties"]["machine"]["additionalProperties"];
    assert_eq!(machine["required"], json!(["url"]));
    assert!(machine["properties"]["cpus"].is_object());
    let variant = &schema["$defs"]["variant"];
    assert_eq!(variant["additionalProperties"], false);
    for (name, keys) in known_tables
        .iter()
        .filter(|(name, _)| VARIANT_TABLES.contains(name))
    {
        let variant_table = table_schema_of(variant, &schema, name);
        let properties = variant_table["properties"].as_object().unwrap();
        assert_eq!(properties.len(), keys.len(), "[variants.NAME.{name}]");
        assert!(
            variant_table["required"].is_null() && variant_table["dependentRequired"].is_null()
        );
        let properties = properties.values();
        let defaults = properties.filter(|property| !property["default"].is_null());
        assert_eq!(
            defaults.count(),
            0,
            "a variant inherits the values of the plan"
        );
    }
    for (name, mut keys) in known_tables {
        let table = table_schema_of(&schema, &schema, name);
        let properties = table["properties"].as_object().unwrap();
        let mut schema_keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        schema_keys.sort_unstable();
        keys.sort_unstable();
        assert_eq!(schema_keys, keys, "[{name}]");
        for (key, property) in properties {
            assert!(property["description"].is_string(), "{name}.{key}");
        }
        let is_closed = table["additionalProperties"] == Value::Bool(false);
        assert_eq!(is_closed, name != "workload", "[{name}]");
    }
    let workload_or_variants = json!([{"required": ["workload"]}, {"required": ["variants"]}]);
    assert_eq!(
        (&schema["anyOf"], &schema["required"]),
        (&workload_or_variants, &Value::Null)
    );
    let required = |name| &table_schema_of(&schema, &schema, name)["required"];
    assert_eq!(required("workload"), &json!(["name"]));
    assert!(required("run").is_null());
}

#[test]
fn transactions_are_written_as_they_were_read() {
    let text = "[workload]\nname = \"sql\"\ndefine = { days = 7 }\nscale = 2\n\
                [[workload.transactions]]\nname = \"pay\"\nweight = 3\n\
                sql = '''\n\\set a 1\nSELECT \"x\", :a;\n'''\n\
                [[workload.transactions]]\nname = \"look\"\nfile = \"look.sql\"\n";
    let read = |text: &str| {
        let mut input = PlanInput::from_toml("written", text).unwrap();
        input.read_transaction_files(&|file| match file {
            "look.sql" => Ok("SELECT 2;".to_owned()),
            _ => Err("no such file".to_owned()),
        });
        input.check()
    };
    let plan = read(text).unwrap();
    assert_eq!(read(&to_toml(&plan, None).unwrap()).unwrap(), plan);
    let document = to_json(&plan, "");
    let transactions = &document["workload"]["transactions"];
    assert_eq!(transactions[0]["sql"], "\\set a 1\nSELECT \"x\", :a;\n");
    assert_eq!(transactions[1], json!({"name": "look", "sql": "SELECT 2;"}));
    let problems = read(&text.replace("look.sql", "no.sql"))
        .unwrap_err()
        .to_string();
    problems.assert_contains("cannot read no.sql: no such file");
}

#[test]
fn schema_defaults_equal_the_defaults_of_a_checked_plan() {
    let schema = json_schema();
    let plan = to_json(&checked_plan("p", "[workload]\nname = \"tpcb\"\n"), "");
    let run = table_schema_of(&schema, &schema, "run")["properties"]
        .as_object()
        .unwrap();
    let mut default_count = 0;
    for (key, property) in run {
        match &property["default"] {
            // They depend on the machine and the clients; on the window; on the pace.
            Value::Null if ["threads", "warmup", "clients"].contains(&key.as_str()) => {}
            Value::Null => assert!(plan["run"][key].is_null(), "{key}"),
            // The default of `arrival` applies only with a rate, and this plan has none.
            _ if key == "arrival" => {}
            default => {
                default_count += 1;
                assert_eq!(&plan["run"][key], default, "{key}");
            }
        }
    }
    assert!(default_count >= 10);
    let observe = &table_schema_of(&schema, &schema, "observe")["properties"];
    assert_eq!(plan["observe"]["server"], observe["server"]["default"]);
    assert_eq!(plan["observe"]["metrics_listen"], Value::Null);
}

/// Whether the schema's node allows the value's type: this is not a full validator, but it detects
/// a value of a wrong type.
fn allows_type(schema: &Value, node: &Value, value: &Value) -> bool {
    let node = resolve_ref(schema, node);
    if let Some(alternatives) = node["anyOf"].as_array() {
        return alternatives
            .iter()
            .any(|node| allows_type(schema, node, value));
    }
    if let Some(names) = node["oneOf"].as_array() {
        return names.iter().any(|name| name["const"] == *value);
    }
    if let Some(names) = node["enum"].as_array() {
        return names.contains(value);
    }
    match node["type"].as_str() {
        Some("array") => {
            let mut items = value.as_array().expect("a list").iter();
            items.all(|item| {
                item.as_object().is_some_and(|item| {
                    let mut entries = item.iter();
                    entries.all(|(key, value)| {
                        allows_type(schema, &node["items"]["properties"][key], value)
                    })
                })
            })
        }
        Some("object") => {
            let mut entries = value.as_object().expect("a table").iter();
            entries.all(|(key, value)| allows_type(schema, &node["properties"][key], value))
        }
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        type_name => panic!("a type the test does not know: {type_name:?} in {node}"),
    }
}

fn assert_accepts(owner: &Value, schema: &Value, tables: &toml::Table, name: &str) {
    for (table_name, keys) in tables {
        if table_name == VARIANT_SETTINGS {
            let schema = &owner["properties"][table_name];
            let allowed = &schema["additionalProperties"]["type"];
            assert_eq!(allowed, &json!(["string", "number", "boolean", "object"]));
            continue;
        }
        let table = table_schema_of(owner, schema, table_name);
        let properties = &table["properties"];
        for (key, value) in keys.as_table().unwrap() {
            if properties[key].is_null() {
                // An option that only its workload knows.
                assert_ne!(table["additionalProperties"], false, "{name}: {key}");
                continue;
            }
            let value = toml_to_json(value);
            let is_allowed = allows_type(schema, &properties[key], &value);
            assert!(is_allowed, "{name}: {table_name}.{key} = {value}");
        }
    }
}

#[test]
fn the_schema_accepts_the_examples() {
    let schema = json_schema();
    for (name, text) in example_plans() {
        let input = PlanInput::from_toml(&name, &text).unwrap();
        if let Err(problems) = input.check_experiment() {
            panic!("{problems}");
        }
        let mut tables: toml::Table = text.parse().unwrap();
        for (variant, tables) in tables
            .remove("variants")
            .iter()
            .flat_map(toml::Value::as_table)
            .flatten()
        {
            let variant_schema = &schema["$defs"]["variant"];
            assert_accepts(
                variant_schema,
                &schema,
                tables.as_table().unwrap(),
                &format!("{name}: {variant}"),
            );
        }
        assert_accepts(&schema, &schema, &tables, &name);
    }
    // Check that `allows_type` rejects wrong values.
    let run = &table_schema_of(&schema, &schema, "run")["properties"];
    let clients = &run["clients"];
    assert!(!allows_type(&schema, clients, &json!("64")));
    let protocol = &run["protocol"];
    assert!(!allows_type(&schema, protocol, &json!("prepard")));
}

#[test]
fn json_has_every_key_and_no_password() {
    let text = "[server]\nurl = \"postgres://u:secret@h/d\"\n[workload]\nname = \"tpcb\"\n\
                day = 2026-11-20\n[run]\nrate = 5000\n";
    let json = to_json(&checked_plan("p", text), "postgres://u@h/d");
    json.to_string().assert_lacks("secret");
    assert_eq!(json["server"], "postgres://u@h/d");
    assert_eq!(
        json["workload"],
        json!({"name": "tpcb", "scale": null, "day": "2026-11-20"})
    );
    assert_eq!(json["run"]["rate"], 5000.0);
    assert_eq!(json["run"]["arrival"], "poisson");
    assert_eq!(json["run"]["transactions"], Value::Null);
    let run = json["run"].as_object().unwrap();
    for (table, keys) in known_tables() {
        if table == "observe" {
            let observe = json["observe"].as_object().unwrap();
            assert!(keys.iter().all(|key| observe.contains_key(*key)));
            assert_eq!(keys.len(), observe.len());
        }
        if table == "run" {
            assert!(keys.iter().all(|key| run.contains_key(*key)));
            assert_eq!(keys.len(), run.len());
        }
    }
}

#[test]
fn toml_omits_the_server_unless_its_url_is_passed() {
    let text = "[server]\nurl = \"postgres://u:secret@h/d\"\n[workload]\nname = \"tpcb\"\n";
    let plan = checked_plan("p", text);
    let without_server = to_toml(&plan, None).unwrap();
    without_server.assert_lacks("[server]");
    without_server.assert_lacks("secret");
    let with_server = to_toml(&plan, Some("postgres://u@h/d")).unwrap();
    with_server.assert_contains("url = \"postgres://u@h/d\"");
    let embedded = Plan {
        server: ServerPlan::Embedded,
        ..plan
    };
    to_toml(&embedded, None)
        .unwrap()
        .assert_contains("embedded = true");
}

fn any_option() -> impl Strategy<Value = toml::Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(toml::Value::Integer),
        any::<bool>().prop_map(toml::Value::Boolean),
        (-1e9..1e9f64).prop_map(toml::Value::Float),
        "(?s).{0,12}".prop_map(toml::Value::String),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(toml::Value::Array),
            prop::collection::btree_map("[a-z ]{1,5}", inner, 0..3)
                .prop_map(|table| toml::Value::Table(table.into_iter().collect())),
        ]
    })
}

fn any_time(min_ns: u64) -> impl Strategy<Value = Duration> {
    (min_ns..366 * 86_400_000_000_000).prop_map(Duration::from_nanos)
}

fn any_drive() -> impl Strategy<Value = DrivePlan> {
    let pace = prop_oneof![
        Just(Pace::Closed),
        (1e-6..1e9f64, any::<bool>()).prop_map(|(rate_tps, even)| Pace::Rate {
            rate_tps,
            arrival: if even { Arrival::Even } else { Arrival::Poisson },
            queue_max: None,
        }),
    ];
    let stop = prop_oneof![
        any_time(1).prop_map(Stop::After),
        (1..=u64::MAX).prop_map(Stop::Transactions),
    ];
    let protocol = prop::sample::select(vec![
        QueryMode::Simple,
        QueryMode::Extended,
        QueryMode::Prepared,
    ]);
    let io = prop::sample::select(vec![IoEngine::Auto, IoEngine::Ring, IoEngine::Epoll]);
    let booleans = any::<[bool; 4]>();
    let counts = (1u32..=1_000_000)
        .prop_flat_map(|clients| (Just(clients), 1..=clients.min(1024), 0..=clients));
    let settings = (
        protocol,
        io,
        booleans,
        any::<Option<u64>>(),
        any_time(0),
        any_time(0),
    );
    (counts, pace, stop, settings).prop_map(
        |(
            (clients, threads, tcp_sample),
            pace,
            stop,
            (protocol, io, booleans, seed, warmup, grace),
        )| {
            DrivePlan {
                clients,
                threads,
                pace,
                stop,
                warmup,
                grace,
                protocol,
                describe: booleans[0],
                io,
                connect_per_transaction: booleans[1],
                tcp_sample,
                seed,
                pin: booleans[2].then_some(booleans[0]),
                statement_latency: booleans[3],
                ..DrivePlan::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn a_written_plan_reads_as_the_same_plan(
        drive in any_drive(),
        scale in prop::option::of(1u32..=2_000_000_000),
        // Names that are neither a key of the plan nor similar to one.
        options in prop::collection::btree_map("x[0-9]{3,6}", any_option(), 0..4),
        url in "[ -~]{0,30}",
        server in any::<bool>(),
        cpus in prop::option::of(1u32..),
        expect_outage in any::<bool>(),
        setting in prop::option::of("[ -~]{0,30}"),
        requirement in prop::option::of((1u32..).prop_map(|ns| {
            Requirement::parse(&format!("p99<{ns}ns")).unwrap()
        })),
        metrics_listen in prop::option::of((1u16..).prop_map(|port| {
            ListenAddress { host: "::1".to_owned(), port }
        })),
    ) {
        let mut declared = Declared::default();
        if let Some(cpus) = cpus {
            declared.declare(DeclaredFact::Cpus, &cpus.to_string()).unwrap();
            declared.declare(DeclaredFact::Region, &format!("\"{cpus}\"")).unwrap();
        }
        let mut settings = ServerSettings::default();
        if let Some(value) = setting {
            settings.set("x.work_mem", &value).unwrap();
        }
        let is_splittable = drive.tcp_sample == 0;
        let agents = is_splittable.then(|| "ssh vm1".to_owned()).into_iter().collect();
        let plan = Plan {
            read_from: None,
            name: Some("written".to_owned()),
            declared,
            settings,
            server: ServerPlan::Url(url.clone()),
            workload: WorkloadPlan { name: "tpcb".to_owned(), scale, options },
            drive,
            observe: ObservePlan { server, server_metrics: None, metrics_listen },
            expect_outage,
            at: is_splittable.then(|| "1s ./promote".parse().unwrap()).into_iter().collect(),
            ledger: expect_outage && !is_splittable,
            require: Requirements(requirement.into_iter().collect()),
            agents,
            install_agents: expect_outage,
        };
        let text = to_toml(&plan, Some(&url)).unwrap();
        prop_assert_eq!(checked_plan("written", &text), plan);
    }
}
