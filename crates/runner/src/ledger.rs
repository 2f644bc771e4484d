//! The ledger of a run: what became of each commit.
//!
//! In: a run whose plan asks for it. Out: a program whose transactions write their numbers, and after the load an
//! account of them. Must never: say that a commit is there which was not read from the server.

use crate::after_load::{self, read_at_primary};
use crate::error::Error;
use crate::job::RunJob;
use crate::random_seed;
use crate::staleness::StalenessObserver;
use prony_drive::DriveResult;
use prony_fleet::FleetLedger;
use prony_server::observe::read_log_position;
use prony_server::{Control, Target};
use prony_session::{Ledger, LedgerEntry, LedgerProgram, Program, StatementTable};
use prony_store::{
    LedgerAccount, LedgerMark, LedgerNumber, LedgerState, LostCommit, ReplicaStaleness, SqlDialect,
};
use prony_wire::FirstWord;
use prony_workload::describe::{Growth, LedgerEntries};
use prony_workload::growth::NotCounted;
use prony_workload::ledger::LedgerTable;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a run waits after its end until a server has given the whole account: it sorts all entries.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// More commits than a client has in any run; a document that was not written by this program may say more.
const SEQUENCE_MAX: u64 = 1 << 32;
/// The number of lost commits that a document names.
const MAX_NAMED: usize = 100;

pub(crate) struct RunLedger {
    ledger: Arc<Ledger>,
    table: LedgerTable,
    /// The position of the server's log before the load, by name.
    server_before: BTreeMap<String, String>,
    /// What the clients knew, about once a second.
    marks: Vec<LedgerMark>,
    /// Reads the servers for reads; only during the load.
    replicas: Option<StalenessObserver>,
    /// What it read; only after the load.
    staleness: Option<ReplicaStaleness>,
    /// The longest time after which another machine reported what its clients know, nanoseconds; 0 without other machines.
    told_late_ns: Arc<AtomicU64>,
}

impl RunLedger {
    /// Creates the table of the run with this id; `None` if its plan asks for no ledger.
    ///
    /// # Errors
    /// The program's transactions cannot have an entry, or the server refused the table.
    pub(crate) fn create(job: &RunJob<'_>, id: &str) -> Result<Option<RunLedger>, Error> {
        if !job.plan.ledger {
            return Ok(None);
        }
        let ready_workload = job.ready_workload;
        let growth = job
            .workload
            .growth(&job.plan.workload, ready_workload.scale);
        let statements = ready_workload.program.statement_table();
        let has_entries = match job.workload.ledger_entries(job.plan.drive.protocol) {
            LedgerEntries::WithStatements => !statements.statements().is_empty(),
            LedgerEntries::WithTexts => true,
            LedgerEntries::Impossible => false,
        };
        if matches!(growth, Growth::ReadOnly) || !has_entries {
            return Err(Error::NoLedger(job.plan.workload.name.clone()));
        }
        // A run that is not stored has no id.
        let table = if id.is_empty() {
            LedgerTable::of_run(&format!("unstored_{:08x}", random_seed()))
        } else {
            LedgerTable::of_run(id)
        };
        let mut control = Control::connect(&job.server.target).map_err(Error::Server)?;
        if has_only_procedures(&statements, control.dialect()) {
            return Err(Error::NoLedgerOfProcedures(job.plan.workload.name.clone()));
        }
        table.create(&mut control).map_err(Error::Workload)?;
        let clients = job.plan.drive.clients;
        Ok(Some(RunLedger {
            ledger: Arc::new(table.ledger(&mut control, clients, &statements)),
            table,
            server_before: read_log_position(&mut control),
            marks: Vec::new(),
            replicas: None,
            staleness: None,
            told_late_ns: Arc::default(),
        }))
    }

    /// Starts to observe how far the servers for reads are behind; called when the load begins.
    pub(crate) fn observe_replicas(&mut self, target: &Target) {
        self.replicas = StalenessObserver::start(&self.ledger, &self.table, target);
    }

    pub(crate) fn load_has_ended(&mut self) {
        self.staleness = self.replicas.take().map(StalenessObserver::end);
        let told_late_ns = self.told_late_ns.load(Ordering::Relaxed);
        if let Some(staleness) = self.staleness.as_mut().filter(|_| told_late_ns > 0) {
            staleness.told_within_s = Some(told_late_ns as f64 / 1e9);
        }
    }

