//! One thread of sysbench: a state, its coroutine, and the connection that answers it.
//!
//! In: what the coroutine yields. Out: requests to the loop, and its answers. Must never: let two threads
//! of Lua share a state; end a run by an error that the script may catch.

use super::answer::{Answer, Failure, rows};
use super::asked::{Asked, Yielded};
use super::counted::{count, counted};
use super::failed::{Later, answer, failed, lossy, shown as shown_text};
use super::help::Refused;
use super::lines::{Lines, rows_and_columns, shown};
use super::listener::Step;
use super::program::Task;
use super::settings::Settings;
use super::state::{Owner, Shared, State, explained, refused, words};
use super::values::Values;
use super::watchdog::Beat;
use crate::sysbench::{Driver, is_lost};
use mlua::{Thread, Value as LuaValue};
use prony_session::{Db, DbError, Ended, Outcome, Rows};
use prony_wire::Value;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Asks that a thread may make after it was let go, before it is given up.
const LAST_ASKS: u32 = 10_000;

/// What a thread does last.
const THREAD_DONE: &str = "thread_done";

/// Values of an execution that are handed on without an allocation.
const FEW: usize = 8;

thread_local! {
    /// The states of this worker's users. To close one takes longer than an event: it is done when the
    /// worker is, not while others still measure.
    static KEPT: RefCell<Vec<Rc<State>>> = const { RefCell::new(Vec::new()) };
}

/// One user of a script.
pub struct User {
    shared: Arc<Shared>,
    thread: Thread,
    state: Rc<State>,
    beat: Arc<Beat>,
    /// Its worker has other users, too.
    has_others: bool,
    values: Values,
    /// It waits for its next event, and can be told that there is none.
    waits: bool,
    /// When its event began, nanoseconds of the run's clock.
    begun_ns: u64,
}

/// What the script's coroutine wants, or why it cannot go on.
type Resumed = Result<Asked, Ended>;

impl User {
    /// A user before its first step: the script is not yet read.
    ///
    /// # Errors
    /// The state cannot be made, or the script is not Lua.
    pub fn new(
        shared: &Arc<Shared>,
        task: &Task,
        owner: &Owner,
        beat: Arc<Beat>,
    ) -> Result<User, Refused> {
        let wrong = |error: mlua::Error| refused(&error, &shared.settings);
        let state = State::new(shared, owner).map_err(wrong)?;
        let make = || {
            let chunk = state.chunk(shared)?;
            let (main, word, is_function) = match task {
                Task::Run => ("thread", None, false),
                Task::Command {
                    word, is_function, ..
                } => ("command", Some(word.as_str()), *is_function),
            };
            let body = state.own("bound")?;
            let body = body.call((state.own(main)?, chunk, word, is_function))?;
            state.lua.create_thread(body)
        };
        let thread = make().map_err(wrong)?;
        let state = Rc::new(state);
        KEPT.with_borrow_mut(|kept| kept.push(Rc::clone(&state)));
        Ok(User {
            shared: Arc::clone(shared),
            thread,
            state,
            beat,
            has_others: owner.id.clients > owner.id.workers,
            values: Values::default(),
            waits: false,
            begun_ns: 0,
        })
    }

    fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Lets the script run until it next asks for something.
    fn resume(&mut self, answer: Answer) -> Resumed {
        self.beat.enter(self.state.lua.state());
        let resumed = match answer {
            // The answers of the hot path, without a detour.
            Answer::Reply(rows, fields) => self.thread.resume::<Yielded>((rows, fields)),
            Answer::Done => self.thread.resume::<Yielded>(()),
            Answer::Flag(flag) => self.thread.resume::<Yielded>(flag),
            other => self.thread.resume::<Yielded>(other),
        };
        self.beat.leave();
        resumed
            .and_then(Asked::of)
            .map_err(|error| self.give_up("thread_run", &words(&error)))
    }

