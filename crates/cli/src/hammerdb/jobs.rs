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

#[cfg(test)]
mod tests {
    use super::*;
    use prony_dialect::hammerdb::Settings;

    const ID: &str = "6B00CA12660B03E243032343";

    fn kept(name: &str) -> (Kept, std::path::PathBuf) {
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
        job.result = ["3 Active Virtual Users configured", "TEST RESULT : x"]
            .map(str::to_owned)
            .to_vec();
        job.counts = vec![("a".to_owned(), 18), ("b".to_owned(), 18)];
        let kept = Kept::at(folder.clone());
        kept.keep_job(&job).expect("a folder that can be written");
        (kept, folder)
    }

    #[test]
    fn a_job_is_told_as_hammerdb_tells_it() {
        let (kept, folder) = kept("jobs");
        let tell = |words: &[&str]| tell(&kept, words);
        assert_eq!(tell(&[]), Ok(format!("[\n  \"{ID}\"\n]")));
        let result = format!(
            "[\n  \"{ID}\",\n  \"2026-11-20 22:30:42\",\n  \"3 Active Virtual Users configured\",\n  \
             \"TEST RESULT : x\"\n]"
        );
        assert_eq!(tell(&[ID, "result"]), Ok(result.clone()));
        assert_eq!(tell(&["result"]), Ok(result));
        let status = "[\n  \"Vuser 1:RUNNING\",\n  \"Vuser 1:FINISHED SUCCESS\"\n]";
        assert_eq!(tell(&[ID, "status"]).as_deref(), Ok(status));
        assert_eq!(tell(&[ID, "db"]).as_deref(), Ok("[\"PostgreSQL\"]"));
        assert_eq!(
            tell(&[ID, "timestamp"]),
            Ok(format!("{ID} {{2026-11-20 22:30:42}}"))
        );
        assert_eq!(
            tell(&[ID, "timing"]),
            Err(format!("No Timing Data for JOB {ID}: jobs jobid timing"))
        );
        let counts = tell(&[ID, "tcount"]).expect("two counts");
        assert_eq!(counts.matches(": 18").count(), 2, "{counts}");
        let dictionary = tell(&[ID, "dict"]).expect("settings");
        assert!(
            dictionary.contains("\"pg_pass\": \"********\""),
            "{dictionary}"
        );
        assert!(tell(&[ID, "delete"]).is_ok());
        assert_eq!(tell(&[ID]), Err(format!("Jobid {ID} does not exist")));
        std::fs::remove_dir_all(folder).expect("there");
    }

    #[test]
    fn no_word_leads_out_of_the_folder() {
        let (kept, folder) = kept("jobs-paths");
        for id in ["../settings", "", "6B00CA12660B03E24303234/", "x"] {
            assert_eq!(
                tell(&kept, &[id]),
                Err(format!("Jobid {id} does not exist"))
            );
        }
        assert!(tell(&kept, &["a", "b", "c"]).is_err());
        std::fs::remove_dir_all(folder).expect("there");
    }
}
