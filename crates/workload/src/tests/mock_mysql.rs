//! A mock MySQL server for tests. It replies to commands; every value is 7. This module must not know
//! any workload.

/// Status flag: a transaction is open.
const IN_BLOCK: u8 = 1;
/// Status flag: another result follows.
const MORE_RESULTS: u8 = 8;
/// Status flag: autocommit is on.
const AUTOCOMMIT: u8 = 2;
const VAR_STRING: u8 = 253;

#[derive(Default)]
pub struct MockSession {
    /// Texts of prepared statements, numbered from 1.
    statements: Vec<String>,
    in_block: bool,
}

impl MockSession {
    pub fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let (command, body) = (request[4], &request[5..]);
        let mut out = Vec::new();
        match command {
            0x16 => {
                let sql = String::from_utf8(body.to_vec()).expect("text");
                let parameters = sql.matches('?').count() as u8;
                self.statements.push(sql);
                let number = self.statements.len() as u8;
                push_packet(
                    &mut out,
                    &[0, number, 0, 0, 0, 0, 0, parameters, 0, 0, 0, 0],
                );
                for _ in 0..parameters {
                    push_packet(&mut out, &column_definition());
                }
                if parameters > 0 {
                    self.write_eof(&mut out, 0);
                }
            }
            0x17 => {
                let sql = self.statements[usize::from(body[0]) - 1].clone();
                self.write_result(&mut out, &sql, true, 0);
            }
            0x03 => {
                let text = String::from_utf8(body.to_vec()).expect("text");
                let mut remaining = text.split("\n;").count();
                for sql in text.split("\n;") {
                    remaining -= 1;
                    self.write_result(
                        &mut out,
                        sql,
                        false,
                        if remaining > 0 { MORE_RESULTS } else { 0 },
                    );
                }
            }
            other => panic!("command {other}"),
        }
        out
    }

    fn write_result(&mut self, out: &mut Vec<u8>, sql: &str, binary: bool, more: u8) {
        let begins = |word: &str| sql.starts_with(word);
        if begins("BEGIN") || begins("START") {
            self.in_block = true;
        } else if begins("COMMIT") || begins("ROLLBACK") {
            self.in_block = false;
        }
        let is_call = begins("CALL");
        if !is_call && !begins("SELECT") {
            return push_packet(out, &[0, 1, 0, self.status() | more, 0, 0, 0]);
        }
        push_packet(out, &[3]);
        for _ in 0..3 {
            push_packet(out, &column_definition());
        }
        self.write_eof(out, 0);
        // A binary row starts with a zero, and a bit for each NULL.
        let header: &[u8] = if binary { &[0, 0] } else { &[] };
        push_packet(out, &[header, &[1, b'7', 1, b'7', 1, b'7']].concat());
        self.write_eof(out, if is_call { MORE_RESULTS } else { more });
        if is_call {
            push_packet(out, &[0, 0, 0, self.status() | more, 0, 0, 0]);
        }
    }

    fn status(&self) -> u8 {
        AUTOCOMMIT | if self.in_block { IN_BLOCK } else { 0 }
    }

    fn write_eof(&self, out: &mut Vec<u8>, more: u8) {
        push_packet(out, &[0xfe, 0, 0, self.status() | more, 0]);
    }
}

/// The definition of a text column: catalog, schema, table, name.
fn column_definition() -> Vec<u8> {
    let names = b"\x03def\0\0\0\x01a\x01a\x0c\x21\0\x40\0\0\0";
    [&names[..], &[VAR_STRING, 0, 0, 0, 0, 0]].concat()
}

/// Appends a packet; packets are numbered from 1 in each reply.
fn push_packet(out: &mut Vec<u8>, body: &[u8]) {
    let (mut at, mut number) = (0, 1_u8);
    while at < out.len() {
        at += 4 + usize::from(out[at]) + (usize::from(out[at + 1]) << 8);
        number = number.wrapping_add(1);
    }
    out.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
    out.push(number);
    out.extend_from_slice(body);
}
