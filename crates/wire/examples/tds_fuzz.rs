//! Mutated conversations with a SQL Server: a login, then requests. Ends with an error if the client
//! panics, or allocates more memory than a multiple of the bytes that it received.
//!
//! Usage: `cargo run --release -p prony-wire --example tds_fuzz -- CONVERSATIONS [SEED]`

use prony_tds_server::{Column, Config, Connection, Datum, Outcome, Type};
use prony_wire::login::{LoginProgress, TlsUse};
use prony_wire::tds::{Connector, Login};
use prony_wire::{Exchange, FeedStatus, QueryMode, Secret, SessionFlags, StatementIds, Value};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

/// Memory that a conversation may take, in bytes: this, and `BYTES_ALLOWED_PER_BYTE` times the bytes
/// received.
const BYTES_ALLOWED: usize = 32 * 1024;
const BYTES_ALLOWED_PER_BYTE: usize = 16;

thread_local! {
    static LIVE_BYTES: Cell<usize> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<usize> = const { Cell::new(0) };
}

struct MeasuringAllocator;

fn grow(bytes: usize) {
    LIVE_BYTES.set(LIVE_BYTES.get().wrapping_add(bytes));
    PEAK_BYTES.set(PEAK_BYTES.get().max(LIVE_BYTES.get()));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for MeasuringAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get().wrapping_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

/// The random number generator SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random number less than `limit`.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

const INTERESTING_BYTES: [u8; 16] = [
    0, 1, 2, 4, 8, 0x10, 0x7f, 0x80, 0xfe, 0xff, 0xd1, 0xd2, 0x81, 0xaa, 0xfd, 0xe3,
];

/// Changes up to five parts of a reply.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len() + 1);
        let length = random.below(16).min(bytes.len() - at);
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let from = random.below(other.len());
                let to = (from + random.below(40)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            3 => {
                let copied = bytes[at..at + length].to_vec();
                bytes.splice(at..at, copied);
            }
            4 => bytes[at..at + length].fill(0xff),
            5 if at < bytes.len() => bytes[at] = random.next() as u8,
            _ if at < bytes.len() => {
                bytes[at] = INTERESTING_BYTES[random.below(INTERESTING_BYTES.len())]
            }
            _ => {}
        }
    }
}

/// Replies of an honest server.
struct Recorded {
    login: [Vec<u8>; 2],
    flags: SessionFlags,
    replies: Vec<Vec<u8>>,
}

fn login() -> Arc<Login> {
    Arc::new(Login::new("sa", Secret::new("Sesame1"), "db"))
}

