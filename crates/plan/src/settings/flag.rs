//! The flags of settings.

/// The flag of a setting.
#[derive(Debug)]
pub struct Flag {
    /// Name, without the two hyphens.
    pub long: &'static str,
    /// One-letter name.
    pub short: Option<char>,
    /// Name of the value in the help, or of its parts, each of which is an argument; `None` for a switch.
    pub value_name: Option<&'static str>,
    /// Whether it may be repeated, and each time adds to its values.
    pub is_list: bool,
    /// Heading under which the help lists the flag.
    pub heading: &'static str,
    /// The help of a switch that turns its setting off; `None` for every other flag.
    pub help_if_it_turns_off: Option<&'static str>,
}

impl Flag {
    /// How many arguments follow the flag.
    pub fn value_count(&self) -> usize {
        self.value_name.map_or(0, |names| names.split(' ').count())
    }

    /// The value, as text, to which a switch sets its setting.
    pub fn switch_value(&self) -> &'static str {
        match self.help_if_it_turns_off {
            Some(_) => "false",
            None => "true",
        }
    }
}

/// A switch that turns its setting on; flags of the other kinds differ from it in one or two fields.
const fn base_flag(heading: &'static str, long: &'static str, short: Option<char>) -> Flag {
    Flag {
        long,
        short,
        value_name: None,
        is_list: false,
        heading,
        help_if_it_turns_off: None,
    }
}

pub(super) const fn value_flag(
    heading: &'static str,
    long: &'static str,
    value_name: &'static str,
) -> Option<Flag> {
    Some(Flag {
        value_name: Some(value_name),
        ..base_flag(heading, long, None)
    })
}

pub(super) const fn value_flag_with_short(
    heading: &'static str,
    long: &'static str,
    short: char,
    value_name: &'static str,
) -> Option<Flag> {
    Some(Flag {
        value_name: Some(value_name),
        ..base_flag(heading, long, Some(short))
    })
}

pub(super) const fn list_flag(
    heading: &'static str,
    long: &'static str,
    value_name: &'static str,
) -> Option<Flag> {
    Some(Flag {
        value_name: Some(value_name),
        is_list: true,
        ..base_flag(heading, long, None)
    })
}

pub(super) const fn switch(
    heading: &'static str,
    long: &'static str,
    short: Option<char>,
) -> Option<Flag> {
    Some(base_flag(heading, long, short))
}

pub(super) const fn off_switch(
    heading: &'static str,
    long: &'static str,
    help: &'static str,
) -> Option<Flag> {
    Some(Flag {
        help_if_it_turns_off: Some(help),
        ..base_flag(heading, long, None)
    })
}
