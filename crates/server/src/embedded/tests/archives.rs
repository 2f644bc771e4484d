//! The download, from a made-up jar on a local HTTP server.

use super::super::download::fetch;
use super::super::find::{Source, cached};
use super::super::{Error, Installation, Package};
use super::Scratch;
use sha2::{Digest, Sha256};
use std::io::{Cursor, Read, Write};
use std::net::TcpListener;
use std::path::Path;

/// An entry of a made-up tar.
enum Entry {
    /// Path, contents, mode.
    File(&'static str, &'static str, u32),
    /// Path, target.
    Link(&'static str, &'static str),
}

const SAYS_VERSION: &str = "#!/bin/sh\necho 'postgres (PostgreSQL) 18.4'\n";

fn good() -> Vec<Entry> {
    vec![
        // Closed to others and set-uid in the archive: neither may stay so.
        Entry::File("bin/postgres", SAYS_VERSION, 0o4700),
        Entry::File("bin/initdb", SAYS_VERSION, 0o700),
        Entry::File("lib/libpq.so.5.18", "library", 0o600),
        Entry::Link("lib/libpq.so.5", "libpq.so.5.18"),
    ]
}

fn tar(entries: &[Entry]) -> Vec<u8> {
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
        // Written by hand: the builder refuses `..`, an attacker would not.
        let name = &mut header.as_gnu_mut().unwrap().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, contents.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn jar(entries: &[Entry]) -> Vec<u8> {
    let mut txz = Vec::new();
    lzma_rs::xz_compress(&mut Cursor::new(tar(entries)), &mut txz).unwrap();
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("META-INF/MANIFEST.MF", options).unwrap();
    zip.write_all(b"Manifest-Version: 1.0\n").unwrap();
    zip.start_file("postgres-linux-x86_64.txz", options)
        .unwrap();
    zip.write_all(&txz).unwrap();
    zip.finish().unwrap().into_inner()
}

fn package(body: &[u8]) -> Package {
    let digest = Sha256::digest(body);
    let sha256: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    Package {
        version: "18.4.0",
        platform: "test-arch",
        size_bytes: body.len() as u64,
        // A few bytes for the length of a test.
        sha256: sha256.leak(),
    }
}

/// Answers every request with `status` and `body` while `act` runs with its address.
fn serving<T>(status: &str, body: &[u8], claimed: usize, act: impl FnOnce(&str) -> T) -> T {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {claimed}\r\nConnection: close\r\n\r\n");
    let answer = [head.as_bytes(), body].concat();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&answer);
        }
    });
    act(&base)
}

fn download(body: &[u8], package: &Package, cache: &Path) -> Result<Installation, Error> {
    serving("200 OK", body, body.len(), |base| {
        fetch(package, &package.url_at(base), cache, &mut |_| {})
    })
}

/// The cache holds nothing but what is named.
fn assert_holds(cache: &Path, names: &[&str]) {
    let mut held: Vec<String> = std::fs::read_dir(cache)
        .map(|entries| entries.flatten().collect())
        .unwrap_or_else(|_| Vec::new())
        .iter()
        .map(|entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    held.sort();
    assert_eq!(held, names);
}

#[test]
fn a_download_becomes_an_installation_and_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let cache = scratch.0.join("cache/prony");
    let body = jar(&good());
    let package = package(&body);
    let mut seen = Vec::new();
    let installation = serving("200 OK", &body, body.len(), |base| {
        fetch(&package, &package.url_at(base), &cache, &mut |p| {
            seen.push(p)
        })
    })
    .expect("it is a good archive");
    assert_eq!(installation.version.to_string(), "18.4");
    assert_eq!(installation.source, Source::Downloaded);
    assert_eq!(seen.last().unwrap().done_bytes, body.len() as u64);
    assert_eq!(seen.last().unwrap().total_bytes, body.len() as u64);

    let top = cache.join("18.4.0-test-arch");
    let mode = |path: &str| top.join(path).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("bin/postgres"), 0o755);
    assert_eq!(mode("lib/libpq.so.5.18"), 0o644);
    assert_eq!(mode("lib"), 0o755);
    let linked = std::fs::read_to_string(top.join("lib/libpq.so.5")).unwrap();
    assert_eq!(linked, "library");
    assert_holds(&cache, &["18.4.0-test-arch"]);
    assert_eq!(cached(&cache), [(top.join("bin"), Source::Downloaded)]);

    // Again: nothing is asked of the network.
    let nowhere = "http://127.0.0.1:1/x.jar";
    let again = fetch(&package, nowhere, &cache, &mut |_| {}).expect("it is kept");
    assert_eq!(again, installation);

    // A kept one that no longer works is replaced.
    std::fs::remove_file(top.join("bin/initdb")).unwrap();
    download(&body, &package, &cache).expect("it is fetched again");
    assert!(top.join("bin/initdb").exists());
}

