//! Puts the text of the files of `[[workload.transactions]]` into a plan's input, as `sql` in place of `file`, so
//! that a plan and a Run document hold all that a run executes. The caller reads the files.

use crate::input::PlanInput;
use crate::problem::Problem;
use toml::Value;

/// The option of the workload that lists transactions.
pub(crate) const TRANSACTIONS: &str = "transactions";

impl PlanInput {
    /// Replaces `file` of each transaction by `sql` with the text that `read` returns for the path, in the plan and its
    /// variants. A file that cannot be read is a problem, which [`PlanInput::check`] reports.
    pub fn read_transaction_files(&mut self, read: &dyn Fn(&str) -> Result<String, String>) {
        for variant in &mut self.variants {
            variant.input.read_transaction_files(read);
        }
        let Some(option) = self.options.get_mut(TRANSACTIONS) else {
            return;
        };
        let tables = option.value.as_array_mut().into_iter().flatten();
        for table in tables.filter_map(Value::as_table_mut) {
            let Some(Value::String(file)) = table.get("file") else {
                continue;
            };
            // A transaction with both is a mistake, which the workload reports.
            if table.contains_key("sql") {
                continue;
            }
            match read(file) {
                Ok(text) => {
                    table.remove("file");
                    table.insert("sql".to_owned(), Value::String(text));
                }
                Err(error) => {
                    let message = format!("cannot read {file}: {error}");
                    let problem = Problem::new(option.location.clone(), message);
                    let hint = "a path is relative to the folder of the plan";
                    self.file.problems.push(problem.with_hint(hint));
                    // A transaction without a text would be reported as a second problem.
                    table.insert("sql".to_owned(), Value::String("SELECT 1".to_owned()));
                    table.remove("file");
                }
            }
        }
    }
}
