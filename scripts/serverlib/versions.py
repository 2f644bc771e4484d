"""Throw-away servers of other versions of MySQL and MariaDB, from unpacked programs.

In: a folder of programs. Out: a server whose `root` has no password. Must never: use a library of this machine where the
programs have their own.
"""
from versuslib import mysql
from versuslib.server import ScriptError, give_to_server, server_user

SETTINGS = {
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "0",
    "max-connections": "200",
    # Allow LOAD DATA LOCAL, which loads rows fast; 8.0 refuses it by default.
    "local-infile": "1",
}


class Mysql(mysql.Mysql):
    """A running server. `programs`: the folder that holds bin, share and, where there are any, libraries."""

    program = "mysqld"
    libraries = "lib/private"

    def __init__(self, programs, settings=None):
        super().__init__({**SETTINGS, **(settings or {})})
        self.programs = programs
        self.env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        if self.libraries:
            self.env["LD_LIBRARY_PATH"] = f"{programs}/{self.libraries}"

    def _command(self):
        base = [f"--basedir={self.programs}", f"--lc-messages-dir={self.programs}/share"]
        return [f"{self.programs}/bin/{self.program}", "--no-defaults", *base, *self._folders()]

    def _create_data_directory(self):
        """Creates the data folder; since 5.7 the server program does so itself."""
        self._run(self._command() + ["--initialize-insecure"])

    def url(self):
        return f"mysql://root@127.0.0.1:{self.port}/"


class DebianMysql(Mysql):
    """A server of a newer Debian than this machine's, run with its own C library and loader."""

    libraries = None

    def _command(self):
        usr = self.programs / "usr"
        loader = next(usr.glob("lib*/*/ld-linux-x86-64.so.2"), None)
        if loader is None:
            raise ScriptError("the package came without its loader")
        command = [str(loader), "--library-path", str(loader.parent), f"{usr}/sbin/{self.program}", "--no-defaults"]
        # The package's folder for files does not exist here.
        return [*command, *self._folders(), f"--lc-messages-dir={usr}/share/mysql", "--secure-file-priv="]


class Mysql56(Mysql):
    """A server before 5.7, whose own tables are created by statements."""

    def _create_data_directory(self):
        tables = self.data / "mysql"
        tables.mkdir(parents=True)
        give_to_server(server_user(), self.data, tables)
        files = ("mysql_system_tables.sql", "mysql_system_tables_data.sql", "fill_help_tables.sql")
        texts = [(self.programs / "share" / name).read_bytes() for name in files]
        statements = self.directory / "tables.sql"
        # The statements create one more account for the host name, which is not needed.
        statements.write_bytes(b"use mysql;\nset @current_hostname = 'localhost';\n" + b"\n".join(texts))
        with open(statements, "rb") as sql_file:
            self._run(self._command() + ["--bootstrap"], stdin=sql_file)


class Mariadb(Mysql):
    """A MariaDB, which has its own program names and installer."""

    program = "mariadbd"
    libraries = "libs"

    def _create_data_directory(self):
        script = [f"{self.programs}/scripts/mariadb-install-db", "--no-defaults", "--force", "--skip-name-resolve"]
        script += [f"--basedir={self.programs}", *self._folders(), "--skip-test-db"]
        self._run(["/bin/sh", *script, "--auth-root-authentication-method=normal"], cwd=self.programs)
