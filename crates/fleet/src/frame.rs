//! The frames between a coordinator and an agent: a number that belongs to the run, a length, and JSON.
//!
//! Must never: allocate more than the bytes that have arrived, or take a frame of another run.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// The first bytes of each side. The line end and the last byte show a carrier that changes bytes, such as a terminal.
pub(crate) const GREETING: [u8; 16] = *b"PRONY AGENT 1\r\n\x1a";

/// The longest frame, bytes: an interval with a hundred kinds of transaction has about a megabyte.
const FRAME_MAX_BYTES: u32 = 64 << 20;

/// Why a frame could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The other side has closed the carrier.
    #[error("it closed the connection")]
    Closed,
    #[error("{0}")]
    Io(io::Error),
    #[error("it sent a frame of {0} bytes")]
    TooLong(u32),
    #[error("it sent a frame of another run")]
    OtherRun,
    #[error("it sent a frame that cannot be read: {0}")]
    Malformed(serde_json::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> FrameError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => FrameError::Closed,
            _ => FrameError::Io(error),
        }
    }
}

pub(crate) fn write_frame(
    out: &mut dyn Write,
    run: u64,
    message: &impl Serialize,
) -> io::Result<()> {
    let mut frame = vec![0; 12];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - 12).ok();
    let length = length.filter(|length| *length <= FRAME_MAX_BYTES);
    let length = length.ok_or_else(|| io::Error::other("a frame is too long"))?;
    frame[..8].copy_from_slice(&run.to_le_bytes());
    frame[8..12].copy_from_slice(&length.to_le_bytes());
    out.write_all(&frame)?;
    out.flush()
}

pub(crate) fn read_any_frame<T: DeserializeOwned>(
    input: &mut dyn Read,
) -> Result<(u64, T), FrameError> {
    let mut header = [0; 12];
    input.read_exact(&mut header)?;
    let (run, length) = header.split_at(8);
    let run = u64::from_le_bytes(run.try_into().unwrap_or_default());
    let length = u32::from_le_bytes(length.try_into().unwrap_or_default());
    if length > FRAME_MAX_BYTES {
        return Err(FrameError::TooLong(length));
    }
    let mut body = Vec::new();
    input.take(length.into()).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(FrameError::Closed);
    }
    let message = serde_json::from_slice(&body).map_err(FrameError::Malformed)?;
    Ok((run, message))
}

pub(crate) fn read_frame<T: DeserializeOwned>(
    input: &mut dyn Read,
    run: u64,
) -> Result<T, FrameError> {
    match read_any_frame(input)? {
        (number, message) if number == run => Ok(message),
        _ => Err(FrameError::OtherRun),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_another_run_a_long_one_and_half_of_one_are_refused() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, 7, &"text").expect("memory");
        assert_eq!(
            read_frame::<String>(&mut &bytes[..], 7).expect("whole"),
            "text"
        );
        let error = read_frame::<String>(&mut &bytes[..], 8).unwrap_err();
        assert!(matches!(error, FrameError::OtherRun), "{error}");
        let half = &bytes[..bytes.len() - 1];
        let error = read_frame::<String>(&mut &*half, 7).unwrap_err();
        assert!(matches!(error, FrameError::Closed), "{error}");
        let error = read_frame::<u64>(&mut &bytes[..], 7).unwrap_err();
        assert!(matches!(error, FrameError::Malformed(_)), "{error}");
        let error = read_frame::<String>(&mut &b"hello, I am no agent"[..], 7).unwrap_err();
        assert!(matches!(error, FrameError::TooLong(_)), "{error}");
    }
}
