//! The plans: for each goal its commands, its comments and its settings.

use super::found::Found;
use super::{SHEET, word};
use crate::args::{Goal, is_plan};
use crate::exit::{Exit, Failure};
use prony_plan::OPEN_LOOP_CLIENTS;
use prony_report::units;
use prony_server::Control;
use prony_server::statements::{
    StatementStatistics, StatementsError, read_sequences, read_statements,
};
use prony_workload::capture::{CaptureOptions, capture, plan_of_keys};
use std::path::Path;
use std::time::Duration;

/// The share of the statements' time that a captured plan holds, as of `prony capture`.
const CAPTURED_SHARE: f64 = 0.95;

pub fn plan(
    goal: Goal,
    found: &Found,
    control: &mut Control,
    path: &Path,
) -> Result<String, Failure> {
    let mut text = header(goal, found, path);
    if let Some(url) = &found.url {
        text += &format!("[server]\nurl = {}\n", toml_text(url));
    } else {
        text += "# The environment names the server, or --url does.\n";
    }
    if found.has_password {
        text += "# Without its password: PGPASSWORD, MYSQL_PWD or the files of the usual clients have it, or --url.\n";
    }
    if goal == Goal::Own {
        text += &run_section(goal, found);
        text += "\n";
        text += &own_workload(control)?;
        return Ok(text);
    }
    text += &format!(
        "\n[workload]\nname = \"{}\"  # prony workloads lists the others\nscale = {}\n",
        found.workload.name(),
        found.scale
    );
    text += &run_section(goal, found);
    text += experiment_section(goal);
    Ok(text)
}

fn toml_text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// What the plan asks, what was found, and the commands.
fn header(goal: Goal, found: &Found, path: &Path) -> String {
    let question = match goal {
        Goal::Compare => "Is one setting, version or server faster than another?",
        Goal::Capacity => "How much can this server take, and what limits it?",
        Goal::Gate => {
            "Does this build meet its limits? The exit code answers: 0 yes, 8 no, 9 undecided."
        }
        Goal::Price => "What does the throughput of this server cost?",
        Goal::Failover => {
            "How long can nobody commit when this server fails over, and is anything lost?"
        }
        Goal::Own => "How fast does this server execute the application's own statements?",
    };
    let mut text = format!(
        "# {question}\n#\n# Found by prony init --goal {}:\n",
        goal.name()
    );
    for (name, line) in found.lines() {
        // The tables of Prony's workloads do not matter to an application's statements.
        if goal != Goal::Own || name != "tables" {
            text += &format!("#   {name:<8} {line}\n");
        }
    }
    text += "#\n";
    for command in commands(goal, found, path) {
        text += &format!("#   {command}\n");
    }
    text += "#\n# prony plan check says what is wrong with a change; the values below are a beginning.\n\n";
    text
}

/// The commands that load what is missing, and answer.
pub fn commands(goal: Goal, found: &Found, path: &Path) -> Vec<String> {
    let plan = plan_argument(path);
    let load = format!(
        "prony load {} --scale {}{}",
        found.workload.name(),
        found.scale,
        found.url_argument()
    );
    let mut commands = Vec::new();
    commands.extend((goal != Goal::Own && !found.is_loaded).then_some(load));
    let run = format!("prony run {plan}");
    commands.extend(match goal {
        Goal::Compare => vec![run, "prony compare last".to_owned()],
        Goal::Capacity => vec![format!("prony find {plan}")],
        Goal::Gate | Goal::Own => vec![run],
        Goal::Price => vec![run, price_command(path)],
        Goal::Failover => vec![format!("prony drill {plan}")],
    });
    commands
}

/// The file of a plan as an argument: without a folder and `.toml` it would be the name of a workload.
pub(super) fn plan_argument(path: &Path) -> String {
    if is_plan(&path.display().to_string()) {
        word(path)
    } else {
        word(&Path::new(".").join(path))
    }
}

/// The command that prices the last run by the sheet beside the plan.
fn price_command(plan: &Path) -> String {
    let sheet = word(&plan.with_file_name(SHEET));
    format!("prony price this=last --sheet {sheet}")
}

fn run_section(goal: Goal, found: &Found) -> String {
    let fitting = found.fitting_clients.map_or(String::new(), |fitting| {
        format!("  # {} fit into the server's limits", units::count(fitting))
    });
    let clients = match goal {
        // A search drives open loops.
        Goal::Capacity => found.clients(OPEN_LOOP_CLIENTS),
        _ => found.usual_clients(),
    };
    let head = format!("\n[run]\nclients = {clients}{fitting}\n");
    let time =
        "duration = \"60s\"  # of the measured window, after a warm-up until the load is steady\n";
    match goal {
        Goal::Capacity => format!(
            "{head}\
             # A step passes if the whole 95 % interval of the figure is below the limit. Write your own.\n\
             require = [\"p99<50ms\", \"errors<0.1%\"]\n"
        ),
        Goal::Gate => format!(
            "{head}{time}\
             # The limits of the build; write your own. To compare with a build that is known to be good, store its run\n\
             # with --label main, and add \"not slower than main by 3%\".\n\
             require = [\"p99<100ms\", \"errors<0.1%\"]\n"
        ),
        Goal::Failover => format!(
            "{head}warmup = \"10s\"\n\
             duration = \"2m\"  # long enough for the outage, and for the throughput to come back\n\
             # Each transaction writes its number: afterwards it is known which commits were lost.\n\
             ledger = true\n\
             expect_outage = true\n\
             # The command that fails over, at this time from the start of the load. This one does nothing: write yours, such\n\
             # as \"40s ssh db1 sudo systemctl stop postgresql\". The URL should name the servers that may be the next primary.\n\
             at = [\"40s echo this drill has no command that fails over yet\"]\n\
             # Add \"recovery<60s\" to require the throughput to be back.\n\
             require = [\"outage<30s\", \"lost=0\"]\n"
        ),
        Goal::Compare | Goal::Price | Goal::Own => format!("{head}{time}"),
    }
}

