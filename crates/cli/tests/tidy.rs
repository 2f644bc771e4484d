//! Checks conventions of the source code that the compiler cannot enforce.

use prony_assertions::TestFolder;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Crates that measure or report: they read the time only through `drive/src/clock.rs`. Other crates read it
/// to wait for processes and to show progress.
const MEASURING_CRATES: &[&str] = &[
    "plan", "wire", "session", "drive", "measure", "judge", "report",
];
/// Crates that may print.
const PRINTING_CRATES: &[&str] = &["report", "cli", "dropin"];
/// The maximum length of a file, in lines.
const MAX_LINES: usize = 800;
const MAX_FUNCTION_LINES: usize = 80;

fn crates_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the folder of crates")
        .to_owned()
}

/// Returns the folders of the crates; those of crates for tests are below that of `tests`, which is one itself.
fn packages() -> Vec<PathBuf> {
    let mut folders = vec![crates_folder().join("tests"), crates_folder()];
    let mut packages = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        packages.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| is_package(path)),
        );
    }
    packages
}

fn is_package(folder: &Path) -> bool {
    folder.join("Cargo.toml").is_file()
}

/// Returns all Rust files of the crates: name of the crate, path and text.
fn all_files() -> Vec<(String, PathBuf, String)> {
    let mut files = Vec::new();
    for package in packages() {
        let name = package
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        collect_files(&name, &package, &mut files);
    }
    files
}

/// Returns the Rust files of the crates, without tests.
fn source_files() -> Vec<(String, PathBuf, String)> {
    let mut sources = all_files();
    sources.retain(|(_, path, _)| {
        let relative = path
            .strip_prefix(crates_folder())
            .expect("below the folder");
        let mut parts = relative.components().skip(1);
        parts.next() == Some(Component::Normal("src".as_ref()))
            && parts.all(|part| part.as_os_str() != "tests")
            && !path.ends_with("tests.rs")
    });
    assert!(sources.len() > 100, "only {} files found", sources.len());
    sources
}

fn collect_files(crate_name: &str, folder: &Path, files: &mut Vec<(String, PathBuf, String)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !is_package(&path) {
            collect_files(crate_name, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("UTF-8");
            files.push((crate_name.to_owned(), path, text));
        }
    }
}

