//! What the front's states are answered: they have no loop.
//!
//! In: what `init()`, `done()` and the first lines of a script ask. Out: answers, at once, over a blocking
//! connection that is opened when it is first needed. Must never: be part of a load.

use super::answer::{Answer, Failure};
use super::asked::{Asked, Yielded};
use super::state::{Shared, State};
use crate::sysbench::Driver;
use mlua::{Lua, MultiValue, Result, Table};
use prony_server::Control;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A state's own connection, and the rows that it gave last.
#[derive(Default)]
struct Line {
    control: Option<Control>,
    rows: Option<Table>,
}

/// Gives a state its answers.
pub(super) fn answers(state: &State, shared: &Arc<Shared>) -> Result<()> {
    let shared = Arc::clone(shared);
    let line = Rc::new(RefCell::new(Line::default()));
    let answer = state.lua.create_function(move |lua, asked: Yielded| {
        line.borrow_mut().answer(lua, &shared, Asked::of(asked)?)
    })?;
    state.core.raw_set("answer", answer)
}

impl Line {
    fn answer(&mut self, lua: &Lua, shared: &Shared, asked: Asked) -> Result<MultiValue> {
        use mlua::IntoLuaMulti;
        let answer = match asked {
            Asked::Query(text) => self.query(lua, shared, &text.to_string_lossy())?,
            Asked::Rows => match self.rows.take() {
                Some(rows) => Answer::Rows(rows),
                None => Answer::Rows(lua.create_table()?),
            },
            Asked::Prepare(_) | Asked::Execute(..) => Answer::Failed(Failure::own(
                "prepared statements are for threads and commands",
            )),
            Asked::More => Answer::Flag(false),
            Asked::Renew => {
                self.control = None;
                Answer::Flag(true)
            }
            Asked::Sleep(seconds) => {
                std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                Answer::Done
            }
            _ => Answer::Done,
        };
        answer.into_lua_multi(lua)
    }

    fn query(&mut self, lua: &Lua, shared: &Shared, sql: &str) -> Result<Answer> {
        let Some(target) = &shared.settings.server else {
            return Ok(Answer::Failed(Failure::own(
                "there is no server to ask here",
            )));
        };
        let control = match self.control.take() {
            Some(control) => control,
            None => match Control::connect(target) {
                Ok(control) => control,
                Err(error) => return Ok(refused(shared, &error)),
            },
        };
        let control = self.control.insert(control);
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
