//! A run in the store while it goes on, in reach of a thread that may have to end the process.
//!
//! In: what happens to a run. Out: the same in the store; the run, at its end. Must never: be ended twice.

use crate::run::keep::Keeper;
use prony_store::{Run, RunStore, RunWriter, State};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps one run, for several.
#[derive(Clone)]
pub struct Kept(Arc<Mutex<Option<Keeper>>>);

/// While it is held nothing is written.
#[must_use]
pub struct Held<'a>(#[expect(dead_code, reason = "it is held")] MutexGuard<'a, Option<Keeper>>);

impl Kept {
    /// Keeps what this keeps.
    pub fn new(keeper: Keeper) -> Kept {
        Kept(Arc::new(Mutex::new(Some(keeper))))
    }

    fn keeper(&self) -> MutexGuard<'_, Option<Keeper>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened. Gives a complaint if it could not be stored.
    pub fn tell(&self, tell: impl FnOnce(&mut Keeper) -> Option<String>) -> Option<String> {
        self.keeper().as_mut().and_then(tell)
    }

    /// Gives back what is kept.
    pub fn end(self) -> (Run, Option<RunWriter>) {
        match self.keeper().take() {
            Some(keeper) => keeper.end(),
            None => (Run::default(), None),
        }
    }

    /// The process ends now: stores what there is of the run as a part of one, or forgets it if nothing
    /// was measured. Nothing is written while the answer is held.
    pub fn cut_off(&self, because: &str) -> Held<'_> {
        let mut held = self.keeper();
        if let Some((_, Some(writer))) = held.take().map(Keeper::end) {
            // The journal has its figures.
            let run = RunStore::open(None).and_then(|store| store.load(writer.id()));
            match run {
                Ok(run) if run.series.is_empty() => writer.discard(),
                Ok(mut run) => {
                    run.state = State::Partial;
                    run.ended_because = Some(because.to_owned());
                    run.checks = prony_judge::judge(&run);
                    // Where that fails the journal stays, and tells as much.
                    let _ = writer.finish(&run);
                }
                Err(_) => {}
            }
        }
        Held(held)
    }
}
