//! Unpacks the downloaded jar into a folder of programs.
//!
//! In: a jar (a zip) that contains one .txz (a tar, compressed by xz). Out: files under a folder.
//! Must never: write outside that folder, follow a link out of it, or create a device or a set-uid
//! file.

use super::Error;
use crate::control::StopSignal;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::{Component, Path};

/// Limit for the unpacked tar, against decompression bombs; larger than any PostgreSQL.
const TAR_BYTES_MAX: u64 = 2 << 30;

/// Unpacks the .txz inside `jar` into `folder`, which must exist; uses the file `scratch` for the
/// tar. If `stop` interrupts it, `folder` is incomplete.
pub(super) fn unpack(
    jar: &Path,
    folder: &Path,
    scratch: &Path,
    stop: &StopSignal,
) -> Result<(), Error> {
    let unusable = |reason: &dyn Display| archive_error(jar, reason);
    let file = File::open(jar).map_err(Error::io("open", jar))?;
    let mut zip = zip::ZipArchive::new(BufReader::new(file)).map_err(|e| unusable(&e))?;
    let txz_name = zip
        .file_names()
        .filter_map(Result::ok)
        .find(|name| name.ends_with(".txz"))
        .map(|name| name.into_owned())
        .ok_or_else(|| unusable(&"it contains no .txz"))?;
    let txz = zip.by_name(&txz_name).map_err(|e| unusable(&e))?;

    let mut tar = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(scratch)
        .map_err(Error::io("create", scratch))?;
    let mut bounded = BoundedWriter {
        inner: BufWriter::new(&tar),
        remaining_bytes: TAR_BYTES_MAX,
        stop,
    };
    let unpacked = lzma_rs::xz_decompress(&mut BufReader::new(txz), &mut bounded);
    if stop.is_requested() {
        return Err(Error::Interrupted);
    }
    unpacked.map_err(|problem| unusable(&format!("{txz_name}: {}", error_text(problem))))?;
    bounded.inner.flush().map_err(Error::io("write", scratch))?;
    drop(bounded);
    tar.rewind().map_err(Error::io("read", scratch))?;
    untar(tar, folder)
}

/// Text of an error without the names of the library's types.
fn error_text(problem: lzma_rs::error::Error) -> String {
    use lzma_rs::error::Error as E;
    match problem {
        E::IoError(error) | E::HeaderTooShort(error) => error.to_string(),
        E::LzmaError(text) | E::XzError(text) => text,
    }
}

/// Unpacks a tar. Checks each entry before writing it.
fn untar(tar: File, folder: &Path) -> Result<(), Error> {
    let mut archive = tar::Archive::new(BufReader::new(tar));
    archive.set_overwrite(true);
    let entries = archive.entries().map_err(|e| archive_error(folder, &e))?;
    for entry in entries {
        let mut entry = entry.map_err(|e| archive_error(folder, &e))?;
        let path = entry.path().map_err(|e| archive_error(folder, &e))?;
        let path = path.into_owned();
        let unusable = |reason: &dyn Display| archive_error(&path, reason);
        check_path(&path).map_err(|reason| unusable(&reason))?;
        let kind = entry.header().entry_type();
        if kind.is_symlink() || kind.is_hard_link() {
            let target = entry.link_name().map_err(|e| unusable(&e))?;
            let target = target.ok_or_else(|| unusable(&"a link without a target"))?;
            check_link(&path, &target, kind.is_symlink()).map_err(|reason| unusable(&reason))?;
        } else if !(kind.is_file() || kind.is_dir()) {
            return Err(unusable(&"neither a file, a folder nor a link"));
        }
        // unpack_in also refuses to write through a link that leads out of the folder.
        let is_inside = entry.unpack_in(folder).map_err(|e| unusable(&e))?;
        if !is_inside {
            return Err(unusable(&"it leads out of the folder"));
        }
    }
    Ok(())
}

/// `origin`: the archive, or one of its entries.
fn archive_error(origin: &Path, reason: &dyn Display) -> Error {
    Error::Archive {
        origin: origin.display().to_string(),
        reason: reason.to_string(),
    }
}

/// Checks that a path stays inside the folder.
fn check_path(path: &Path) -> Result<(), String> {
    let stays_inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.components().all(stays_inside) {
        Ok(())
    } else {
        Err("it leads out of the folder".to_owned())
    }
}

/// Checks that a link stays inside the folder. The target of a symbolic link is relative to the link's
/// folder, that of a hard link to the top folder of the archive.
fn check_link(path: &Path, target: &Path, is_symbolic: bool) -> Result<(), String> {
    let mut depth = match path.parent() {
        Some(parent) if is_symbolic => parent
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .count(),
        _ => 0,
    };
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => {
                return Err(format!("a link out of the folder, to {}", target.display()));
            }
        }
    }
    Ok(())
}

/// Makes a tree readable for all users, like an installed program: the server may run as a
/// different user than the one who downloads.
pub(super) fn make_readable_by_all(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let meta = fs::symlink_metadata(folder)?;
    if meta.is_symlink() {
        return Ok(());
    }
    let mode = meta.permissions().mode();
    let executable = meta.is_dir() || mode & 0o100 != 0;
    let mode = if executable { 0o755 } else { 0o644 };
    fs::set_permissions(folder, fs::Permissions::from_mode(mode))?;
    if meta.is_dir() {
        for entry in fs::read_dir(folder)? {
            make_readable_by_all(&entry?.path())?;
        }
    }
    Ok(())
}

/// A writer with a size limit, which fails once `stop` is set.
struct BoundedWriter<'a, W> {
    inner: W,
    remaining_bytes: u64,
    stop: &'a StopSignal,
}

impl<W: Write> Write for BoundedWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.is_requested() {
            return Err(io::Error::other("interrupted"));
        }
        self.remaining_bytes = self
            .remaining_bytes
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| io::Error::other("the archive is larger than any PostgreSQL"))?;
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_links_must_stay_inside() {
        for valid in ["bin/postgres", "./lib/x", "a"] {
            assert!(check_path(Path::new(valid)).is_ok(), "{valid}");
        }
        for outside in ["/etc/passwd", "../x", "a/../../x", "a/.."] {
            assert!(check_path(Path::new(outside)).is_err(), "{outside}");
        }
        let is_link_inside =
            |path, target| check_link(Path::new(path), Path::new(target), true).is_ok();
        assert!(is_link_inside("lib/libpq.so", "libpq.so.5.18"));
        assert!(is_link_inside("lib/a/b", "../../bin/x"));
        assert!(!is_link_inside("lib/a", "../../x"));
        assert!(!is_link_inside("lib/a", "/etc/passwd"));
        assert!(!is_link_inside("a", "b/../../x"));
        assert!(check_link(Path::new("lib/a"), Path::new("../x"), false).is_err());
    }

    #[test]
    fn an_archive_above_the_size_limit_is_refused() {
        let mut sink = BoundedWriter {
            inner: Vec::new(),
            remaining_bytes: 10,
            stop: &StopSignal::default(),
        };
        assert!(sink.write_all(&[0; 10]).is_ok());
        assert!(sink.write_all(&[0]).is_err());
    }
}
