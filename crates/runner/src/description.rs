//! Describes a workload for the Run document.
//!
//! Must never: treat one workload differently from the others.

use prony_plan::WorkloadPlan;
use prony_store::{Description, Remark, ScaledTable};
use prony_workload::Workload;
use prony_workload::describe::{TableGrowth, TableRows, TableSpec};

/// Describes a workload as this plan sets it; `remarks` are those of its program.
pub fn describe(workload: &dyn Workload, plan: &WorkloadPlan, remarks: &[Remark]) -> Description {
    Description {
        scale_unit: workload.scale_unit(),
        tables: workload.tables().iter().filter_map(scaled_table).collect(),
        table_names: workload
            .tables()
            .iter()
            .map(|table| table.name.to_owned())
            .collect(),
        contention: workload.contention(plan),
        commits_once: workload.has_one_commit_per_transaction(),
        minimum_duration: workload.minimum_duration(plan),
        remarks: remarks.to_vec(),
    }
}

/// Describes the workload of a document, whose plan is unknown. `None` if Prony does not have the workload.
pub fn describe_settings(workload: &prony_store::Workload) -> Option<Description> {
    let known = prony_workload::find(&workload.name).ok()?;
    let settings = workload.settings.iter();
    let plan = WorkloadPlan {
        name: workload.name.clone(),
        scale: Some(workload.scale),
        options: settings
            .map(|setting| (setting.name.clone(), setting.value.clone().into()))
            .collect(),
    };
    Some(describe(known, &plan, &[]))
}

/// The expected size of a table by scale; `None` if its rows, or the rows that transactions add, do not follow from the scale.
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
