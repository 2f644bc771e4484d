//! A few lines at the bottom of a terminal that are drawn again and again.
//!
//! In: lines. Out: escape codes that replace the lines drawn before. Must never: be used on a
//! stream that is not a terminal.

use std::io::{self, Write};

/// The lines that stand on the terminal now.
#[derive(Debug, Default)]
pub struct Redraw {
    drawn: usize,
}

impl Redraw {
    /// Replaces the lines that stand there by these.
    pub fn draw(&mut self, out: &mut dyn Write, lines: &[String]) -> io::Result<()> {
        // One write a frame, so that no half-drawn frame is seen.
        let mut frame = self.erased();
        for line in lines {
            frame.push_str(line);
            frame.push('\n');
        }
        self.drawn = lines.len();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// Removes them.
    pub fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let frame = self.erased();
        self.drawn = 0;
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// Up to the first line, then erase to the end of the screen (ECMA-48 CUU and ED).
    fn erased(&self) -> String {
        match self.drawn {
            0 => String::new(),
            n => format!("\x1b[{n}A\r\x1b[J"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Redraw;

    #[test]
    fn a_frame_replaces_exactly_the_lines_of_the_one_before() {
        let (mut view, mut out) = (Redraw::default(), Vec::new());
        view.draw(&mut out, &["a".into(), "b".into()]).unwrap();
        view.draw(&mut out, &["c".into()]).unwrap();
        view.clear(&mut out).unwrap();
        view.clear(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "a\nb\n\x1b[2A\r\x1b[Jc\n\x1b[1A\r\x1b[J"
        );
    }
}
