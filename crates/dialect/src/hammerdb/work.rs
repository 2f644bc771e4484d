//! The commands that work on a server: the schema's, and those of virtual users.
//!
//! In: settings. Out: requests to a [`World`], HammerDB's lines around them. Must never: hand over a
//! request that has a complaint.

use super::request::{Output, Product, Reader, SchemaRequest};
use super::session::{Session, State, Users, puts, say};
use super::text;
use super::world::{Ended, World};

impl Session {
    pub(super) fn temp(world: &dyn World) -> String {
        let found = ["TMP", "TMPDIR", "TEMP"]
            .iter()
            .find_map(|name| world.variable(name));
        let folder = found.filter(|folder| !folder.is_empty());
        let folder = folder.unwrap_or_else(|| "/tmp".to_owned());
        folder.trim_end_matches('/').to_owned()
    }

    pub(super) fn log_path(&self, world: &mut dyn World) -> Option<String> {
        if self.settings.option("log_to_temp") == 0 {
            return None;
        }
        let folder = Self::temp(world);
        Some(if self.settings.option("unique_log_name") == 1 {
            format!("{folder}/hammerdb_{}.log", world.job_id())
        } else {
            format!("{folder}/hammerdb.log")
        })
    }

    pub(super) fn output(&self) -> Output {
        Output {
            shown: self.settings.option("show_output") == 1,
            log: self.users.as_ref().and_then(|users| users.log.clone()),
            timestamps: self.settings.option("log_timestamps") == 1,
        }
    }

    /// Makes virtual users and says so.
    pub(super) fn make_users(&mut self, world: &mut dyn World, count: u32, has_monitor: bool) {
        for number in 1..=count {
            let monitor = if has_monitor && number == 1 {
                " MONITOR"
            } else {
                ""
            };
            say(
                world,
                &format!("Vuser {number} created{monitor} - WAIT IDLE"),
            );
        }
        let log = self.log_path(world);
        if let Some(path) = &log {
            say(world, &format!("Logging activated\nto {path}"));
        }
        self.is_complete = false;
        self.users = Some(Users {
            states: vec![State::Idle; count as usize],
            log,
            has_monitor,
        });
    }

    /// Takes note of how virtual users ended.
    pub(super) fn end(&mut self, world: &mut dyn World, outcome: Result<Ended, String>) {
        let failed = match outcome {
            Ok(ended) => ended.failed,
            Err(reason) => {
                say(world, &text::failure(1, &reason));
                say(world, &text::finished(1, false));
                let all = self.users.as_ref().map_or(0, |users| users.states.len());
                (1..=u32::try_from(all).unwrap_or(u32::MAX)).collect()
            }
        };
        if let Some(users) = &mut self.users {
            for (index, state) in users.states.iter_mut().enumerate() {
                let is_failed = failed.iter().any(|number| *number as usize == index + 1);
                *state = if is_failed {
                    State::Failed
                } else {
                    State::Success
                };
            }
        }
        self.is_complete = true;
        say(world, "ALL VIRTUAL USERS COMPLETE");
    }

    /// Whether virtual users stand in the way of work on the schema.
    pub(super) fn is_busy(&self, world: &mut dyn World, what: &str) -> bool {
        let busy = self.users.is_some();
        if busy {
            let complaint = format!(
                "Error: Cannot {what} schema with Virtual Users active, destroy Virtual Users first"
            );
            puts(world, &complaint);
        }
        busy
    }

    pub(super) fn build(&mut self, world: &mut dyn World) {
        if self.is_busy(world, "build") {
            return;
        }
        let job = world.job_id();
        let mut reader = Reader::new(&self.settings);
        let mut request = reader.build(self.output(), job);
        if complain(world, &reader.complaints) {
            return;
        }
        let (warehouses, vusers) = (request.warehouses, request.vusers);
        if u64::from(vusers) > warehouses {
            puts(
                world,
                "Error:Build virtual users must be less than or equal to number of warehouses",
            );
            let line = format!("You have {vusers} virtual users building {warehouses} warehouses");
            puts(world, &line);
            return;
        }
        self.clear_script(world);
        let all = if vusers == 1 { 1 } else { vusers + 1 };
        puts(
            world,
            &if vusers == 1 {
                format!("Building {warehouses} Warehouses(s) with 1 Virtual User")
            } else {
                format!(
                    "Building {warehouses} Warehouses with {all} Virtual Users, {vusers} active + 1 Monitor VU(dict value {} is set to {vusers})",
                    request.owner.product.key("num_vu")
                )
            },
        );
        let owner = &request.owner;
        let [place, user, database] =
            [&owner.place(), &owner.user, &owner.database].map(|text| text.to_uppercase());
        let (mode, engine) = match owner.product {
            Product::PostgreSql => {
                let mode = owner.ssl_mode.to_uppercase();
                (format!(" sslmode {mode}"), "")
            }
            Product::MySql | Product::MariaDb => (String::new(), " with storage engine INNODB"),
        };
        let question = format!(
            "Ready to create a {warehouses} Warehouse {} TPROC-C schema\nin host {place}{mode} under user {user} in database {database}{engine}?",
            owner.product.name()
        );
        confirm(world, &question);
        self.make_users(world, all, false);
        request.output = self.output();
        let outcome = world.build(&request);
        self.end(world, outcome);
    }