    /// A function of the script gave up.
    #[cold]
    fn give_up(&self, function: &str, reason: &str) -> Ended {
        if self.settings().is_over() {
            // It was cut off, and why is known.
            return Ended::Stopped;
        }
        let reason = explained(reason, self.settings());
        self.settings().listener.failed(function, &reason);
        Ended::Failed(match function {
            "" => "the command failed".to_owned(),
            _ => format!("`{function}' function failed: {reason}"),
        })
    }

    /// `thread_done` gave up, which is all that is left of its thread.
    #[cold]
    fn done_failed(&self, reason: &str) {
        if self.settings().is_over() {
            return;
        }
        let reason = explained(reason, self.settings());
        self.settings().listener.done_failed(&reason);
    }

    /// From its first step to its last.
    pub async fn live(mut self, db: Db) -> Ended {
        let settings = self.settings();
        let sees_first = settings.newer && settings.driver == Driver::Mysql;
        let mut lines = Lines::new(db, sees_first);
        let mut answer = Answer::Done;
        loop {
            if self.settings().is_over() {
                return Ended::Stopped;
            }
            let asked = match self.resume(answer) {
                Ok(asked) => asked,
                Err(ended) => return ended,
            };
            answer = match self.carry_out(asked, &mut lines).await {
                Ok(answer) => answer,
                Err(ended) => return ended,
            };
        }
    }

    async fn carry_out(&mut self, asked: Asked, lines: &mut Lines) -> Result<Answer, Ended> {
        Ok(match asked {
            Asked::Execute(id, first, rest) => {
                let values = std::iter::once(&first).chain(rest.iter());
                self.execute(id, values, lines).await?
            }
            Asked::Next => {
                self.end_event(lines.own()).await;
                self.more(lines.own()).await?
            }
            Asked::Query(text) => self.query(&text.as_bytes(), lines).await?,
            Asked::Prepare(text) => self.prepare(&text.as_bytes(), lines).await?,
            Asked::Close(id) => {
                close(id, lines);
                Answer::Done
            }
            Asked::Rows(result) => self.rows(result, lines)?,
            Asked::More => self.more(lines.own()).await?,
            Asked::Start => {
                if !lines.own().is_under_way() {
                    self.more(lines.own()).await?;
                }
                Answer::Done
            }
            Asked::Stop => {
                self.end_event(lines.own()).await;
                Answer::Done
            }
            Asked::Forget => {
                lines.own().forget();
                Answer::Done
            }
            Asked::Sleep(seconds) => {
                // Not a number, below nothing: no sleep.
                let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                if !time.is_zero() {
                    lines.own().sleep(time).await;
                }
                Answer::Done
            }
            Asked::Count(counter) => {
                count(lines.own(), counter);
                Answer::Done
            }
            Asked::Ready => {
                lines.own().gate().await;
                if self.has_others {
                    self.beat.has_others();
                }
                Answer::Done
            }
            Asked::Linger => {
                lines.own().linger();
                Answer::Done
            }
            Asked::Fail(function, reason) if function == THREAD_DONE => {
                self.done_failed(&reason);
                lines.own().forget();
                return Err(Ended::Finished);
            }
            Asked::Fail(function, reason) => return Err(self.give_up(&function, &reason)),
            Asked::Nothing => {
                lines.own().forget();
                return Err(Ended::Finished);
            }
            other => self.carry_out_rarely(other, lines).await?,
        })
    }

    /// What is asked of connections, not of what they are for.
    async fn carry_out_rarely(&mut self, asked: Asked, lines: &mut Lines) -> Result<Answer, Ended> {
        Ok(match asked {
            Asked::Connect => match lines.connect().await {
                Ok(number) => Answer::Number(number),
                Err(error) => answer(self.settings(), &error, false),
            },
            Asked::Disconnect(number) => {
                lines.disconnect(number).await;
                Answer::Done
            }
            Asked::Line(number) => {
                lines.turn_to(number);
                Answer::Done
            }
            Asked::Renew => {
                let line = lines.line();
                line.later = None;
                match line.db.renew().await {
                    Ok(()) => Answer::Flag(true),
                    Err(error) => answer(self.settings(), &error, false),
                }
            }
            Asked::Results => Answer::Number(lines.line().results()),
            Asked::Result(result) => self.result(result, lines).await?,
            _ => Answer::Done,
        })
    }

