//! The functions of the script language. A function checks every argument before it draws a random number, so
//! that a failing call does not advance the generator.

use super::error::EvalError;
use super::eval::operate;
use super::expr::Operator;
use super::number::format_fixed;
use super::value::Value;
use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Absolute value.
    Abs,
    /// Prints its argument and returns it.
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
    /// Its argument rounded to an integer.
    Int,
    /// The smallest argument.
    Least,
    /// Natural logarithm.
    Ln,
    /// Remainder of a division.
    Mod,
    /// The position of a number in a pseudorandom permutation of 0 to size - 1.
    Permute,
    Pi,
    Pow,
    /// A uniform random number.
    Random,
    /// A random number from an exponential distribution; low numbers are more likely.
    RandomExponential,
    /// A random number from a Gaussian distribution.
    RandomGaussian,
    /// A random number from a Zipfian distribution.
    RandomZipfian,
    /// Square root.
    Sqrt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    /// Exactly this many.
    Exactly(usize),
    /// One or more.
    AtLeastOne,
    /// This many, or one fewer; then the run's default seed is the last argument.
    WithSeed(usize),
}

pub(super) const ARGUMENTS_MAX: usize = 16;

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

/// Finds the function of this name in the language of this major version of pgbench, with its canonical spelling.
pub(super) fn find_function(
    name: &str,
    pgbench_version: u32,
) -> Option<(&'static str, Function, Arity)> {
    FUNCTIONS
        .iter()
        .find(|(spelling, function, _)| {
            spelling.eq_ignore_ascii_case(name)
                && (pgbench_version >= 14 || *function != Function::Permute)
        })
        .copied()
}

/// The value of a call. `arguments` must fit the function's arity; `Debug` is handled elsewhere.
pub(super) fn call(
    function: Function,
    arguments: &[Value],
    random: &mut Random,
) -> Result<Value, EvalError> {
    // Any NULL argument makes the result NULL, before types are checked.
    if arguments.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    match (function, arguments) {
        (Function::Random, [low, high]) => {
            let (low, high) = checked_range(*low, *high)?;
            Ok(Value::Int(random.uniform(low, high)))
        }
        (
            Function::RandomExponential | Function::RandomGaussian | Function::RandomZipfian,
            [low, high, shape],
        ) => draw_with_shape(function, *low, *high, *shape, random),
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
        (Function::Mod, [left, right]) => operate(Operator::Modulo, *left, *right),
        (_, [value]) => call_with_one_argument(function, *value),
        // Unreachable, because the parser has checked the number of arguments.
        _ => Ok(Value::Null),
    }
}

fn call_with_one_argument(function: Function, value: Value) -> Result<Value, EvalError> {
    Ok(match (function, value) {
        // As in C, the absolute value of the smallest integer is that integer.
        (Function::Abs, Value::Int(number)) => Value::Int(number.wrapping_abs()),
        (Function::Abs, _) => {
            let number = value.to_double()?;
            // `f64::abs` is wrong here, because it changes the sign of minus zero.
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

/// Returns the bounds of a range, after a check that the range contains at least one number, and fewer than
/// 2^63.
#[inline]
fn checked_range(low: Value, high: Value) -> Result<(i64, i64), EvalError> {
    let (low, high) = (low.to_int()?, high.to_int()?);
    if low > high {
        return Err(EvalError::new("empty range given to random"));
    }
    match high.checked_sub(low).and_then(|width| width.checked_add(1)) {
        Some(_) => Ok((low, high)),
        None => Err(EvalError::new("random range is too large")),
    }
}

fn draw_with_shape(
    function: Function,
    low: Value,
    high: Value,
    shape: Value,
    random: &mut Random,
) -> Result<Value, EvalError> {
    let (low, high) = checked_range(low, high)?;
    let shape = shape.to_double()?;
    let shape_error = |message: &str| {
        let text = format_fixed(shape, 6);
        Err(EvalError::new(format!("{message} (not {text})")))
    };
    // Reject NaN. pgbench accepts it, and then loops forever or converts it to a number.
    match function {
        Function::RandomGaussian if shape < 2.0 || shape.is_nan() => {
            shape_error("gaussian parameter must be at least 2.000000")
        }
        Function::RandomZipfian if !(1.001..=1000.0).contains(&shape) => {
            shape_error("zipfian parameter must be in range [1.001, 1000]")
        }
        Function::RandomExponential if shape <= 0.0 => {
            shape_error("exponential parameter must be greater than zero")
        }
        Function::RandomGaussian => Ok(Value::Int(random.gaussian(low, high, shape))),
        Function::RandomZipfian => Ok(Value::Int(random.zipfian(low, high, shape))),
        _ => Ok(Value::Int(random.exponential(low, high, shape))),
    }
}

/// The largest or smallest argument; a double if any argument is a double.
fn extremum(is_greatest: bool, arguments: &[Value]) -> Result<Value, EvalError> {
    if arguments.iter().any(|v| matches!(v, Value::Double(_))) {
        let mut best = arguments[0].to_double()?;
        for argument in &arguments[1..] {
            let next = argument.to_double()?;
            // As in pgbench, the comparison is false for a NaN, so the value after a NaN replaces it.
            let keeps_best = if is_greatest { best > next } else { best < next };
            best = if keeps_best { best } else { next };
        }
        return Ok(Value::Double(best));
    }
    let mut best = arguments[0].to_int()?;
    for argument in &arguments[1..] {
        let next = argument.to_int()?;
        best = if is_greatest { best.max(next) } else { best.min(next) };
    }
    Ok(Value::Int(best))
}

/// FNV-1a (Fowler, Noll, Vo) of a number's eight bytes, least significant first.
fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = 0xcbf2_9ce4_8422_2325 ^ seed as u64;
    let hash = value.to_le_bytes().iter().fold(basis, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash as i64
}

/// MurmurHash2 (Appleby), in its 64-bit form, of a number's eight bytes.
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

/// The position of `value` (modulo `size`) in the pseudorandom permutation of 0 to `size` - 1 that `seed`
/// selects. Each of six rounds multiplies, XORs and rotates the lower half, then the upper half, and then
/// adds an offset modulo `size`; each step is a bijection, so the result is a permutation.
fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Random::new(seed as u64);
    let size = size as u64;
    let last = size - 1;
    // The halves overlap unless the size is a power of two: each half spans the largest power of two that
    // does not exceed the size.
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    // A negative number is treated as the unsigned one with the same bits.
    let mut position = value as u64 % size;
    for _ in 0..6 {
        position = scramble(position, bits, mask, &mut random);
        position = last - scramble(last - position, bits, mask, &mut random);
        // `last` fits an i64 because `size` does.
        let offset = random.uniform(0, last as i64) as u64;
        position = (position + offset) % size;
    }
    position as i64
}

/// Permutes the numbers from 0 to `mask`, and returns larger numbers unchanged. Always draws two random
/// numbers.
fn scramble(position: u64, bits: u32, mask: u64, random: &mut Random) -> u64 {
    // The factor is odd because only odd numbers have an inverse modulo a power of two.
    let factor = (random.next_u64() & mask) | 1;
    let flips = random.next_u64() & mask;
    if position > mask {
        return position;
    }
    let mixed = (position.wrapping_mul(factor) ^ flips) & mask;
    ((mixed << 1) & mask) | (mixed >> (bits - 1))
}
