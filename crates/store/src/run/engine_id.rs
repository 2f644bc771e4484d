//! For serde's `with`: an engine by its identifier.

use prony_wire::Engine;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(
    engine: &Option<Engine>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    engine.map(Engine::id).serialize(serializer)
}

pub(crate) fn deserialize<'a, D: Deserializer<'a>>(
    deserializer: D,
) -> Result<Option<Engine>, D::Error> {
    let id = Option::<String>::deserialize(deserializer)?;
    id.map(|id| {
        let engine = Engine::ALL.into_iter().find(|engine| engine.id() == id);
        engine.ok_or_else(|| D::Error::custom(format!("unknown engine `{id}`")))
    })
    .transpose()
}
