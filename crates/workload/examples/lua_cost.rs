//! Measures the instructions of Lua scripts:
//! `valgrind --tool=callgrind target/release/examples/lua_cost SCRIPT EVENTS [CLIENTS]`.
//!
//! `SCRIPT` is `prepared`, `query`, `mixed` or the path of a script. Prints the numbers of events and of queries. Run it
//! with two values of `EVENTS`: the difference of the instruction counts, divided by the difference of the numbers of
//! queries, is the cost of a query without the cost of starting. Never uses a socket or a real clock, so that
//! callgrind's counts of two builds can be compared. The simulated server answers each SELECT with one row, or with as
//! many as its `LIMIT` allows.

#[path = "../../drive/examples/support/simulated.rs"]
mod simulated;

use prony_plan::{DrivePlan, Stop};
use prony_workload::lua::{
    Listener, LuaScript, Report, ScriptOptionValue, ScriptSettings, ThreadTask,
};
use prony_workload::sysbench::Driver;
use simulated::{PgServer, simulate};
use std::collections::HashMap;
use std::sync::Arc;

const PREPARED_SCRIPT: &str = "require('oltp_point_select')";

/// Point selects as text.
const QUERY_SCRIPT: &str = "
function thread_init()
   con = sysbench.sql.driver():connect()
end
function event()
   con:query('SELECT c FROM sbtest1 WHERE id=' .. sysbench.rand.uniform(1, 10000))
end
";

/// An event of several kinds of statements, most of which read their results, as order-entry scripts are written.
const MIXED_SCRIPT: &str = "
function thread_init()
   con = sysbench.sql.driver():connect()
end
function event()
   local rand, warehouse = sysbench.rand.uniform, sysbench.rand.uniform(1, 10)
   con:query('BEGIN')
   local a, b, c = con:query_row(([[SELECT c_discount, c_last, w_tax FROM customer, warehouse
      WHERE w_id = %d AND c_id = %d]]):format(warehouse, rand(1, 3000)))
   con:query(([[UPDATE district SET d_next_o_id = %d WHERE d_id = %d AND d_w_id = %d]]):format(rand(1, 3000),
      rand(1, 10), warehouse))
   for line = 1, 10 do
      local item = rand(1, 100000)
      local price, name, data = con:query_row(([[SELECT i_price, i_name, i_data FROM item
         WHERE i_id = %d]]):format(item))
      local quantity = con:query_row(([[SELECT s_quantity, s_data, s_dist FROM stock
         WHERE s_i_id = %d AND s_w_id = %d]]):format(item, warehouse))
      con:query(([[UPDATE stock SET s_quantity = %d WHERE s_i_id = %d AND s_w_id= %d]]):format(
         tonumber(quantity) + 91, item, warehouse))
      con:query(([[INSERT INTO order_line (ol_number, ol_i_id, ol_amount, ol_dist_info)
         VALUES (%d,%d,%f,'%s')]]):format(line, item, tonumber(quantity) * 7.5, name))
   end
   local rs = con:query(([[SELECT o_id, o_carrier, o_entry FROM orders WHERE o_w_id = %d LIMIT 20]]):format(warehouse))
   local total = 0
   for i = 1, rs.nrows do
      local row = rs:fetch_row()
      total = total + #row[2]
   end
   con:query('COMMIT')
end
";