    /// The program, whose transactions also write their numbers.
    pub(crate) fn program<'a>(&self, program: &'a dyn Program) -> LedgerProgram<'a> {
        LedgerProgram::new(program, &self.ledger)
    }

    /// What agents need for their part of the account.
    pub(crate) fn for_fleet(&self) -> FleetLedger {
        FleetLedger {
            table: self.table.name().to_owned(),
            ledger: Arc::clone(&self.ledger),
            told_late_ns: Arc::clone(&self.told_late_ns),
        }
    }

    /// Drops the table of a run that has no result.
    pub(crate) fn discard(self, target: &Target) {
        // A server that cannot be reached keeps it; the load failed for the same reason.
        let _ = Control::connect(target).map(|mut control| self.table.drop(&mut control));
    }

    /// Records what the clients know of their commits at this time of the load, and returns it as the account of a run that is
    /// killed now. `complete_s`: the time up to which all acknowledged commits are known, if other machines report them.
    pub(crate) fn mark(&mut self, at_s: f64, complete_s: Option<f64>) -> LedgerAccount {
        let mut account =
            self.account_of_clients(at_s, "the run was killed before it could read it");
        if let Some(state) = &mut account.client_state {
            state.complete_s = complete_s;
            let mark = LedgerMark {
                at_s,
                complete_s,
                last: state.last.clone(),
            };
            mark.add_to(&mut self.marks);
        }
        account
    }

    /// What the clients know of their commits, for an account whose table was not read for this reason.
    fn account_of_clients(&self, at_s: f64, not_read: &str) -> LedgerAccount {
        // In this order: a commit whose outcome is not known is among these before it is the last one.
        let last = self.ledger.last_numbers();
        let ambiguous = self.ledger.ambiguous();
        let is_counted = |entry: &LedgerEntry| entry.sequence <= last[entry.client as usize];
        let ambiguous: Vec<LedgerNumber> = ambiguous
            .into_iter()
            .filter(is_counted)
            .map(|LedgerEntry { client, sequence }| LedgerNumber { client, sequence })
            .collect();
        LedgerAccount {
            table: self.table.name().to_owned(),
            acknowledged: last.iter().sum::<u64>() - ambiguous.len() as u64,
            ambiguous: ambiguous.len() as u64,
            unrecorded: self.ledger.unrecorded(),
            server_before: self.server_before.clone(),
            not_read: Some(not_read.to_owned()),
            client_state: Some(LedgerState {
                last,
                ambiguous,
                is_final: false,
                at_s: Some(at_s),
                complete_s: None,
                marks: Vec::new(),
            }),
            ..LedgerAccount::default()
        }
    }

    /// Reads the table, and accounts for each commit. The table stays if one of them is not accounted for.
    /// `end_s`: the end of the load. `is_final`: whether it is known what every client knew last.
    pub(crate) fn account(
        self,
        job: &RunJob<'_>,
        drive_result: &DriveResult,
        end_s: f64,
        is_final: bool,
    ) -> LedgerAccount {
        let mut account = self.account_of_clients(end_s, "");
        account.staleness = self.staleness;
        if let Some(state) = &mut account.client_state {
            state.is_final = is_final;
            state.marks = self.marks;
        }
        if let Some(reason) = after_load::why_not_read(job, drive_result) {
            account.not_read = Some(reason);
            return account;
        }
        let target = job.server.target_with_notice();
        decide(&target, account, Dropping::IfAllAreThere)
    }
}

/// Whether all statements call procedures that commit by themselves. On PostgreSQL these are functions, which cannot.
fn has_only_procedures(statements: &StatementTable, dialect: SqlDialect) -> bool {
    let statements = statements.statements();
    let are_calls = statements
        .iter()
        .all(|statement| statement.first_word == FirstWord::Call);
    dialect != SqlDialect::PostgreSql && !statements.is_empty() && are_calls
}