    pub(super) fn check(&mut self, world: &mut dyn World) -> String {
        self.on_schema(world, "check", "Check", |world, request| {
            world.check(request)
        })
    }

    pub(super) fn delete(&mut self, world: &mut dyn World) -> String {
        self.on_schema(world, "delete", "Delet", |world, request| {
            world.delete(request)
        })
    }

    pub(super) fn on_schema(
        &mut self,
        world: &mut dyn World,
        verb: &str,
        stem: &str,
        act: impl Fn(&mut dyn World, &SchemaRequest) -> Result<Ended, String>,
    ) -> String {
        if self.is_busy(world, verb) {
            return String::new();
        }
        let job = world.job_id();
        let mut reader = Reader::new(&self.settings);
        let mut request = reader.schema(self.output(), job);
        if complain(world, &reader.complaints) {
            return String::new();
        }
        self.clear_script(world);
        puts(world, &format!("{stem}ing schema with 1 Virtual User"));
        let (owner, role) = (&request.owner, request.owner.user.to_uppercase());
        let is_postgres = owner.product == Product::PostgreSql;
        let (and_role, asker) = if verb == "delete" && is_postgres {
            (
                format!(" and role {role}"),
                request.superuser.user.to_uppercase(),
            )
        } else {
            (String::new(), role)
        };
        let question = format!(
            "Do you want to {verb} the {} TPROC-C schema{and_role}\n in host {} under user {asker}?",
            owner.database.to_uppercase(),
            owner.place().to_uppercase(),
        );
        confirm(world, &question);
        self.make_users(world, 1, false);
        request.output = self.output();
        let outcome = act(world, &request);
        self.end(world, outcome);
        String::new()
    }

    pub(super) fn is_timed(&self) -> bool {
        let key = format!("{}_driver", self.settings.database);
        let driver = self.settings.value(&self.settings.database, "tpcc", &key);
        driver != Some("test")
    }

    pub(super) fn create(&mut self, world: &mut dyn World) {
        if !self.is_loaded {
            self.is_loaded = true;
            say(world, "Script loaded, Type \"print script\" to view");
        }
        if self.users.is_some() {
            say(
                world,
                "Error: Virtual Users exist, destroy with vudestroy before creating",
            );
            return;
        }
        let drivers = u32::try_from(self.settings.option("virtual_users")).unwrap_or(1);
        let (all, how) = if self.is_timed() {
            (drivers.saturating_add(1), " with Monitor VU")
        } else {
            (drivers, "")
        };
        self.make_users(world, all, self.is_timed());
        say(world, &format!("{all} Virtual Users Created{how}"));
    }

    pub(super) fn run(&mut self, world: &mut dyn World) -> String {
        let job = world.job_id();
        let folder = Self::temp(world);
        let profile = if self.settings.generic("timeprofile", "xt_unique_log_name") == "1" {
            format!("{folder}/hdbxtprofile_{job}.log")
        } else {
            format!("{folder}/hdbxtprofile.log")
        };
        let mut reader = Reader::new(&self.settings);
        let mut request = reader.run(self.output(), job.clone(), profile);
        if complain(world, &reader.complaints) {
            return String::new();
        }
        if self.users.is_none() {
            self.create(world);
        }
        if !self.is_loaded {
            say(
                world,
                "Error: There is no workload to run because the Script is empty",
            );
            return String::new();
        }
        // The users that were created run, whatever was set since; but those of a build, or of the
        // other driver, are not the ones that this driver needs.
        let created = self.users.as_ref();
        if created.is_some_and(|users| users.has_monitor != self.is_timed()) {
            say(
                world,
                "Error: Virtual Users exist, destroy with vudestroy before creating",
            );
            return String::new();
        }
        let created = created.map_or(0, |users| users.states.len());
        let monitor = u32::from(self.is_timed());
        request.vusers = u32::try_from(created)
            .unwrap_or(u32::MAX)
            .saturating_sub(monitor);
        request.output = self.output();
        request.counter.clone_from(&self.counter);
        let outcome = world.run(&request);
        self.end(world, outcome);
        format!("jobid={job}")
    }

    pub(super) fn destroy(&mut self, world: &mut dyn World) {
        if self.users.take().is_some() {
            say(world, "vudestroy success");
        } else {
            say(world, "No Virtual Users found to destroy");
        }
        self.is_complete = false;
    }
}

/// Prints complaints; whether there were any.
fn complain(world: &mut dyn World, complaints: &[String]) -> bool {
    let mut said: Vec<&String> = Vec::new();
    for complaint in complaints {
        if !said.contains(&complaint) {
            puts(world, complaint);
            said.push(complaint);
        }
    }
    !complaints.is_empty()
}

/// A question, and HammerDB's answer to itself.
fn confirm(world: &mut dyn World, question: &str) {
    say(world, question);
    say(world, "Enter yes or no: replied yes");
}
