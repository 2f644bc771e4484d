//! Tests of the account of commits: where its entries go, and what becomes of their numbers.

use super::*;

#[test]
fn no_statement_of_the_program_has_the_number_of_the_insert() {
    let mut ids = StatementIds::new();
    let mut table = StatementTable::new();
    for _ in 0..=STATEMENT_ID_MIN {
        let select = ids.add("SELECT 1");
        table.add("select", select.sql(), &select);
    }
    let insert = || "insert into l values ($1, $2)".to_owned();
    let ledger = Arc::new(Ledger::new(insert(), EntryPlacement::InRequest, 1, &table));
    assert_eq!(table.index_of(STATEMENT_ID_MIN), Some(0));
    let client = ClientLedger::new(ledger, 0);
    assert_eq!(table.index_of(client.insert.id()), None);
}

#[test]
fn numbers_have_gaps_only_where_the_outcome_is_unknown() {
    let ledger = Arc::new(Ledger::new(
        "insert into l values ($1, $2)".to_owned(),
        EntryPlacement::InRequest,
        2,
        &StatementTable::new(),
    ));
    let mut client = ClientLedger::new(Arc::clone(&ledger), 1);
    let mut ids = StatementIds::new();
    let (update, end) = (ids.add("UPDATE t SET a = 1"), ids.add("END"));
    let mut transaction = |settlement| {
        assert!(client.entry_before(&end).is_none(), "nothing has changed");
        client.note(&update);
        assert!(client.entry_before(&update).is_none());
        let entry = client.entry_before(&end).expect("it ends a block");
        let values = entry.values;
        assert!(entry.insert.accepts(&values) && entry.joined_end.is_none());
        assert!(
            client.entry_before(&end).is_none(),
            "one entry for each transaction"
        );
        client.settle(settlement);
        values[1]
    };
    let written = [
        transaction(Settlement::Committed),
        transaction(Settlement::RolledBack),
        transaction(Settlement::Ambiguous),
        transaction(Settlement::Committed),
    ];
    assert_eq!(written, [1, 2, 2, 3].map(Value::Int));
    // Nothing was changed, and then something.
    client.settle(Settlement::Committed);
    client.note(&update);
    client.settle(Settlement::Committed);
    let (begin, select) = (ids.add("/* tag */ BEGIN"), ids.add("SELECT 1"));
    assert!(
        client
            .entry_of_request([&begin, &update].into_iter())
            .is_none()
    );
    assert!(client.entry_of_request([&select].into_iter()).is_none());
    client.note(&update);
    assert!(client.entry_of_request([&update].into_iter()).is_some());
    drop(client);
    assert_eq!(ledger.last_numbers(), [0, 4]);
    let ambiguous = [2, 4].map(|sequence| LedgerEntry {
        client: 1,
        sequence,
    });
    assert_eq!(ledger.ambiguous(), ambiguous);
    assert_eq!(ledger.unrecorded(), 1);
}

#[test]
fn a_rollback_after_a_comment_takes_its_entry_along() {
    for rollback in ["ROLLBACK", "/* c */ ROLLBACK", "-- x\nROLLBACK"] {
        let ledger = Arc::new(Ledger::new(
            "INSERT INTO l VALUES ($1, $2)".to_owned(),
            EntryPlacement::WithWrite,
            1,
            &StatementTable::new(),
        ));
        let mut client = ClientLedger::new(ledger, 0);
        let mut ids = StatementIds::new();
        let [begin, update, rollback] = ["BEGIN", "UPDATE t", rollback].map(|sql| ids.add(sql));
        let mut has_entry = |statement: &Statement| {
            client.note(statement);
            let batch = [statement].into_iter();
            client
                .entry_with_write(batch, QueryMode::Prepared)
                .is_some()
        };
        assert!(!has_entry(&begin));
        assert!(has_entry(&update) && !has_entry(&update));
        assert!(!has_entry(&rollback));
        assert!(has_entry(&update), "{}", rollback.sql());
    }
}

