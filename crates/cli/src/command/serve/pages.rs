//! What each path of `prony serve` answers.

use super::live::{LiveEvents, LiveRuns};
use crate::args::{FilterArgs, TREND_RUNS, TrendArgs};
use crate::command::compare::{MAX_SIDES, NameScope, load_sides};
use crate::command::trend;
use crate::exit::{Exit, Failure};
use crate::http::{Answer, PageRequest, Pages};
use jiff::Timestamp;
use prony_plan::ErrorParts;
use prony_report::html::store::{
    ListPage, RunList, write_drills, write_experiments, write_live, write_problem, write_runs,
    write_trends,
};
use prony_report::html::{self, PageContents};
use prony_runner::host::this_build;
use prony_store::{Build, Run, RunFilter, RunState, RunStore, RunSummary, RunVerdict};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of runs on one page of the list.
const RUNS_PER_PAGE: usize = 500;

pub struct StorePages {
    store: Arc<RunStore>,
    live: Arc<LiveRuns>,
    /// Held while the runs are listed: the first listing may have to read all documents, which is not done twice at once.
    listing: Mutex<()>,
    /// The host of `--listen`, by which requests may name this server.
    host: String,
    build: Build,
}

impl Pages for StorePages {
    /// A browser opens up to six, and each page of a run in progress keeps one.
    const MAX_CONNECTIONS: usize = 64;

    fn answer(&self, request: &PageRequest) -> Answer {
        if !self.is_own_host(request.host.as_deref()) {
            let line = "this host is not served: use an IP address, localhost, or the name given to --listen";
            return Answer::text(421, line);
        }
        self.page(request)
            .unwrap_or_else(|failure| self.problem(failure))
    }
}

impl StorePages {
    pub fn new(store: RunStore, host: &str) -> StorePages {
        StorePages {
            store: Arc::new(store),
            live: Arc::default(),
            listing: Mutex::default(),
            host: host.to_owned(),
            build: this_build(),
        }
    }

