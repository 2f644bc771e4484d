//! The words for each choice, in one place: for TOML files, flags and messages.
//!
//! In: a word. Out: a variant, and the reverse. Must never: differ from what serde writes.

use crate::plan::{Arrival, IoEngine, QueryMode};

/// One of a few named values.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every value with its name, in the order to show.
    const ALL: &'static [(&'static str, Self)];

    /// The value of this name, exactly as written.
    fn from_name(name: &str) -> Option<Self> {
        let (_, value) = Self::ALL.iter().find(|(known, _)| *known == name)?;
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

impl Choice for QueryMode {
    const ALL: &'static [(&'static str, Self)] = &[
        ("simple", Self::Simple),
        ("extended", Self::Extended),
        ("prepared", Self::Prepared),
    ];
}

impl Choice for Arrival {
    const ALL: &'static [(&'static str, Self)] =
        &[("poisson", Self::Poisson), ("even", Self::Even)];
}

impl Choice for IoEngine {
    const ALL: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("ring", Self::Ring),
        ("epoll", Self::Epoll),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    fn names_agree<T: Choice + Serialize + std::fmt::Debug>() {
        for (name, value) in T::ALL {
            assert_eq!(serde_json::to_value(value).unwrap(), *name);
            assert_eq!(value.name(), *name);
            assert_eq!(T::from_name(name), Some(*value));
        }
        assert_eq!(T::from_name("nonsense"), None);
    }

    #[test]
    fn names_are_those_of_serde() {
        names_agree::<QueryMode>();
        names_agree::<Arrival>();
        names_agree::<IoEngine>();
    }
}
