//! Random numbers for scripts: C functions that LuaJIT calls from compiled code, with the address of the user's
//! generator. They must not panic. The generator must outlive the Lua state that holds its address.

use super::settings::RandomSettings;
use crate::oltp::distribution::{Distribution, RangeSampler};
use crate::random::Random;
use crate::unique_numbers::{UniqueInRange, UniqueNumbers};
use prony_session::UserId;
use std::ffi::{c_char, c_void};

/// A sampler and what it is for; both bounds are included.
#[derive(Clone, Copy)]
struct CachedSampler {
    distribution: Distribution,
    low: i64,
    high: i64,
    sampler: RangeSampler,
}

pub struct UserRandom {
    random: Random,
    settings: RandomSettings,
    /// Samplers for recently used ranges; most scripts use one or two.
    recent_samplers: [Option<CachedSampler>; 4],
    next_slot: usize,
    unique: UniqueNumbers,
    unique_in_range: UniqueInRange,
}

impl UserRandom {
    pub fn new(id: UserId, settings: RandomSettings) -> Self {
        UserRandom {
            random: Random::of_client(id.seed, id.client),
            settings,
            recent_samplers: [None; 4],
            next_slot: 0,
            unique: UniqueNumbers::new(id),
            unique_in_range: UniqueInRange::new(id),
        }
    }

    fn draw(&mut self, distribution: Distribution, low: f64, high: f64) -> f64 {
        // Convert the bounds to integers as C does, by truncation.
        let (low, high) = (low as i64, high as i64);
        if distribution == Distribution::Uniform {
            return self.random.uniform(low, high) as f64;
        }
        let is_for_range = |cached: &&CachedSampler| {
            cached.distribution == distribution && cached.low == low && cached.high == high
        };
        let sampler = match self.recent_samplers.iter().flatten().find(is_for_range) {
            Some(cached) => cached.sampler,
            None => {
                let sampler = RangeSampler::new(distribution, low, high);
                self.recent_samplers[self.next_slot] = Some(CachedSampler {
                    distribution,
                    low,
                    high,
                    sampler,
                });
                self.next_slot = (self.next_slot + 1) % self.recent_samplers.len();
                sampler
            }
        };
        sampler.sample(&mut self.random) as f64
    }

    /// Fills a template: `#` becomes a digit, `@` a lower-case letter; all other bytes stay.
    fn fill_template(&mut self, format: &[u8], out: &mut [u8]) {
        let (mut bits, mut chunks_left) = (0u64, 0);
        for (byte, target) in format.iter().zip(out) {
            let (first_character, count) = match byte {
                b'#' => (b'0', 10),
                b'@' => (b'a', 26),
                other => {
                    *target = *other;
                    continue;
                }
            };
            if chunks_left == 0 {
                (bits, chunks_left) = (self.random.next_u64(), 4);
            }
            // 16 bits per character: the probability of each letter is off by less than 1 in 2,500.
            let index = ((bits & 0xffff) * count) >> 16;
            (bits, chunks_left) = (bits >> 16, chunks_left - 1);
            *target = first_character + index as u8;
        }
    }
}

/// The addresses of the C functions, by the names that the prelude uses.
pub fn function_addresses() -> [(&'static str, *mut c_void); 11] {
    [
        ("default", default as *mut c_void),
        ("uniform", uniform as *mut c_void),
        ("gaussian", gaussian as *mut c_void),
        ("special", special as *mut c_void),
        ("pareto", pareto as *mut c_void),
        ("zipfian", zipfian as *mut c_void),
        ("unit", unit as *mut c_void),
        ("uint64", uint64 as *mut c_void),
        ("unique", unique as *mut c_void),
        ("unique_in", unique_in as *mut c_void),
        ("fill", fill as *mut c_void),
    ]
}

/// Converts the context pointer of a C call.
///
/// # Safety
/// `context` must be the user's [`UserRandom`], alive and not otherwise in use: a user's state runs on one
/// thread, and none of these functions calls back.
unsafe fn user_random<'a>(context: *mut c_void) -> &'a mut UserRandom {
    // SAFETY: as the caller promises.
    unsafe { &mut *context.cast::<UserRandom>() }
}

macro_rules! draws {
    ($($name:ident: |$settings:ident| $distribution:expr;)*) => {$(
        unsafe extern "C" fn $name(low: f64, high: f64, context: *mut c_void) -> f64 {
            // SAFETY: the prelude passes on the context that it received.
            let user_random = unsafe { user_random(context) };
            let $settings = user_random.settings;
            user_random.draw($distribution, low, high)
        }
    )*};
}

draws! {
    default: |settings| settings.default_distribution;
    uniform: |_settings| Distribution::Uniform;
    gaussian: |settings| Distribution::Gaussian { iterations: settings.iterations };
    special: |settings| Distribution::Special {
        iterations: settings.iterations,
        spec_pct: settings.spec_pct,
        spec_res: settings.spec_res,
    };
    pareto: |settings| Distribution::Pareto { h: settings.pareto_h };
    zipfian: |settings| Distribution::Zipfian { exponent: settings.zipfian_exponent };
}

unsafe extern "C" fn unit(context: *mut c_void) -> f64 {
    // SAFETY: the prelude passes on the context that it received.
    unsafe { user_random(context) }.random.unit()
}

unsafe extern "C" fn uint64(context: *mut c_void) -> u64 {
    // SAFETY: the prelude passes on the context that it received.
    unsafe { user_random(context) }.random.next_u64()
}

unsafe extern "C" fn unique(context: *mut c_void) -> f64 {
    // SAFETY: the prelude passes on the context that it received.
    f64::from(unsafe { user_random(context) }.unique.draw())
}

unsafe extern "C" fn unique_in(low: f64, high: f64, context: *mut c_void) -> f64 {
    // SAFETY: the prelude passes on the context that it received.
    unsafe { user_random(context) }
        .unique_in_range
        .draw(low as i64, high as i64) as f64
}

unsafe extern "C" fn fill(
    context: *mut c_void,
    format: *const c_char,
    length: usize,
    out: *mut c_char,
) {
    // SAFETY: the prelude passes a string of this length and a buffer at least as long. They do not
    // overlap, and both live through the call.
    let (user_random, format, out) = unsafe {
        (
            user_random(context),
            std::slice::from_raw_parts(format.cast::<u8>(), length),
            std::slice::from_raw_parts_mut(out.cast::<u8>(), length),
        )
    };
    user_random.fill_template(format, out);
}
