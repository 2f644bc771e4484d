//! Values of a statement, from Lua's to the wire's.
//!
//! In: what a script has bound. Out: values that borrow from a buffer of the user's. Must never: keep a
//! value of Lua, or allocate once the buffer has grown to what the script binds.

use mlua::Value as LuaValue;
use prony_wire::Value;
use std::ops::Range;

/// From here on a number has neighbours that are not whole.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

enum Slot {
    Null,
    Int(i64),
    Float(f64),
    Text(Range<usize>),
}

/// The values of one execution.
#[derive(Default)]
pub struct Values {
    texts: Vec<u8>,
    slots: Vec<Slot>,
}

impl Values {
    /// Takes the first `count` of these; what is missing is NULL.
    pub fn take<'a>(&mut self, mut values: impl Iterator<Item = &'a LuaValue>, count: usize) {
        self.texts.clear();
        self.slots.clear();
        for _ in 0..count {
            let slot = match values.next() {
                Some(LuaValue::Integer(number)) => Slot::Int(*number),
                // What has no fraction goes as a whole number.
                Some(LuaValue::Number(number))
                    if number.fract() == 0.0 && number.abs() < WHOLE_MAX =>
                {
                    Slot::Int(*number as i64)
                }
                Some(LuaValue::Number(number)) => Slot::Float(*number),
                Some(LuaValue::Boolean(flag)) => Slot::Int(i64::from(*flag)),
                Some(LuaValue::String(text)) => {
                    let start = self.texts.len();
                    self.texts.extend_from_slice(&text.as_bytes());
                    Slot::Text(start..self.texts.len())
                }
                _ => Slot::Null,
            };
            self.slots.push(slot);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// One of them.
    pub fn get(&self, place: usize) -> Value<'_> {
        match &self.slots[place] {
            Slot::Null => Value::Null,
            Slot::Int(number) => Value::Int(*number),
            Slot::Float(number) => Value::Float(*number),
            Slot::Text(range) => Value::Bytes(&self.texts[range.clone()]),
        }
    }
}