/// Returns the lines of code of a file up to its tests, numbered from 1.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    (1..)
        .zip(lines)
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Fails with the problems, one per line.
fn assert_empty(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn only_the_clock_module_reads_the_time() {
    let mut problems = Vec::new();
    for (crate_name, path, text) in source_files() {
        if !MEASURING_CRATES.contains(&crate_name.as_str()) || path.ends_with("drive/src/clock.rs")
        {
            continue;
        }
        for (number, line) in code_lines(&text) {
            if line.contains("Instant::now")
                || line.contains("SystemTime::now")
                || line.contains("clock_gettime")
            {
                problems.push(format!("{}:{number}: reads the time", path.display()));
            }
        }
    }
    assert_empty(&problems);
}

#[test]
fn only_report_cli_and_dropin_print() {
    let mut problems = Vec::new();
    for (crate_name, path, text) in source_files() {
        if PRINTING_CRATES.contains(&crate_name.as_str()) {
            continue;
        }
        for (number, line) in code_lines(&text) {
            if ["println!", "print!(", "stdout()", "stderr()"]
                .iter()
                .any(|word| line.contains(word))
            {
                problems.push(format!("{}:{number}: prints", path.display()));
            }
        }
    }
    assert_empty(&problems);
}

#[test]
fn every_module_has_a_header() {
    let without_header = source_files()
        .into_iter()
        .filter(|(_, _, text)| !text.starts_with("//!"));
    assert_empty(
        &without_header
            .map(|(_, path, _)| format!("{}: does not start with `//!`", path.display()))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn files_are_not_too_long() {
    let files = all_files();
    assert!(
        files.len() > source_files().len() + 100,
        "test files are missing"
    );
    let too_long = files
        .into_iter()
        .filter(|(_, _, text)| text.lines().count() > MAX_LINES);
    assert_empty(
        &too_long
            .map(|(_, path, text)| format!("{}: {} lines", path.display(), text.lines().count()))
            .collect::<Vec<_>>(),
    );
}

/// A function ends at the first closing brace with the indentation of its start, as rustfmt writes it.
#[test]
fn functions_are_not_too_long() {
    let mut problems = Vec::new();
    for (_, path, text) in source_files() {
        let lines: Vec<&str> = text
            .lines()
            .take_while(|line| *line != "#[cfg(test)]")
            .collect();
        for (index, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            let is_function = code.starts_with("fn ")
                || (code.contains(" fn ") && !code.starts_with("//") && !code.contains('"'));
            if !is_function || line.trim_end().ends_with([';', '}']) {
                continue;
            }
            let end = format!("{}}}", " ".repeat(line.len() - code.len()));
            let length = lines[index..].iter().position(|line| *line == end);
            if length.is_some_and(|length| length >= MAX_FUNCTION_LINES) {
                problems.push(format!("{}:{}: a long function", path.display(), index + 1));
            }
        }
    }
    assert_empty(&problems);
}

/// A file that rustc compiles, and the folder of its child modules.
struct ModuleFile {
    path: PathBuf,
    children: PathBuf,
}

impl ModuleFile {
    /// A file with its child modules in the same folder: the root of a target, `mod.rs`, or one with `#[path]`.
    fn with_children_in_folder(path: PathBuf) -> ModuleFile {
        let children = path.parent().unwrap_or(Path::new("")).to_owned();
        ModuleFile { path, children }
    }

    fn of_module(folder: &Path, name: &str) -> ModuleFile {
        let (file, children) = (folder.join(format!("{name}.rs")), folder.join(name));
        if file.is_file() {
            ModuleFile {
                path: file,
                children,
            }
        } else {
            ModuleFile::with_children_in_folder(children.join("mod.rs"))
        }
    }

    /// Returns the files of the modules that this file declares, including those in inline modules. Requires
    /// rustfmt's layout: one declaration per line, and the end of an inline module indented like its start.
    fn child_files(&self, text: &str) -> Vec<ModuleFile> {
        let mut files = Vec::new();
        let mut inline: Vec<(usize, &str)> = Vec::new();
        let mut explicit_path = None;
        for line in text.lines() {
            let code = line.trim_start();
            let indent = line.len() - code.len();
            if code == "}" {
                inline.retain(|(start, _)| *start < indent);
            }
            if let Some(value) = code.strip_prefix("#[path = \"") {
                explicit_path = value.split('"').next();
                continue;
            }
            if code.starts_with("#[") || code.starts_with("//") {
                continue;
            }
            let path = explicit_path.take();
            let code = match code.strip_prefix("pub(") {
                Some(code) => code.split_once(") ").map_or("", |(_, item)| item),
                None => code.strip_prefix("pub ").unwrap_or(code),
            };
            let Some(declaration) = code.strip_prefix("mod ") else {
                continue;
            };
            let inline_path = || inline.iter().map(|(_, name)| *name).collect::<PathBuf>();
            if let Some(name) = declaration.strip_suffix(" {") {
                inline.push((indent, name));
            } else if let Some(name) = declaration.strip_suffix(';') {
                files.push(match path {
                    Some(path) if inline.is_empty() => {
                        let folder = self.path.parent().unwrap_or(Path::new(""));
                        ModuleFile::with_children_in_folder(folder.join(path))
                    }
                    Some(path) => ModuleFile::with_children_in_folder(
                        self.children.join(inline_path()).join(path),
                    ),
                    None => ModuleFile::of_module(&self.children.join(inline_path()), name),
                });
            }
        }
        files
    }
}

/// Returns the root files of a package's targets, by Cargo's conventions.
fn target_roots(package: &Path) -> Vec<ModuleFile> {
    let mut roots = ["build.rs", "src/lib.rs", "src/main.rs"]
        .map(|file| package.join(file))
        .to_vec();
    for folder in ["src/bin", "tests", "examples", "benches"] {
        let Ok(entries) = fs::read_dir(package.join(folder)) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            match path.is_dir() {
                true => roots.push(path.join("main.rs")),
                false if path.extension().is_some_and(|extension| extension == "rs") => {
                    roots.push(path)
                }
                false => {}
            }
        }
    }
    roots.retain(|path| path.is_file());
    roots
        .into_iter()
        .map(ModuleFile::with_children_in_folder)
        .collect()
}

/// Returns the Rust files of a package that no target compiles.
fn unreached_files(package: &Path) -> Vec<PathBuf> {
    let (mut reached, mut pending) = (BTreeSet::new(), target_roots(package));
    while let Some(file) = pending.pop() {
        let Ok(path) = file.path.canonicalize() else {
            continue;
        };
        // With `#[path]`, several targets may compile one file, each with its own folder for child modules.
        if reached.insert((path, file.children.clone())) {
            let text = fs::read_to_string(&file.path).expect("UTF-8");
            pending.extend(file.child_files(&text));
        }
    }
    let reached: BTreeSet<PathBuf> = reached.into_iter().map(|(path, _)| path).collect();
    let mut files = Vec::new();
    collect_files("", package, &mut files);
    let mut files: Vec<PathBuf> = files.into_iter().map(|(_, path, _)| path).collect();
    files.retain(|path| !reached.contains(&path.canonicalize().expect("a file")));
    files.sort();
    files
}

#[test]
fn every_file_belongs_to_a_module() {
    let mut problems = Vec::new();
    for package in packages() {
        for path in unreached_files(&package) {
            problems.push(format!("{}: no `mod` reaches it", path.display()));
        }
    }
    assert_empty(&problems);
}

#[test]
fn files_that_no_module_reaches_are_found() {
    let package = TestFolder::create();
    let files = [
        ("build.rs", ""),
        (
            "src/lib.rs",
            "mod alone;\npub(crate) mod folder;\n// mod comment;\n#[cfg(test)]\nmod tests {\n    mod inner;\n}\nmod last;\n",
        ),
        ("src/alone.rs", "pub mod child;\n"),
        ("src/alone/child.rs", ""),
        ("src/alone/orphan.rs", ""),
        (
            "src/folder/mod.rs",
            "#[path = \"other/name.rs\"]\nmod named;\n",
        ),
        ("src/folder/other/name.rs", "mod beside;\n"),
        ("src/folder/other/beside.rs", ""),
        ("src/folder/named.rs", ""),
        ("src/tests/inner.rs", ""),
        ("src/last.rs", ""),
        ("src/inner.rs", ""),
        ("src/comment.rs", ""),
        ("src/bin/tool.rs", ""),
        (
            "tests/one.rs",
            "#[path = \"common/shared.rs\"]\nmod shared;\n",
        ),
        ("tests/common/shared.rs", ""),
        ("tests/common/unused.rs", ""),
        ("tests/many/main.rs", "mod part;\n"),
        ("tests/many/part.rs", ""),
        ("examples/shown.rs", ""),
    ];
    for (file, text) in files {
        let path = package.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("creates a folder");
        fs::write(path, text).expect("writes a file");
    }
    let paths = unreached_files(&package);
    let orphans: Vec<&str> = paths
        .iter()
        .filter_map(|path| path.strip_prefix(&package).ok()?.to_str())
        .collect();
    assert_eq!(
        orphans,
        [
            "src/alone/orphan.rs",
            "src/comment.rs",
            "src/folder/named.rs",
            "src/inner.rs",
            "tests/common/unused.rs",
        ]
    );
}
