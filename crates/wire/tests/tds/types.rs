//! Values of every type, in both kinds of rows, split at every byte.

use crate::common::cuts;
use crate::support::*;
use prony_tds_server::{Column, Datum, Outcome, ReplyWriter, Type, encode_message};
use prony_wire::{Exchange, FeedStatus, QueryMode};

/// A type, a value of it, and its text.
pub fn values() -> Vec<(Type, Datum, &'static str)> {
    let text = |text: &str| Datum::Text(text.to_owned());
    let bytes = |bytes: &[u8]| Datum::Bytes(bytes.to_vec());
    let decimal = |negative, magnitude| Datum::Decimal {
        negative,
        magnitude,
        scale: 0,
    };
    vec![
        (Type::Int(1), Datum::Int(255), "255"),
        (Type::Int(2), Datum::Int(-2), "-2"),
        (Type::Int(4), Datum::Int(-2_147_483_648), "-2147483648"),
        (Type::Int(8), Datum::Int(i64::MIN), "-9223372036854775808"),
        (Type::FixedInt, Datum::Int(-7), "-7"),
        (Type::Bit, Datum::Bit(true), "1"),
        (Type::Float(4), Datum::Float(1.25), "1.25"),
        (Type::Float(8), Datum::Float(-0.1), "-0.1"),
        (Type::Float(8), Datum::Float(1e300), "1e300"),
        (Type::Decimal(12, 2), decimal(true, 125), "-1.25"),
        (
            Type::Decimal(38, 38),
            decimal(false, 5),
            "0.00000000000000000000000000000000000005",
        ),
        (
            Type::Decimal(38, 0),
            decimal(false, 10_u128.pow(38) - 1),
            "99999999999999999999999999999999999999",
        ),
        (Type::Money(4), Datum::Money(-12_345), "-1.2345"),
        (
            Type::Money(8),
            Datum::Money(i64::MIN),
            "-922337203685477.5808",
        ),
        (Type::Money(8), Datum::Money(1), "0.0001"),
        (
            Type::DateTime(8),
            Datum::DateTime(-53_690, 1),
            "1753-01-01 00:00:00.003",
        ),
        (
            Type::DateTime(8),
            Datum::DateTime(46_347, 25_919_999),
            "2026-11-23 23:59:59.997",
        ),
        (
            Type::DateTime(4),
            Datum::SmallDateTime(46_347, 1_110),
            "2026-11-23 18:30:00",
        ),
        (Type::Date, Datum::Date(739_942), "2026-11-23"),
        (Type::Time(0), Datum::Time(66_615), "18:30:15"),
        (
            Type::Time(7),
            Datum::Time(666_151_234_567),
            "18:30:15.1234567",
        ),
        (
            Type::DateTime2(3),
            Datum::DateTime2(739_942, 66_615_123),
            "2026-11-23 18:30:15.123",
        ),
        (
            Type::DateTimeOffset(0),
            Datum::DateTimeOffset(739_942, 84_000, 90),
            "2026-11-24 00:50:00 +01:30",
        ),
        (
            Type::DateTimeOffset(0),
            Datum::DateTimeOffset(739_942, 0, -60),
            "2026-11-22 23:00:00 -01:00",
        ),
        (Type::Char(5), bytes(b"ab   "), "ab   "),
        (Type::VarChar(9), bytes(b"caf\xe9\x80"), "café€"),
        (Type::VarChar(9), bytes(b""), ""),
        (Type::NChar(2), text("中 "), "中 "),
        (Type::NVarChar(9), text("😀x"), "😀x"),
        (Type::Binary(2), bytes(b"ab"), "ab"),
        (Type::VarBinary(2), bytes(b""), ""),
        (Type::VarCharMax, bytes(b"in two chunks"), "in two chunks"),
        (Type::NVarCharMax, text("zwei Stücke 😀"), "zwei Stücke 😀"),
        (Type::NVarCharMax, text(""), ""),
        (Type::VarBinaryMax, bytes(b"bin"), "bin"),
        (Type::Xml, text("<a/>"), "<a/>"),
        (Type::Text, bytes(b"old"), "old"),
        (Type::NText, text("older"), "older"),
        (Type::Image, bytes(b"oldest"), "oldest"),
        (
            Type::Guid,
            bytes(&[
                0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
                0xee, 0xff,
            ]),
            "00112233-4455-6677-8899-AABBCCDDEEFF",
        ),
        (
            Type::Variant,
            Datum::Raw(vec![6, 0, 0, 0, 0x38, 0, 9, 0, 0, 0]),
            "9",
        ),
        (Type::Variant, text("any"), "any"),
    ]
}

fn columns(values: &[(Type, Datum, &str)]) -> Vec<Column> {
    let names = values.iter().enumerate();
    names
        .map(|(index, (kind, ..))| Column::new(&format!("c{index} é"), *kind))
        .collect()
}

