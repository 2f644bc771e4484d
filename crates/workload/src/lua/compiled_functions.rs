//! C functions that LuaJIT calls from compiled code, with the address of the thread's context: they execute statements and
//! begin the next event. They return numbers, because a C function of `ffi` can neither push values nor raise errors.
//! They must not panic. Where LuaJIT interprets the call, it takes about 500 instructions more.

use super::connections::returned_result_index;
use super::request::Request;
use super::thread_context::{LuaText, ParameterValue, ThreadContext};
use prony_session::Outcome;
use std::ffi::{c_char, c_void};

/// The addresses of the C functions, by the names that the prelude uses.
pub fn addresses() -> [(&'static str, *mut c_void); 8] {
    [
        ("query", query as *mut c_void),
        ("execute", execute as *mut c_void),
        ("execute_with_number", execute_with_number as *mut c_void),
        ("push_number", push_number as *mut c_void),
        ("push_text", push_text as *mut c_void),
        ("push_null", push_null as *mut c_void),
        ("next_event", next_event as *mut c_void),
        ("read_first_row", read_first_row as *mut c_void),
    ]
}

/// Executes a text. Returns the numbers of rows and columns of the reply as one number, or -1.
unsafe extern "C" fn query(
    context: *const ThreadContext,
    text: *const c_char,
    length: usize,
) -> f64 {
    // SAFETY: the prelude passes on the context that it received, and a string of this length.
    let context = unsafe { &*context };
    context.set_sql(LuaText::new(text.cast::<u8>(), length));
    context.request_number(Request::Query)
}

/// Executes the prepared statement with this number, with the pushed parameters. Returns the same as `query`.
unsafe extern "C" fn execute(context: *const ThreadContext, id: f64) -> f64 {
    // SAFETY: the prelude passes on the context that it received.
    let context = unsafe { &*context };
    let reply = context.request_number(Request::Execute(id as usize));
    context.clear_parameters();
    reply
}

/// As `execute`, with one parameter.
unsafe extern "C" fn execute_with_number(
    context: *const ThreadContext,
    id: f64,
    value: f64,
) -> f64 {
    // SAFETY: as in `execute`.
    unsafe {
        (*context).push_parameter(ParameterValue::Number(value));
        execute(context, id)
    }
}

unsafe extern "C" fn push_number(context: *const ThreadContext, value: f64) {
    // SAFETY: the prelude passes on the context that it received.
    unsafe { &*context }.push_parameter(ParameterValue::Number(value));
}

unsafe extern "C" fn push_text(context: *const ThreadContext, text: *const c_char, length: usize) {
    let text = LuaText::new(text.cast::<u8>(), length);
    // SAFETY: the prelude passes on the context that it received.
    unsafe { &*context }.push_parameter(ParameterValue::Text(text));
}

unsafe extern "C" fn push_null(context: *const ThreadContext) {
    // SAFETY: the prelude passes on the context that it received.
    unsafe { &*context }.push_parameter(ParameterValue::Null);
}

/// Ends the current event, and waits until the next one is due. Returns 1 if it has begun, 0 if there is none, or -1. If
/// the next one is due at once, which is the usual case of a closed loop, it begins here; otherwise the user's future,
/// which can wait, does what is left to do.
unsafe extern "C" fn next_event(context: *const ThreadContext) -> f64 {
    // SAFETY: the prelude passes on the context that it received. The connections are not used after the request.
    let (context, connections) = unsafe { (&*context, (*context).connections()) };
    let has_begun = connections.is_some_and(|connections| {
        let db = connections.user_db();
        // An event that has waited for nothing ends at a time that nobody has read from the clock: the future waits for
        // that. There may also be no event to end.
        if !db.is_in_transaction() || !db.has_waited_since_start() {
            return false;
        }
        db.end_with_open_block(Outcome::Committed);
        // If this fails, the request below finds that the event has ended, and only waits for the next one.
        db.try_start(0)
    });
    if has_begun { 1.0 } else { context.request_number(Request::NextEvent) }
}

/// Reads the values of the first row of the result that the query returned, for the cells of the context. Returns 0 if the
/// row was dropped, because it is too long.
unsafe extern "C" fn read_first_row(context: *const ThreadContext) -> f64 {
    // SAFETY: the prelude passes on the context that it received. The connections are not used after the call.
    let (context, connections) = unsafe { (&*context, (*context).connections()) };
    let Some(connections) = connections else {
        context.set_row(std::iter::empty());
        return 1.0;
    };
    let returns_first_result = connections.returns_first_result();
    let reply = connections.current().db.last_reply();
    let result = returned_result_index(returns_first_result, reply.result_count());
    match reply.iter().find(|(index, _)| *index == result) {
        Some((_, row)) => context.set_row(row.values()),
        None => {
            context.set_row(std::iter::empty());
            return f64::from(!reply.has_dropped_rows());
        }
    }
    1.0
}
