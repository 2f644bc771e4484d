//! The functions of the script language.
//!
//! In: a name, or arguments. Out: a function, or its value. Must never: draw a random number before
//! every argument has been checked, so that a failing call leaves the sequence as it was.

use super::error::EvalError;
use super::number::fixed;
use super::value::Value;
use crate::random::Random;

/// A function that scripts can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Distance from zero.
    Abs,
    /// Its argument, which is also written out.
    Debug,
    /// Its argument as a double.
    Double,
    /// e to its argument.
    Exp,
    /// The largest argument.
    Greatest,
    /// FNV-1a hash of a number, with a seed.
    HashFnv1a,
    /// MurmurHash2 of a number, with a seed.
    HashMurmur2,
    /// Its argument rounded to a whole number.
    Int,
    /// The smallest argument.
    Least,
    /// Natural logarithm.
    Ln,
    /// Remainder of a division.
    Mod,
    /// A number's place in a pseudorandom order of 0 to size - 1.
    Permute,
    /// The number pi.
    Pi,
    /// A power.
    Pow,
    /// A random number, all equally likely.
    Random,
    /// A random number, small ones likelier.
    RandomExponential,
    /// A random number after a bell curve.
    RandomGaussian,
    /// A random number after a power law.
    RandomZipfian,
    /// Square root.
    Sqrt,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    /// Exactly so many.
    Exactly(usize),
    /// One or more.
    AtLeastOne,
    /// So many, or one less: then the run's default seed is the last.
    WithSeed(usize),
}

/// The most arguments of a call.
pub(super) const ARGUMENTS_MAX: usize = 16;

/// Name, function and arguments of each.
const FUNCTIONS: [(&str, Function, Arity); 21] = [
    ("abs", Function::Abs, Arity::Exactly(1)),
    ("debug", Function::Debug, Arity::Exactly(1)),
    ("double", Function::Double, Arity::Exactly(1)),
    ("exp", Function::Exp, Arity::Exactly(1)),
    ("greatest", Function::Greatest, Arity::AtLeastOne),
    ("hash", Function::HashMurmur2, Arity::WithSeed(2)),
    ("hash_fnv1a", Function::HashFnv1a, Arity::WithSeed(2)),
    ("hash_murmur2", Function::HashMurmur2, Arity::WithSeed(2)),
    ("int", Function::Int, Arity::Exactly(1)),
    ("least", Function::Least, Arity::AtLeastOne),
    ("ln", Function::Ln, Arity::Exactly(1)),
    ("mod", Function::Mod, Arity::Exactly(2)),
    ("permute", Function::Permute, Arity::WithSeed(3)),
    ("pi", Function::Pi, Arity::Exactly(0)),
    ("pow", Function::Pow, Arity::Exactly(2)),
    ("power", Function::Pow, Arity::Exactly(2)),
    ("random", Function::Random, Arity::Exactly(2)),
    (
        "random_exponential",
        Function::RandomExponential,
        Arity::Exactly(3),
    ),
    (
        "random_gaussian",
        Function::RandomGaussian,
        Arity::Exactly(3),
    ),
    ("random_zipfian", Function::RandomZipfian, Arity::Exactly(3)),
    ("sqrt", Function::Sqrt, Arity::Exactly(1)),
];

/// The function of this name at this level, with its name in the customary spelling.
pub(super) fn find(name: &str, level: u32) -> Option<(&'static str, Function, Arity)> {
    FUNCTIONS
        .iter()
        .find(|(known, function, _)| {
            known.eq_ignore_ascii_case(name) && (level >= 14 || *function != Function::Permute)
        })
        .copied()
}

/// The value of a call; `arguments` are as many as the function takes, `Debug` is not among those
/// seen here.
pub(super) fn call(
    function: Function,
    arguments: &[Value],
    random: &mut Random,
) -> Result<Value, EvalError> {
    // Any NULL makes the whole NULL, before types are looked at.
    if arguments.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    match (function, arguments) {
        (Function::Random, [low, high]) => {
            let (low, high) = range(*low, *high)?;
            Ok(Value::Int(random.uniform(low, high)))
        }
        (
            Function::RandomExponential | Function::RandomGaussian | Function::RandomZipfian,
            [low, high, shape],
        ) => shaped(function, *low, *high, *shape, random),
        (Function::Least | Function::Greatest, [_, ..]) => {
            extremum(function == Function::Greatest, arguments)
        }
        (Function::HashFnv1a, [value, seed]) => {
            Ok(Value::Int(fnv1a(value.to_int()?, seed.to_int()?)))
        }
        (Function::HashMurmur2, [value, seed]) => {
            Ok(Value::Int(murmur2(value.to_int()?, seed.to_int()?)))
        }
        (Function::Permute, [value, size, seed]) => {
            let (value, size, seed) = (value.to_int()?, size.to_int()?, seed.to_int()?);
            if size <= 0 {
                return Err(EvalError::new(
                    "permute size parameter must be greater than zero",
                ));
            }
            Ok(Value::Int(permute(value, size, seed)))
        }
        (Function::Pi, []) => Ok(Value::Double(std::f64::consts::PI)),
        (Function::Pow, [base, power]) => {
            Ok(Value::Double(base.to_double()?.powf(power.to_double()?)))
        }
        (Function::Mod, [left, right]) => super::eval::modulo(*left, *right),
        (_, [value]) => of_one(function, *value),
        // The parser has counted the arguments.
        _ => Ok(Value::Null),
    }
}