    /// Another result of the last reply, or the error that stands in its place.
    async fn result(&mut self, result: usize, lines: &mut Lines) -> Result<Answer, Ended> {
        let line = lines.line();
        if result >= line.db.last_reply().results()
            && let Some(later) = line.later.take()
        {
            return self.met(later.step, &later.sql, later.error, lines).await;
        }
        let reply = rows_and_columns(&line.db.last_reply(), result);
        Ok(counted(&line.db, reply))
    }

    fn rows(&self, result: Option<usize>, lines: &mut Lines) -> Result<Answer, Ended> {
        let sees_first = lines.sees_first();
        let reply = lines.line().db.last_reply();
        let result = result.unwrap_or_else(|| shown(sees_first, reply.results()));
        match rows(&self.state.lua, reply.iter(), result) {
            Ok(rows) => Ok(Answer::Rows(rows)),
            Err(error) => Err(self.give_up("thread_run", &words(&error))),
        }
    }

    /// The event is done.
    async fn end_event(&mut self, db: &mut Db) {
        if db.is_under_way() {
            if db.noticed_ns() == self.begun_ns {
                // An event that asked for nothing: the clock is read for its end.
                db.sleep(Duration::from_nanos(1)).await;
            }
            db.end_open(Outcome::Committed);
        }
    }

    /// Waits for the next event.
    async fn more(&mut self, db: &mut Db) -> Result<Answer, Ended> {
        self.waits = true;
        let started = db.start(0).await;
        self.waits = false;
        match started {
            Ok(()) => {
                self.begun_ns = db.noticed_ns();
                Ok(Answer::Flag(true))
            }
            Err(Ended::Failed(reason)) => Err(self.give_up("thread_run", &reason)),
            Err(Ended::Stopped | Ended::Finished) => Ok(Answer::Flag(false)),
        }
    }

    async fn query(&mut self, sql: &[u8], lines: &mut Lines) -> Result<Answer, Ended> {
        let sees_first = lines.sees_first();
        let line = lines.line();
        if let Some(later) = line.later.take() {
            return self.met(later.step, &later.sql, later.error, lines).await;
        }
        let db = &mut line.db;
        let result = db.query_bytes(sql).await;
        let result = result.map(|reply| seen(sees_first, &reply));
        match result {
            Ok(reply) => Ok(counted(db, reply)),
            Err(error) => self.refused(Step::Query, &lossy(sql), error, lines).await,
        }
    }

    async fn prepare(&mut self, sql: &[u8], lines: &mut Lines) -> Result<Answer, Ended> {
        let line = lines.line();
        let Some((id, statement)) = line.prepared.open(sql) else {
            let text = "a connection has at most 65,535 prepared statements open: close some";
            return Ok(Answer::Failed(Failure::own(text)));
        };
        if !line.db.is_prepared(&statement)
            && let Err(error) = line.db.prepare(&statement).await
        {
            let shown = shown_text(self.settings(), sql, &statement);
            let said = line.db.server_error();
            let answer = failed(
                self.settings(),
                Step::Prepare,
                &shown,
                &error,
                said.as_ref(),
            );
            // The text is to be tried anew.
            close(id, lines);
            return Ok(answer);
        }
        Ok(Answer::Prepared(id, statement.parameters()))
    }