/// The name of a function in these statements that returns the value of the ledger's own statement on MySQL and MariaDB, if it
/// is called after the end of a block or after a single statement; `None` if they call none.
pub fn function_changed_by_ledger(statements: &StatementTable) -> Option<&'static str> {
    let texts = statements.statements().iter();
    let texts: Vec<String> = texts
        .map(|statement| statement.text.to_ascii_uppercase())
        .collect();
    let is_called = |function: &&str| {
        let call = format!("{function}(");
        texts.iter().any(|text| text.contains(&call))
    };
    ["LAST_INSERT_ID", "ROW_COUNT", "FOUND_ROWS"]
        .into_iter()
        .find(is_called)
}

/// When the ledger's table is dropped after it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropping {
    /// If every commit is accounted for.
    IfAllAreThere,
    /// Never: it may be read again.
    Never,
}

/// Reads the table of an account that still has what the clients knew, and accounts for each commit. The table and that
/// knowledge stay if a commit is not accounted for: another server may have it.
pub fn decide(target: &Target, account: LedgerAccount, dropping: Dropping) -> LedgerAccount {
    let Some(state) = account.client_state.clone() else {
        return account;
    };
    if state.last.iter().any(|&last| last > SEQUENCE_MAX) {
        return LedgerAccount {
            not_read: Some("its numbers are not those of a run".to_owned()),
            ..account
        };
    }
    let table = LedgerTable::named(account.table.clone());
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    let read_table = table.clone();
    let from_table = read_at_primary(target, ANSWER_TIMEOUT, move |control| {
        read_account(&read_table, control, &state)
    });
    let mut decided = match from_table {
        Ok(from_table) => LedgerAccount {
            table: account.table,
            acknowledged: account.acknowledged,
            ambiguous: account.ambiguous,
            unrecorded: account.unrecorded,
            server_before: account.server_before,
            staleness: account.staleness,
            ..from_table
        },
        Err(reason) => {
            return LedgerAccount {
                not_read: Some(reason),
                ..account
            };
        }
    };
    // The order of the entries is read last, because the server has to sort them: without an answer in time, the account
    // stands without it.
    let may_drop = dropping == Dropping::IfAllAreThere && decided.client_state.is_none();
    let remaining = deadline.saturating_duration_since(Instant::now());
    let reordered = read_at_primary(target, remaining, move |control| {
        let reordered = table.reordered(control);
        if may_drop && reordered.unwrap_or(0) == 0 {
            // The account is complete; a table that stays is only untidy.
            let _ = table.drop(control);
        }
        Ok(reordered)
    });
    if !matches!(reordered, Ok(None | Some(0))) {
        decided.client_state = account.client_state;
    }
    decided.reordered = reordered.ok().flatten();
    decided
}

/// What the table says of the commits. The account keeps what the clients knew unless all commits are there.
fn read_account(
    table: &LedgerTable,
    control: &mut Control,
    state: &LedgerState,
) -> Result<LedgerAccount, NotCounted> {
    let clients = clients_that_differ(table, control, state)?;
    let has_all = clients.iter().all(ClientAccount::has_all);
    let first_lost = first_lost(&clients, state);
    let first_client = first_lost.first().and_then(|first| {
        let mut clients = clients.iter();
        clients.find(|account| account.client == first.client)
    });
    let mut account = LedgerAccount {
        client_state: (!has_all).then(|| state.clone()),
        first_series_end: first_client
            .map(|account| lost_commit(account.client, account.series_end, state)),
        first_lost,
        server_after: read_log_position(control),
        ..LedgerAccount::default()
    };
    for client in &clients {
        client.add_to(&mut account);
    }
    Ok(account)
}

/// What the table has of one client's commits.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClientAccount {
    client: u32,
    ambiguous_found: u64,
    /// The numbers of acknowledged commits that are not there, ascending.
    lost: Vec<u64>,
    /// The last of the lost numbers that follow the first one without a number that is there; 0 if none is lost.
    series_end: u64,
    /// Entries beyond the first with their number.
    duplicated: u64,
    /// Entries with numbers that the client has not used.
    phantom: u64,
    /// Entries after what a killed client knew last.
    unknown: u64,
    /// Whether commits between lost ones are there.
    is_scattered: bool,
}

