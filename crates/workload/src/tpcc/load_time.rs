/// A point in time.
#[derive(Clone, Debug)]
pub struct Moment {
    pub text: String,
    /// Microseconds since 2000-01-01.
    pub micros: i64,
}
