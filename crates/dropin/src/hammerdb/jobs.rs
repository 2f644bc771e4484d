//! The command `jobs`.
//!
//! In: the command's arguments, the stored jobs. Out: HammerDB's output. Must never: print a password.

use super::job::Job;
use super::storage::Storage;
use serde::Serialize;
use serde_json::{Map, Value};

const USAGE: &str = "Usage: jobs [result | timestamp | JOBID [result | status | VUID | timing [VUID] | tcount | dict | db | bm | timestamp | delete]]";

/// The output of `jobs` with these arguments.
///
/// # Errors
///
/// HammerDB's error message.
pub fn execute(storage: &Storage, args: &[&str]) -> Result<String, String> {
    match args {
        [] => json(&storage.job_ids()?),
        ["result"] => {
            let results: Vec<String> = all_jobs(storage)?
                .iter()
                .filter_map(|job| result_output(job).ok())
                .collect();
            Ok(results.join("\n"))
        }
        ["timestamp"] => {
            let jobs = all_jobs(storage)?.into_iter();
            let timestamps: Map<String, Value> = jobs
                .map(|job| (job.id, Value::String(job.timestamp)))
                .collect();
            json(&timestamps)
        }
        [id] => json(&numbered_lines(&find_job(storage, id)?, None)),
        [id, item] => job_output(storage, &find_job(storage, id)?, item),
        [id, "timing", vuser] => timing_output(&find_job(storage, id)?, Some(vuser)),
        _ => Err(USAGE.to_owned()),
    }
}

fn job_output(storage: &Storage, job: &Job, item: &str) -> Result<String, String> {
    match item {
        "result" => result_output(job),
        "status" => json(&numbered_lines(job, Some(0))),
        "timing" => timing_output(job, None),
        "tcount" if job.tpm_readings.is_empty() => {
            Err(format!("No Transaction Count for JOB {}", job.id))
        }
        "tcount" => {
            // The key is the time. HammerDB's key is the count, which loses one of two equal counts.
            let readings = job.tpm_readings.iter();
            let counts: Map<String, Value> = readings
                .map(|(time, tpm)| (time.clone(), (*tpm).into()))
                .collect();
            json(&Map::from_iter([(
                format!("{} tpm", job.database),
                Value::Object(counts),
            )]))
        }
        "dict" => json(&job.dictionary),
        "db" => Ok(format!("[\"{}\"]", job.database)),
        "bm" => Ok(format!("[\"{}\"]", job.benchmark)),
        "timestamp" => Ok(format!("{} {{{}}}", job.id, job.timestamp)),
        "delete" => {
            storage.delete_job(&job.id)?;
            Ok(format!("Deleted Jobid {}", job.id))
        }
        number => match number.parse() {
            Ok(vuser) => match numbered_lines(job, Some(vuser)) {
                lines if lines.is_empty() => Err(format!(
                    "Jobid {} for virtual user {vuser} does not exist",
                    job.id
                )),
                lines => json(&lines),
            },
            Err(_) => Err(USAGE.to_owned()),
        },
    }
}

/// The lines of virtual user `vuser`, or all lines, as a flat list in which each line follows the number of its user.
/// Lines that no user printed, and those on a user's status (`Vuser 1:RUNNING`), have the number 0.
fn numbered_lines(job: &Job, vuser: Option<u32>) -> Vec<String> {
    let mut numbered = Vec::new();
    for line in &job.lines {
        let user_line = line.strip_prefix("Vuser ").and_then(|line| {
            let (number, text) = line.split_once(':')?;
            let is_status = text == "RUNNING" || text.starts_with("FINISHED ");
            if is_status { None } else { Some((number.parse().ok()?, text)) }
        });
        let (number, text) = user_line.unwrap_or((0, line));
        if vuser.is_none_or(|vuser| vuser == number) {
            numbered.extend([number.to_string(), text.to_owned()]);
        }
    }
    numbered
}

/// The timings of the virtual user that the argument names (`2` or `vu=2`), or of all virtual users together.
fn timing_output(job: &Job, argument: Option<&str>) -> Result<String, String> {
    let number = argument.map(|argument| argument.strip_prefix("vu=").unwrap_or(argument));
    let vuser = number.map(str::parse).transpose().map_err(|_| USAGE)?;
    let timing = job.timings.iter().find(|timing| timing.vuser == vuser);
    if let Some(timing) = timing
        && !timing.routines.is_empty()
    {
        return json(&OrderedObject(&timing.routines));
    }
    let id = &job.id;
    Err(match vuser {
        None => format!("No Timing Data for JOB {id}: jobs jobid timing"),
        Some(vuser) => {
            format!("No Timing Data for VU {vuser} for JOB {id}: jobs jobid timing vuid")
        }
    })
}

/// Serializes pairs as one JSON object, in order.
struct OrderedObject<'a, T>(&'a [(String, T)]);

impl<T: Serialize> Serialize for OrderedObject<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

fn result_output(job: &Job) -> Result<String, String> {
    if job.result_lines.is_empty() {
        return Err(format!("Jobid {} has no test result", job.id));
    }
    let mut items = vec![job.id.clone(), job.timestamp.clone()];
    items.extend_from_slice(&job.result_lines);
    json(&items)
}

fn all_jobs(storage: &Storage) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for id in storage.job_ids()? {
        jobs.extend(storage.read_job(&id)?);
    }
    Ok(jobs)
}