fn append_message(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

/// Replies of a server that understands as much of PostgreSQL's protocol as the scripts need. They are built once
/// for each shape of request.
#[derive(Default)]
struct Replies {
    /// The number of rows that each prepared statement returns, by its name.
    rows_by_statement: HashMap<Vec<u8>, usize>,
    /// The replies that have been built, by shape of request.
    by_shape: HashMap<Vec<(u8, usize)>, &'static [u8]>,
}

fn row_count(sql: &[u8]) -> usize {
    if !sql.starts_with(b"SELECT") {
        return 0;
    }
    let text = String::from_utf8_lossy(sql);
    let limit = text.split("LIMIT ").nth(1);
    let limit = limit.and_then(|limit| limit.trim_end_matches('\0').parse().ok());
    limit.unwrap_or(1)
}

/// Appends a RowDescription, which is the same for every result.
fn append_row_description(out: &mut Vec<u8>) {
    let mut body = vec![0, 3];
    for column in [&b"quantity"[..], b"name", b"data"] {
        body.extend_from_slice(column);
        body.extend_from_slice(&[0; 19]);
    }
    append_message(out, b'T', &body);
}

/// Appends `rows` equal rows, then CommandComplete.
fn append_rows(out: &mut Vec<u8>, rows: usize) {
    let mut body = vec![0, 3];
    for value in [&b"42"[..], b"A name of medium length", &[b'x'; 100]] {
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
    }
    for _ in 0..rows {
        append_message(out, b'D', &body);
    }
    let tag = match rows {
        0 => "UPDATE 1\0".to_owned(),
        _ => format!("SELECT {rows}\0"),
    };
    append_message(out, b'C', tag.as_bytes());
}

/// Builds the bytes of a reply. `request` has each message's type, and the number of rows that its statement
/// returns.
fn build_reply(request: &[(u8, usize)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, rows) in request {
        match kind {
            b'P' => append_message(&mut out, b'1', &[]),
            b'B' => append_message(&mut out, b'2', &[]),
            b'C' => append_message(&mut out, b'3', &[]),
            b'D' if *rows == 0 => append_message(&mut out, b'n', &[]),
            b'D' => append_row_description(&mut out),
            b'E' => append_rows(&mut out, *rows),
            b'Q' => {
                if *rows > 0 {
                    append_row_description(&mut out);
                }
                append_rows(&mut out, *rows);
            }
            _ => {}
        }
    }
    append_message(&mut out, b'Z', b"I");
    out
}

impl Replies {
    fn reply_to(&mut self, request: &[u8]) -> &'static [u8] {
        let shape = self.request_shape(request);
        let build = |shape: &Vec<(u8, usize)>| -> &'static [u8] { build_reply(shape).leak() };
        self.by_shape.entry(shape).or_insert_with_key(build)
    }

    /// The messages of a request, each with the number of rows of its statement.
    fn request_shape(&mut self, mut bytes: &[u8]) -> Vec<(u8, usize)> {
        let mut shape = Vec::new();
        let mut rows = 0;
        while let Some((&[kind, a, b, c, d], tail)) = bytes.split_first_chunk::<5>() {
            let (body, next_messages) =
                tail.split_at(u32::from_be_bytes([a, b, c, d]) as usize - 4);
            bytes = next_messages;
            let name_in = |body: &[u8]| {
                let name = body.split(|byte| *byte == 0).next();
                name.unwrap_or_default().to_vec()
            };
            match kind {
                b'P' => {
                    let name = name_in(body);
                    let rows = row_count(&body[name.len() + 1..]);
                    self.rows_by_statement.insert(name, rows);
                }
                // Skip the name of the portal, which is empty.
                b'B' => rows = self.rows_by_statement[&name_in(&body[1..])],
                b'Q' => rows = row_count(body),
                _ => {}
            }
            shape.push((kind, rows));
        }
        shape
    }
}

struct PrintingListener;

impl Listener for PrintingListener {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Output(text) => print!("{}", String::from_utf8_lossy(&text)),
            Report::ThreadBlocked | Report::Stuck(_) => {}
            report => println!("{report:?}"),
        }
    }
}

fn settings(text: String, threads: u32) -> ScriptSettings {
    let general_options = [
        ("threads", ScriptOptionValue::Number(f64::from(threads))),
        ("db_driver", ScriptOptionValue::Text("pgsql".to_owned())),
    ];
    let (path, listener) = ("./cost.lua", Arc::new(PrintingListener));
    ScriptSettings {
        general_options: general_options
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        threads,
        ..ScriptSettings::new(path, text.into_bytes(), Driver::Pgsql, listener)
    }
}

fn main() {
    let usage = "usage: lua_cost prepared|query|mixed|PATH EVENTS [CLIENTS]";
    let mut arguments = std::env::args().skip(1);
    let text = match arguments.next().expect(usage).as_str() {
        "prepared" => PREPARED_SCRIPT.to_owned(),
        "query" => QUERY_SCRIPT.to_owned(),
        "mixed" => MIXED_SCRIPT.to_owned(),
        path => std::fs::read_to_string(path).expect("a readable script"),
    };
    let mut next_number = || arguments.next().and_then(|text| text.parse::<u32>().ok());
    let events = next_number().expect(usage);
    let clients = next_number().unwrap_or(1);
    let script = LuaScript::open(settings(text, clients)).expect("a valid script");
    let program = script.program(ThreadTask::Run).expect("an event function");
    let plan = DrivePlan {
        clients,
        stop: Stop::Transactions(u64::from(events / clients)),
        describe: false,
        ..DrivePlan::default()
    };
    let mut replies = Replies::default();
    let server = PgServer(|request: &[u8]| replies.reply_to(request));
    let measured = simulate(&program, &plan, server).collected.measured;
    let queries = measured.queries;
    println!(
        "{} events, {} queries",
        measured.all_kinds().committed,
        queries.reads + queries.writes + queries.others
    );
}