fn experiment_section(goal: Goal) -> &'static str {
    match goal {
        Goal::Compare => {
            "\n[experiment]\n\
             # A B B A ...: a steady drift of the machine cancels. Six runs of each show differences of a few per cent.\n\
             repeats = 6\n\
             \n\
             # What differs. As they are, both are the same server, so the comparison shows how far apart equal sides are here.\n\
             [variants.a]\n\
             \n\
             [variants.b]\n\
             \n\
             # Another server, with the same data:      [variants.b.server]\n\
             #                                          url = \"...\"\n\
             # A setting, put back after each run:      [variants.b.settings]\n\
             #                                          name = \"value\"\n\
             # Another load:                            [variants.b.run]\n\
             #                                          clients = 64\n"
        }
        Goal::Price => {
            "\n[experiment]\n\
             repeats = 3  # priced by their median\n"
        }
        Goal::Capacity | Goal::Gate | Goal::Failover | Goal::Own => "",
    }
}

/// A price sheet without the user's prices: what is computed from it is marked as an example.
pub fn price_sheet(found: &Found, plan: &Path) -> String {
    let memory = found.facts.memory_bytes.map(units::bytes);
    let machine = memory.map_or("machine".to_owned(), |memory| format!("machine, {memory}"));
    format!(
        "# What the server of {plan} costs. The prices are not yours yet: write them, and remove the line \"example\".\n\
         #\n\
         #   {command}\n\
         \n\
         [sheet]\n\
         example = true\n\
         currency = \"EUR\"\n\
         region = \"not told\"\n\
         term = \"on demand\"\n\
         as_of = \"{today}\"\n\
         source = \"prony init: no price list\"\n\
         entered_by = \"prony init\"\n\
         \n\
         [[configuration]]\n\
         name = \"this\"  # {product}\n\
         \n\
         [[configuration.item]]\n\
         name = {machine}\n\
         quantity = 1\n\
         unit_price = 1.00\n\
         per = \"hour\"\n\
         \n\
         [[configuration.item]]\n\
         name = \"storage, GB\"\n\
         quantity = {storage}\n\
         unit_price = 0.10\n\
         per = \"month\"\n",
        plan = plan.display(),
        command = price_command(plan),
        today = jiff::Zoned::now().date(),
        product = found.product(),
        machine = toml_text(&machine),
        storage = found
            .facts
            .database_bytes
            .unwrap_or(0)
            .div_ceil(1_000_000_000)
            .max(1),
    )
}

/// Why the server's statistics cannot be read. A lost connection is an error, because nothing else can be read either.
pub(super) fn why_unreadable(error: StatementsError) -> Result<String, Failure> {
    match error {
        StatementsError::Server(error) if error.is_lost() => {
            Err(Failure::of(Exit::Connect, &error))
        }
        error => Ok(error.to_string()),
    }
}

/// The workload of an application: what the server has counted, or else a look at the rows of its largest tables.
fn own_workload(control: &mut Control) -> Result<String, Failure> {
    let connection = |error: prony_server::control::Error| Failure::of(Exit::Connect, &error);
    let why_not = match read_statements(control) {
        Ok(statistics) => {
            let view = statistics.view;
            let sequences = read_sequences(control).map_err(connection)?;
            let totals = statistics.since(&StatementStatistics::default());
            let options = CaptureOptions {
                share: CAPTURED_SHARE,
                keeps_literals: false,
                time: Duration::ZERO,
                view,
                sequences: sequences.into_values().collect(),
            };
            let captured = capture(control, totals, &[], &options).map_err(connection)?;
            if captured.transactions > 0 {
                return Ok(captured.plan);
            }
            "it has counted no statement of this database".to_owned()
        }
        Err(error) => why_unreadable(error)?,
    };
    let Some(workload) = plan_of_keys(control).map_err(connection)? else {
        let problem = format!(
            "there is nothing to begin with: {why_not}, and it has no table with a key of one column that this user may read"
        );
        let hint = "the how-to on your own SQL has a plan to copy";
        return Err(Failure::new(Exit::Data, problem, hint));
    };
    Ok(format!(
        "# The server does not say what the application executes: {}.\n\
         # Instead, a look at a row of each of its largest tables. Write the application's statements in place of these;\n\
         # prony capture writes them from a server that counts them.\n{workload}",
        why_not.replace('\n', " ")
    ))
}
