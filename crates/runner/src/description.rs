//! Describes a workload for the Run document.
//!
//! Must never: treat one workload differently from the others.

use prony_plan::WorkloadPlan;
use prony_store::{Contention, Description, MinimumDuration, Remark, Run, ScaleUnit, ScaledTable};
use prony_workload::Workload;
use prony_workload::describe::{self as about, TableGrowth, TableRows, TableSpec};
use serde_json::Value;

/// Describes the workload of a plan, with remarks on the loaded data.
pub fn describe(
    workload: &dyn Workload,
    plan: &WorkloadPlan,
    remarks: &[about::Remark],
) -> Description {
    Description {
        scale_unit: workload.scale_unit().map(|unit| ScaleUnit {
            one: unit.singular.to_owned(),
            many: unit.plural.to_owned(),
        }),
        tables: workload.tables().iter().filter_map(scaled_table).collect(),
        table_names: workload
            .tables()
            .iter()
            .map(|table| table.name.to_owned())
            .collect(),
        contention: workload.contention(plan).map(|contention| Contention {
            clients_per_scale: contention.clients_per_scale,
            because: contention.reason.to_owned(),
        }),
        commits_once: workload.has_one_commit_per_transaction(),
        minimum_duration: workload
            .minimum_duration(plan)
            .map(|minimum| MinimumDuration {
                duration_s: minimum.seconds,
                source: minimum.source.to_owned(),
            }),
        remarks: remarks
            .iter()
            .map(|remark| Remark {
                id: remark.id.to_owned(),
                finding: remark.finding.clone(),
                advice: remark.advice.clone(),
            })
            .collect(),
    }
}

/// Describes the workload of an imported run. `None` if Prony does not have the workload.
pub fn describe_stored(run: &Run) -> Option<Description> {
    let workload = prony_workload::find(&run.workload.name).ok()?;
    let options = match run.plan.pointer("/workload").and_then(Value::as_object) {
        Some(options) => options
            .iter()
            .filter(|(name, _)| !["name", "scale"].contains(&name.as_str()))
            .filter_map(|(name, value)| {
                let value = serde_json::from_value(value.clone()).ok()?;
                Some((name.clone(), value))
            })
            .collect(),
        None => {
            let settings = run.workload.settings.iter();
            settings
                .map(|setting| (setting.name.clone(), setting.value.clone().into()))
                .collect()
        }
    };
    let plan = WorkloadPlan {
        name: run.workload.name.clone(),
        scale: Some(run.workload.scale),
        options,
    };
    Some(describe(workload, &plan, &[]))
}

/// The expected size of a table by scale; `None` if it does not depend on the scale.
fn scaled_table(table: &TableSpec) -> Option<ScaledTable> {
    let TableRows::PerScale(rows_per_scale) = table.rows else {
        return None;
    };
    let grows_per_scale = match table.growth {
        TableGrowth::Constant => None,
        TableGrowth::Grows(rows) => Some(rows),
        TableGrowth::Varies => return None,
    };
    Some(ScaledTable {
        name: table.name.to_owned(),
        rows_per_scale,
        grows_per_scale,
    })
}
