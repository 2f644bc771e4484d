//! Tests the rows, in COPY's binary format, against the rules for the population.

use super::*;
use crate::catalog::Tables;
use prony_assertions::TextAssertions;
use prony_document::SqlDialect;
use std::collections::HashSet;

fn content() -> Content {
    Content {
        seed: 42,
        timestamp_micros: 1_000_000,
        names: LastNames::new(),
        bad_credit_percent: 10,
    }
}

fn encode_all(table: Table, warehouses: Range<u32>) -> (Vec<u8>, u64) {
    let (content, mut out) = (content(), Vec::new());
    let mut rows = TpccRows::new(&content, table, warehouses);
    let count = rows.append_rows(&mut out, usize::MAX);
    assert!(rows.is_done());
    (out, count)
}

/// The fields of a row, without their lengths; `None` is NULL.
type Row = Vec<Option<Vec<u8>>>;

/// Decodes the rows as a server does.
fn decode(table: Table, warehouses: Range<u32>) -> Vec<Row> {
    let (bytes, count) = encode_all(table, warehouses);
    let mut remaining = &bytes[..];
    let mut take = |count: usize| {
        let (head, tail) = remaining.split_at(count);
        remaining = tail;
        head.to_vec()
    };
    let (mut rows, columns) = (Vec::new(), columns(table));
    for _ in 0..count {
        assert_eq!(number(&take(2)), columns.len() as i64);
        let fields = columns.iter().map(|_| {
            let length = number(&take(4));
            (length >= 0).then(|| take(length as usize))
        });
        rows.push(fields.collect());
    }
    assert!(remaining.is_empty());
    rows
}

fn number(bytes: &[u8]) -> i64 {
    match *bytes {
        [a, b] => i64::from(i16::from_be_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_be_bytes([a, b, c, d])),
        _ => panic!("{bytes:?} is not a number"),
    }
}

/// A numeric in units of 1/10,000.
fn decimal(bytes: &[u8]) -> i64 {
    let words: Vec<i64> = bytes.chunks(2).map(number).collect();
    let weight = words[1] as i32;
    let digits = words[4..].iter().enumerate();
    let value: i64 = digits
        .map(|(index, digit)| digit * 10_000_i64.pow((weight - index as i32 + 1) as u32))
        .sum();
    if words[2] == 0 { value } else { -value }
}

/// The columns in the order in which rows are generated.
fn columns(table: Table) -> Vec<&'static str> {
    Tables::columns(table, SqlDialect::PostgreSql)
}

struct NamedRow<'a>(&'a Row, &'a [&'static str]);

impl NamedRow<'_> {
    fn raw(&self, name: &str) -> Option<&[u8]> {
        let index = self.1.iter().position(|column| *column == name);
        self.0[index.expect("a column")].as_deref()
    }
    fn int(&self, name: &str) -> i64 {
        number(self.raw(name).expect("not null"))
    }
    fn decimal(&self, name: &str) -> i64 {
        decimal(self.raw(name).expect("not null"))
    }
    fn text(&self, name: &str) -> &str {
        std::str::from_utf8(self.raw(name).expect("not null")).expect("text")
    }
}