fn find_job(storage: &Storage, id: &str) -> Result<Job, String> {
    storage
        .read_job(id)?
        .ok_or_else(|| format!("Jobid {id} does not exist"))
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string_pretty(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::job::{RoutineTiming, VuserTiming};
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_dialect::hammerdb::Settings;

    const ID: &str = "6B00CA12660B03E243032343";

    fn storage_with_job(name: &str) -> (Storage, std::path::PathBuf) {
        let folder = std::env::temp_dir().join(format!("prony-{name}-{}", std::process::id()));
        let mut job = Job::begin(ID, &Settings::default());
        job.timestamp = "2026-11-20 22:30:42".to_owned();
        job.lines = [
            "Vuser 1:RUNNING",
            "Vuser 1:1 ...,",
            "Vuser 1:FINISHED SUCCESS",
        ]
        .map(str::to_owned)
        .to_vec();
        job.result_lines = ["3 Active Virtual Users configured", "TEST RESULT : x"]
            .map(str::to_owned)
            .to_vec();
        job.tpm_readings = vec![("a".to_owned(), 18), ("b".to_owned(), 18)];
        let storage = Storage::in_folder(folder.clone());
        storage.save_job(&job).expect("a writable folder");
        (storage, folder)
    }

    #[test]
    fn jobs_output_matches_hammerdb() {
        let (storage, folder) = storage_with_job("jobs");
        let jobs = |args: &[&str]| execute(&storage, args);
        assert_eq!(jobs(&[]), Ok(format!("[\n  \"{ID}\"\n]")));
        let result = format!(
            "[\n  \"{ID}\",\n  \"2026-11-20 22:30:42\",\n  \"3 Active Virtual Users configured\",\n  \
             \"TEST RESULT : x\"\n]"
        );
        assert_eq!(jobs(&[ID, "result"]), Ok(result.clone()));
        assert_eq!(jobs(&["result"]), Ok(result));
        let status =
            "[\n  \"0\",\n  \"Vuser 1:RUNNING\",\n  \"0\",\n  \"Vuser 1:FINISHED SUCCESS\"\n]";
        assert_eq!(
            jobs(&[ID, "1"]).as_deref(),
            Ok("[\n  \"1\",\n  \"1 ...,\"\n]")
        );
        assert_eq!(
            jobs(&[ID, "9"]),
            Err(format!("Jobid {ID} for virtual user 9 does not exist"))
        );
        let all_lines = jobs(&[ID]).expect("all lines");
        assert_eq!(all_lines.lines().count(), 2 + 2 * 3, "{all_lines}");
        assert_eq!(jobs(&[ID, "status"]).as_deref(), Ok(status));
        assert_eq!(jobs(&[ID, "db"]).as_deref(), Ok("[\"PostgreSQL\"]"));
        assert_eq!(
            jobs(&[ID, "timestamp"]),
            Ok(format!("{ID} {{2026-11-20 22:30:42}}"))
        );
        assert_eq!(
            jobs(&[ID, "timing"]),
            Err(format!("No Timing Data for JOB {ID}: jobs jobid timing"))
        );
        let counts = jobs(&[ID, "tcount"]).expect("two counts");
        assert_eq!(counts.matches(": 18").count(), 2, "{counts}");
        let dictionary = jobs(&[ID, "dict"]).expect("settings");
        dictionary.assert_contains("\"pg_pass\": \"********\"");
        assert!(jobs(&[ID, "delete"]).is_ok());
        assert_eq!(jobs(&[ID]), Err(format!("Jobid {ID} does not exist")));
        std::fs::remove_dir_all(folder).expect("the folder exists");
    }

    #[test]
    fn timings_are_an_object_with_a_key_per_routine() {
        let (storage, folder) = storage_with_job("jobs-timing");
        let mut job = storage.read_job(ID).expect("readable").expect("stored");
        let routine = |name: &str| {
            let timing = RoutineTiming {
                elapsed_ms: "62108.0".to_owned(),
                calls: "393".to_owned(),
                ..RoutineTiming::default()
            };
            (name.to_owned(), timing)
        };
        let timing = |vuser: Option<u32>, names: &[&str]| VuserTiming {
            vuser,
            routines: names.iter().map(|name| routine(name)).collect(),
        };
        job.timings = vec![
            timing(None, &["PAYMENT", "NEWORD"]),
            timing(Some(2), &["SLEV"]),
        ];
        storage.save_job(&job).expect("the job is stored");
        let timings = execute(&storage, &[ID, "timing"]).expect("timings");
        let begin =
            "{\n  \"PAYMENT\": {\n    \"elapsed_ms\": \"62108.0\",\n    \"calls\": \"393\",\n";
        timings.assert_starts_with(begin);
        timings.assert_contains("\"NEWORD\": {");
        for vuser in ["2", "vu=2"] {
            let output = execute(&storage, &[ID, "timing", vuser]).expect("one user's timings");
            output.assert_starts_with("{\n  \"SLEV\": {");
        }
        let error = format!("No Timing Data for VU 9 for JOB {ID}: jobs jobid timing vuid");
        assert_eq!(execute(&storage, &[ID, "timing", "9"]), Err(error));
        std::fs::remove_dir_all(folder).expect("the folder exists");
    }

    #[test]
    fn job_ids_cannot_escape_the_folder() {
        let (storage, folder) = storage_with_job("jobs-paths");
        for id in ["../settings", "", "6B00CA12660B03E24303234/", "x"] {
            assert_eq!(
                execute(&storage, &[id]),
                Err(format!("Jobid {id} does not exist"))
            );
        }
        assert!(execute(&storage, &["a", "b", "c"]).is_err());
        std::fs::remove_dir_all(folder).expect("the folder exists");
    }
}
