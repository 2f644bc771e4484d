//! A few lines at the bottom of a terminal that are drawn again and again.
//!
//! In: lines, the width of the terminal. Out: escape codes that replace the lines drawn before. Must
//! never: be used on a stream that is not a terminal; leave a mode of the terminal changed, as a
//! process can be killed at any moment.

use crate::text::seen_width;
use std::io::{self, Write};

/// The lines that stand on the terminal now.
#[derive(Debug, Default)]
pub struct Redraw {
    /// Their widths, characters.
    drawn: Vec<usize>,
}

impl Redraw {
    /// Replaces the lines that stand there by these, on a terminal that is now so many characters
    /// wide.
    pub fn draw(
        &mut self,
        out: &mut dyn Write,
        lines: &[String],
        columns: usize,
    ) -> io::Result<()> {
        // One write a frame, so that no half-drawn frame is seen.
        let mut frame = self.erased(columns);
        for line in lines {
            frame.push_str(line);
            frame.push('\n');
        }
        self.drawn = lines.iter().map(|line| seen_width(line)).collect();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// Removes them.
    pub fn clear(&mut self, out: &mut dyn Write, columns: usize) -> io::Result<()> {
        let frame = self.erased(columns);
        self.drawn.clear();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// Up to the first line, then erase to the end of the screen (ECMA-48 CUU and ED). A terminal
    /// that has become narrower has broken the lines that no longer fit.
    fn erased(&self, columns: usize) -> String {
        let rows = |width: &usize| width.div_ceil(columns.max(1)).max(1);
        match self.drawn.iter().map(rows).sum::<usize>() {
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
        view.draw(&mut out, &["a".into(), "b".into()], 80).unwrap();
        view.draw(&mut out, &["c".into()], 80).unwrap();
        view.clear(&mut out, 80).unwrap();
        view.clear(&mut out, 80).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "a\nb\n\x1b[2A\r\x1b[Jc\n\x1b[1A\r\x1b[J"
        );
    }

    #[test]
    fn a_terminal_made_narrower_has_broken_the_lines() {
        let (mut view, mut out) = (Redraw::default(), Vec::new());
        let lines = ["x".repeat(79), "\x1b[1mshort\x1b[0m".into(), String::new()];
        view.draw(&mut out, &lines, 80).unwrap();
        out.clear();
        view.clear(&mut out, 40).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\x1b[4A\r\x1b[J");
    }
}