/// A reply with a row of values and a row of NULLs, both first as ROW and then as NBCROW.
pub fn reply_of_all_types() -> Vec<u8> {
    let values = values();
    let columns = columns(&values);
    let row: Vec<Datum> = values.iter().map(|(_, datum, _)| datum.clone()).collect();
    let nulls: Vec<Datum> = values
        .iter()
        .map(|(kind, datum, _)| match kind {
            Type::FixedInt => datum.clone(),
            _ => Datum::Null,
        })
        .collect();
    let mut reply = ReplyWriter::new([9, 4, 0xd0, 0, 0x34]);
    reply.columns(&columns);
    reply.row(&columns, &row);
    reply.row(&columns, &nulls);
    // The tokens ORDER (by the first column), COLINFO, TABNAME and SESSIONSTATE are skipped.
    reply.token(0xa9, &[1, 0]);
    reply.token(0xa5, &[1, 1, 0]);
    reply.token(0xa4, &[0]);
    reply.raw_tokens(&[0xe4, 3, 0, 0, 0, 1, 2, 3]);
    reply.compressed_row(&columns, &row);
    reply.compressed_row(&columns, &nulls);
    reply.info(0, 0, "printed");
    reply.done(0xfd, 0x10, 0xc1, 4);
    encode_message(4, &reply.finish(), 512)
}

fn check(exchange: &Exchange) {
    let values = values();
    let wanted: Vec<String> = values.iter().map(|(.., text)| (*text).to_owned()).collect();
    let nulls = values.iter().map(|(kind, ..)| match kind {
        Type::FixedInt => "-7".to_owned(),
        _ => "NULL".to_owned(),
    });
    let nulls: Vec<String> = nulls.collect();
    let actual = rows(exchange);
    for (index, wanted) in [&wanted, &nulls, &wanted, &nulls].into_iter().enumerate() {
        assert_eq!(actual[index], (0, wanted.clone()), "row {index}");
    }
    let (_, first) = exchange.rows().next().unwrap();
    for (index, wanted) in wanted.iter().enumerate() {
        assert_eq!(first.text(index), Some(wanted.as_str()));
        let is_int = matches!(values[index].0, Type::Int(_) | Type::FixedInt | Type::Bit);
        if is_int {
            assert_eq!(first.int(index), wanted.parse().ok());
        }
    }
    let names: Vec<_> = exchange
        .column_names(0)
        .map(|name| String::from_utf8(name.to_vec()))
        .collect();
    assert_eq!(names[1], Ok("c1 é".to_owned()));
    assert_eq!((names.len(), exchange.affected_rows()), (values.len(), 4));
    assert_eq!(exchange.notices().next().unwrap().message, "printed");
}

#[test]
fn values_of_every_type_are_read_at_every_split() {
    let reply = reply_of_all_types();
    assert!(reply.len() > 3 * 512, "the reply has several packets");
    for pieces in cuts(&reply) {
        let mut exchange = Exchange::tds(QueryMode::Simple);
        exchange.query("select everything");
        let (last, before) = pieces.split_last().unwrap();
        for piece in before {
            assert_eq!(exchange.feed(piece), Ok(FeedStatus::More));
        }
        assert_eq!(exchange.feed(last), Ok(FeedStatus::Complete));
        check(&exchange);
    }
    // The bytes arrive one at a time.
    let mut exchange = Exchange::tds(QueryMode::Simple);
    exchange.query("select everything");
    let last = reply.len() - 1;
    for (index, byte) in reply.iter().enumerate() {
        let wanted = if index == last { FeedStatus::Complete } else { FeedStatus::More };
        assert_eq!(exchange.feed(&[*byte]), Ok(wanted));
    }
    check(&exchange);
}

#[test]
fn integers_are_read_from_texts_and_decimals_too() {
    let decimal = |magnitude| Datum::Decimal {
        negative: true,
        magnitude,
        scale: 0,
    };
    let columns = vec![
        Column::new("a", Type::VarChar(9)),
        Column::new("b", Type::NVarChar(9)),
        Column::new("c", Type::Decimal(9, 0)),
        Column::new("d", Type::Decimal(9, 2)),
        Column::new("e", Type::NVarCharMax),
        Column::new("f", Type::Float(8)),
    ];
    let mut talk = Talk::with(QueryMode::Simple, move |_, _| {
        let row = vec![
            Datum::Bytes(b"-12".to_vec()),
            Datum::Text("34".to_owned()),
            decimal(56),
            decimal(7800),
            Datum::Text("9".to_owned()),
            Datum::Float(1.0),
        ];
        vec![Outcome::Rows(columns.clone(), vec![row])]
    });
    talk.query("select");
    let (_, row) = talk.exchange.rows().next().unwrap();
    let actual: Vec<_> = (0..7).map(|index| row.int(index)).collect();
    assert_eq!(
        actual,
        [Some(-12), Some(34), Some(-56), None, Some(9), None, None]
    );
}
