//! The login file of mysql_config_editor, `~/.mylogin.cnf` or where MYSQL_TEST_LOGIN_FILE says.
//!
//! In: the file. Out: its text, an option file. Must never: show that text, which holds passwords.
//!
//! Layout: 4 bytes of no meaning, 20 bytes of a key, then lines: a length, 4 bytes little-endian, and as
//! many bytes, AES-128 in ECB mode with PKCS #7 padding. The key is folded into 16 bytes by exclusive or.
//! It hides passwords from a glance, no more: who can read the file can read them.
//! Source: MySQL documentation, "mysql_config_editor"; the layout as the files show it.

use super::option_file;
use super::options::Options;
use crate::error::Error;
use crate::postgres::Environment;
use aes::Aes128;
use aes::cipher::{BlockCipherDecrypt, KeyInit};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const UNUSED: usize = 4;
const KEY: usize = 20;
const BLOCK: usize = 16;

/// Reads the groups `client` and, if one is named, `login_path`.
///
/// # Errors
/// The file cannot be read or is no login file; a login path is named and there is no file.
pub(super) fn read(
    options: &mut Options,
    env: &Environment,
    login_path: Option<&str>,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let named = env.var("MYSQL_TEST_LOGIN_FILE").map(Into::into);
    let Some(path) = named.or_else(|| env.in_home(".mylogin.cnf")) else {
        return Ok(());
    };
    let fail = |problem: String, hint: &str| Error::File {
        what: "login file",
        path: path.clone(),
        problem,
        hint: hint.to_owned(),
    };
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(_) if login_path.is_none() && !path.exists() => return Ok(()),
        Err(error) => {
            let hint = "make it by mysql_config_editor, or leave login-path out";
            return Err(fail(error.to_string(), hint));
        }
    };
    if is_open(&path) {
        warnings.push(format!(
            "login file \"{}\" can be read or written by others: ignored; chmod 600 helps",
            path.display()
        ));
        return Ok(());
    }
    let text = text(&bytes).ok_or_else(|| {
        let hint = "make it anew by mysql_config_editor, or remove it";
        fail("is no login file, or a part of one".into(), hint)
    })?;
    let mut groups = vec!["client"];
    groups.extend(login_path);
    let found = option_file::take(&text, &groups, &path, options);
    match login_path {
        Some(login_path) if !found.contains(&login_path) => Err(fail(
            format!("has no login path \"{login_path}\""),
            "mysql_config_editor print --all shows those that there are",
        )),
        _ => Ok(()),
    }
}

fn is_open(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

/// What the file says; absent where it is not of that layout.
fn text(bytes: &[u8]) -> Option<String> {
    let (key, mut rest) = bytes.get(UNUSED..)?.split_at_checked(KEY)?;
    let mut folded = [0; BLOCK];
    for (at, byte) in key.iter().enumerate() {
        folded[at % BLOCK] ^= byte;
    }
    let cipher = Aes128::new(&folded.into());
    let mut text = String::new();
    while !rest.is_empty() {
        let (length, behind) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (line, behind) = behind.split_at_checked(length)?;
        text += &decrypted(&cipher, line)?;
        rest = behind;
    }
    Some(text)
}

fn decrypted(cipher: &Aes128, line: &[u8]) -> Option<String> {
    let mut plain = Vec::with_capacity(line.len());
    for block in line.chunks(BLOCK) {
        let mut block = <[u8; BLOCK]>::try_from(block).ok()?.into();
        cipher.decrypt_block(&mut block);
        plain.extend_from_slice(&block);
    }
    let padding = usize::from(*plain.last()?);
    let end = plain.len().checked_sub(padding)?;
    let whole = (1..=BLOCK).contains(&padding)
        && plain[end..]
            .iter()
            .all(|byte| *byte == plain[plain.len() - 1]);
    plain.truncate(end);
    whole.then(|| String::from_utf8(plain).ok())?
}
