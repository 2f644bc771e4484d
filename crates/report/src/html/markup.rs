//! The markup of a page: escaping cannot be forgotten, because only this module can write a text into a page.
//!
//! In: values of documents. Out: [`Html`], to which [`write_markup`] adds a template, a literal, with the values
//! of its arguments; it escapes each, so that a text is safe between tags and in quoted attributes. Only the
//! types of [`Markup`] are not escaped, or in a way of their own: markup that is finished ([`Html`]), constants
//! ([`Raw`]), names with line breaks and embedded JSON (`escape`). `write!` does not compile on an [`Html`], and
//! a template cannot capture a variable (`{name}` without an argument), because it could not be escaped.
//! Must never: add a way to write a `String` without escaping it.

use super::escape::EscapingWriter;
use std::fmt::{self, Display, Write};

/// Markup. The type has no `fmt::Write`, so that `write!` cannot add an unescaped text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// A template with its arguments; for [`markup`], which makes them.
    pub fn from_template(template: fmt::Arguments<'_>) -> Html {
        Html(template.to_string())
    }

    /// Adds markup that the source code contains.
    pub fn push_str(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Adds a template with its arguments; for [`write_markup`], which makes them.
    pub fn write_template(&mut self, template: fmt::Arguments<'_>) -> fmt::Result {
        self.0.write_fmt(template)
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
impl std::ops::Deref for Html {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
impl PartialEq<&str> for Html {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl Display for Html {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Markup that the source code contains.
#[derive(Clone, Copy, Debug)]
pub struct Raw(pub &'static str);

pub trait Markup {
    /// Writes the value, escaped unless it is markup.
    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl Markup for str {
    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        EscapingWriter(out).write_str(self)
    }
}

impl Markup for String {
    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().write_to(out)
    }
}

impl<T: Markup + ?Sized> Markup for &T {
    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).write_to(out)
    }
}

impl Markup for Html {
    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Markup for Raw {
    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

/// Numbers need no escaping; a precision in the template applies to them.
macro_rules! impl_for_numbers {
    ($($number:ty)*) => {$(
        impl Markup for $number {
            fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                Display::fmt(self, out)
            }
        }
    )*};
}

impl_for_numbers!(u32 u64 usize f64);

/// An argument of a template; made by [`write_markup`].
pub struct Argument<'a, T: Markup + ?Sized>(pub &'a T);

impl<T: Markup + ?Sized> Display for Argument<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_to(out)
    }
}

/// Adds a template, with its arguments escaped, to an [`Html`]. Its arguments are either all positional or all
/// named.
macro_rules! write_markup {
    ($out:expr, $template:literal $(, $name:ident = $value:expr)+ $(,)?) => {
        $out.write_template(format_args!(
            // `concat!` prevents captured variables, which would not be escaped.
            concat!($template) $(, $name = $crate::html::markup::Argument(&$value))+
        ))
    };
    ($out:expr, $template:literal $(, $value:expr)* $(,)?) => {
        $out.write_template(format_args!(
            concat!($template) $(, $crate::html::markup::Argument(&$value))*
        ))
    };
}

/// The markup of a template with its positional arguments escaped.
macro_rules! markup {
    ($template:literal $(, $value:expr)* $(,)?) => {
        $crate::html::markup::Html::from_template(format_args!(
            concat!($template) $(, $crate::html::markup::Argument(&$value))*
        ))
    };
}

/// [`write_markup`] with a line break at the end.
macro_rules! writeln_markup {
    ($out:expr, $template:literal $($arguments:tt)*) => {
        $crate::html::markup::write_markup!($out, $template $($arguments)*)
            .map(|()| $out.push_str("\n"))
    };
}

pub(in crate::html) use {markup, write_markup, writeln_markup};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_is_escaped_unless_it_is_markup() {
        let bad = "<script>\"&'".to_owned();
        let safe = "&lt;script&gt;&quot;&amp;&#39;";
        let mut out = Html::default();
        write_markup!(out, "<p title=\"{}\">{}</p>", bad, bad.as_str()).unwrap();
        assert_eq!(out, &*format!("<p title=\"{safe}\">{safe}</p>"));
        let mut outer = Html::default();
        writeln_markup!(outer, "{} {:.1} {}", out, 1.25, Raw("<br>")).unwrap();
        assert_eq!(outer, &*format!("{out} 1.2 <br>\n"));
        let mut named = Html::default();
        write_markup!(named, "{text}{text}", text = &bad).unwrap();
        assert_eq!(named, &*format!("{safe}{safe}"));
    }

    /// The sources of pages have no other way to write markup: no `String` as a page, and no template outside
    /// of the macros.
    #[test]
    fn the_sources_write_markup_only_by_the_macros() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/html");
        let mut folders = vec![std::path::PathBuf::from(folder)];
        let mut calls = 0;
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().flatten() {
                let path = path.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.extension().is_none_or(|extension| extension != "rs")
                    || path.ends_with("html/markup.rs")
                {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                calls += text.matches("_markup!(").count();
                for forbidden in ["_template(", "&mut String"] {
                    let code = text.split("#[cfg(test)]").next().unwrap();
                    assert!(!code.contains(forbidden), "{}: {forbidden}", path.display());
                }
            }
        }
        assert!(calls > 50, "{calls}");
    }
}
