//! The code blocks of a Markdown text.
//!
//! Also compiled into the tests in `tests/whole`, which run the commands of marked blocks.

/// The comment on the line above a block whose commands are run by a test.
pub const RUN_MARK: &str = "<!-- run by a test -->";

pub struct CodeBlock {
    pub language: String,
    /// Line of the fence in the page, from 1.
    pub line: usize,
    pub lines: Vec<String>,
    pub is_run: bool,
}

impl CodeBlock {
    /// The commands after a `$ ` prompt; a line that ends in a backslash continues on the next one.
    pub fn commands(&self) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        let mut continues = false;
        for line in &self.lines {
            match (continues, line.strip_prefix("$ ")) {
                (true, _) => {
                    if let Some(command) = commands.last_mut() {
                        command.push_str(line.trim_start());
                    }
                }
                (false, Some(command)) => commands.push(command.to_owned()),
                (false, None) => continue,
            }
            continues = line.ends_with('\\');
            if let (true, Some(command)) = (continues, commands.last_mut()) {
                command.pop();
            }
        }
        commands
    }
}

/// All code blocks of a text.
///
/// # Panics
/// If a block is not closed.
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<CodeBlock> = None;
    let mut previous = "";
    for (line, content) in (1..).zip(text.lines()) {
        match (content.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                open = Some(CodeBlock {
                    language: language.to_owned(),
                    line,
                    lines: Vec::new(),
                    is_run: previous == RUN_MARK,
                });
            }
            (None, Some(block)) => block.lines.push(content.to_owned()),
            (None, None) => {}
        }
        previous = content;
    }
    assert!(open.is_none(), "a code block is not closed");
    blocks
}
