//! Checks that a run can use the table, and determines its layout. Must never read the whole table, or let a
//! run start on a half-loaded table.

use super::keys::Key;
use super::layout::Layout;
use super::options::YcsbOptions;
use super::table::{self, NAME, UserTable};
use crate::remedy::{LoadSpec, Remedy};
use crate::{Error, Result, catalog, sql};
use prony_plan::WorkloadPlan;
use prony_server::Control;

/// Returns the layout of the loaded data, if a run can use it.
///
/// # Errors
/// The table is missing, half-loaded or foreign, or its contents differ from the requested ones.
pub fn loaded_layout(
    control: &mut Control,
    plan: &WorkloadPlan,
    options: &YcsbOptions,
) -> Result<Layout> {
    let scale = plan.scale.map_or("N".to_owned(), |scale| scale.to_string());
    let load = LoadSpec::of(super::NAME, vec![("scale", scale)]);
    let loaded_table =
        catalog::find_loaded::<UserTable>(control, &load, Layout::load_spec_from_note)?
            .swap_remove(0);
    let fields = table::field_count(&loaded_table.columns).unwrap_or_default();
    let layout = match loaded_table.note.as_ref().and_then(Layout::from_note) {
        Some(layout) => layout,
        None => Layout {
            field_count: fields,
            ..requested_layout(plan, options)?
        },
    };
    check_requested(&layout, plan, options, &load)?;
    for number in [0, layout.records - 1] {
        let key = Key::of(number);
        let exists = format!("select 1 from {NAME} where ycsb_key = '{}'", key.text());
        if sql::query_rows(control, "looking for a record", &exists)?.is_empty() {
            return Err(Error::Data {
                problem: format!(
                    "{NAME} has no record {}, although the load stored it",
                    key.text()
                ),
                remedy: Remedy::Load(load),
            });
        }
    }
    Ok(layout)
}

/// Returns the requested layout, for a table that YCSB has loaded.
fn requested_layout(plan: &WorkloadPlan, options: &YcsbOptions) -> Result<Layout> {
    let Some(scale) = plan.scale else {
        return Err(Error::Data {
            problem: format!("{NAME} was not loaded by Prony, so its number of records is unknown"),
            remedy: "pass it with --scale, in thousands of records".into(),
        });
    };
    Ok(Layout::from_options(options, scale, 0))
}

/// Checks that the loaded data is the requested data.
fn check_requested(
    layout: &Layout,
    plan: &WorkloadPlan,
    options: &YcsbOptions,
    load: &LoadSpec,
) -> Result<()> {
    for (name, requested, loaded) in [
        ("scale", plan.scale, layout.scale()),
        ("fieldcount", options.fieldcount, layout.field_count),
        ("fieldlength", options.fieldlength, layout.field_length),
    ] {
        if let Some(requested) = requested.filter(|requested| *requested != loaded) {
            return Err(Error::Data {
                problem: format!("the data has {name} {loaded}, but {requested} was requested"),
                remedy: Remedy::Reload(
                    "omit it to run on the existing data, or load other data",
                    load.clone(),
                ),
            });
        }
    }
    Ok(())
}
