//! What the C functions of a script's thread exchange with the future of its user: the connections, the pending request
//! and its answer. The script's Lua state knows the address of this context. A C function that makes a request suspends
//! the coroutine in which the script runs; the future serves the request, and resumes the coroutine with the answer.
//! Must never suspend the coroutine while its frames hold values that need to be dropped: an abandoned coroutine is not
//! unwound.

use super::answer::{Answer, FailedAnswer};
use super::connections::Connections;
use super::coroutine::{Suspender, number_value};
use super::request::Request;
use prony_wire::Value;
use std::cell::{Cell, RefCell};
use std::ptr;

/// A text in the memory of the Lua state, valid while the coroutine that passed it is suspended.
#[derive(Clone, Copy)]
pub struct LuaText {
    start: *const u8,
    length: usize,
}

impl LuaText {
    pub const EMPTY: LuaText = LuaText {
        start: ptr::dangling(),
        length: 0,
    };

    /// Refers to the bytes of a string of Lua.
    pub fn new(start: *const u8, length: usize) -> LuaText {
        LuaText { start, length }
    }

    /// The bytes.
    ///
    /// # Safety
    /// The coroutine that passed the text has not been resumed since, nor its state been closed.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: as the caller promises; the garbage collector runs only while the state runs.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// A value of a statement's parameter, as the script set it.
#[derive(Clone, Copy)]
pub enum ParameterValue {
    Null,
    Number(f64),
    Text(LuaText),
}

/// The maximum number of columns of a row that compiled code reads; `prelude/calls.lua` has the same.
pub const CELLS_MAX: usize = 6;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RowCell {
    /// Null for a value that is null.
    text: *const u8,
    length: f64,
}

impl RowCell {
    const NULL: RowCell = RowCell {
        text: ptr::null(),
        length: 0.0,
    };
}

pub struct ThreadContext {
    /// The connections that C functions use: those of the thread that runs the state, while it runs; otherwise null.
    connections: Cell<*mut Connections>,
    /// Suspends the coroutine; null outside of it.
    suspender: Cell<*const Suspender>,
    request: Cell<Option<Request>>,
    answer: Cell<Option<Answer>>,
    sql: Cell<LuaText>,
    /// The parameters of the next execution of a prepared statement.
    parameters: RefCell<Vec<ParameterValue>>,
    /// The values of the row that compiled code reads. Null after the next request, which changes their memory.
    cells: Cell<[RowCell; CELLS_MAX]>,
    /// Whether compiled code may have made the pending request.
    is_request_of_compiled_code: Cell<bool>,
    /// Whether the coroutine is to make no further request: its user has ended.
    is_abandoned: Cell<bool>,
    /// The answer to the last request of compiled code, which can only receive a number; see [`Self::request_number`].
    failure: Cell<Option<FailedAnswer>>,
}

impl Default for ThreadContext {
    fn default() -> Self {
        ThreadContext {
            connections: Cell::new(ptr::null_mut()),
            suspender: Cell::new(ptr::null()),
            request: Cell::new(None),
            answer: Cell::new(None),
            sql: Cell::new(LuaText::EMPTY),
            parameters: RefCell::default(),
            cells: Cell::new([RowCell::NULL; CELLS_MAX]),
            is_request_of_compiled_code: Cell::new(false),
            is_abandoned: Cell::new(false),
            failure: Cell::new(None),
        }
    }
}

/// Called by the user's future.
impl ThreadContext {
    /// Calls `resume`, which resumes the coroutine, to answer its last request. Until `resume` returns, C functions use
    /// these connections.
    #[inline]
    pub fn run<R>(
        &self,
        connections: Option<&mut Connections>,
        answer: Answer,
        resume: impl FnOnce() -> R,
    ) -> R {
        self.answer.set(Some(answer));
        self.connections
            .set(connections.map_or(ptr::null_mut(), ptr::from_mut));
        let result = resume();
        self.connections.set(ptr::null_mut());
        result
    }

    /// The request for which the coroutine was suspended; `Finished` if it has ended.
    #[inline]
    pub fn take_request(&self) -> Request {
        self.request.take().unwrap_or(Request::Finished)
    }

    /// The text of the pending request, which executes or prepares it.
    ///
    /// # Safety
    /// The coroutine is suspended, and is not resumed before the last use of the text.
    pub unsafe fn sql(&self) -> &[u8] {
        // SAFETY: as the caller promises.
        unsafe { self.sql.get().bytes() }
    }

    /// A parameter of the pending request, which executes a prepared statement; `Null` if it has fewer parameters.
    ///
    /// # Safety
    /// As for [`Self::sql`].
    #[inline]
    pub unsafe fn parameter(&self, index: usize) -> Value<'_> {
        match self.parameters.borrow().get(index) {
            Some(ParameterValue::Number(number)) => number_value(*number),
            // SAFETY: as the caller promises.
            Some(ParameterValue::Text(text)) => Value::Bytes(unsafe { text.bytes() }),
            Some(ParameterValue::Null) | None => Value::Null,
        }
    }
}