#[test]
fn on_sql_server_an_entry_is_in_one_text_with_a_write() {
    let ledger = Arc::new(Ledger::new(
        "INSERT INTO l VALUES ($1, $2)".to_owned(),
        EntryPlacement::WithWrite,
        1,
        &StatementTable::new(),
    ));
    let mut client = ClientLedger::new(Arc::clone(&ledger), 0);
    let mut ids = StatementIds::new();
    let begin = ids.add("BEGIN TRANSACTION");
    let update = ids.add("UPDATE t SET a = $1 WHERE b = $2 -- it is");
    let update = update.with_types([Some(ParameterType::SmallInt), None]);
    let call = ids.add("EXEC p $1");
    let joined = ids.add("DELETE FROM t").with_joining();
    let request = |client: &mut ClientLedger, batch: &[&Statement]| {
        batch.iter().for_each(|statement| client.note(statement));
        let batch = batch.iter().copied();
        let entry = client.entry_with_write(batch, QueryMode::Prepared);
        entry.map(|write| {
            let text = write.combined.sql().to_owned();
            (
                write.position,
                text,
                write.combined.types().to_vec(),
                write.entry[1],
            )
        })
    };
    let types = vec![
        Some(ParameterType::SmallInt),
        None,
        Some(ParameterType::Int),
        Some(ParameterType::BigInt),
    ];
    let of_its_own = "IF @@TRANCOUNT = 0 BEGIN TRANSACTION;SET NOCOUNT ON;INSERT INTO l VALUES ($3, $4);\
                      SET NOCOUNT OFF;UPDATE t SET a = $1 WHERE b = $2 -- it is\n;SET NOCOUNT ON;COMMIT TRANSACTION";
    let expected = (0, of_its_own.to_owned(), types.clone(), Value::Int(1));
    assert_eq!(request(&mut client, &[&update]), Some(expected));
    client.settle(Settlement::Committed);
    let delete = ids.add("DELETE FROM t WHERE b = $1");
    let (_, text, ..) = request(&mut client, &[&delete]).expect("it has one");
    assert!(text.contains("l VALUES ($2, $3)") && text.contains("b = $1\n"));
    client.settle(Settlement::RolledBack);
    // A procedure may roll back, and two statements are two transactions.
    assert_eq!(request(&mut client, &[&call]), None);
    client.settle(Settlement::Committed);
    assert_eq!(request(&mut client, &[&update, &update]), None);
    client.settle(Settlement::Committed);
    assert_eq!(request(&mut client, &[&begin]), None);
    let in_block = "IF @@TRANCOUNT > 0 SET NOCOUNT ON;INSERT INTO l VALUES ($3, $4);SET NOCOUNT OFF;\
                    UPDATE t SET a = $1 WHERE b = $2 -- it is";
    let expected = (1, in_block.to_owned(), types, Value::Int(2));
    assert_eq!(request(&mut client, &[&begin, &update]), Some(expected));
    assert_eq!(request(&mut client, &[&update]), None, "it has one");
    client.settle(Settlement::Committed);
    // Texts have it before the end of the block.
    assert_eq!(request(&mut client, &[&begin]), None);
    assert_eq!(request(&mut client, &[&joined]), None);
    let commit = ids.add("COMMIT TRANSACTION");
    let entry = client.entry_before(&commit).expect("it has none");
    assert!(entry.insert.is_joined());
    assert_eq!(entry.values, [0, 3].map(Value::Int));
    client.settle(Settlement::Committed);
    assert_eq!((ledger.last_numbers(), ledger.unrecorded()), (vec![3], 2));
}

#[test]
fn on_mysql_an_entry_is_in_one_text_with_the_end_or_with_a_single_statement() {
    let ledger = Arc::new(Ledger::new(
        "INSERT INTO l VALUES ($1, $2)".to_owned(),
        EntryPlacement::InText,
        1,
        &StatementTable::new(),
    ));
    let mut client = ClientLedger::new(Arc::clone(&ledger), 0);
    let mut ids = StatementIds::new();
    let [begin, update, commit, select, call] = [
        "BEGIN",
        "UPDATE t SET a = $1",
        "COMMIT",
        "SELECT 1",
        "CALL p(1)",
    ]
    .map(|sql| ids.add(sql));
    let request = |client: &mut ClientLedger, batch: &[&Statement]| {
        batch.iter().for_each(|statement| client.note(statement));
        let block = client.joined_block(batch.iter().copied());
        block.map(|block| {
            let all = [block.begin, block.insert, block.statement, block.commit];
            assert!(all.iter().all(|statement| statement.is_joined()));
            (all.map(|it| it.sql().to_owned()), block.values[1])
        })
    };
    for number in [1, 2] {
        let (texts, sequence) = request(&mut client, &[&update]).expect("it writes");
        let [_, _, own, _] = &texts;
        assert_eq!((own.as_str(), sequence), (update.sql(), Value::Int(number)));
        assert!(request(&mut client, &[&update]).is_none(), "it has one");
        client.settle(Settlement::Committed);
    }
    // One that only reads, a procedure, which may have a block of its own, and two transactions.
    for batch in [&[&select][..], &[&call], &[&update, &update]] {
        assert!(request(&mut client, batch).is_none());
        client.settle(Settlement::RolledBack);
    }
    assert!(request(&mut client, &[&begin]).is_none());
    assert!(request(&mut client, &[&update]).is_none(), "in a block");
    client.note(&commit);
    let entry = client.entry_before(&commit).expect("it has none");
    let end = entry.joined_end.expect("they share a text");
    assert!(entry.insert.is_joined() && end.is_joined() && end.sql() == "COMMIT");
    client.settle(Settlement::Committed);
    let (text, results) = client
        .text_with_entry("INSERT INTO t -- it is")
        .expect("none");
    assert_eq!(
        text,
        "BEGIN;INSERT INTO l VALUES (0, 4);INSERT INTO t -- it is\n;COMMIT"
    );
    let expected = LedgerResults {
        before: 2,
        after: 1,
    };
    assert_eq!(results, expected);
    client.settle(Settlement::Committed);
    assert_eq!((ledger.last_numbers(), ledger.unrecorded()), (vec![4], 0));
}

