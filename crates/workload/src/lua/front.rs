//! What the front's states are answered: they have no loop.
//!
//! In: what `init()`, `done()` and the first lines of a script ask. Out: answers, at once, over blocking
//! connections; counts of what was asked. Must never: be part of a load.

use super::answer::{Answer, Failure, rows};
use super::asked::{Asked, Yielded};
use super::failed::{Later, answer, failed, lossy, shown as shown_text};
use super::lines::shown;
use super::listener::Step;
use super::state::{Shared, State};
use super::statements::Prepared;
use super::values::Values;
use super::watchdog::Beat;
use crate::sysbench::{Driver, is_lost};
use mlua::{IntoLuaMulti, Lua, Result, Value as LuaValue};
use prony_plan::QueryMode;
use prony_server::control::{Error, Talk};
use prony_session::DbError;
use prony_wire::{self as wire, Block, Exchange, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Between two attempts to get a lost connection back.
const PAUSE: Duration = Duration::from_millis(10);
/// sysbench's counters of errors and of connections opened anew.
const ERROR: i64 = 4;
const RECONNECT: i64 = 5;

/// A state's own connections by number.
struct Lines {
    shared: Arc<Shared>,
    all: Vec<Line>,
    current: usize,
    /// Those that the script does not hold. One whose reconnect failed is held, without a connection.
    free: Vec<usize>,
    values: Values,
    /// A script sees the first of several results, and asks for the others.
    sees_first: bool,
}

#[derive(Default)]
struct Line {
    talk: Option<Talk>,
    prepared: Prepared,
    /// A later statement of the last text failed, and the script has not come to it.
    later: Option<Later>,
}

/// Gives a state its answers. The beat is told when it waits for them.
pub(super) fn answers(state: &State, shared: &Arc<Shared>, beat: &Arc<Beat>) -> Result<()> {
    let settings = &shared.settings;
    let lines = RefCell::new(Lines {
        shared: Arc::clone(shared),
        all: Vec::new(),
        current: 0,
        free: Vec::new(),
        values: Values::default(),
        sees_first: settings.newer && settings.driver == Driver::Mysql,
    });
    let (lines, beat) = (Rc::new(lines), Arc::clone(beat));
    let answer = state.lua.create_function(move |lua, asked: Yielded| {
        beat.waits(true);
        let answer = Asked::of(asked).and_then(|asked| lines.borrow_mut().answer(lua, asked));
        beat.waits(false);
        answer?.into_lua_multi(lua)
    })?;
    state.core.raw_set("answer", answer)
}

impl Lines {
    fn answer(&mut self, lua: &Lua, asked: Asked) -> Result<Answer> {
        Ok(match asked {
            Asked::Connect => self.connect(),
            Asked::Disconnect(number) => {
                self.disconnect(number);
                Answer::Done
            }
            Asked::Line(number) => {
                self.current = number;
                Answer::Done
            }
            Asked::Query(text) => self.query(&text.as_bytes()),
            Asked::Prepare(text) => self.prepare(&text.as_bytes()),
            Asked::Execute(id, first, rest) => {
                self.execute(id, std::iter::once(&first).chain(rest.iter()))
            }
            Asked::Close(id) => {
                if let Some(line) = self.all.get_mut(self.current) {
                    line.close(id);
                }
                Answer::Done
            }
            Asked::Rows(result) => self.rows(lua, result)?,
            Asked::Results => {
                let line = self.all.get(self.current);
                Answer::Number(line.map_or(0, Line::results))
            }
            Asked::Result(result) => self.result(result),
            Asked::More => Answer::Flag(false),
            Asked::Renew => self.renew(self.current),
            Asked::Count(counter) => {
                self.shared.outside.count(counter);
                Answer::Done
            }
            Asked::Sleep(seconds) => {
                std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                Answer::Done
            }
            _ => Answer::Done,
        })
    }

    fn connect(&mut self) -> Answer {
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(Line::default());
            self.all.len() - 1
        });
        match self.renew(number) {
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

    fn renew(&mut self, number: usize) -> Answer {
        match self.open(number) {
            Some(Ok(())) => Answer::Flag(true),
            Some(Err(error)) => {
                self.shared.settings.listener.refused(&error);
                refused(&self.shared, &error)
            }
            None => nowhere(),
        }
    }

    /// Connects one of the lines; none where there is no such, or no server.
    fn open(&mut self, number: usize) -> Option<std::result::Result<(), Error>> {
        let settings = &self.shared.settings;
        let (target, line) = (settings.server.as_ref()?, self.all.get_mut(number)?);
        // The old one goes before the new one comes.
        line.talk = None;
        line.later = None;
        let opened = Talk::connect(target, mode(settings.mode));
        Some(opened.map(|talk| line.talk = Some(talk)))
    }

    fn query(&mut self, sql: &[u8]) -> Answer {
        self.asked(Step::Query, &lossy(sql), |exchange| exchange.query(sql))
    }

    fn prepare(&mut self, sql: &[u8]) -> Answer {
        let Some((prepared, talk)) = up(&mut self.all, self.current) else {
            return nowhere();
        };
        let Some((id, statement)) = prepared.open(sql) else {
            let text = "a connection has at most 65,535 prepared statements open: close some";
            return Answer::Failed(Failure::own(text));
        };
        if !talk.exchange().is_prepared(&statement)
            && let Err(error) = talk.ask(|exchange| exchange.prepare(&statement))
        {
            let settings = &self.shared.settings;
            let shown = shown_text(settings, sql, &statement);
            let answer = failed(
                settings,
                Step::Prepare,
                &shown,
                &told(&error),
                error.server(),
            );
            // The text is to be tried anew.
            self.all[self.current].close(id);
            return answer;
        }
        Answer::Prepared(id, statement.parameters())
    }

    fn execute<'a>(&mut self, id: usize, values: impl Iterator<Item = &'a LuaValue>) -> Answer {
        let Some(line) = self.all.get(self.current) else {
            return nowhere();
        };
        let Some(statement) = line.prepared.get(id) else {
            return Answer::Failed(Failure::own("no such statement"));
        };
        let text = line.prepared.text(id).unwrap_or_default();
        let shown = shown_text(&self.shared.settings, text, &statement).into_owned();
        let mut bound = std::mem::take(&mut self.values);
        bound.take(values, statement.parameters());
        let all: Vec<Value<'_>> = (0..bound.len()).map(|place| bound.get(place)).collect();
        let answer = self.asked(Step::Execute, &shown, |exchange| {
            exchange.request(std::iter::once((&*statement, &all[..])));
        });
        drop(all);
        self.values = bound;
        answer
    }

    /// Makes a request, counts what came of it, and says what the script is answered.
    fn asked(&mut self, step: Step, sql: &str, request: impl FnOnce(&mut Exchange)) -> Answer {
        let sees_first = self.sees_first;
        let Some(line) = self.all.get_mut(self.current) else {
            return nowhere();
        };
        if let Some(later) = line.later.take() {
            return self.met(later.step, &later.sql, &later.error);
        }
        let Some(talk) = &mut line.talk else {
            return nowhere();
        };
        match talk.ask(request) {
            Ok(()) => {
                let exchange = talk.exchange();
                let result = shown(sees_first, exchange.results());
                self.shared
                    .outside
                    .counted(rows_and_columns(exchange, result))
            }
            Err(error) => {
                let (is_said, error) = (error.server().is_some(), told(&error));
                if sees_first && is_said && !is_lost(&error) && talk.exchange().results() > 0 {
                    let first = rows_and_columns(talk.exchange(), 0);
                    line.later = Some(Later::of(step, sql, error));
                    return self.shared.outside.counted(first);
                }
                self.met(step, sql, &error)
            }
        }
    }

    /// Another result of the last reply, or the error that stands in its place.
    fn result(&mut self, result: usize) -> Answer {
        let Some(line) = self.all.get_mut(self.current) else {
            return nowhere();
        };
        let Some(talk) = &line.talk else {
            return nowhere();
        };
        if result >= talk.exchange().results()
            && let Some(later) = line.later.take()
        {
            return self.met(later.step, &later.sql, &later.error);
        }
        self.shared
            .outside
            .counted(rows_and_columns(talk.exchange(), result))
    }

    /// A statement met an error.
    #[cold]
    fn met(&mut self, step: Step, sql: &str, error: &DbError) -> Answer {
        let shared = Arc::clone(&self.shared);
        let settings = &shared.settings;
        shared.outside.count(ERROR);
        if !settings.ignored.starts_anew(settings.driver, error) {
            return failed(settings, step, sql, error, None);
        }
        if is_lost(error) {
            while !settings.is_over() && matches!(self.open(self.current), Some(Err(_))) {
                std::thread::sleep(PAUSE);
            }
            shared.outside.count(RECONNECT);
        } else if let Some((_, talk)) = up(&mut self.all, self.current)
            && talk.exchange().block() != Block::Idle
        {
            // Whether it can be is seen with the next statement.
            let _ = talk.ask(|exchange| exchange.query("ROLLBACK"));
        }
        answer(settings, error, true)
    }

    fn rows(&self, lua: &Lua, result: Option<usize>) -> Result<Answer> {
        let line = self.all.get(self.current);
        let Some(talk) = line.and_then(|line| line.talk.as_ref()) else {
            return Ok(Answer::Rows(lua.create_table()?));
        };
        let exchange = talk.exchange();
        let result = result.unwrap_or_else(|| shown(self.sees_first, exchange.results()));
        Ok(Answer::Rows(rows(lua, exchange.rows(), result)?))
    }
}