fn of_one(function: Function, value: Value) -> Result<Value, EvalError> {
    Ok(match (function, value) {
        // As in C, the smallest number has no positive counterpart and stays.
        (Function::Abs, Value::Int(number)) => Value::Int(number.wrapping_abs()),
        (Function::Abs, _) => {
            let number = value.to_double()?;
            // Not abs(): minus zero stays minus zero.
            Value::Double(if number < 0.0 { -number } else { number })
        }
        (Function::Int, _) => Value::Int(value.to_int()?),
        (Function::Sqrt, _) => Value::Double(value.to_double()?.sqrt()),
        (Function::Ln, _) => Value::Double(value.to_double()?.ln()),
        (Function::Exp, _) => Value::Double(value.to_double()?.exp()),
        (Function::Double, _) => Value::Double(value.to_double()?),
        _ => value,
    })
}

/// The ends of a range that holds at least one number, and not more than 63 bits can count.
#[inline]
fn range(low: Value, high: Value) -> Result<(i64, i64), EvalError> {
    let (low, high) = (low.to_int()?, high.to_int()?);
    if low > high {
        return Err(EvalError::new("empty range given to random"));
    }
    match high.checked_sub(low).and_then(|width| width.checked_add(1)) {
        Some(_) => Ok((low, high)),
        None => Err(EvalError::new("random range is too large")),
    }
}

fn shaped(
    function: Function,
    low: Value,
    high: Value,
    shape: Value,
    random: &mut Random,
) -> Result<Value, EvalError> {
    let (low, high) = range(low, high)?;
    let shape = shape.to_double()?;
    let wrong = |what: &str| {
        let given = fixed(shape, 6);
        Err(EvalError::new(format!("{what} (not {given})")))
    };
    // NaN is refused where pgbench lets it pass and then draws for ever or converts it to a number.
    match function {
        Function::RandomGaussian if shape < 2.0 || shape.is_nan() => {
            wrong("gaussian parameter must be at least 2.000000")
        }
        Function::RandomZipfian if !(1.001..=1000.0).contains(&shape) => {
            wrong("zipfian parameter must be in range [1.001, 1000]")
        }
        Function::RandomExponential if shape <= 0.0 => {
            wrong("exponential parameter must be greater than zero")
        }
        Function::RandomGaussian => Ok(Value::Int(random.gaussian(low, high, shape))),
        Function::RandomZipfian => Ok(Value::Int(random.zipfian(low, high, shape))),
        _ => Ok(Value::Int(random.exponential(low, high, shape))),
    }
}

/// The largest or the smallest; a double if one of them is one.
fn extremum(largest: bool, arguments: &[Value]) -> Result<Value, EvalError> {
    if arguments.iter().any(|v| matches!(v, Value::Double(_))) {
        let mut found = arguments[0].to_double()?;
        for argument in &arguments[1..] {
            let next = argument.to_double()?;
            // Comparisons in this form: what follows a NaN takes its place.
            let keep = if largest { found > next } else { found < next };
            found = if keep { found } else { next };
        }
        return Ok(Value::Double(found));
    }
    let mut found = arguments[0].to_int()?;
    for argument in &arguments[1..] {
        let next = argument.to_int()?;
        found = if largest {
            found.max(next)
        } else {
            found.min(next)
        };
    }
    Ok(Value::Int(found))
}

/// FNV-1a (Fowler, Noll, Vo) of the eight bytes of a number, lowest first.
fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = 0xcbf2_9ce4_8422_2325 ^ seed as u64;
    let hash = value.to_le_bytes().iter().fold(basis, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash as i64
}

/// MurmurHash2 (Appleby) of the eight bytes of a number, in its 64-bit form.
fn murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    let mix = |bits: u64| {
        let bits = bits.wrapping_mul(MULTIPLIER);
        bits ^ (bits >> 47)
    };
    let start = seed as u64 ^ 8_u64.wrapping_mul(MULTIPLIER);
    let block = mix(value as u64).wrapping_mul(MULTIPLIER);
    let hash = (start ^ block).wrapping_mul(MULTIPLIER);
    let hash = mix(hash ^ (hash >> 47));
    hash as i64
}

/// Where `value` (modulo `size`) stands in the pseudorandom order of 0 to `size` - 1 that `seed`
/// gives: six rounds of a multiplication, an exclusive or and a rotation, done on the lower half,
/// on the upper half, and then shifted as a whole; each step is a bijection, so the whole is one.
fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Random::new(seed as u64);
    let size = size as u64;
    let last = size - 1;
    // The halves overlap unless the size is a power of two: each has the largest power of two that
    // is not above the size.
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    // A negative number counts as the unsigned one with the same bits.
    let mut place = value as u64 % size;
    for _ in 0..6 {
        place = scramble(place, bits, mask, &mut random);
        place = last - scramble(last - place, bits, mask, &mut random);
        // The last number fits i64 because the size does.
        let offset = random.uniform(0, last as i64) as u64;
        place = (place + offset) % size;
    }
    place as i64
}

/// Moves the numbers up to `mask` among themselves; two draws in any case.
fn scramble(place: u64, bits: u32, mask: u64, random: &mut Random) -> u64 {
    // An odd factor, for that is what has an inverse modulo a power of two.
    let factor = (random.next_u64() & mask) | 1;
    let flips = random.next_u64() & mask;
    if place > mask {
        return place;
    }
    let mixed = (place.wrapping_mul(factor) ^ flips) & mask;
    ((mixed << 1) & mask) | (mixed >> (bits - 1))
}