    /// Whether a request is addressed to this server. A site that lets its own name lead here cannot use it.
    fn is_own_host(&self, host: Option<&str>) -> bool {
        let Some(host) = host else {
            return false;
        };
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next(),
            None => host.split(':').next(),
        };
        name.is_some_and(|name| {
            let own = ["localhost", &self.host];
            name.parse::<IpAddr>().is_ok() || own.iter().any(|own| name.eq_ignore_ascii_case(own))
        })
    }

    fn page(&self, request: &PageRequest) -> Result<Answer, Failure> {
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        let list = ListPage::ALL
            .into_iter()
            .find(|list| list.path() == request.path);
        match (list, &parts[..]) {
            (Some(list), _) => self.list(list, &request.query),
            (None, ["runs", id]) => self.run(id),
            (None, ["compare"]) => self.comparison(&request.query),
            (None, ["experiments", id]) => self.experiment(&decode(id)),
            (None, ["trends", workload]) => self.trend(&decode(workload), &request.query),
            (None, ["live", id]) => self.live(id),
            (None, ["live", id, "events"]) => self.events(id),
            _ => Err(not_found("there is no such page")),
        }
    }

    fn problem(&self, failure: Failure) -> Answer {
        let status = match failure.exit {
            Exit::Usage => 404,
            _ => 500,
        };
        let first = failure.problems.into_iter().next();
        let parts = first.unwrap_or_else(|| ErrorParts::new("failed"));
        let hint = parts.hint.unwrap_or_default();
        let page = self.html(|out| write_problem(out, &parts.problem, &hint, &self.build));
        page.unwrap_or_else(|_| Answer::text(500, "the page could not be made"))
            .with_status(status)
    }

    /// A page with its own policy as a header, which also keeps other sites from showing it in a frame.
    fn html(
        &self,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<Answer, Failure> {
        let mut page = Vec::new();
        write(&mut page)?;
        let text = String::from_utf8_lossy(&page);
        let policy = html::policy_of(&text).unwrap_or_else(|| "default-src 'none'".to_owned());
        let policy = format!("{policy}; frame-ancestors 'none'");
        Ok(Answer::new("text/html; charset=utf-8", page)
            .with_header("Content-Security-Policy", &policy)
            .with_header("Referrer-Policy", "no-referrer"))
    }

    fn summaries(&self) -> Result<Vec<RunSummary>, Failure> {
        let _guard = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.store.list(&RunFilter::default())?.runs)
    }

    fn list(&self, list: ListPage, query: &str) -> Result<Answer, Failure> {
        let runs = self.summaries()?;
        let now_ns = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
        let build = &self.build;
        match list {
            ListPage::Runs => self.run_list(runs, query, now_ns),
            ListPage::Experiments => self.html(|out| write_experiments(out, &runs, build)),
            ListPage::Trends => self.html(|out| write_trends(out, &runs, build)),
            ListPage::Drills => self.html(|out| write_drills(out, &runs, now_ns, build)),
        }
    }

    fn run_list(
        &self,
        mut runs: Vec<RunSummary>,
        query: &str,
        now_ns: i64,
    ) -> Result<Answer, Failure> {
        let names = runs.iter().map(|run| &run.workload);
        let workloads: BTreeSet<String> = names.cloned().collect();
        let filter = filter_of(query);
        runs.retain(|run| filter.matches(run));
        let from = value_of(query, "from").and_then(|from| from.parse().ok());
        let from = from.unwrap_or(0).min(runs.len());
        let to = runs.len().min(from + RUNS_PER_PAGE);
        let list = RunList {
            runs: &runs[from..to],
            matching: runs.len(),
            filter: &filter,
            workloads: &workloads,
            newer: (from > 0).then(|| path_from(query, from.saturating_sub(RUNS_PER_PAGE))),
            older: (to < runs.len()).then(|| path_from(query, to)),
            now_ns,
        };
        self.html(|out| write_runs(out, &list, &self.build))
    }

    /// The page of `prony report`.
    fn report(&self, runs: &[Run]) -> Result<Answer, Failure> {
        let annotations = runs.iter().map(|run| self.store.annotation(&run.id));
        let annotations: Vec<_> = annotations.collect();
        let contents = PageContents {
            runs,
            annotations: &annotations,
            ..PageContents::default()
        };
        self.html(|out| html::write_contents(out, &contents, &self.build))
    }

    fn run(&self, id: &str) -> Result<Answer, Failure> {
        let run = self.store.load_stored(id)?;
        if run.state == RunState::Running {
            return Ok(redirect(&format!("/live/{id}")));
        }
        self.report(&[run])
    }

    fn live(&self, id: &str) -> Result<Answer, Failure> {
        let run = self.store.load_stored(id)?;
        if run.state != RunState::Running {
            return Ok(redirect(&format!("/runs/{id}")));
        }
        let annotation = self.store.annotation(id);
        self.html(|out| write_live(out, &run, &annotation, &self.build))
    }

    fn events(&self, id: &str) -> Result<Answer, Failure> {
        self.store.load_stored(id)?;
        let (store, live) = (Arc::clone(&self.store), Arc::clone(&self.live));
        let mut events = LiveEvents::new(id);
        Ok(Answer::events(Box::new(move || events.next(&live, &store))))
    }

    /// The runs that were ticked, the oldest first, which is the side that others are compared with.
    fn comparison(&self, query: &str) -> Result<Answer, Failure> {
        let ticked = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "run");
        let mut ids: Vec<Cow<'_, str>> = ticked.map(|(_, id)| id).collect();
        ids.sort();
        ids.dedup();
        if !(2..=MAX_SIDES).contains(&ids.len()) {
            let hint = format!("go back to the list, and tick 2 to {MAX_SIDES} runs");
            let message = if ids.len() < 2 {
                "a comparison needs at least two runs".to_owned()
            } else {
                format!(
                    "a comparison has at most {MAX_SIDES} runs, and {} are ticked",
                    ids.len()
                )
            };
            return Err(Failure::usage(message, hint));
        }
        let runs = ids.iter().map(|id| self.store.load_stored(id));
        let mut runs = runs.collect::<Result<Vec<Run>, _>>()?;
        runs.sort_by(|a, b| a.started_at.cmp(&b.started_at));
        self.report(&runs)
    }

    fn experiment(&self, id: &str) -> Result<Answer, Failure> {
        let summaries = self.summaries()?;
        let is_of = |run: &&RunSummary| run.experiment.as_ref().is_some_and(|own| own.id == id);
        let run = summaries.iter().find(is_of);
        let run = run.ok_or_else(|| not_found("there is no such experiment"))?;
        let sides = load_sides(&self.store, &run.id, NameScope::Experiment, RunStore::load)?;
        let runs: Vec<Run> = sides.into_iter().flat_map(|side| side.runs).collect();
        self.report(&runs)
    }

    fn trend(&self, workload: &str, query: &str) -> Result<Answer, Failure> {
        let args = TrendArgs {
            workload: workload.to_owned(),
            filter: FilterArgs {
                label: value_of(query, "label"),
                server: value_of(query, "server"),
                since: None,
            },
            last: TREND_RUNS,
            like: None,
            figure: value_of(query, "figure"),
            require: Vec::new(),
            format: None,
            json: false,
            output: None,
        };
        let trend = trend::load(&self.store, &args)?;
        self.html(|out| html::write_trend(out, &trend, &self.build))
    }
}

fn not_found(problem: &str) -> Failure {
    Failure::usage(problem, "the lists above have all that is stored")
}

fn redirect(path: &str) -> Answer {
    Answer::text(303, path).with_header("Location", path)
}

/// A part of a path without its percent-encoding.
fn decode(part: &str) -> String {
    // Decoded as the value of a query, in which + and & have a meaning that they do not have in a path.
    let query = format!("part={}", part.replace('+', "%2B").replace('&', "%26"));
    value_of(&query, "part").unwrap_or_default()
}

/// The value of a field of a query; `None` if it is absent or empty.
fn value_of(query: &str, name: &str) -> Option<String> {
    let mut fields = form_urlencoded::parse(query.as_bytes());
    let (_, value) = fields.find(|(field, _)| field == name)?;
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn filter_of(query: &str) -> RunFilter {
    let verdict = value_of(query, "verdict");
    RunFilter {
        workload: value_of(query, "workload"),
        label: value_of(query, "label"),
        server: value_of(query, "server"),
        verdict: verdict.and_then(|name| RunVerdict::from_name(&name)),
        ..RunFilter::default()
    }
}

/// The path of the list with the same filters, from another run on.
fn path_from(query: &str, from: usize) -> String {
    let mut fields = form_urlencoded::Serializer::new(String::new());
    let kept = form_urlencoded::parse(query.as_bytes());
    fields.extend_pairs(kept.filter(|(name, value)| name != "from" && !value.is_empty()));
    fields.append_pair("from", &from.to_string());
    format!("/?{}", fields.finish())
}
