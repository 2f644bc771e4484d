//! A warm user of the script workload does not allocate for a transaction.

use super::own_sql::plan;
use super::running::program;
use crate::script::own_sql::program_of;
use crate::script::samples::SampleRows;
use crate::script::{ScriptProgram, transactions};
use crate::tests::mock_postgres::{message, run_user};
use prony_allocations::allocations;
use prony_document::SqlDialect;
use prony_wire::{Exchange, QueryMode};

const WARM_UP_TRANSACTIONS: u64 = 200;
const MEASURED_TRANSACTIONS: u64 = 2_000;

const SCRIPT: &str = "\\set aid random(1, 100000 * :scale)
\\set share 1.0 / :aid
\\set nothing NULL
\\if :aid % 2 = 0
SELECT abalance, :share FROM pgbench_accounts WHERE aid = :aid;
\\else
SELECT :aid;
\\endif
UPDATE pgbench_accounts SET abalance = :share WHERE aid = :aid AND :nothing IS NULL;
";

#[test]
fn transactions_do_not_allocate() {
    assert_no_allocations(&program(&[SCRIPT.to_owned()]).expect("parses"));
}

#[test]
fn transactions_with_rows_of_a_sample_do_not_allocate() {
    let text = "[[samples]]\nname = 'users'\nsql = ''\n[[transactions]]\nname = 'a'\n\
                sql = '''\\sample users id email\nSELECT :id, :email;'''";
    let own_sql = transactions::read(&plan(text), SqlDialect::PostgreSql);
    let own_sql = own_sql.map_err(|_| "problems").expect("valid");
    let cell = |text: &str| Some(text.to_owned());
    let rows = vec![
        vec![cell("1"), cell("a@example.com")],
        vec![cell("2"), None],
    ];
    let rows = SampleRows::new(rows, 2).expect("rows");
    assert_no_allocations(&program_of(own_sql, 1, SqlDialect::PostgreSql).with_samples(vec![rows]));
}

fn assert_no_allocations(scripts: &ScriptProgram) {
    let reply = [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    let parsed = [message(b'1', b""), reply.clone()].concat();
    for mode in [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared] {
        // Borrowed, because allocations between two polls of the user are counted too.
        let answer = |request: &[u8]| match request.first() {
            Some(b'P') => &parsed,
            _ => &reply,
        };
        let exchange = Exchange::postgres(mode, true);
        let (mut ended, mut allocations_before) = (0, 0);
        run_user(
            scripts,
            exchange,
            WARM_UP_TRANSACTIONS + MEASURED_TRANSACTIONS,
            answer,
            |poll, worker| {
                if ended <= WARM_UP_TRANSACTIONS {
                    allocations_before = allocations();
                }
                let has_ended = poll();
                worker.drain_samples(|_| ended += 1);
                has_ended
            },
        );
        let allocated = allocations() - allocations_before;
        assert_eq!(ended, WARM_UP_TRANSACTIONS + MEASURED_TRANSACTIONS);
        assert_eq!(
            allocated, 0,
            "allocations in {MEASURED_TRANSACTIONS} transactions, {mode:?}"
        );
    }
}
