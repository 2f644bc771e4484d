//! The variables of a client. Assigning a number never allocates.

use super::error::EvalError;
use super::value::Value;
use prony_document::SqlDialect;
use std::collections::HashMap;
use std::fmt::Write as _;

/// The id of a variable: its index in each client's `Variables`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableId(pub(super) u32);

/// The variable names that the scripts of a run use, and their ids.
///
/// All scripts of a run share one `VariableNames`, because a client keeps its variables from script to
/// script.
#[derive(Clone, Debug, Default)]
pub struct VariableNames {
    ids: HashMap<Box<str>, VariableId>,
    names: Vec<Box<str>>,
}

/// The variables that are always defined, in the order of `VariableId`.
const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

impl VariableNames {
    pub const SCALE: VariableId = VariableId(0);
    /// Number of the client, from 0 (an automatic variable).
    pub const CLIENT_ID: VariableId = VariableId(1);
    /// The run's seed (an automatic variable).
    pub const RANDOM_SEED: VariableId = VariableId(2);
    /// The default seed of hashes and permutations (an automatic variable).
    pub const DEFAULT_SEED: VariableId = VariableId(3);

    pub(super) const AUTOMATIC_IDS: [VariableId; 4] = [
        Self::SCALE,
        Self::CLIENT_ID,
        Self::RANDOM_SEED,
        Self::DEFAULT_SEED,
    ];

    pub fn new() -> Self {
        let mut names = VariableNames::default();
        for name in AUTOMATIC {
            names.intern(name);
        }
        names
    }

