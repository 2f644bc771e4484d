//! The variables of one client.
//!
//! In: values that commands compute, texts that the command line and the server give. Out: their
//! value or their text. Must never: allocate when a number replaces a number.

use super::error::EvalError;
use super::value::Value;
use std::collections::HashMap;
use std::fmt::Write as _;

/// A variable: its place in each client's `Variables`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableId(pub(super) u32);

/// The names that the scripts of a run use, and the numbers that stand for them.
///
/// One `Names` serves all scripts of a run, because a client keeps its variables when it goes from
/// one script to another.
#[derive(Clone, Debug, Default)]
pub struct Names {
    ids: HashMap<Box<str>, VariableId>,
    names: Vec<Box<str>>,
}

/// The variables that are there without a script's doing, in the order of `VariableId`.
const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

impl Names {
    /// The size of the data (an automatic variable).
    pub const SCALE: VariableId = VariableId(0);
    /// Number of the client, from 0 (an automatic variable).
    pub const CLIENT_ID: VariableId = VariableId(1);
    /// The run's seed (an automatic variable).
    pub const RANDOM_SEED: VariableId = VariableId(2);
    /// The seed that hashes and permutations use where none is given (an automatic variable).
    pub const DEFAULT_SEED: VariableId = VariableId(3);

    /// Only the automatic variables.
    pub fn new() -> Self {
        let mut names = Names::default();
        for name in AUTOMATIC {
            names.intern(name);
        }
        names
    }

    /// The number of a name, a new one if it has none yet.
    pub fn intern(&mut self, name: &str) -> VariableId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        // A script names at most as many variables as it has bytes, and a file of 4 GiB is refused
        // long before.
        let id = VariableId(self.names.len() as u32);
        self.ids.insert(name.into(), id);
        self.names.push(name.into());
        id
    }

    /// The number of a name that a script uses.
    pub fn find(&self, name: &str) -> Option<VariableId> {
        self.ids.get(name).copied()
    }

    /// The name of a variable.
    pub fn name(&self, id: VariableId) -> &str {
        self.names.get(id.0 as usize).map_or("", |name| name)
    }

    /// All names, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Whether a variable may have this name.
pub fn is_valid_name(name: &str, level: u32) -> bool {
    // Until version 13 a digit could begin it.
    let first = |c: u8| is_name_byte(c) && (level < 14 || !c.is_ascii_digit());
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|c| first(*c)) && bytes.iter().all(|c| is_name_byte(*c))
}

/// Whether a byte may stand in a variable's name.
pub(super) fn is_name_byte(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}

/// What is known of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Nothing: it is not defined.
    Nothing,
    /// Its text; nobody has asked for its value yet.
    Text,
    /// Its text and the value that the text stands for.
    Both,
    /// Its value, which an expression gave.
    Value,
}

#[derive(Clone, Debug)]
struct Slot {
    known: Known,
    value: Value,
    text: String,
}

/// The variables of one client.
#[derive(Clone, Debug)]
pub struct Variables {
    slots: Vec<Slot>,
}

impl Variables {
    /// No variable is defined yet; room for all of `names`.
    pub fn new(names: &Names) -> Self {
        let empty = Slot {
            known: Known::Nothing,
            value: Value::Null,
            text: String::new(),
        };
        Variables {
            slots: vec![empty; names.len()],
        }
    }

    /// Gives a variable a value.
    #[inline]
    pub fn set(&mut self, id: VariableId, value: Value) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            slot.value = value;
            slot.known = Known::Value;
        }
    }

    /// Gives a variable a text, whose type shows when an expression asks for its value.
    pub fn set_text(&mut self, id: VariableId, text: &str) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            slot.text.clear();
            slot.text.push_str(text);
            slot.known = Known::Text;
        }
    }

    /// The value of a variable; `names` are for the message if it has none.
    #[inline]
    pub fn value(&mut self, id: VariableId, names: &Names) -> Result<Value, EvalError> {
        match self.slots.get_mut(id.0 as usize) {
            Some(slot) => match slot.known {
                Known::Value | Known::Both => Ok(slot.value),
                Known::Text => {
                    slot.value = Value::from_text(names.name(id), &slot.text)?;
                    slot.known = Known::Both;
                    Ok(slot.value)
                }
                Known::Nothing => Err(undefined(names.name(id))),
            },
            None => Err(undefined(names.name(id))),
        }
    }

    /// Writes out what [`Variables::parameter`] cannot give as it stands.
    pub(super) fn prepare(&mut self, ids: &[VariableId]) {
        for id in ids {
            let Some(slot) = self.slots.get_mut(id.0 as usize) else {
                continue;
            };
            if let (Known::Value, Value::Double(_)) = (slot.known, slot.value) {
                slot.text.clear();
                append_value(slot.value, &mut slot.text);
            }
        }
    }

    /// A variable as a parameter of a statement, which [`Variables::prepare`] has seen: the same
    /// text as [`Variables::append_text`] gives, NULL where it is not defined.
    pub(super) fn parameter(&self, id: VariableId) -> prony_wire::Value<'_> {
        use prony_wire::Value as Wire;
        let Some(slot) = self.slots.get(id.0 as usize) else {
            return Wire::Null;
        };
        match (slot.known, slot.value) {
            (Known::Nothing, _) => Wire::Null,
            (Known::Text | Known::Both, _) | (Known::Value, Value::Double(_)) => {
                Wire::Text(&slot.text)
            }
            (Known::Value, Value::Int(number)) => Wire::Int(number),
            (Known::Value, Value::Bool(true)) => Wire::Text("true"),
            (Known::Value, Value::Bool(false)) => Wire::Text("false"),
            (Known::Value, Value::Null) => Wire::Text("NULL"),
        }
    }

    /// Appends the text of a variable; false, and nothing appended, where it is not defined.
    pub fn append_text(&self, id: VariableId, out: &mut String) -> bool {
        let Some(slot) = self.slots.get(id.0 as usize) else {
            return false;
        };
        match slot.known {
            Known::Nothing => return false,
            Known::Text | Known::Both => out.push_str(&slot.text),
            Known::Value => append_value(slot.value, out),
        }
        true
    }
}

#[cold]
fn undefined(name: &str) -> EvalError {
    EvalError::new(format!("undefined variable \"{name}\""))
}

fn append_value(value: Value, out: &mut String) {
    // Most values are whole numbers: without the machinery of formatting.
    if let Value::Int(number) = value {
        out.push_str(itoa::Buffer::new().format(number));
        return;
    }
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}
