//! One row of a result.
//!
//! In: the body of a DataRow message. Out: its values. Must never: allocate, or read past the end of the row.

#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub(super) body: &'a [u8],
}

impl<'a> Row<'a> {
    /// The values in order; `None` is NULL. Ends early if the row is malformed.
    pub fn values(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut unread = self.body.get(2..).unwrap_or(&[]);
        std::iter::from_fn(move || {
            let (length, tail) = unread.split_first_chunk::<4>()?;
            match usize::try_from(i32::from_be_bytes(*length)) {
                Err(_) => {
                    unread = tail;
                    Some(None)
                }
                Ok(length) => {
                    let value = tail.get(..length)?;
                    unread = &tail[length..];
                    Some(Some(value))
                }
            }
        })
    }

    /// A value as text; `None` if it is NULL, missing, or not UTF-8.
    pub fn text(self, column: usize) -> Option<&'a str> {
        std::str::from_utf8(self.values().nth(column)??).ok()
    }

    pub fn int(self, column: usize) -> Option<i64> {
        self.text(column)?.parse().ok()
    }
}

/// Whether the values of a row fill it exactly. A length is -1 (NULL) or not negative.
pub(super) fn is_row(body: &[u8]) -> bool {
    let Some((count, mut unread)) = body.split_first_chunk::<2>() else {
        return false;
    };
    for _ in 0..u16::from_be_bytes(*count) {
        let Some((length, tail)) = unread.split_first_chunk::<4>() else {
            return false;
        };
        let length = match i32::from_be_bytes(*length) {
            -1 => 0,
            // A negative length becomes one that is too large.
            length => length as u32 as usize,
        };
        let Some(rest) = tail.get(length..) else {
            return false;
        };
        unread = rest;
    }
    unread.is_empty()
}