    /// The id of a name; adds the name if it is new.
    pub fn intern(&mut self, name: &str) -> VariableId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        // A script has fewer variables than bytes, and files are limited to much less than 4 GiB.
        let id = VariableId(self.names.len() as u32);
        self.ids.insert(name.into(), id);
        self.names.push(name.into());
        id
    }

    pub fn find(&self, name: &str) -> Option<VariableId> {
        self.ids.get(name).copied()
    }

    pub fn name(&self, id: VariableId) -> &str {
        self.names.get(id.0 as usize).map_or("", |name| name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

pub fn is_valid_name(name: &str, pgbench_version: u32) -> bool {
    // Up to version 13, a name may begin with a digit.
    let may_be_first = |c: u8| is_name_byte(c) && (pgbench_version < 14 || !c.is_ascii_digit());
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|c| may_be_first(*c)) && bytes.iter().all(|c| is_name_byte(*c))
}

pub(super) fn is_name_byte(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotContent {
    /// The variable is not defined.
    Undefined,
    /// Its text, which has not been converted to a value yet.
    Text,
    /// Its text and the value converted from it.
    TextAndValue,
    /// Its value, computed by an expression.
    Value,
}

#[derive(Clone, Debug)]
struct Slot {
    content: SlotContent,
    value: Value,
    text: String,
}

#[derive(Clone, Debug)]
pub struct Variables {
    slots: Vec<Slot>,
}

impl Variables {
    /// Creates undefined variables for all `names`.
    pub fn new(names: &VariableNames) -> Self {
        let empty = Slot {
            content: SlotContent::Undefined,
            value: Value::Null,
            text: String::new(),
        };
        Variables {
            slots: vec![empty; names.len()],
        }
    }

    #[inline]
    pub fn set(&mut self, id: VariableId, value: Value) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            slot.value = value;
            slot.content = SlotContent::Value;
        }
    }

    /// Sets a variable to a text, which is converted when an expression reads its value.
    pub fn set_text(&mut self, id: VariableId, text: &str) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            slot.text.clear();
            slot.text.push_str(text);
            slot.content = SlotContent::Text;
        }
    }

    /// The value of a variable; `names` is for the error message.
    #[inline]
    pub fn value(&mut self, id: VariableId, names: &VariableNames) -> Result<Value, EvalError> {
        match self.slots.get_mut(id.0 as usize) {
            Some(slot) => match slot.content {
                SlotContent::Value | SlotContent::TextAndValue => Ok(slot.value),
                SlotContent::Text => {
                    slot.value = Value::from_text(names.name(id), &slot.text)?;
                    slot.content = SlotContent::TextAndValue;
                    Ok(slot.value)
                }
                SlotContent::Undefined => Err(undefined_variable_error(names.name(id))),
            },
            None => Err(undefined_variable_error(names.name(id))),
        }
    }

    /// The value that an expression computed; `None` for a text or an undefined variable.
    pub(super) fn known_value(&self, id: VariableId) -> Option<Value> {
        let slot = self.slots.get(id.0 as usize)?;
        (slot.content == SlotContent::Value).then_some(slot.value)
    }

    /// Formats the values that [`Variables::parameter`] cannot return directly. Returns a variable that is not
    /// defined, if there is one.
    pub(super) fn prepare_parameters(&mut self, ids: &[VariableId]) -> Option<VariableId> {
        let mut undefined = None;
        for id in ids {
            let Some(slot) = self.slots.get_mut(id.0 as usize) else {
                continue;
            };
            if slot.content == SlotContent::Undefined {
                undefined = Some(*id);
            }
            if let (SlotContent::Value, Value::Double(_)) = (slot.content, slot.value) {
                slot.text.clear();
                append_value(slot.value, &mut slot.text);
            }
        }
        undefined
    }

    /// A variable as a parameter of a statement, after [`Variables::prepare_parameters`]. Without a dialect the text that
    /// [`Variables::append_text`] appends, or NULL if the variable is not defined; otherwise a value of the type that the
    /// dialect has for it.
    pub(super) fn parameter(
        &self,
        id: VariableId,
        dialect: Option<SqlDialect>,
    ) -> prony_wire::Value<'_> {
        use prony_wire::Value as WireValue;
        let Some(slot) = self.slots.get(id.0 as usize) else {
            return WireValue::Null;
        };
        // PostgreSQL infers the type of a parameter from the statement, others take that of the value.
        let takes_type_of_value =
            matches!(dialect, Some(SqlDialect::MySql | SqlDialect::TransactSql));
        match (slot.content, slot.value) {
            (SlotContent::Value, Value::Null) if dialect.is_some() => WireValue::Null,
            (SlotContent::Value, Value::Double(number)) if takes_type_of_value => {
                WireValue::Float(number)
            }
            (SlotContent::Value, Value::Bool(truth)) if takes_type_of_value => {
                WireValue::Int(truth.into())
            }
            (SlotContent::Undefined, _) => WireValue::Null,
            (SlotContent::Text | SlotContent::TextAndValue, _)
            | (SlotContent::Value, Value::Double(_)) => WireValue::Text(&slot.text),
            (SlotContent::Value, Value::Int(number)) => WireValue::Int(number),
            (SlotContent::Value, Value::Bool(true)) => WireValue::Text("true"),
            (SlotContent::Value, Value::Bool(false)) => WireValue::Text("false"),
            (SlotContent::Value, Value::Null) => WireValue::Text("NULL"),
        }
    }

    /// Appends the text of a variable; if it is not defined, appends nothing and returns false.
    pub fn append_text(&self, id: VariableId, out: &mut String) -> bool {
        let Some(slot) = self.slots.get(id.0 as usize) else {
            return false;
        };
        match slot.content {
            SlotContent::Undefined => return false,
            SlotContent::Text | SlotContent::TextAndValue => out.push_str(&slot.text),
            SlotContent::Value => append_value(slot.value, out),
        }
        true
    }
}

#[cold]
pub(super) fn undefined_variable_error(name: &str) -> EvalError {
    EvalError::new(format!("undefined variable \"{name}\""))
}

fn append_value(value: Value, out: &mut String) {
    // Most values are integers, for which this is faster than `write!`.
    if let Value::Int(number) = value {
        out.push_str(itoa::Buffer::new().format(number));
        return;
    }
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}
