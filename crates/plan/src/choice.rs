//! Named values: the same name in TOML files, flags, JSON and messages.

use crate::plan::QueryMode;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// An enumeration with a name for each value.
pub trait Choice: Copy + PartialEq + 'static {
    /// All values with their names, in the order of help texts and messages.
    const ALL: &'static [(&'static str, Self)];

    /// The value of this name, exactly as written.
    fn from_name(name: &str) -> Option<Self> {
        let (_, value) = Self::ALL.iter().find(|(text, _)| *text == name)?;
        Some(*value)
    }

    /// The name of this value.
    fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, value)| *value == self)
            .map_or("", |(name, _)| name)
    }
}

/// An enum whose variants have names, for TOML files, flags, JSON and messages.
macro_rules! choices {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema)]
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* #[schemars(rename = $text)] $variant,)+
        }

        impl $crate::choice::Choice for $name {
            const ALL: &'static [(&'static str, Self)] = &[$(($text, Self::$variant)),+];
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::choice::Choice::name(*self))
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::choice::deserialize_choice(deserializer)
            }
        }
    };
}

pub(crate) use choices;

/// Reads a choice by its name.
pub(crate) fn deserialize_choice<'de, T: Choice, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let name = String::deserialize(deserializer)?;
    T::from_name(&name).ok_or_else(|| D::Error::custom(format!("unknown value {name}")))
}

/// For serde's `with`: an optional choice, by its name.
pub(crate) mod by_name {
    use super::{Choice, deserialize_choice};
    use serde::{Deserializer, Serialize, Serializer};

    pub fn serialize<T: Choice, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(T::name).serialize(serializer)
    }

    pub fn deserialize<'de, T: Choice, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        deserialize_choice(deserializer).map(Some)
    }
}

impl Choice for QueryMode {
    const ALL: &'static [(&'static str, Self)] = &[
        ("simple", Self::Simple),
        ("extended", Self::Extended),
        ("prepared", Self::Prepared),
    ];
}
