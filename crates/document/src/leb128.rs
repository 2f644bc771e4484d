//! Numbers of variable length in files: seven bits a byte, the lowest first (LEB128).

/// Appends a number, as 1 to 10 bytes.
pub fn append_leb128(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number from the start of `bytes`; `None` if they end within it, or if it has more than 10 bytes. Never panics: a
/// file may be damaged.
pub fn take_leb128(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_as_they_were_appended() {
        let numbers = [0, 1, 127, 128, 300, 1 << 32, u64::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            append_leb128(number, &mut bytes);
        }
        let mut rest = &*bytes;
        for number in numbers {
            assert_eq!(take_leb128(&mut rest), Some(number));
        }
        assert_eq!((take_leb128(&mut rest), rest), (None, &[][..]));
        assert_eq!(take_leb128(&mut &[0xff; 12][..]), None);
    }
}
