//! What the front's states are answered: they have no loop.
//!
//! In: what `init()`, `done()` and the first lines of a script ask. Out: answers, at once, over blocking
//! connections. Must never: be part of a load.

use super::answer::{Answer, Failure};
use super::asked::{Asked, Yielded};
use super::state::{Shared, State};
use crate::sysbench::Driver;
use mlua::{IntoLuaMulti, Lua, Result, Table};
use prony_server::Control;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A state's own connections by number, and the rows that each gave last.
#[derive(Default)]
struct Lines {
    all: Vec<Line>,
    current: usize,
    /// Those that the script does not hold. One whose reconnect failed is held, without a connection.
    free: Vec<usize>,
}

#[derive(Default)]
struct Line {
    control: Option<Control>,
    rows: Option<Table>,
}

/// Gives a state its answers.
pub(super) fn answers(state: &State, shared: &Arc<Shared>) -> Result<()> {
    let shared = Arc::clone(shared);
    let lines = Rc::new(RefCell::new(Lines::default()));
    let answer = state.lua.create_function(move |lua, asked: Yielded| {
        let answer = lines.borrow_mut().answer(lua, &shared, Asked::of(asked)?)?;
        answer.into_lua_multi(lua)
    })?;
    state.core.raw_set("answer", answer)
}

impl Lines {
    fn answer(&mut self, lua: &Lua, shared: &Shared, asked: Asked) -> Result<Answer> {
        Ok(match asked {
            Asked::Connect => self.connect(shared),
            Asked::Disconnect(number) => {
                self.disconnect(number);
                Answer::Done
            }
            Asked::Line(number) => {
                self.current = number;
                Answer::Done
            }
            Asked::Query(text) => match (self.all.get_mut(self.current), text.to_str()) {
                (Some(line), Ok(sql)) => line.query(lua, shared, &sql)?,
                (Some(_), Err(_)) => Answer::Failed(Failure::own(
                    "statements that are not UTF-8 are for threads and commands",
                )),
                (None, _) => nowhere(),
            },
            Asked::Rows(_) => {
                let line = self.all.get_mut(self.current);
                let rows = line.and_then(|line| line.rows.take());
                Answer::Rows(rows.map_or_else(|| lua.create_table(), Ok)?)
            }
            Asked::Prepare(_) | Asked::Execute(..) => Answer::Failed(Failure::own(
                "prepared statements are for threads and commands",
            )),
            Asked::More => Answer::Flag(false),
            Asked::Renew => self.renew(shared, self.current),
            Asked::Results => Answer::Number(1),
            Asked::Sleep(seconds) => {
                std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                Answer::Done
            }
            _ => Answer::Done,
        })
    }

    fn connect(&mut self, shared: &Shared) -> Answer {
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(Line::default());
            self.all.len() - 1
        });
        match self.renew(shared, number) {
            Answer::Flag(_) => {
                self.current = number;
                Answer::Number(number)
            }
            failed => {
                self.free.push(number);
                failed
            }
        }
    }

    fn disconnect(&mut self, number: usize) {
        if number < self.all.len() && !self.free.contains(&number) {
            self.all[number] = Line::default();
            self.free.push(number);
        }
    }

    fn renew(&mut self, shared: &Shared, number: usize) -> Answer {
        let (Some(target), Some(line)) = (&shared.settings.server, self.all.get_mut(number)) else {
            return nowhere();
        };
        // The old one goes before the new one comes.
        *line = Line::default();
        match Control::connect(target) {
            Ok(control) => {
                line.control = Some(control);
                Answer::Flag(true)
            }
            Err(error) => {
                shared.settings.listener.refused(&error);
                refused(shared, &error)
            }
        }
    }
}

fn nowhere() -> Answer {
    Answer::Failed(Failure::own("there is no server to ask here"))
}

impl Line {
    fn query(&mut self, lua: &Lua, shared: &Shared, sql: &str) -> Result<Answer> {
        let Some(control) = &mut self.control else {
            return Ok(nowhere());
        };
        let rows = match control.query(sql) {
            Ok(rows) => rows,
            Err(error) => return Ok(refused(shared, &error)),
        };
        let all = lua.create_table()?;
        for row in &rows {
            let table = lua.create_table()?;
            for (place, value) in row.iter().enumerate() {
                if let Some(text) = value {
                    table.raw_set(place + 1, text.as_str())?;
                }
            }
            all.raw_push(table)?;
        }
        self.rows = Some(all);
        Ok(Answer::Reply(
            rows.len() as u64,
            rows.first().map_or(0, Vec::len),
        ))
    }
}

fn refused(shared: &Shared, error: &prony_server::control::Error) -> Answer {
    let said = error.server();
    let number = said.map_or(0, |said| u32::from(said.number));
    Answer::Failed(Failure {
        number: match shared.settings.driver {
            Driver::Mysql => number,
            Driver::Pgsql => 0,
        },
        state: said.map_or("00000", |said| said.code()).to_owned(),
        message: said.map_or_else(|| error.to_string(), |said| said.message.clone()),
        ignorable: false,
    })
}