impl ClientAccount {
    /// The account of a client whose transactions have the numbers from 1 to `last`. `entries`: the numbers in the table,
    /// ascending.
    fn of(client: u32, last: u64, ambiguous: &BTreeSet<u64>, entries: &[u64]) -> ClientAccount {
        let found: BTreeSet<u64> = entries.iter().copied().collect();
        let is_lost = |number: &u64| !found.contains(number) && !ambiguous.contains(number);
        let lost: Vec<u64> = (1..=last).filter(is_lost).collect();
        let first_lost = lost.first().copied().unwrap_or(0);
        let last_lost = lost.last().copied().unwrap_or(0);
        let next_found = found.range(first_lost..).next();
        let series_length =
            lost.partition_point(|number| next_found.is_none_or(|found| number < found));
        ClientAccount {
            client,
            series_end: lost[..series_length].last().copied().unwrap_or(0),
            ambiguous_found: ambiguous.intersection(&found).count() as u64,
            duplicated: (entries.len() - found.len()) as u64,
            phantom: found
                .iter()
                .filter(|number| !(1..=last).contains(*number))
                .count() as u64,
            is_scattered: found.range(first_lost..last_lost).next().is_some(),
            lost,
            unknown: 0,
        }
    }

    /// Whether every entry is where it must be.
    fn has_all(&self) -> bool {
        self.lost.is_empty() && self.duplicated + self.phantom + self.unknown == 0
    }

    fn add_to(&self, account: &mut LedgerAccount) {
        account.ambiguous_found += self.ambiguous_found;
        account.lost += self.lost.len() as u64;
        account.duplicated += self.duplicated;
        account.phantom += self.phantom;
        account.unknown += self.unknown;
        account.clients_scattered += u32::from(self.is_scattered);
    }
}

fn lost_commit(client: u32, sequence: u64, state: &LedgerState) -> LostCommit {
    let [after_s, by_s] = state.acknowledged_between(LedgerNumber { client, sequence });
    LostCommit {
        client,
        sequence,
        after_s,
        by_s,
    }
}

/// The lost commits that were acknowledged first, at most [`MAX_NAMED`], in the order of time.
fn first_lost(clients: &[ClientAccount], state: &LedgerState) -> Vec<LostCommit> {
    let mut lost = Vec::new();
    for account in clients {
        let first = account.lost.iter().take(MAX_NAMED);
        lost.extend(first.map(|&sequence| lost_commit(account.client, sequence, state)));
    }
    let after_s = |commit: &LostCommit| commit.after_s.unwrap_or(0.0);
    // Stable: those of one second stay in the order of clients and numbers.
    lost.sort_by(|a, b| after_s(a).total_cmp(&after_s(b)));
    lost.truncate(MAX_NAMED);
    lost
}

