//! What the user says of a server, because nobody can read it over SQL.
//!
//! In: names and texts. Out: facts in one form. Must never: be taken for an observation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named_values! {
    /// A fact about a server that the user declares.
    DeclaredFact {
        /// Who offers it, such as `aws`.
        Provider = "provider",
        /// The provider's product, such as `rds-postgresql`.
        Service = "service",
        /// The type of its machine, such as `db.r6g.4xlarge`.
        Machine = "machine",
        /// CPUs of its machine.
        Cpus = "cpus",
        /// Memory of its machine, such as `128 GB`.
        Memory = "memory",
        /// The kind of its storage, such as `gp3` or `local NVMe`.
        Storage = "storage",
        /// The size of its storage, such as `1 TB`.
        StorageSize = "storage_size",
        /// The storage's limit of operations per second.
        Iops = "iops",
        /// Where it is, such as `eu-central-1`.
        Region = "region",
        /// In how many zones its copies are.
        Zones = "zones",
        /// What takes over if its machine fails.
        HighAvailability = "high_availability",
        /// Copies of the data besides the primary server's, also where they are invisible over SQL.
        Replicas = "replicas",
        /// How it is backed up, such as `daily`.
        Backups = "backups",
        /// What is encrypted, such as `at rest`.
        Encryption = "encryption",
    }

    /// What takes over if a server's machine fails.
    HighAvailability {
        /// Nothing.
        None = "none",
        /// A standby in the same zone.
        Standby = "standby",
        /// A copy in another zone.
        MultiZone = "multi-zone",
        /// Copies of which a majority must have each commit.
        Quorum = "quorum",
    }
}

/// The facts that a user declared about a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Declared(BTreeMap<DeclaredFact, String>);

impl Declared {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Declares a fact, in place of an earlier value of it.
    ///
    /// # Errors
    /// `must be` and the form that the text should have.
    pub fn declare(&mut self, fact: DeclaredFact, text: &str) -> Result<(), String> {
        let text = text.trim();
        let count = text.parse::<u32>().ok();
        // Equal values are stored as equal texts.
        let as_text = |number: u32| number.to_string();
        let (value, expected) = match fact {
            DeclaredFact::Cpus => (
                count.filter(|cpus| *cpus > 0).map(as_text),
                "a positive whole number",
            ),
            DeclaredFact::Iops | DeclaredFact::Zones | DeclaredFact::Replicas => {
                (count.map(as_text), "a whole number")
            }
            DeclaredFact::Memory | DeclaredFact::StorageSize => (
                bytes(text).map(|bytes| size(bytes, text.contains(['i', 'I']))),
                "a size, such as \"128 GB\"",
            ),
            DeclaredFact::HighAvailability => (
                HighAvailability::from_name(text).map(|known| known.name().to_owned()),
                "one of none, standby, multi-zone, quorum",
            ),
            DeclaredFact::Provider
            | DeclaredFact::Service
            | DeclaredFact::Machine
            | DeclaredFact::Storage
            | DeclaredFact::Region
            | DeclaredFact::Backups
            | DeclaredFact::Encryption => {
                let is_line = !text.is_empty() && !text.contains(char::is_control);
                (is_line.then(|| text.to_owned()), "a line of text")
            }
        };
        let value = value.ok_or_else(|| format!("must be {expected}"))?;
        self.0.insert(fact, value);
        Ok(())
    }

    /// Adds facts, in place of earlier values of the same.
    pub fn extend(&mut self, others: &Declared) {
        self.0.extend(others.0.clone());
    }

    /// The facts, in one order, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (DeclaredFact, &str)> {
        self.0.iter().map(|(fact, text)| (*fact, text.as_str()))
    }

    pub fn get(&self, fact: DeclaredFact) -> Option<&str> {
        self.0.get(&fact).map(String::as_str)
    }

    /// The value of a fact that is a number; `None` if it was not declared.
    pub fn count(&self, fact: DeclaredFact) -> Option<u32> {
        self.get(fact)?.parse().ok()
    }

    /// The value of a fact that is a size, in bytes; `None` if it was not declared.
    pub fn bytes(&self, fact: DeclaredFact) -> Option<u64> {
        bytes(self.get(fact)?)
    }

    pub fn high_availability(&self) -> Option<HighAvailability> {
        HighAvailability::from_name(self.get(DeclaredFact::HighAvailability)?)
    }
}

/// A size in the largest unit of which it has at least one, or in MB: `128 GB`, `1.5 TiB`.
fn size(bytes: u64, is_binary: bool) -> String {
    let (step, units) =
        if is_binary { (1024_f64, ["TiB", "GiB", "MiB"]) } else { (1000_f64, ["TB", "GB", "MB"]) };
    let sizes = [4, 3, 2].map(|power| bytes as f64 / step.powi(power));
    let index = sizes.iter().position(|size| *size >= 1.0).unwrap_or(2);
    let number = format!("{:.3}", sizes[index]);
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number} {}", units[index])
}

/// The bytes of a size such as `128 GB`, `1.5 TiB` or `512MB`; `None` if the text is not a size from 1 byte to 1 EB.
fn bytes(text: &str) -> Option<u64> {
    let unit_start = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_start);
    let unit_bytes = match unit.to_ascii_lowercase().as_str() {
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "mib" => 1024_f64.powi(2),
        "gib" => 1024_f64.powi(3),
        "tib" => 1024_f64.powi(4),
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    let bytes = number * unit_bytes;
    (1.0..1e18).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_form_of_their_fact() {
        let mut declared = Declared::default();
        for (fact, good, bad) in [
            (DeclaredFact::Cpus, "16", &["0", "-1", "sixteen", ""][..]),
            (
                DeclaredFact::Memory,
                "128 GB",
                &["128", "GB", "nan GB", "-1 GB", "1e300 TB"],
            ),
            (DeclaredFact::StorageSize, "1.5 TiB", &["1.5"]),
            (DeclaredFact::Replicas, "0", &["1.5", "-1"]),
            (DeclaredFact::HighAvailability, "multi-zone", &["yes"]),
            (DeclaredFact::Region, "eu-central-1", &[" "]),
        ] {
            for bad in bad {
                declared.declare(fact, bad).expect_err(bad);
            }
            declared.declare(fact, good).expect(good);
            assert_eq!(declared.get(fact), Some(good));
        }
        assert_eq!(declared.bytes(DeclaredFact::Memory), Some(128_000_000_000));
        assert_eq!(declared.bytes(DeclaredFact::StorageSize), Some(3 << 39));
        assert_eq!(declared.count(DeclaredFact::Cpus), Some(16));
        assert_eq!(
            declared.high_availability(),
            Some(HighAvailability::MultiZone)
        );
        for (text, stored) in [
            ("1000 gb", "1 TB"),
            ("0.5tib", "512 GiB"),
            ("128GB", "128 GB"),
        ] {
            declared.declare(DeclaredFact::Memory, text).expect(text);
            assert_eq!(declared.get(DeclaredFact::Memory), Some(stored));
        }
        declared.declare(DeclaredFact::Zones, "+03").unwrap();
        assert_eq!(declared.get(DeclaredFact::Zones), Some("3"));
        let mut later = Declared::default();
        later.declare(DeclaredFact::Cpus, "8").unwrap();
        declared.extend(&later);
        assert_eq!(declared.count(DeclaredFact::Cpus), Some(8));
    }
}
