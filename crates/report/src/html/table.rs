//! Tables of a page.
//!
//! In: titles and cells. Out: a table that may be wider than the page. Must never: let a cell become
//! markup.

use super::escape::{Escaped, EscapedName};
use crate::text::plain;
use std::fmt::{self, Display, Write};

/// Begins a table.
pub fn start_table(out: &mut String, caption: &str, columns: &[&str]) -> fmt::Result {
    start_table_with_id(out, "", caption, columns)
}

/// Begins a table with an id that charts refer to.
pub fn start_table_with_id(
    out: &mut String,
    id: &str,
    caption: &str,
    columns: &[&str],
) -> fmt::Result {
    let id = match id {
        "" => String::new(),
        id => format!(" id=\"{id}\""),
    };
    write!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table{id}>\
         <caption>{0}</caption><thead><tr>",
        Escaped(caption)
    )?;
    for column in columns {
        write!(out, "<th scope=\"col\">{}</th>", Escaped(column))?;
    }
    out.push_str("</tr></thead><tbody>\n");
    Ok(())
}

/// Writes a row of figures; `name` is written without escaping.
pub fn write_row(out: &mut String, name: impl Display, cells: &[String]) -> fmt::Result {
    write!(out, "<tr><th scope=\"row\">{name}</th>")?;
    finish_row(out, cells)
}

/// Writes a row of figures with its time, which the script reads; `name` is written without escaping.
pub fn write_row_at_time(out: &mut String, at_s: f64, name: &str, cells: &[String]) -> fmt::Result {
    write!(out, "<tr data-at=\"{at_s}\"><th scope=\"row\">{name}</th>")?;
    finish_row(out, cells)
}

fn finish_row(out: &mut String, cells: &[String]) -> fmt::Result {
    for cell in cells {
        write!(out, "<td>{}</td>", Escaped(cell))?;
    }
    out.push_str("</tr>\n");
    Ok(())
}

/// Writes a row of texts; the first is its header.
pub fn write_text_row(out: &mut String, cells: &[&str]) -> fmt::Result {
    out.push_str("<tr class=\"words\">");
    for (index, cell) in cells.iter().enumerate() {
        match index {
            0 => write!(out, "<th scope=\"row\">{}</th>", EscapedName(plain(cell)))?,
            _ => write!(out, "<td>{}</td>", Escaped(plain(cell)))?,
        }
    }
    out.push_str("</tr>\n");
    Ok(())
}

/// Ends a table.
pub fn end_table(out: &mut String) -> fmt::Result {
    out.write_str("</tbody></table></div>\n")
}
