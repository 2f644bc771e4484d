//! Reads the login file of mysql_config_editor: MYSQL_TEST_LOGIN_FILE, else `~/.mylogin.cnf`.
//!
//! Decrypted, it is an option file. Must never: show its text, which contains passwords.
//!
//! Layout: 4 unused bytes, a key of 20 bytes, then lines. Each line is a length (4 bytes,
//! little-endian) and that many bytes, encrypted by AES-128 in ECB mode with PKCS #7 padding. The
//! key is folded into 16 bytes by exclusive or. This only obfuscates passwords: anybody who can
//! read the file can decrypt them. Source: MySQL documentation, "mysql_config_editor"; the layout
//! was derived from files.

use super::option_file;
use crate::error::Error;
use crate::option_values::OptionValues;
use crate::postgres::Environment;
use aes::Aes128;
use aes::cipher::{BlockCipherDecrypt, KeyInit};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const UNUSED_BYTES: usize = 4;
const KEY_BYTES: usize = 20;
const BLOCK_BYTES: usize = 16;

/// Reads the groups `client` and, if one is named, `login_path`.
pub(super) fn read(
    options: &mut OptionValues,
    env: &Environment,
    login_path: Option<&str>,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let path_in_env = env.var("MYSQL_TEST_LOGIN_FILE").map(Into::into);
    let Some(path) = path_in_env.or_else(|| env.in_home(".mylogin.cnf")) else {
        return Ok(());
    };
    let fail = |problem: String, hint: &str| Error::File {
        purpose: "login file",
        path: path.clone(),
        problem,
        hint: hint.to_owned(),
    };
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(_) if login_path.is_none() && !path.exists() => return Ok(()),
        Err(error) => {
            let hint = "create it with mysql_config_editor, or leave out login-path";
            return Err(fail(error.to_string(), hint));
        }
    };
    if is_accessible_to_others(&path) {
        warnings.push(format!(
            "login file \"{}\" can be read or written by other users: ignored; run chmod 600 on it",
            path.display()
        ));
        return Ok(());
    }
    let text = decrypt_file(&bytes).ok_or_else(|| {
        let hint = "recreate it with mysql_config_editor, or remove it";
        fail("is not a login file, or is truncated".into(), hint)
    })?;
    let mut groups = vec!["client"];
    groups.extend(login_path);
    let found_groups = option_file::apply_groups(&text, &groups, &path, options);
    match login_path {
        Some(login_path) if !found_groups.contains(&login_path) => Err(fail(
            format!("has no login path \"{login_path}\""),
            "mysql_config_editor print --all lists the login paths",
        )),
        _ => Ok(()),
    }
}

fn is_accessible_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

/// Decrypts the bytes of a login file; `None` if they do not have its layout.
fn decrypt_file(bytes: &[u8]) -> Option<String> {
    let (key, mut remaining) = bytes.get(UNUSED_BYTES..)?.split_at_checked(KEY_BYTES)?;
    let mut folded = [0; BLOCK_BYTES];
    for (index, byte) in key.iter().enumerate() {
        folded[index % BLOCK_BYTES] ^= byte;
    }
    let cipher = Aes128::new(&folded.into());
    let mut text = String::new();
    while !remaining.is_empty() {
        let (length, after) = remaining.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (line, after) = after.split_at_checked(length)?;
        text += &decrypt_line(&cipher, line)?;
        remaining = after;
    }
    Some(text)
}

/// Decrypts one line and removes its padding; `None` if the padding is invalid.
fn decrypt_line(cipher: &Aes128, line: &[u8]) -> Option<String> {
    let mut plain = Vec::with_capacity(line.len());
    for block in line.chunks(BLOCK_BYTES) {
        let mut block = <[u8; BLOCK_BYTES]>::try_from(block).ok()?.into();
        cipher.decrypt_block(&mut block);
        plain.extend_from_slice(&block);
    }
    let padding = usize::from(*plain.last()?);
    let end = plain.len().checked_sub(padding)?;
    let is_valid = (1..=BLOCK_BYTES).contains(&padding)
        && plain[end..]
            .iter()
            .all(|byte| *byte == plain[plain.len() - 1]);
    plain.truncate(end);
    is_valid.then(|| String::from_utf8(plain).ok())?
}