    async fn execute(
        &mut self,
        id: usize,
        values: impl Iterator<Item = &LuaValue>,
        lines: &mut Lines,
    ) -> Result<Answer, Ended> {
        let sees_first = lines.sees_first();
        let line = lines.line();
        if let Some(later) = line.later.take() {
            return self.met(later.step, &later.sql, later.error, lines).await;
        }
        let Some(statement) = line.prepared.get(id) else {
            return Ok(Answer::Failed(Failure::own("no such statement")));
        };
        self.values.take(values, statement.parameters());
        let count = self.values.len();
        let db = &mut line.db;
        let result = if count <= FEW {
            let few: [Value<'_>; FEW] = std::array::from_fn(|place| match place < count {
                true => self.values.get(place),
                false => Value::Null,
            });
            db.exec(&statement, &few[..count]).await
        } else {
            let many: Vec<Value<'_>> = (0..count).map(|place| self.values.get(place)).collect();
            db.exec(&statement, &many).await
        };
        let result = result.map(|reply| seen(sees_first, &reply));
        match result {
            Ok(reply) => Ok(counted(db, reply)),
            Err(error) => {
                let text = line.prepared.text(id).unwrap_or_default();
                let shown = shown_text(self.settings(), text, &statement).into_owned();
                self.refused(Step::Execute, &shown, error, lines).await
            }
        }
    }

    /// A statement met an error; of several, perhaps a later one did, and the first has its result.
    #[cold]
    async fn refused(
        &mut self,
        step: Step,
        sql: &str,
        error: DbError,
        lines: &mut Lines,
    ) -> Result<Answer, Ended> {
        let sees_first = lines.sees_first();
        let line = lines.line();
        let is_later = line.db.server_error().is_some() && line.db.last_reply().results() > 0;
        if !sees_first || !is_later || is_lost(&error) {
            return self.met(step, sql, error, lines).await;
        }
        let first = rows_and_columns(&line.db.last_reply(), 0);
        line.later = Some(Later::of(step, sql, error));
        Ok(counted(&line.db, first))
    }

    /// A statement met an error. One that is ignored is put right at once: the event begins anew.
    #[cold]
    async fn met(
        &mut self,
        step: Step,
        sql: &str,
        error: DbError,
        lines: &mut Lines,
    ) -> Result<Answer, Ended> {
        let settings = self.settings();
        let is_ignored = settings.ignored.starts_anew(settings.driver, &error);
        // A script may catch the others; an error that nobody catches ends the run without figures.
        lines.own().count_ignored();
        if !is_ignored {
            return Ok(failed(settings, step, sql, &error, None));
        }
        let again = lines.again().await;
        let db = lines.own();
        match again {
            Ok(()) => {}
            Err(Ended::Failed(reason)) => return Err(self.give_up("thread_run", &reason)),
            Err(ended) => {
                // The time is over: this try was the last.
                if db.is_under_way() {
                    let _ = db.end(Err(error)).await;
                }
                return Err(ended);
            }
        }
        if is_lost(&error) {
            db.count_reconnect();
        }
        Ok(answer(self.settings(), &error, true))
    }
}

impl Drop for User {
    /// A thread that is let go while it waits for its next event has its `thread_done` yet, without a
    /// server: the loop carries out nothing for it any more.
    fn drop(&mut self) {
        if !std::mem::take(&mut self.waits) || std::thread::panicking() {
            return;
        }
        let mut answer = Answer::Flag(false);
        let mut refused = false;
        for _ in 0..LAST_ASKS {
            if self.settings().is_over() {
                return;
            }
            answer = match self.resume(answer) {
                // That there is no server any more is not the script's mistake.
                Ok(Asked::Fail(function, reason)) if function == THREAD_DONE && !refused => {
                    return self.done_failed(&reason);
                }
                Ok(Asked::Nothing | Asked::Fail(..)) | Err(_) => return,
                Ok(
                    Asked::Query(_)
                    | Asked::Prepare(_)
                    | Asked::Execute(..)
                    | Asked::Renew
                    | Asked::Connect,
                ) => {
                    refused = true;
                    Answer::Failed(Failure::own("the run is over"))
                }
                Ok(Asked::More | Asked::Next) => Answer::Flag(false),
                Ok(_) => Answer::Done,
            };
        }
    }
}

/// What a script sees of a reply without asking for another result.
fn seen(sees_first: bool, reply: &Rows<'_>) -> (u64, usize) {
    rows_and_columns(reply, shown(sees_first, reply.results()))
}

/// A prepared statement is used no more.
fn close(id: usize, lines: &mut Lines) {
    let line = lines.line();
    if let Some(statement) = line.prepared.close(id) {
        line.db.close(&statement);
    }
}