fn record() -> Recorded {
    let kinds = [
        Type::Int(4),
        Type::VarChar(9),
        Type::NVarCharMax,
        Type::Decimal(9, 2),
        Type::DateTime(8),
        Type::DateTime2(7),
        Type::DateTimeOffset(3),
        Type::Money(8),
        Type::Float(8),
        Type::Guid,
        Type::Text,
        Type::Variant,
        Type::Xml,
        Type::Bit,
        Type::Time(3),
        Type::Date,
    ];
    let decimal = Datum::Decimal {
        negative: true,
        magnitude: 125,
        scale: 2,
    };
    let row = vec![
        Datum::Int(-5),
        Datum::Bytes(b"caf\xe9".to_vec()),
        Datum::from("long é"),
        decimal,
        Datum::DateTime(46_347, 300),
        Datum::DateTime2(739_942, 5),
        Datum::DateTimeOffset(739_942, 5, -60),
        Datum::Money(15_000),
        Datum::Float(0.5),
        Datum::Bytes(vec![7; 16]),
        Datum::Bytes(b"old".to_vec()),
        Datum::from("any"),
        Datum::from("<a/>"),
        Datum::Bit(true),
        Datum::Time(5),
        Datum::Date(739_942),
    ];
    let names = |kind: &Type| Column::new("col", *kind);
    let columns: Vec<_> = kinds.iter().map(names).collect();
    let nulls: Vec<_> = kinds.iter().map(|_| Datum::Null).collect();
    let mut server = Connection::new(Arc::new(Config::new(move |text, _| match text.trim() {
        "rows" => vec![Outcome::Rows(
            columns.clone(),
            vec![row.clone(), nulls.clone()],
        )],
        "nbc" => vec![Outcome::CompressedRows(
            columns.clone(),
            vec![nulls.clone(), row.clone()],
        )],
        "bad" => vec![Outcome::Error(1205, 51, 13, "deadlock victim".to_owned())],
        "print" => vec![Outcome::Info(0, "hello".to_owned()), Outcome::Done],
        _ => vec![Outcome::Count(3)],
    })));
    let mut connector = Connector::new(login(), TlsUse::No, None);
    let mut out = Vec::new();
    connector.start(&mut out).expect("a login");
    let first = server.receive(&out);
    out.clear();
    connector.receive(&first, &mut out).expect("PRELOGIN");
    let second = server.receive(&out);
    let Ok(LoginProgress::Done(session, _)) = connector.receive(&second, &mut out) else {
        panic!("an honest server");
    };
    let mut exchange = Exchange::tds(QueryMode::Prepared);
    exchange.set_session_flags(session.flags);
    let mut replies = Vec::new();
    for text in [
        "rows;update;nbc",
        "begin tran",
        "bad",
        "print;rows",
        "commit",
    ] {
        exchange.query(text);
        replies.push(server.receive(exchange.outgoing()));
        exchange
            .feed(&replies[replies.len() - 1])
            .expect("an honest server");
    }
    let statement = StatementIds::new().add("rows");
    for _ in 0..2 {
        exchange.request(std::iter::once((&statement, &[][..])));
        replies.push(server.receive(exchange.outgoing()));
        exchange
            .feed(&replies[replies.len() - 1])
            .expect("an honest server");
    }
    replies.push(prony_tds_server::encode_message(
        4,
        &[0xfd, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        512,
    ));
    Recorded {
        login: [first, second],
        flags: session.flags,
        replies,
    }
}

fn read_everything(exchange: &Exchange) {
    let _ = (
        exchange.error(),
        exchange.final_error(),
        exchange.block_state(),
        exchange.affected_rows(),
    );
    let _ = exchange.error_summary().map(|error| error.counted_as());
    exchange.notices().for_each(drop);
    for result in 0..exchange.result_count() {
        exchange.column_names(result).for_each(drop);
    }
    for (_, row) in exchange.rows() {
        row.values().for_each(drop);
        for column in 0..17 {
            let _ = (row.int(column), row.text(column));
        }
    }
}

#[derive(Default)]
struct Counts {
    logins: u64,
    refused_logins: u64,
    replies: u64,
    violations: u64,
    rows: u64,
}

/// One conversation; returns the bytes received.
fn converse(random: &mut Random, recorded: &Recorded, counts: &mut Counts) -> usize {
    let mut received = 0;
    let other = &recorded.replies[random.below(recorded.replies.len())];
    let mut flags = recorded.flags;
    if random.below(3) == 0 {
        let mut connector = Connector::new(login(), TlsUse::No, None);
        let mut out = Vec::new();
        let _ = connector.start(&mut out);
        for (index, reply) in recorded.login.iter().enumerate() {
            let mut bytes = reply.clone();
            if index == 1 || random.below(4) == 0 {
                mutate(random, &mut bytes, other);
            }
            received += bytes.len();
            match connector.receive(&bytes, &mut out) {
                Ok(LoginProgress::More | LoginProgress::Computing) => {}
                Ok(LoginProgress::Done(session, _)) => {
                    counts.logins += 1;
                    flags = session.flags;
                }
                Err(error) => {
                    counts.refused_logins += 1;
                    drop(error.to_string());
                }
            }
        }
    }
    let mode = [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared][random.below(3)];
    let mut exchange = Exchange::tds(mode);
    exchange.set_session_flags(flags);
    let statement = StatementIds::new().add("rows $1");
    'requests: for _ in 0..1 + random.below(3) {
        let values = [Value::Int(7)];
        match random.below(3) {
            0 => exchange.query("rows"),
            1 => {
                let batch = [(&statement, &values[..]), (&statement, &values[..])];
                exchange.request(batch.into_iter());
            }
            _ => exchange.prepare(&statement),
        }
        for _ in 0..3 {
            let mut bytes = recorded.replies[random.below(recorded.replies.len())].clone();
            mutate(random, &mut bytes, other);
            received += bytes.len();
            let step = [1 + random.below(64), 100_000][random.below(2)];
            let mut status = FeedStatus::More;
            for piece in bytes.chunks(step) {
                if random.below(40) == 0 {
                    exchange.attention();
                }
                match exchange.feed(piece) {
                    Ok(fed) => status = fed,
                    Err(violation) => {
                        counts.violations += 1;
                        drop(violation.to_string());
                        read_everything(&exchange);
                        break 'requests;
                    }
                }
            }
            read_everything(&exchange);
            if status == FeedStatus::Complete {
                counts.replies += 1;
                counts.rows += exchange.rows().count() as u64;
                break;
            }
        }
    }
    received
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| {
        arguments
            .next()
            .map_or(default, |text| text.parse().expect("a number"))
    };
    let (conversations, seed): (u64, u64) = (number(100_000), number(1));
    let recorded = record();
    let (mut bytes, mut worst, mut counts) = (0, 0, Counts::default());
    for index in 0..conversations {
        let mut random = Random(seed.wrapping_mul(1 << 40).wrapping_add(index));
        let before = LIVE_BYTES.get();
        PEAK_BYTES.set(before);
        let received = converse(&mut random, &recorded, &mut counts);
        let peak = PEAK_BYTES.get() - before;
        assert_eq!(LIVE_BYTES.get(), before, "conversation {index} leaks");
        assert!(
            peak <= BYTES_ALLOWED + BYTES_ALLOWED_PER_BYTE * received,
            "conversation {index}: {peak} for {received}"
        );
        bytes += received;
        worst = worst.max(peak);
    }
    println!(
        "{conversations} conversations, {bytes} bytes received, at most {worst} bytes of memory"
    );
    println!(
        "{} logins and {} refused; {} replies with {} rows, and {} violations",
        counts.logins, counts.refused_logins, counts.replies, counts.rows, counts.violations
    );
}
