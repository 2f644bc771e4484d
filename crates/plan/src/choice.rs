//! Named values: the same name in TOML files, flags, JSON and messages.

use crate::plan::QueryMode;

/// A type whose values have names.
pub trait Choice: Copy + PartialEq + 'static {
    /// All values with their names, in the order of help texts and messages.
    const ALL: &'static [(&'static str, Self)];

    /// The value of this name, exactly as written.
    fn from_name(name: &str) -> Option<Self> {
        let (_, value) = Self::ALL.iter().find(|(text, _)| *text == name)?;
        Some(*value)
    }

    /// The name of the value.
    fn name(self) -> &'static str {
        let mut values = Self::ALL.iter();
        let found = values.find(|(_, value)| *value == self);
        found.map_or("", |(name, _)| name)
    }
}

/// An enum whose variants have names, for TOML files, flags, JSON and messages.
macro_rules! choices {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $crate::choice::Choice for $name {
            const ALL: &'static [(&'static str, Self)] = &[$(($text, Self::$variant)),+];
        }
    };
}

pub(crate) use choices;

impl Choice for QueryMode {
    const ALL: &'static [(&'static str, Self)] = &[
        ("simple", Self::Simple),
        ("extended", Self::Extended),
        ("prepared", Self::Prepared),
    ];
}