/// Called by the coroutine.
impl ThreadContext {
    /// Sets what suspends the coroutine: while it runs, and until it ends.
    pub fn set_suspender(&self, suspender: Option<&Suspender>) {
        self.suspender
            .set(suspender.map_or(ptr::null(), ptr::from_ref));
    }

    /// Abandons the coroutine, which is suspended and will not be resumed. Returns whether it has to be resumed once,
    /// because it may be suspended inside of compiled code: LuaJIT does not allow the state to be closed then. Compiled
    /// code ends when the request fails, and the coroutine is suspended again.
    pub fn abandon(&self) -> bool {
        self.is_abandoned.set(true);
        self.is_request_of_compiled_code.get() && !self.suspender.get().is_null()
    }

    /// The connections of the thread; `None` after its end.
    ///
    /// # Safety
    /// A C function calls this, and drops the result before it returns or makes a request.
    pub unsafe fn connections<'a>(&self) -> Option<&'a mut Connections> {
        // SAFETY: while the coroutine runs, nothing else uses the connections.
        unsafe { self.connections.get().as_mut() }
    }

    #[inline]
    pub fn request(&self, request: Request) -> Answer {
        let suspender = self.suspender.get();
        if suspender.is_null() || self.is_abandoned.get() {
            return Answer::Failed(FailedAnswer::internal("the run is over"));
        }
        self.cells.set([RowCell::NULL; CELLS_MAX]);
        self.request.set(Some(request));
        // SAFETY: the suspender belongs to the coroutine, which runs this code.
        unsafe { (*suspender).suspend(()) };
        self.answer.take().unwrap_or(Answer::Done)
    }

    /// Makes a request for compiled code, and returns the answer as a number, which is -1 if the request failed. The
    /// code must then call [`Self::take_failure`], without compiled code on the stack.
    #[inline]
    pub fn request_number(&self, request: Request) -> f64 {
        self.is_request_of_compiled_code.set(true);
        let answer = self.request(request);
        self.is_request_of_compiled_code.set(false);
        match answer {
            Answer::Reply(rows, columns) => reply_number(rows, columns),
            Answer::Flag(flag) => f64::from(u8::from(flag)),
            other => self.keep_failure(other),
        }
    }

    #[cold]
    fn keep_failure(&self, answer: Answer) -> f64 {
        self.failure.set(match answer {
            Answer::Failed(failure) => Some(failure),
            _ => None,
        });
        -1.0
    }

    /// The error of the last request of compiled code. Does not return if the coroutine has been abandoned.
    pub fn take_failure(&self) -> FailedAnswer {
        while self.is_abandoned.get() {
            let suspender = self.suspender.get();
            if suspender.is_null() {
                break;
            }
            // SAFETY: the suspender belongs to the coroutine, which runs this code.
            unsafe { (*suspender).suspend(()) };
        }
        self.failure
            .take()
            .unwrap_or_else(|| FailedAnswer::internal("the run is over"))
    }

    /// The address of the values of the row that compiled code reads.
    pub fn cells(&self) -> *const RowCell {
        self.cells.as_ptr().cast()
    }

    /// Sets the values of a row for compiled code, up to [`CELLS_MAX`].
    #[inline]
    pub fn set_row<'a>(&self, values: impl Iterator<Item = Option<&'a [u8]>>) {
        let mut cells = [RowCell::NULL; CELLS_MAX];
        for (cell, value) in cells.iter_mut().zip(values) {
            if let Some(bytes) = value {
                *cell = RowCell {
                    text: bytes.as_ptr(),
                    length: bytes.len() as f64,
                };
            }
        }
        self.cells.set(cells);
    }

    #[inline]
    pub fn set_sql(&self, text: LuaText) {
        self.sql.set(text);
    }

    /// Removes the parameters of the last execution.
    #[inline]
    pub fn clear_parameters(&self) {
        self.parameters.borrow_mut().clear();
    }

    /// Adds a parameter of the next execution.
    #[inline]
    pub fn push_parameter(&self, value: ParameterValue) {
        self.parameters.borrow_mut().push(value);
    }
}

/// The factor of the number of columns in the number of a reply; `prelude/calls.lua` has the same.
const COLUMN_FACTOR: u64 = 1 << 40;

/// The numbers of rows and columns as one number: a double represents all integers up to 2^53.
fn reply_number(rows: u64, columns: usize) -> f64 {
    rows.min(COLUMN_FACTOR - 1) as f64 + columns as f64 * COLUMN_FACTOR as f64
}
