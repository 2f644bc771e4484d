//! Commands that use stored runs, on stores that the tests write by hand.

mod compare;
mod document;
mod home;
mod killed;
mod price;
mod runs;
mod terminal;
mod trend;