/// The accounts of the clients whose entries are not exactly the numbers up to their last, and of those with a commit
/// whose outcome is not known.
fn clients_that_differ(
    table: &LedgerTable,
    control: &mut Control,
    state: &LedgerState,
) -> Result<Vec<ClientAccount>, prony_workload::Error> {
    let entries = table.clients(control)?;
    let has_exactly =
        |client: u32, last: u64| match entries.iter().find(|found| found.client == client) {
            Some(found) => found.entries == last && found.distinct == last && found.highest == last,
            None => last == 0,
        };
    let mut accounts = Vec::new();
    for (client, last) in (0..).zip(&state.last) {
        let ambiguous = state
            .ambiguous
            .iter()
            .filter(|entry| entry.client == client);
        let ambiguous: BTreeSet<u64> = ambiguous.map(|entry| entry.sequence).collect();
        if ambiguous.is_empty() && has_exactly(client, *last) {
            continue;
        }
        let numbers = table.numbers(control, client)?;
        let mut account = ClientAccount::of(client, *last, &ambiguous, &numbers);
        if !state.is_final {
            // The client may have used these numbers after it last reported.
            account.unknown = std::mem::take(&mut account.phantom);
        }
        accounts.push(account);
    }
    // No client of this run wrote these.
    let foreign = entries
        .iter()
        .filter(|found| found.client as usize >= state.last.len());
    accounts.extend(foreign.map(|found| ClientAccount {
        client: found.client,
        phantom: found.entries,
        ..ClientAccount::default()
    }));
    Ok(accounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(last: u64, ambiguous: &[u64], entries: &[u64]) -> ClientAccount {
        ClientAccount::of(7, last, &ambiguous.iter().copied().collect(), entries)
    }

    #[test]
    fn each_commit_is_accounted_for() {
        let complete = account(4, &[3], &[1, 2, 4]);
        assert!(complete.has_all());
        assert_eq!(complete.ambiguous_found, 0);
        assert_eq!(account(4, &[3], &[1, 2, 3, 4]).ambiguous_found, 1);
        // A replica that lagged behind has lost the last ones.
        let lagged = account(5, &[5], &[1, 2]);
        assert_eq!((lagged.lost, lagged.is_scattered), (vec![3, 4], false));
        // The client goes on at the server that takes its place.
        let replaced = account(8, &[5], &[1, 2, 6, 7, 8]);
        assert_eq!((replaced.series_end, replaced.is_scattered), (4, false));
        assert_eq!(replaced.lost, [3, 4]);
        let scattered = account(5, &[], &[2, 4, 5]);
        assert_eq!(scattered.series_end, 1, "another outage lost the rest");
        assert_eq!((scattered.lost, scattered.is_scattered), (vec![1, 3], true));
        let doubled = account(3, &[], &[1, 2, 2, 2, 3]);
        assert_eq!((doubled.duplicated, doubled.lost.len()), (2, 0));
        let phantom = account(2, &[], &[1, 2, 3]);
        assert_eq!((phantom.phantom, phantom.has_all()), (1, false));
        assert_eq!(account(3, &[], &[]).lost, [1, 2, 3]);
    }

    #[test]
    fn procedures_that_commit_have_no_entry() {
        let table = |texts: &[&str]| {
            let mut table = StatementTable::new();
            let mut ids = prony_wire::StatementIds::new();
            texts
                .iter()
                .for_each(|text| table.add(text, *text, &ids.add(text)));
            table
        };
        let calls = table(&[
            "CALL NEWORD(?)",
            " exec payment @p1",
            "/* stock level */ call slev(?)",
            "call\tdelivery(?)",
            "{ call ostat(?) }",
        ]);
        assert!(has_only_procedures(&calls, SqlDialect::MySql));
        assert!(has_only_procedures(&calls, SqlDialect::TransactSql));
        assert!(!has_only_procedures(&calls, SqlDialect::PostgreSql));
        let block = table(&["BEGIN", "CALL pay(?)", "COMMIT"]);
        assert!(!has_only_procedures(&block, SqlDialect::MySql));
        assert!(!has_only_procedures(&table(&[]), SqlDialect::MySql));
        assert_eq!(function_changed_by_ledger(&block), None);
        let reads = table(&["COMMIT", "SELECT last_insert_id()"]);
        assert_eq!(function_changed_by_ledger(&reads), Some("LAST_INSERT_ID"));
    }

    /// Looking for each of its numbers would take all memory.
    #[test]
    fn an_account_beyond_any_run_is_not_read() {
        let environment = prony_server::Environment::without_home("ann");
        let target = prony_server::resolve("postgres://127.0.0.1:1/d", &environment);
        let account = LedgerAccount {
            client_state: Some(LedgerState {
                last: vec![3, u64::MAX],
                ..LedgerState::default()
            }),
            ..LedgerAccount::default()
        };
        let decided = decide(&target.expect("a URL"), account.clone(), Dropping::Never);
        assert_eq!(decided.client_state, account.client_state);
        let reason = decided.not_read.expect("a reason");
        assert_eq!(reason, "its numbers are not those of a run");
    }

    #[test]
    fn a_document_names_the_commits_that_were_lost_first() {
        let accounts = [0, 1].map(|client| ClientAccount {
            client,
            ..account(80, &[], &[])
        });
        let mut total = LedgerAccount::default();
        accounts.iter().for_each(|one| one.add_to(&mut total));
        assert_eq!((total.lost, total.clients_scattered), (160, 0));
        let mark = |at_s, last: [u64; 2]| LedgerMark {
            at_s,
            last: last.to_vec(),
            ..LedgerMark::default()
        };
        let state = LedgerState {
            marks: vec![mark(1.0, [1, 70]), mark(2.0, [80, 80])],
            ..LedgerState::default()
        };
        let first = first_lost(&accounts, &state);
        assert_eq!(first.len(), MAX_NAMED);
        let place = |index: usize| (first[index].client, first[index].sequence);
        assert_eq!([0, 1, 70, 71].map(place), [(0, 1), (1, 1), (1, 70), (0, 2)]);
        assert_eq!((first[71].after_s, first[71].by_s), (Some(1.0), Some(2.0)));
    }
}
