//! Random numbers for scripts: C functions over a user's generator, which LuaJIT calls from compiled
//! code as from any other.
//!
//! In: a context that the user's state holds. Out: numbers. Must never: panic; outlive the user.

use super::settings::Random as Asked;
use crate::distinct::Distinct;
use crate::oltp::distribution::{Distribution, Draw};
use crate::random::Random;
use prony_session::UserId;
use std::ffi::{c_char, c_void};

/// The generator of one user.
pub struct Numbers {
    random: Random,
    asked: Asked,
    /// The range that was drawn from last: most scripts draw from one or two.
    last: [Option<(Distribution, i64, i64, Draw)>; 4],
    next_last: usize,
    distinct: Distinct,
}

impl Numbers {
    /// Those of one user.
    pub fn new(id: UserId, asked: Asked) -> Self {
        Numbers {
            random: Random::of_client(id.seed, id.client),
            asked,
            last: [None; 4],
            next_last: 0,
            distinct: Distinct::new(id),
        }
    }

    fn draw(&mut self, distribution: Distribution, low: f64, high: f64) -> f64 {
        // As C makes whole numbers of them.
        let (low, high) = (low as i64, high as i64);
        if distribution == Distribution::Uniform {
            return self.random.uniform(low, high) as f64;
        }
        let same = |known: &&(Distribution, i64, i64, Draw)| {
            (known.0, known.1, known.2) == (distribution, low, high)
        };
        let known = self.last.iter().flatten().find(same).map(|known| known.3);
        let draw = known.unwrap_or_else(|| {
            let draw = Draw::new(distribution, low, high);
            self.last[self.next_last] = Some((distribution, low, high, draw));
            self.next_last = (self.next_last + 1) % self.last.len();
            draw
        });
        draw.next(&mut self.random) as f64
    }

    /// `#` is a digit, `@` a lower-case letter; all else stands for itself.
    fn fill(&mut self, format: &[u8], out: &mut [u8]) {
        let (mut bits, mut left) = (0u64, 0);
        for (byte, target) in format.iter().zip(out) {
            let (first, count) = match byte {
                b'#' => (b'0', 10),
                b'@' => (b'a', 26),
                other => {
                    *target = *other;
                    continue;
                }
            };
            if left == 0 {
                (bits, left) = (self.random.next_u64(), 4);
            }
            // 16 bits a character: none of 26 comes up more than 1 in 2,500 too often.
            let place = ((bits & 0xffff) * count) >> 16;
            (bits, left) = (bits >> 16, left - 1);
            *target = first + place as u8;
        }
    }
}

/// The functions by name, with their addresses.
pub fn functions() -> [(&'static str, *mut c_void); 10] {
    [
        ("default", default as *mut c_void),
        ("uniform", uniform as *mut c_void),
        ("gaussian", gaussian as *mut c_void),
        ("special", special as *mut c_void),
        ("pareto", pareto as *mut c_void),
        ("zipfian", zipfian as *mut c_void),
        ("unit", unit as *mut c_void),
        ("whole", whole as *mut c_void),
        ("unique", unique as *mut c_void),
        ("fill", fill as *mut c_void),
    ]
}

/// # Safety
/// `context` is the user's [`Numbers`], alive and in no other use: a user's state runs on one thread,
/// and none of these functions calls back.
unsafe fn of<'a>(context: *mut c_void) -> &'a mut Numbers {
    // SAFETY: as the caller promises.
    unsafe { &mut *context.cast::<Numbers>() }
}

macro_rules! draws {
    ($($name:ident: |$asked:ident| $distribution:expr;)*) => {$(
        unsafe extern "C" fn $name(low: f64, high: f64, context: *mut c_void) -> f64 {
            // SAFETY: the prelude passes the context it was given.
            let numbers = unsafe { of(context) };
            let $asked = numbers.asked;
            numbers.draw($distribution, low, high)
        }
    )*};
}

draws! {
    default: |asked| asked.default;
    uniform: |_asked| Distribution::Uniform;
    gaussian: |asked| Distribution::Gaussian { iterations: asked.iterations };
    special: |asked| Distribution::Special {
        iterations: asked.iterations,
        part_pct: asked.part_pct,
        share_pct: asked.share_pct,
    };
    pareto: |asked| Distribution::Pareto { h: asked.pareto_h };
    zipfian: |asked| Distribution::Zipfian { exponent: asked.zipfian_exponent };
}

unsafe extern "C" fn unit(context: *mut c_void) -> f64 {
    // SAFETY: the prelude passes the context it was given.
    unsafe { of(context) }.random.unit()
}

unsafe extern "C" fn whole(context: *mut c_void) -> u64 {
    // SAFETY: the prelude passes the context it was given.
    unsafe { of(context) }.random.next_u64()
}

unsafe extern "C" fn unique(context: *mut c_void) -> f64 {
    // SAFETY: the prelude passes the context it was given.
    f64::from(unsafe { of(context) }.distinct.draw())
}

unsafe extern "C" fn fill(
    context: *mut c_void,
    format: *const c_char,
    length: usize,
    out: *mut c_char,
) {
    // SAFETY: the prelude passes a text of this length and a buffer at least as long, which do not
    // overlap; both live through the call.
    let (numbers, format, out) = unsafe {
        (
            of(context),
            std::slice::from_raw_parts(format.cast::<u8>(), length),
            std::slice::from_raw_parts_mut(out.cast::<u8>(), length),
        )
    };
    numbers.fill(format, out);
}
