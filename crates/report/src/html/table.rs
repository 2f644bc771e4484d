//! Tables of a page, which may be wider than the page.

use super::escape::EscapedName;
use crate::html::markup::{Html, Markup, markup, write_markup};
use crate::table::Table;
use crate::text::plain;
use std::fmt;

/// Writes a table whose cells are plain texts.
pub fn write_table(out: &mut Html, caption: &str, table: &Table) -> fmt::Result {
    let titles: Vec<&str> = table.titles().collect();
    write_rows(out, caption, &titles, table.rows(), |out, row| {
        let [name, cells @ ..] = &row[..] else {
            return Ok(());
        };
        write_markup!(out, "<tr><th scope=\"row\">{}</th>", EscapedName(name))?;
        for (cell, is_text) in cells.iter().zip(table.are_texts().skip(1)) {
            let class = if is_text { "text" } else { "" };
            write_cell(out, class, cell)?;
        }
        out.push_str("</tr>\n");
        Ok(())
    })
}

/// Writes a table of texts; the first of a row is its header. Nothing if there is no row.
pub fn write_text_table<const N: usize>(
    out: &mut Html,
    caption: &str,
    columns: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> fmt::Result {
    write_rows(out, caption, &columns, rows, |out, row| {
        write_text_row(out, &row.each_ref().map(String::as_str))
    })
}

/// Writes a table of figures; the first cell of a row is its name. Nothing if there is no row.
pub fn write_figure_table<Cells: AsRef<[String]>>(
    out: &mut Html,
    caption: &str,
    columns: &[&str],
    rows: impl IntoIterator<Item = Cells>,
) -> fmt::Result {
    write_rows(out, caption, columns, rows, |out, row| match row.as_ref() {
        [name, cells @ ..] => write_row(out, EscapedName(name), cells),
        [] => Ok(()),
    })
}

fn write_rows<Row>(
    out: &mut Html,
    caption: &str,
    columns: &[&str],
    rows: impl IntoIterator<Item = Row>,
    write: impl Fn(&mut Html, Row) -> fmt::Result,
) -> fmt::Result {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    start_table(out, caption, columns)?;
    rows.try_for_each(|row| write(out, row))?;
    end_table(out)
}

pub fn start_table(out: &mut Html, caption: &str, columns: &[&str]) -> fmt::Result {
    start_table_with_id(out, "", caption, columns)
}

/// Begins the table of a section, which the heading of the section names.
pub fn start_table_of_section(out: &mut Html, section: &str, columns: &[&str]) -> fmt::Result {
    write_markup!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{id}-h\">\
         <table aria-labelledby=\"{id}-h\">",
        id = section
    )?;
    write_columns(out, columns)
}

/// Begins a table with an id that charts refer to.
pub fn start_table_with_id(
    out: &mut Html,
    id: &str,
    caption: &str,
    columns: &[&str],
) -> fmt::Result {
    let id = match id {
        "" => Html::default(),
        id => markup!(" id=\"{}\"", id),
    };
    write_markup!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{caption}\"><table{id}>\
         <caption>{caption}</caption>",
        caption = caption,
        id = id
    )?;
    write_columns(out, columns)
}

fn write_columns(out: &mut Html, columns: &[&str]) -> fmt::Result {
    out.push_str("<thead><tr>");
    for column in columns {
        write_markup!(out, "<th scope=\"col\">{}</th>", column)?;
    }
    out.push_str("</tr></thead><tbody>\n");
    Ok(())
}

pub fn write_row(out: &mut Html, name: impl Markup, cells: &[String]) -> fmt::Result {
    write_markup!(out, "<tr><th scope=\"row\">{}</th>", name)?;
    finish_row(out, cells)
}

/// Writes a row of figures with its time, which the script reads.
pub fn write_row_at_time(out: &mut Html, at_s: f64, name: &str, cells: &[String]) -> fmt::Result {
    write_markup!(
        out,
        "<tr data-at=\"{}\"><th scope=\"row\">{}</th>",
        at_s,
        name
    )?;
    finish_row(out, cells)
}

fn finish_row(out: &mut Html, cells: &[String]) -> fmt::Result {
    for cell in cells {
        write_cell(out, "", cell)?;
    }
    out.push_str("</tr>\n");
    Ok(())
}

fn write_cell(out: &mut Html, class: &str, cell: &str) -> fmt::Result {
    match class {
        "" => write_markup!(out, "<td>{}</td>", cell),
        class => write_markup!(out, "<td class=\"{}\">{}</td>", class, cell),
    }
}

/// Writes a row of texts; the first is its header.
pub fn write_text_row(out: &mut Html, cells: &[&str]) -> fmt::Result {
    out.push_str("<tr class=\"words\">");
    for (index, cell) in cells.iter().enumerate() {
        match index {
            0 => write_markup!(out, "<th scope=\"row\">{}</th>", EscapedName(plain(cell)))?,
            _ => write_markup!(out, "<td>{}</td>", plain(cell))?,
        }
    }
    out.push_str("</tr>\n");
    Ok(())
}

pub fn end_table(out: &mut Html) -> fmt::Result {
    out.push_str("</tbody></table></div>\n");
    Ok(())
}
