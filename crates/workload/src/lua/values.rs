//! The values of a request that a script makes outside of the load, copied from Lua. Must not hold Lua values.

use super::coroutine::number_value;
use mlua::Value as LuaValue;
use prony_wire::Value;
use std::ops::Range;

enum CopiedValue {
    Scalar(Value<'static>),
    /// The range of a string in `texts`.
    Text(Range<usize>),
}

pub struct RequestValues {
    texts: Vec<u8>,
    values: Vec<CopiedValue>,
}

impl RequestValues {
    pub fn new(values: &[LuaValue]) -> RequestValues {
        let mut texts = Vec::new();
        let copied = values.iter().map(|value| match value {
            LuaValue::Integer(number) => CopiedValue::Scalar(Value::Int(*number)),
            LuaValue::Number(number) => CopiedValue::Scalar(number_value(*number)),
            LuaValue::Boolean(flag) => CopiedValue::Scalar(Value::Int(i64::from(*flag))),
            LuaValue::String(text) => {
                let start = texts.len();
                texts.extend_from_slice(&text.as_bytes());
                CopiedValue::Text(start..texts.len())
            }
            _ => CopiedValue::Scalar(Value::Null),
        });
        RequestValues {
            values: copied.collect(),
            texts,
        }
    }

    /// The value with this index; `Null` if there is none.
    pub fn get(&self, index: usize) -> Value<'_> {
        match self.values.get(index) {
            Some(CopiedValue::Scalar(value)) => *value,
            Some(CopiedValue::Text(range)) => Value::Bytes(&self.texts[range.clone()]),
            None => Value::Null,
        }
    }
}
