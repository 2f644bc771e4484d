//! The command `jobs`.
//!
//! In: its words, the jobs that are kept. Out: HammerDB's texts. Must never: show a password.

use super::job::Job;
use super::kept::Kept;
use serde::Serialize;
use serde_json::{Map, Value};

const USAGE: &str = "Usage: jobs [result | timestamp | JOBID [result | status | timing | tcount | dict | db | bm | timestamp | delete]]";

/// What `jobs` with these words prints.
///
/// # Errors
/// The complaint.
pub fn tell(kept: &Kept, words: &[&str]) -> Result<String, String> {
    match words {
        [] => json(&kept.job_ids()?),
        ["result"] => {
            let results: Vec<String> = all(kept)?
                .iter()
                .filter_map(|job| result(job).ok())
                .collect();
            Ok(results.join("\n"))
        }
        ["timestamp"] => {
            let stamps = all(kept)?.into_iter();
            let stamps: Map<String, Value> = stamps
                .map(|job| (job.id, Value::String(job.timestamp)))
                .collect();
            json(&stamps)
        }
        [id] => json(&find(kept, id)?.lines),
        [id, what] => one(kept, &find(kept, id)?, what),
        _ => Err(USAGE.to_owned()),
    }
}

fn one(kept: &Kept, job: &Job, what: &str) -> Result<String, String> {
    match what {
        "result" => result(job),
        "status" => {
            let of_status = |line: &&String| {
                line.ends_with(":RUNNING")
                    || line.contains(":FINISHED ")
                    || line.starts_with("Error")
            };
            json(&job.lines.iter().filter(of_status).collect::<Vec<_>>())
        }
        "timing" if job.timing.is_empty() => Err(format!(
            "No Timing Data for JOB {}: jobs jobid timing",
            job.id
        )),
        "timing" => json(&job.timing),
        "tcount" if job.counts.is_empty() => {
            Err(format!("No Transaction Count for JOB {}", job.id))
        }
        "tcount" => {
            // By moment, not by count as HammerDB has it: two equal counts are two counts.
            let counts = job.counts.iter();
            let counts: Map<String, Value> = counts
                .map(|(moment, tpm)| (moment.clone(), (*tpm).into()))
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
            kept.delete_job(&job.id)?;
            Ok(format!("Deleted Jobid {}", job.id))
        }
        _ => Err(USAGE.to_owned()),
    }
}

fn result(job: &Job) -> Result<String, String> {
    if job.result.is_empty() {
        return Err(format!("Jobid {} has no test result", job.id));
    }
    let mut all = vec![job.id.clone(), job.timestamp.clone()];
    all.extend_from_slice(&job.result);
    json(&all)
}

fn all(kept: &Kept) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for id in kept.job_ids()? {
        jobs.extend(kept.job(&id)?);
    }
    Ok(jobs)
}

fn find(kept: &Kept, id: &str) -> Result<Job, String> {
    kept.job(id)?
        .ok_or_else(|| format!("Jobid {id} does not exist"))
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string_pretty(value).map_err(|error| error.to_string())
}
