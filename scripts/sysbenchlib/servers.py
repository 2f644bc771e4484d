"""Servers for comparisons, and the options with which sysbench connects to them.

In: the programs of MariaDB and PostgreSQL. Out: servers with a new database on request. Must never: outlive this process.
"""
from versuslib import mysql, server

DATABASE = "golden"


class Mysql(mysql.Maria):
    """A MariaDB that logs all statements."""

    name = "mysql"
    database = DATABASE

    def __init__(self):
        super().__init__({"innodb-flush-log-at-trx-commit": 0, "general-log": 1})

    def _create_data_directory(self):
        self.statements = self.run / "general.log"
        self.settings["general-log-file"] = self.statements
        super()._create_data_directory()

    def fresh(self):
        """An empty database."""
        self.sql(f"drop database {DATABASE}; create database {DATABASE}")

    def options(self, placeholder):
        """The log-in options; `placeholder`, if given, makes one of them invalid."""
        login = {"user": self.user, "password": self.password, "db": DATABASE, "socket": self.socket}
        wrong = {"BADPASSWORD": {"password": "no"}, "NODATABASE": {"db": "nosuch"}, "NOWHERE": {"socket": self.directory / "absent"}}
        login.update(wrong.get(placeholder, {}))
        return ["--db-driver=mysql"] + [f"--mysql-{name}={value}" for name, value in login.items()]


class Pgsql(server.Server):
    """A PostgreSQL."""

    name = "pgsql"

    def __init__(self):
        super().__init__(server.find_bin_dir(), {"fsync": "off"})

    def fresh(self):
        """An empty database."""
        self.sql(f"drop database if exists {DATABASE} (force)")
        self.sql(f"create database {DATABASE}")

    def options(self, placeholder):
        """As for MariaDB."""
        login = {"user": "postgres", "db": DATABASE, "host": self.host("unix"), "port": self.port}
        wrong = {"BADPASSWORD": {"user": "nobody1"}, "NODATABASE": {"db": "nosuch"}, "NOWHERE": {"port": 1}}
        login.update(wrong.get(placeholder, {}))
        return ["--db-driver=pgsql"] + [f"--pgsql-{name}={value}" for name, value in login.items()]