impl Line {
    /// How many results the last reply has, with the error that stands in place of another.
    fn results(&self) -> usize {
        let all = self
            .talk
            .as_ref()
            .map_or(0, |talk| talk.exchange().results());
        all + usize::from(self.later.is_some())
    }

    fn close(&mut self, id: usize) {
        if let Some(statement) = self.prepared.close(id)
            && let Some(talk) = &mut self.talk
        {
            talk.close(&statement);
        }
    }
}

/// A line that is connected.
fn up(all: &mut [Line], number: usize) -> Option<(&mut Prepared, &mut Talk)> {
    let line = all.get_mut(number)?;
    Some((&mut line.prepared, line.talk.as_mut()?))
}

fn rows_and_columns(exchange: &Exchange, result: usize) -> (u64, usize) {
    let columns = exchange.columns(result).count();
    (exchange.affected_by(result), columns)
}

/// As `wire` has it.
fn mode(mode: QueryMode) -> wire::QueryMode {
    match mode {
        QueryMode::Simple => wire::QueryMode::Simple,
        QueryMode::Extended => wire::QueryMode::Extended,
        QueryMode::Prepared => wire::QueryMode::Prepared,
    }
}

fn nowhere() -> Answer {
    Answer::Failed(Failure::own("there is no server to ask here"))
}

/// An error of a statement as the loop has it.
fn told(error: &Error) -> DbError {
    match error {
        Error::Statement(said) => DbError::from((**said).clone()),
        Error::Violation(text) => DbError::protocol(text.clone()),
        other => DbError::lost(other.to_string(), false),
    }
}

/// A connection was refused.
fn refused(shared: &Shared, error: &Error) -> Answer {
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
