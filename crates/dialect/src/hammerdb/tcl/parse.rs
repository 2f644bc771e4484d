//! Parses scripts into commands, words and substitutions.
//!
//! In: a script's text. Out: its commands in order, up to the first syntax error. Must never: evaluate; nest
//! deeper than [`MAX_NESTING`].

/// The maximum nesting of `[..]` and array indexes.
pub(crate) const MAX_NESTING: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    /// A variable, with an index if it is an element of an array.
    Variable(String, Option<Vec<Part>>),
    /// Command substitution, `[..]`.
    Script(Script),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub parts: Vec<Part>,
    /// `{*}`: each element of the list becomes a word.
    pub is_expanded: bool,
}

/// Commands, and the syntax error after them, if there is one. As in Tcl, the commands run before the error
/// is reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    pub commands: Vec<Vec<Word>>,
    pub error: Option<String>,
}

/// A syntax error, and whether more text could complete the script.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub message: String,
    pub is_incomplete: bool,
}

fn incomplete(message: &str) -> SyntaxError {
    SyntaxError {
        message: message.to_owned(),
        is_incomplete: true,
    }
}

fn syntax_error(message: impl Into<String>) -> SyntaxError {
    SyntaxError {
        message: message.into(),
        is_incomplete: false,
    }
}

pub(crate) fn script(text: &str) -> Script {
    let mut parser = TextParser::new(text);
    let mut script = Script::default();
    if let Err(error) = parser.parse_commands(&mut script.commands, false) {
        script.error = Some(error.message);
    }
    script
}

/// Whether all braces, brackets and quotes of a script are closed, so that it can run.
pub fn is_complete(text: &str) -> bool {
    // A trailing backslash continues the command on the next line.
    let backslashes = text
        .strip_suffix('\n')
        .unwrap_or(text)
        .bytes()
        .rev()
        .take_while(|&b| b == b'\\')
        .count();
    if backslashes % 2 == 1 {
        return false;
    }
    let mut parser = TextParser::new(text);
    !matches!(parser.parse_commands(&mut Vec::new(), false), Err(error) if error.is_incomplete)
}

/// The substitutions that `subst` makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Substitutions {
    pub backslashes: bool,
    pub commands: bool,
    pub variables: bool,
}

impl Default for Substitutions {
    fn default() -> Self {
        Self {
            backslashes: true,
            commands: true,
            variables: true,
        }
    }
}

/// Parses a text for `subst`: the parts to substitute and to concatenate.
pub(crate) fn text_parts(text: &str, enabled: Substitutions) -> Result<Vec<Part>, String> {
    let mut parser = TextParser::new(text);
    let parts = parser.parse_parts_with(|_| false, enabled);
    parts.map_err(|error| error.message)
}

pub(crate) struct TextParser<'a> {
    text: &'a str,
    offset: usize,
    nesting: usize,
}

