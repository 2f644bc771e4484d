//! What a PostgreSQL server says when it refuses.
//!
//! In: the body of an ErrorResponse or NoticeResponse. Out: a [`ServerError`]. Must never: panic on
//! hostile bytes.

use crate::server_error::{ServerError, text};

impl ServerError {
    /// Reads the body of an ErrorResponse or NoticeResponse: everything after the length.
    ///
    /// Unknown fields and missing ends are passed over: a half-understood error is still worth
    /// more than none.
    pub fn parse(body: &[u8]) -> ServerError {
        let mut error = ServerError {
            code: *b"00000",
            ..ServerError::default()
        };
        let mut rest = body;
        while let [kind, tail @ ..] = rest {
            if *kind == 0 {
                break;
            }
            let end = tail
                .iter()
                .position(|&byte| byte == 0)
                .unwrap_or(tail.len());
            error.set(*kind, &tail[..end]);
            rest = tail.get(end + 1..).unwrap_or(&[]);
        }
        error
    }

    fn set(&mut self, kind: u8, value: &[u8]) {
        match kind {
            // `V` is never translated and wins over `S`, whichever comes first.
            b'V' => self.severity = text(value),
            b'S' if self.severity.is_empty() => self.severity = text(value),
            b'C' => {
                if let Ok(code) = <[u8; 5]>::try_from(value)
                    && code.iter().all(u8::is_ascii_alphanumeric)
                {
                    self.code = code;
                }
            }
            b'M' => self.message = text(value),
            b'D' => self.detail = Some(text(value)),
            b'H' => self.hint = Some(text(value)),
            b'P' => self.position = text(value).parse().ok(),
            b'W' => self.where_ = Some(text(value)),
            b'n' => self.constraint = Some(text(value)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_error::MAX_FIELD_BYTES;

    const BODY: &[u8] =
        b"SFEHLER\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0Ffile.c\0\0";

    #[test]
    fn reads_the_fields_and_prefers_the_untranslated_severity() {
        let error = ServerError::parse(BODY);
        assert_eq!(error.severity, "ERROR");
        assert_eq!(error.code(), "42P01");
        assert_eq!(error.position, Some(15));
        assert_eq!(error.to_string(), "ERROR:  relation \"x\" does not exist");
    }

    #[test]
    fn prints_detail_hint_and_context_like_libpq() {
        let error = ServerError::parse(b"SERROR\0C23505\0Mdup\0DKey.\0HTry.\0WCOPY t, line 3\0\0");
        assert_eq!(
            error.to_string(),
            "ERROR:  dup\nDETAIL:  Key.\nHINT:  Try.\nCONTEXT:  COPY t, line 3"
        );
    }

    #[test]
    fn survives_every_truncation_and_cuts_long_text() {
        for end in 0..BODY.len() {
            let _ = ServerError::parse(&BODY[..end]);
        }
        let mut long = b"M".to_vec();
        long.resize(1 << 20, b'a');
        assert_eq!(ServerError::parse(&long).message.len(), MAX_FIELD_BYTES);
        assert_eq!(ServerError::parse(b"Cab\0").code(), "00000");
    }
}
