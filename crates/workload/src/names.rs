//! Enums whose variants have names.

/// Declares an enum with a list of its variants, in the order of their discriminants, and of their names.
macro_rules! named_enum {
    ($(#[$meta:meta])* $visibility:vis enum $type:ident {
        $($(#[$about:meta])* $variant:ident = $name:literal,)+
    }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $(#[$meta])*
        $visibility enum $type { $($(#[$about])* $variant,)+ }

        impl $type {
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The names, in the order of [`ALL`](Self::ALL).
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($name),+];

            pub const fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}
pub(crate) use named_enum;