#[test]
fn another_file_is_refused_and_leaves_nothing() {
    let scratch = Scratch::new();
    let package = package(&jar(&good()));
    let other = vec![7; package.size_bytes as usize];
    let problem = download(&other, &package, &scratch.0).expect_err("not that file");
    assert!(matches!(problem, Error::Checksum { .. }), "{problem}");
    let longer = [other.as_slice(), b"more"].concat();
    let problem = download(&longer, &package, &scratch.0).expect_err("not that file");
    assert!(matches!(problem, Error::Checksum { .. }), "{problem}");
    assert_holds(&scratch.0, &[]);
}

#[test]
fn a_failed_download_is_told_and_leaves_nothing() {
    let scratch = Scratch::new();
    let body = jar(&good());
    let package = package(&body);
    let get = |status: &str, body: &[u8], claimed: usize| {
        serving(status, body, claimed, |base| {
            fetch(&package, &package.url_at(base), &scratch.0, &mut |_| {})
        })
        .expect_err("it fails")
        .to_string()
    };
    let text = get("404 Not Found", b"", 0);
    assert!(text.contains("404") && text.contains("hint"), "{text}");
    let text = get("200 OK", &body[..100], 100);
    assert!(text.contains("ended after 100 of"), "{text}");
    // The connection breaks before what was promised has come.
    let text = get("200 OK", &body[..100], body.len());
    assert!(text.contains("cannot download"), "{text}");
    let nowhere = fetch(&package, "http://127.0.0.1:1/x", &scratch.0, &mut |_| {});
    assert!(matches!(nowhere, Err(Error::Download { .. })));
    assert_holds(&scratch.0, &[]);
}

#[test]
fn an_archive_that_leads_elsewhere_is_refused() {
    let outside = |entry: Entry| {
        let scratch = Scratch::new();
        let cache = scratch.0.join("a/b/cache");
        let mut entries = good();
        entries.push(entry);
        let body = jar(&entries);
        let problem = download(&body, &package(&body), &cache).expect_err("it leads elsewhere");
        assert!(matches!(problem, Error::Archive { .. }), "{problem}");
        assert_holds(&cache, &[]);
        assert!(!scratch.0.join("a/evil").exists());
        assert!(!scratch.0.join("a/b/evil").exists());
    };
    outside(Entry::File("../../evil", "x", 0o644));
    outside(Entry::File("lib/../../../../evil", "x", 0o644));
    outside(Entry::File("/tmp/prony-evil", "x", 0o644));
    outside(Entry::Link("lib/evil", "../../evil"));
    outside(Entry::Link("lib/evil", "/etc/passwd"));
    assert!(!Path::new("/tmp/prony-evil").exists());
}

#[test]
fn what_is_no_archive_is_told() {
    let scratch = Scratch::new();
    let body = b"<html>a proxy's page</html>".to_vec();
    let problem = download(&body, &package(&body), &scratch.0).expect_err("not a zip");
    assert!(matches!(problem, Error::Archive { .. }), "{problem}");
    // A good archive with programs that do not work.
    let body = jar(&[Entry::File("bin/postgres", "no", 0o755)]);
    let problem = download(&body, &package(&body), &scratch.0).expect_err("no initdb");
    assert!(
        problem.to_string().contains("it holds no initdb"),
        "{problem}"
    );
}