#[test]
fn on_galera_each_statement_of_a_block_with_an_entry_has_a_text_of_its_own() {
    let ledger = Arc::new(Ledger::new(
        "INSERT INTO l VALUES ($1, $2)".to_owned(),
        EntryPlacement::InTexts,
        1,
        &StatementTable::new(),
    ));
    let mut client = ClientLedger::new(Arc::clone(&ledger), 0);
    let mut ids = StatementIds::new();
    let [begin, update, commit] = ["BEGIN", "UPDATE t", "COMMIT"].map(|sql| ids.add(sql));
    let assert_texts = |block: JoinedBlock<'_>, own: &str, number| {
        let all = [block.begin, block.insert, block.statement, block.commit];
        assert!(all.iter().all(|statement| statement.has_own_text()));
        assert_eq!((all[2].sql(), block.values[1]), (own, Value::Int(number)));
    };
    client.note(&update);
    assert_texts(
        client.joined_block([&update].into_iter()).expect("writes"),
        "UPDATE t",
        1,
    );
    client.settle(Settlement::Committed);
    for (text, number) in [("INSERT INTO t", 2), ("INSERT INTO u", 3)] {
        let block = client.block_of_texts(text).expect("none");
        assert_texts(block, text, number);
        assert!(client.block_of_texts(text).is_none(), "it has one");
        client.settle(Settlement::Committed);
    }
    for statement in [&begin, &update, &commit] {
        client.note(statement);
    }
    let entry = client.entry_before(&commit).expect("it has none");
    let end = entry.joined_end.expect("its form");
    assert!(entry.insert.has_own_text() && end.has_own_text() && end.sql() == "COMMIT");
    client.settle(Settlement::Committed);
    assert_eq!((ledger.last_numbers(), ledger.unrecorded()), (vec![4], 0));
}

#[test]
fn on_postgresql_an_entry_is_a_part_of_a_statement_that_writes() {
    let ledger = Arc::new(Ledger::new(
        "INSERT INTO l VALUES ($1, $2)".to_owned(),
        EntryPlacement::InRequest,
        1,
        &StatementTable::new(),
    ));
    let mut client = ClientLedger::new(ledger, 0);
    let mut ids = StatementIds::new();
    let update = ids.add("UPDATE t SET a = $2 WHERE b = $1");
    let update = update.with_types([Some(ParameterType::Int), None]);
    let [own, call, select] =
        ["WITH x AS (SELECT 1) DELETE FROM t", "CALL p()", "SELECT 1"].map(|sql| ids.add(sql));
    let mut request = |batch: &[&Statement], mode| {
        batch.iter().for_each(|statement| client.note(statement));
        let batch = batch.iter().copied();
        let entry = client.entry_with_write(batch, mode);
        let entry = entry.map(|write| {
            let types = write.combined.types().to_vec();
            (
                write.position,
                write.combined.sql().to_owned(),
                types,
                write.entry[1],
            )
        });
        client.settle(Settlement::Committed);
        entry
    };
    let types = [Some(ParameterType::Int), None].into_iter();
    let types = types.chain([Some(ParameterType::Int), Some(ParameterType::BigInt)]);
    let text =
        "WITH prony_ledger AS (INSERT INTO l VALUES ($3, $4)) UPDATE t SET a = $2 WHERE b = $1";
    let expected = (1, text.to_owned(), types.collect(), Value::Int(1));
    let found = request(&[&select, &update], QueryMode::Prepared);
    assert_eq!(found, Some(expected));
    assert_eq!(request(&[&update], QueryMode::Simple), None);
    for statement in [&own, &call, &select] {
        assert_eq!(request(&[statement], QueryMode::Extended), None);
    }
    // It could be rolled back without the transaction.
    let savepoint = ids.add("SAVEPOINT s");
    assert_eq!(request(&[&savepoint, &update], QueryMode::Prepared), None);
    let savepoint = ids.add("/* c */ SAVEPOINT s");
    assert_eq!(request(&[&savepoint, &update], QueryMode::Prepared), None);
    for text in ["; UPDATE t", "/*+ SeqScan(t) */ UPDATE t", "-- c\nUPDATE t"] {
        assert_eq!(request(&[&ids.add(text)], QueryMode::Prepared), None);
    }
    let insert = ids.add("INSERT INTO l VALUES ($1, $2)");
    let insert = insert.with_types([ParameterType::Int, ParameterType::BigInt]);
    let returning = texts::with_expression(&update, &insert, true);
    let text = "WITH prony_ledger AS (INSERT INTO l VALUES ($3, $4) RETURNING 1) \
                UPDATE t SET a = $2 WHERE b = $1";
    assert_eq!(returning.sql(), text);
}
