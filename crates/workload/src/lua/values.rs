//! Converts a statement's values from Lua's types to those of the wire protocol. Must not hold Lua values, or
//! allocate once the buffers are large enough for the script's values.

use mlua::Value as LuaValue;
use prony_wire::Value;
use std::ops::Range;

/// 2^53: below it, doubles represent every integer.
const EXACT_INTEGERS_MAX: f64 = 9_007_199_254_740_992.0;

enum Slot {
    Null,
    Int(i64),
    Float(f64),
    Text(Range<usize>),
}

/// The values of one execution.
#[derive(Default)]
pub struct BoundValues {
    texts: Vec<u8>,
    slots: Vec<Slot>,
}

impl BoundValues {
    /// Stores the first `count` values; missing values become NULL.
    pub fn take<'a>(&mut self, mut values: impl Iterator<Item = &'a LuaValue>, count: usize) {
        self.texts.clear();
        self.slots.clear();
        for _ in 0..count {
            let slot = match values.next() {
                Some(LuaValue::Integer(number)) => Slot::Int(*number),
                // Send a number without a fraction as an integer.
                Some(LuaValue::Number(number))
                    if number.fract() == 0.0 && number.abs() < EXACT_INTEGERS_MAX =>
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

    /// The number of values.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The value with this index.
    pub fn get(&self, index: usize) -> Value<'_> {
        match &self.slots[index] {
            Slot::Null => Value::Null,
            Slot::Int(number) => Value::Int(*number),
            Slot::Float(number) => Value::Float(*number),
            Slot::Text(range) => Value::Bytes(&self.texts[range.clone()]),
        }
    }
}