impl<'a> TextParser<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            nesting: 0,
        }
    }

    pub fn position(&self) -> usize {
        self.offset
    }

    pub fn set_position(&mut self, offset: usize) {
        self.offset = offset;
    }

    pub fn peek(&self) -> Option<char> {
        self.remaining().chars().next()
    }

    pub fn remaining(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or("")
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.offset += c.len_utf8();
        Some(c)
    }

    fn enter_level(&mut self) -> Result<(), SyntaxError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(syntax_error("too many nested substitutions"));
        }
        Ok(())
    }

    fn parse_commands(
        &mut self,
        commands: &mut Vec<Vec<Word>>,
        in_brackets: bool,
    ) -> Result<(), SyntaxError> {
        loop {
            self.skip_separators();
            match self.peek() {
                None if in_brackets => return Err(incomplete("missing close-bracket")),
                None => return Ok(()),
                Some(']') if in_brackets => {
                    self.next();
                    return Ok(());
                }
                Some('#') => self.skip_comment(),
                Some(_) => {
                    let words = self.parse_command(in_brackets)?;
                    if !words.is_empty() {
                        commands.push(words);
                    }
                }
            }
        }
    }

    /// Skips white space, line feeds and semicolons before a command.
    fn skip_separators(&mut self) {
        loop {
            if self.skip_blank() {
                continue;
            }
            match self.peek() {
                Some('\n' | ';') => {
                    self.next();
                }
                _ => return,
            }
        }
    }

    /// Skips white space within a line, including continued lines. Returns whether it skipped anything.
    pub fn skip_blank(&mut self) -> bool {
        let start = self.offset;
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r' | '\u{b}' | '\u{c}') => {
                    self.next();
                }
                Some('\\') if self.remaining().starts_with("\\\n") => self.offset += 2,
                Some('\\') if self.remaining().starts_with("\\\r\n") => self.offset += 3,
                _ => return self.offset > start,
            }
        }
    }

    fn skip_comment(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }

    fn parse_command(&mut self, in_brackets: bool) -> Result<Vec<Word>, SyntaxError> {
        let mut words = Vec::new();
        loop {
            self.skip_blank();
            match self.peek() {
                None | Some('\n' | ';') => return Ok(words),
                Some(']') if in_brackets => return Ok(words),
                Some(_) => words.push(self.parse_word(in_brackets)?),
            }
        }
    }

    fn parse_word(&mut self, in_brackets: bool) -> Result<Word, SyntaxError> {
        let mut is_expanded = false;
        if let Some(after) = self.remaining().strip_prefix("{*}")
            && !after.starts_with(|c: char| c.is_whitespace() || c == ';')
            && !after.is_empty()
        {
            self.offset += 3;
            is_expanded = true;
        }
        let parts = match self.peek() {
            Some('{') => {
                let text = self.parse_braced()?;
                self.check_word_end("close-brace", in_brackets)?;
                vec![Part::Text(text)]
            }
            Some('"') => {
                let parts = self.parse_quoted()?;
                self.check_word_end("close-quote", in_brackets)?;
                parts
            }
            _ => self.parse_parts(|c| {
                c.is_ascii_whitespace() || c == ';' || (in_brackets && c == ']')
            })?,
        };
        Ok(Word { parts, is_expanded })
    }

    fn check_word_end(&mut self, delimiter: &str, in_brackets: bool) -> Result<(), SyntaxError> {
        match self.peek() {
            None | Some(' ' | '\t' | '\r' | '\n' | ';' | '\u{b}' | '\u{c}') => Ok(()),
            Some(']') if in_brackets => Ok(()),
            Some('\\') if self.remaining().starts_with("\\\n") => Ok(()),
            _ => Err(syntax_error(format!("extra characters after {delimiter}"))),
        }
    }

    /// Parses from `{` to the matching `}`.
    pub fn parse_braced(&mut self) -> Result<String, SyntaxError> {
        self.next();
        let mut depth = 1_usize;
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                '{' => depth += 1,
                '}' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(text);
                    }
                }
                '\\' => {
                    if self.peek() == Some('\n') {
                        self.next();
                        while matches!(self.peek(), Some(' ' | '\t')) {
                            self.next();
                        }
                        text.push(' ');
                    } else {
                        text.push('\\');
                        text.extend(self.next());
                    }
                    continue;
                }
                _ => {}
            }
            text.push(c);
        }
        Err(incomplete("missing close-brace"))
    }

    /// Parses from `"` to the next `"`.
    pub fn parse_quoted(&mut self) -> Result<Vec<Part>, SyntaxError> {
        self.next();
        let parts = self.parse_parts(|c| c == '"')?;
        if self.next().is_none() {
            return Err(incomplete("missing \""));
        }
        Ok(parts)
    }

    /// Parses text with substitutions, up to a character for which `is_end` is true. Does not read that
    /// character.
    fn parse_parts(&mut self, is_end: impl Fn(char) -> bool) -> Result<Vec<Part>, SyntaxError> {
        self.parse_parts_with(is_end, Substitutions::default())
    }

    /// Like [`Self::parse_parts`], but makes only the given substitutions.
    fn parse_parts_with(
        &mut self,
        is_end: impl Fn(char) -> bool,
        enabled: Substitutions,
    ) -> Result<Vec<Part>, SyntaxError> {
        let mut parts = Vec::new();
        let mut text = String::new();
        while let Some(c) = self.peek() {
            if is_end(c) {
                break;
            }
            let part = match c {
                '\\' if is_end(' ') && self.remaining().starts_with("\\\n") => break,
                '\\' if enabled.backslashes => {
                    self.parse_escape(&mut text);
                    continue;
                }
                '$' if enabled.variables => self.parse_dollar()?,
                '[' if enabled.commands => Some(self.parse_bracket()?),
                _ => None,
            };
            match part {
                Some(part) => {
                    if !text.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                    }
                    parts.push(part);
                }
                None => {
                    text.push(c);
                    self.next();
                }
            }
        }
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(parts)
    }

    pub fn parse_bracket(&mut self) -> Result<Part, SyntaxError> {
        self.enter_level()?;
        self.next();
        let mut script = Script::default();
        self.parse_commands(&mut script.commands, true)?;
        self.nesting -= 1;
        Ok(Part::Script(script))
    }

    /// Parses `$name`, `${name}` or `$name(index)`; `None` if the dollar sign is literal.
    pub fn parse_dollar(&mut self) -> Result<Option<Part>, SyntaxError> {
        let name_text = &self.remaining()[1..];
        if let Some(after) = name_text.strip_prefix('{') {
            let Some(length) = after.find('}') else {
                return Err(incomplete("missing close-brace for variable name"));
            };
            let name = after[..length].to_owned();
            self.offset += length + 3;
            return Ok(Some(Part::Variable(name, None)));
        }
        let length = name_length(name_text);
        let has_index = name_text[length..].starts_with('(');
        if length == 0 && !has_index {
            return Ok(None);
        }
        let name = name_text[..length].to_owned();
        self.offset += 1 + length;
        if !has_index {
            return Ok(Some(Part::Variable(name, None)));
        }
        self.enter_level()?;
        self.next();
        let index = self.parse_parts(|c| c == ')')?;
        if self.next().is_none() {
            return Err(incomplete("missing )"));
        }
        self.nesting -= 1;
        Ok(Some(Part::Variable(name, Some(index))))
    }

    /// Parses a backslash sequence and appends its character.
    fn parse_escape(&mut self, text: &mut String) {
        self.next();
        let Some(c) = self.next() else {
            text.push('\\');
            return;
        };
        match c {
            'a' => text.push('\u{7}'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'v' => text.push('\u{b}'),
            '\n' => {
                while matches!(self.peek(), Some(' ' | '\t')) {
                    self.next();
                }
                text.push(' ');
            }
            'x' => self.push_code(text, c, 16, 2),
            'u' => self.push_code(text, c, 16, 4),
            '0'..='7' => {
                self.offset -= 1;
                self.push_code(text, c, 8, 3);
            }
            other => text.push(other),
        }
    }

    /// Appends the character whose code the next digits are; `letter` if there are none, or no such character.
    fn push_code(&mut self, text: &mut String, letter: char, base: u32, max_digits: usize) {
        let digits: String = (self.remaining().chars().take(max_digits))
            .take_while(|c| c.is_digit(base))
            .collect();
        self.offset += digits.len();
        let code = u32::from_str_radix(&digits, base).ok();
        text.push(code.and_then(char::from_u32).unwrap_or(letter));
    }
}

/// The length of a variable's name, in bytes: letters, digits, `_`, and two or more colons in a row.
fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    while let Some(&b) = bytes.get(length) {
        if b.is_ascii_alphanumeric() || b == b'_' {
            length += 1;
        } else if b == b':' && bytes.get(length + 1) == Some(&b':') {
            while bytes.get(length) == Some(&b':') {
                length += 1;
            }
        } else {
            break;
        }
    }
    length
}
