use super::*;
use crate::statement::StatementIds;

fn sent(mode: QueryMode, describe: bool, sql: &str, values: &[Value]) -> Vec<u8> {
    let statement = StatementIds::new().add(sql);
    let mut out = Vec::new();
    let mut codec = Codec::new(mode, describe);
    codec.request(std::iter::once((&statement, values)), &mut out);
    out
}

#[test]
fn simple_mode_writes_literals() {
    let sql = "select $1 - $2, $3, $4, $5, $6 - $7, $8 / $9";
    let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
    let values = [
        Value::Int(7),
        Value::Int(-7),
        Value::Text(r"o'\n"),
        Value::Null,
        Value::Float(0.5),
        decimal(5, 2),
        decimal(-1_230, 2),
        decimal(7, 0),
        decimal(-2, 0),
    ];
    let out = sent(QueryMode::Simple, true, sql, &values);
    assert_eq!(out[0], b'Q');
    assert_eq!(out[1..5], (out.len() as u32 - 1).to_be_bytes());
    assert_eq!(
        &out[5..],
        br"select 7 - (-7),  E'o''\\n', NULL, '0.5', 0.05 - (-12.30), 7. / (-2.)"
            .iter()
            .chain(&[0])
            .copied()
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_batch_is_one_request_in_every_mode() {
    let mut set = StatementIds::new();
    let (one, two) = (set.add("select $1 -- one"), set.add("select 2"));
    let value = [Value::Int(1)];
    for (mode, start, end) in [
        (
            QueryMode::Simple,
            b'Q',
            &b"select 1 -- one\n;select 2\0"[..],
        ),
        (QueryMode::Extended, b'P', SYNC),
        (QueryMode::Prepared, b'P', SYNC),
    ] {
        let mut out = Vec::new();
        let batch: [(&Statement, &[Value]); 2] = [(&one, &value), (&two, &[])];
        Codec::new(mode, false).request(batch.into_iter(), &mut out);
        assert_eq!(out[0], start);
        assert!(out.ends_with(end), "{mode:?}");
        assert_eq!(
            out.windows(5).filter(|window| *window == SYNC).count(),
            usize::from(end == SYNC)
        );
    }
}

#[test]
fn prepared_mode_parses_once_and_again_after_a_failed_parse() {
    let statement = StatementIds::new().add("select $1");
    let mut codec = Codec::new(QueryMode::Prepared, false);
    let request = |codec: &mut Codec| {
        let mut out = Vec::new();
        codec.execute(&statement, &[Value::Int(1)], &mut out);
        out[0]
    };
    assert_eq!(request(&mut codec), b'P');
    codec.record_reply(0); // the Parse failed
    assert_eq!(request(&mut codec), b'P');
    codec.record_reply(1);
    assert_eq!(request(&mut codec), b'B');
    codec.reset();
    assert_eq!(request(&mut codec), b'P');
}

#[test]
fn the_next_request_closes_statements_and_their_ids_are_reused() {
    let mut set = StatementIds::new();
    let mut codec = Codec::new(QueryMode::Prepared, false);
    let close = b"C\0\0\0\x09SP_0\0";
    let old = set.add("select 1");
    let mut out = Vec::new();
    // A statement that was never prepared needs no closing.
    codec.close(&old);
    codec.prepare(&old, &mut out);
    assert_eq!(out[0], b'P');
    codec.record_reply(1);
    codec.close(&old);
    set.remove(&old);
    let new = set.add("select 2");
    assert!(new.id() == old.id() && !codec.is_prepared(&new));
    // A simple query closes nothing; after an abandoned request, the statement is closed again.
    let mut out = Vec::new();
    codec.query(b"select 3", &mut out);
    codec.record_reply(0);
    assert_eq!(out[0], b'Q');
    for answer in [false, true] {
        let mut out = Vec::new();
        codec.request(std::iter::once((&new, &[][..])), &mut out);
        assert!(out.starts_with(close) && out[close.len()] == b'P');
        if answer {
            codec.record_reply(1);
        }
    }
    let mut out = Vec::new();
    codec.request(std::iter::once((&new, &[][..])), &mut out);
    assert_eq!(out[0], b'B');
    codec.close(&new);
    codec.reset();
    let mut out = Vec::new();
    codec.prepare(&new, &mut out);
    assert_eq!(out[0], b'P');
}

#[test]
fn an_abandoned_request_prepares_nothing() {
    let mut set = StatementIds::new();
    let (first, second) = (set.add_unparsed("select '$1'", 1), set.add("select 2"));
    let mut codec = Codec::new(QueryMode::Prepared, false);
    let mut out = Vec::new();
    codec.execute(&first, &[Value::Null], &mut out);
    codec.request(std::iter::once((&second, &[][..])), &mut out);
    // One Parse succeeded: that of the second.
    codec.record_reply(1);
    for (statement, start) in [(&first, b'P'), (&second, b'B')] {
        let mut out = Vec::new();
        codec.execute(
            statement,
            &[Value::Null][..statement.parameter_count()],
            &mut out,
        );
        codec.sync(&mut out);
        assert_eq!(out[0], start);
        assert!(out.ends_with(SYNC));
    }
}

#[test]
fn columns_are_described_only_on_request() {
    let mut set = StatementIds::new();
    let (plain, with_columns) = (set.add("select 1"), set.add("select 1").with_columns());
    let described = |statement: &Statement, describe| {
        let mut out = Vec::new();
        Codec::new(QueryMode::Extended, describe).execute(statement, &[], &mut out);
        out.windows(7).any(|window| window == b"D\0\0\0\x06P\0")
    };
    assert!(!described(&plain, false));
    assert!(described(&with_columns, false) && described(&plain, true));
}

#[test]
fn bind_messages_have_the_documented_format() {
    let out = sent(QueryMode::Extended, true, "q$1", &[Value::Int(-5)]);
    let expected: &[u8] = b"P\0\0\0\x0b\0q$1\0\0\0\
            B\0\0\0\x12\0\0\0\0\0\x01\0\0\0\x02-5\0\0\
            D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    assert_eq!(out, expected);
}

#[test]
fn parse_messages_contain_declared_types() {
    let money = ParameterType::Decimal {
        precision: 6,
        scale: 2,
    };
    let amount = Value::Decimal {
        unscaled: -1_230,
        scale: 2,
    };
    let mut set = StatementIds::new();
    let mut codec = Codec::new(QueryMode::Prepared, false);
    let statement = set.add("q$1$2").with_types([None, Some(money)]);
    let mut out = Vec::new();
    codec.request(
        std::iter::once((&statement, &[Value::Null, amount][..])),
        &mut out,
    );
    let expected: &[u8] = b"P\0\0\0\x18P_0\0q$1$2\0\0\x02\0\0\0\0\0\0\x06\xa4\
            B\0\0\0\x1d\0P_0\0\0\0\0\x02\xff\xff\xff\xff\0\0\0\x06-12.30\0\0\
            E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    assert_eq!(out, expected);
    // A preparation in advance contains them too.
    let mut out = Vec::new();
    codec.prepare(&statement, &mut out);
    assert_eq!(out[..25], expected[..25]);
    let oids = [
        (ParameterType::SmallInt, 21_u32),
        (ParameterType::Int, 23),
        (ParameterType::BigInt, 20),
        (ParameterType::Char(2), 1042),
        (ParameterType::VarChar(2), 1043),
        (ParameterType::Text, 25),
    ];
    for (declared, oid) in oids {
        let statement = StatementIds::new().add("$1").with_types([declared]);
        let mut out = Vec::new();
        codec.prepare(&statement, &mut out);
        let types = [&b"$1\0\0\x01"[..], &oid.to_be_bytes(), SYNC].concat();
        assert!(out.ends_with(&types), "{declared}");
    }
}

#[test]
fn without_declared_types_the_parse_message_has_none() {
    let mut set = StatementIds::new();
    let plain = set.add("q$1");
    let mut expected = Vec::new();
    Codec::new(QueryMode::Extended, false).execute(&plain, &[Value::Null], &mut expected);
    assert!(expected.starts_with(b"P\0\0\0\x0b\0q$1\0\0\0B"));
    let undeclared = set.add("q$1").with_types([None]);
    let mut out = Vec::new();
    Codec::new(QueryMode::Extended, false).execute(&undeclared, &[Value::Null], &mut out);
    assert_eq!(out, expected);
}

#[test]
fn each_execution_has_a_result() {
    let mut ids = StatementIds::new();
    let statements = ["select 1", " -- nothing\n;", "/* a */ select 1; select 2"];
    let [one, nothing, two] = statements.map(|sql| ids.add(sql));
    let results = |mode, batch: &[&Statement]| {
        let mut codec = Codec::new(mode, false);
        let batch = batch.iter().map(|statement| (*statement, &[] as &[Value]));
        // A second request does not count those of the first.
        codec.request(batch.clone(), &mut Vec::new());
        codec.request(batch, &mut Vec::new());
        codec.results()
    };
    for mode in [QueryMode::Extended, QueryMode::Prepared] {
        assert_eq!(results(mode, &[&one, &one, &nothing]), 3, "{mode:?}");
    }
    // A text has no result for what is only a comment, and one or more for several statements.
    assert_eq!(results(QueryMode::Simple, &[&one, &nothing, &one]), 2);
    assert_eq!(results(QueryMode::Simple, &[&one, &two]), 2);
    assert_eq!(results(QueryMode::Simple, &[]), 0);
}