fn for_each_row(
    table: Table,
    warehouses: Range<u32>,
    mut visit: impl FnMut(usize, &NamedRow<'_>),
) -> usize {
    let (rows, columns) = (decode(table, warehouses), columns(table));
    for (index, row) in rows.iter().enumerate() {
        visit(index, &NamedRow(row, &columns));
    }
    rows.len()
}

#[test]
fn a_tenth_of_items_and_stock_is_marked_original() {
    for (table, column, id) in [
        (Table::Item, "i_data", "i_id"),
        (Table::Stock, "s_data", "s_i_id"),
    ] {
        let mut original = Vec::new();
        let rows = for_each_row(table, 2..3, |index, row| {
            assert_eq!(row.int(id), index as i64 + 1);
            let data = row.text(column);
            assert!((26..=50).contains(&data.len()));
            if data.contains("ORIGINAL") {
                original.push(index);
            }
        });
        assert_eq!((rows, original.len()), (100_000, 10_000));
        // The marked rows are spread over the table: a tenth of them is in its first tenth.
        let in_first_tenth = original.iter().filter(|index| **index < 10_000).count();
        assert!(
            (850..1150).contains(&in_first_tenth),
            "{in_first_tenth} in the first tenth"
        );
    }
}

#[test]
fn items_and_stock_stay_in_their_ranges() {
    let (mut lowest_price, mut highest_price) = (i64::MAX, 0);
    for_each_row(Table::Item, 1..2, |_, row| {
        assert!((1..=10_000).contains(&row.int("i_im_id")));
        assert!((14..=24).contains(&row.text("i_name").len()));
        let price = row.decimal("i_price");
        (lowest_price, highest_price) = (lowest_price.min(price), highest_price.max(price));
    });
    assert!(
        lowest_price >= 10_000 && highest_price <= 1_000_000,
        "1.00 to 100.00"
    );
    assert!(lowest_price < 20_000 && highest_price > 990_000);
    let mut quantities = HashSet::new();
    for_each_row(Table::Stock, 2..3, |_, row| {
        assert_eq!(row.int("s_w_id"), 2);
        quantities.insert(row.int("s_quantity"));
        for name in ["s_ytd", "s_order_cnt", "s_remote_cnt"] {
            assert_eq!(row.int(name), 0);
        }
        assert_eq!(row.text("s_dist_01").len(), 24);
        assert_ne!(row.text("s_dist_01"), row.text("s_dist_10"));
    });
    assert_eq!(quantities, (10..=100).collect());
}

#[test]
fn warehouses_and_districts_start_balanced() {
    let rows = for_each_row(Table::Warehouse, 1..201, |index, row| {
        assert_eq!(row.int("w_id"), index as i64 + 1);
        assert_eq!(row.decimal("w_ytd"), 300_000 * 10_000);
        assert!((0..=2_000).contains(&row.decimal("w_tax")));
        assert!((6..=10).contains(&row.text("w_name").len()));
    });
    assert_eq!(rows, 200);
    let rows = for_each_row(Table::District, 3..5, |index, row| {
        assert_eq!(row.int("d_w_id"), index as i64 / 10 + 3);
        assert_eq!(row.int("d_id"), index as i64 % 10 + 1);
        assert_eq!(row.decimal("d_ytd"), 30_000 * 10_000);
        assert_eq!(row.int("d_next_o_id"), 3_001);
        row.text("d_zip").assert_ends_with("11111");
    });
    assert_eq!(rows, 20);
}

#[test]
fn customers_match_the_specification() {
    let names = LastNames::new();
    let (mut bad_credits, mut discount_sum, mut lengths) = (0, 0, HashSet::new());
    let rows = for_each_row(Table::Customer, 2..3, |index, row| {
        let id = row.int("c_id");
        assert_eq!(id, index as i64 % 3_000 + 1);
        let expected = (2, index as i64 / 3_000 + 1);
        assert_eq!((row.int("c_w_id"), row.int("c_d_id")), expected);
        if id <= 1_000 {
            assert_eq!(row.text("c_last"), names.get(id as u32 - 1));
        }
        assert_eq!(row.text("c_middle"), "OE");
        assert_eq!(row.text("c_phone").len(), 16);
        assert_eq!(row.text("c_state").len(), 2);
        bad_credits += usize::from(row.text("c_credit") == "BC");
        assert!(["BC", "GC"].contains(&row.text("c_credit")));
        assert_eq!(row.decimal("c_credit_lim"), 50_000 * 10_000);
        assert!((0..=5_000).contains(&row.decimal("c_discount")));
        discount_sum += row.decimal("c_discount");
        assert_eq!(row.decimal("c_balance"), -10 * 10_000);
        assert_eq!(row.decimal("c_ytd_payment"), 10 * 10_000);
        assert_eq!(
            (row.int("c_payment_cnt"), row.int("c_delivery_cnt")),
            (1, 0)
        );
        lengths.insert(row.text("c_data").len());
        assert!((8..=16).contains(&row.text("c_first").len()));
    });
    assert_eq!((rows, bad_credits), (30_000, 3_000));
    assert!((2_450..2_550).contains(&(discount_sum / 30_000)));
    assert_eq!(lengths, (300..=500).collect());
    let rows = for_each_row(Table::History, 2..3, |index, row| {
        assert_eq!(row.int("h_c_id"), index as i64 % 3_000 + 1);
        assert_eq!((row.int("h_w_id"), row.int("h_c_w_id")), (2, 2));
        assert_eq!(row.int("h_d_id"), row.int("h_c_d_id"));
        assert_eq!(row.decimal("h_amount"), 10 * 10_000);
    });
    assert_eq!(rows, 30_000);
}

#[test]
fn customers_are_permuted_over_orders_and_the_last_900_orders_are_open() {
    let mut counts = Vec::new();
    let mut customers = [const { Vec::new() }; 10];
    for_each_row(Table::Orders, 3..4, |index, row| {
        let id = row.int("o_id");
        assert_eq!(id, index as i64 % 3_000 + 1);
        assert_eq!((row.int("o_w_id"), row.int("o_all_local")), (3, 1));
        customers[index / 3_000].push(row.int("o_c_id"));
        match row.raw("o_carrier_id") {
            None => assert!(id > 2_100),
            Some(carrier) => assert!(id <= 2_100 && (1..=10).contains(&number(carrier))),
        }
        counts.push(row.int("o_ol_cnt"));
    });
    for district in &customers {
        let distinct: HashSet<&i64> = district.iter().collect();
        assert_eq!(distinct.len(), 3_000);
    }
    assert_ne!(customers[0], customers[1]);
    assert_eq!(counts.iter().collect::<HashSet<_>>().len(), 11);
    assert!(counts.iter().all(|count| (5..=15).contains(count)));
    let total: i64 = counts.iter().sum();
    assert_eq!(order_line_count(42, 3..4), total as u64);
    assert!((298_000..302_000).contains(&total), "{total} lines");
    let rows = for_each_row(Table::NewOrder, 3..4, |index, row| {
        assert_eq!(row.int("no_o_id"), index as i64 % 900 + 2_101);
        assert_eq!(row.int("no_d_id"), index as i64 / 900 + 1);
    });
    assert_eq!(rows, 9_000);
    let mut lines = vec![0; 30_000];
    for_each_row(Table::OrderLine, 3..4, |_, row| {
        let (district, order) = (row.int("ol_d_id"), row.int("ol_o_id"));
        let index = ((district - 1) * 3_000 + order - 1) as usize;
        lines[index] += 1;
        assert_eq!(row.int("ol_number"), lines[index]);
        assert_eq!((row.int("ol_w_id"), row.int("ol_supply_w_id")), (3, 3));
        assert!((1..=100_000).contains(&row.int("ol_i_id")));
        assert_eq!(row.int("ol_quantity"), 5);
        let amount = row.decimal("ol_amount");
        assert_eq!(row.raw("ol_delivery_d").is_some(), order <= 2_100);
        if order <= 2_100 {
            assert_eq!(amount, 0);
        } else {
            assert!((100..=99_999_900).contains(&amount), "0.01 to 9999.99");
        }
    });
    assert_eq!(lines, counts);
}

#[test]
fn any_split_gives_the_same_bytes() {
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Item) {
        let parts = [encode_all(table, 1..2).0, encode_all(table, 2..3).0].concat();
        assert!(parts == encode_all(table, 1..3).0, "{}", table.name());
    }
    let (expected, content) = (encode_all(Table::OrderLine, 2..3).0, content());
    let mut rows = TpccRows::new(&content, Table::OrderLine, 2..3);
    let (mut joined, mut buffer) = (Vec::new(), Vec::new());
    while !rows.is_done() {
        rows.append_rows(&mut buffer, 1_000);
        joined.append(&mut buffer);
    }
    assert!(joined == expected);
}
