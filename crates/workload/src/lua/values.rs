//! The values of a request that a script makes outside of the load, copied from Lua. Must not hold Lua values.

use super::coroutine::number_value;
use mlua::Value as LuaValue;
use prony_wire::Value;
use std::ops::Range;

enum Slot {
    Scalar(Value<'static>),
    Text(Range<usize>),
}

/// The values of one request.
pub struct RequestValues {
    texts: Vec<u8>,
    slots: Vec<Slot>,
}

impl RequestValues {
    /// Copies the values of a request.
    pub fn new(values: &[LuaValue]) -> RequestValues {
        let mut texts = Vec::new();
        let slots = values.iter().map(|value| match value {
            LuaValue::Integer(number) => Slot::Scalar(Value::Int(*number)),
            LuaValue::Number(number) => Slot::Scalar(number_value(*number)),
            LuaValue::Boolean(flag) => Slot::Scalar(Value::Int(i64::from(*flag))),
            LuaValue::String(text) => {
                let start = texts.len();
                texts.extend_from_slice(&text.as_bytes());
                Slot::Text(start..texts.len())
            }
            _ => Slot::Scalar(Value::Null),
        });
        RequestValues {
            slots: slots.collect(),
            texts,
        }
    }

    /// The value with this index; `Null` if there is none.
    pub fn get(&self, index: usize) -> Value<'_> {
        match self.slots.get(index) {
            Some(Slot::Scalar(value)) => *value,
            Some(Slot::Text(range)) => Value::Bytes(&self.texts[range.clone()]),
            None => Value::Null,
        }
    }
}
