//! Evaluates the expressions of `expr`.
//!
//! In: an expression's tree; the values of its variables. Out: a value. Must never: evaluate an operand that
//! `&&`, `||` or `?:` skips; wrap around on overflow.

use super::expr::Node;
use super::interp::Interp;
use super::number::{TOO_LARGE, Value};
use super::{Flow, Host};

/// An operand with its text, which some operators compare.
struct Operand {
    value: Value,
    text: String,
}

fn error(text: impl Into<String>) -> Flow {
    Flow::Error(text.into())
}

impl Interp {
    pub(crate) fn evaluate(&mut self, host: &mut dyn Host, node: &Node) -> Result<Value, Flow> {
        self.enter_level(host)?;
        let value = self.evaluate_inner(host, node);
        self.leave_level();
        value
    }

    fn evaluate_inner(&mut self, host: &mut dyn Host, node: &Node) -> Result<Value, Flow> {
        match node {
            Node::Value(value) => Ok(value.clone()),
            Node::Parts(parts) => Ok(Value::parse(&self.substitute(host, parts)?)),
            Node::Unary(sign, inner) => {
                let value = self.evaluate(host, inner)?;
                Ok(apply_unary(*sign, &value)?)
            }
            Node::Ternary(condition, yes, no) => {
                let is_true = self.condition(host, condition)?;
                self.evaluate(host, if is_true { yes } else { no })
            }
            Node::Binary(operator @ ("&&" | "||"), left, right) => {
                let left = self.condition(host, left)?;
                // A true left operand decides `||`, a false one `&&`.
                let deciding = *operator == "||";
                let result = if left == deciding { left } else { self.condition(host, right)? };
                Ok(Value::Integer(i64::from(result)))
            }
            Node::Binary(operator, left, right) => {
                let left = self.evaluate_operand(host, left)?;
                let right = self.evaluate_operand(host, right)?;
                Ok(apply_binary(operator, &left, &right)?)
            }
            Node::Call(name, args) => {
                let values: Result<Vec<Value>, Flow> =
                    args.iter().map(|arg| self.evaluate(host, arg)).collect();
                self.call_function(name, &values?)
            }
        }
    }

    fn evaluate_operand(&mut self, host: &mut dyn Host, node: &Node) -> Result<Operand, Flow> {
        if let Node::Parts(parts) = node {
            let text = self.substitute(host, parts)?;
            let value = Value::parse(&text);
            return Ok(Operand { value, text });
        }
        let value = self.evaluate(host, node)?;
        let text = value.text();
        Ok(Operand { value, text })
    }

    pub(crate) fn condition(&mut self, host: &mut dyn Host, node: &Node) -> Result<bool, Flow> {
        Ok(self.evaluate(host, node)?.as_bool()?)
    }

    fn call_function(&mut self, name: &str, args: &[Value]) -> Result<Value, Flow> {
        let is_listed = |names: &str| names.split(' ').any(|known| known == name);
        if let Some((expected, _)) = FUNCTIONS.iter().find(|(_, names)| is_listed(names))
            && args.len() != *expected
        {
            let problem = if args.len() < *expected { "not enough" } else { "too many" };
            let text = format!("{problem} arguments for math function \"{name}\"");
            return Err(error(text));
        }
        let number = |index: usize| -> Result<f64, Flow> { Ok(args[index].as_real()?) };
        let to_integer = |number: f64| -> Result<Value, Flow> {
            if number.is_finite() && number.abs() < 9.2e18 {
                Ok(Value::Integer(number as i64))
            } else {
                Err(error(TOO_LARGE))
            }
        };
        let first = args.first();
        match (name, first) {
            ("rand", None) => return Ok(Value::Real(self.random_number())),
            ("srand", Some(Value::Integer(seed))) => {
                self.seed_random(*seed);
                return Ok(Value::Real(self.random_number()));
            }
            ("abs", Some(Value::Integer(value))) => {
                return (value.checked_abs().map(Value::Integer)).ok_or_else(|| error(TOO_LARGE));
            }
            ("int" | "wide" | "entier" | "round", Some(Value::Integer(value))) => {
                return Ok(Value::Integer(*value));
            }
            ("min" | "max", _) => return min_or_max(args, name),
            ("bool", Some(value)) => {
                return Ok(Value::Integer(i64::from(value.as_bool()?)));
            }
            _ => {}
        }
        let real = match name {
            "int" | "wide" | "entier" => return to_integer(number(0)?.trunc()),
            "round" => return to_integer(number(0)?.round()),
            "abs" => number(0)?.abs(),
            "double" => number(0)?,
            "ceil" => number(0)?.ceil(),
            "floor" => number(0)?.floor(),
            "sqrt" => number(0)?.sqrt(),
            "exp" => number(0)?.exp(),
            "log" => number(0)?.ln(),
            "log10" => number(0)?.log10(),
            "pow" => number(0)?.powf(number(1)?),
            "fmod" => number(0)? % number(1)?,
            "hypot" => number(0)?.hypot(number(1)?),
            "sin" => number(0)?.sin(),
            "cos" => number(0)?.cos(),
            "tan" => number(0)?.tan(),
            "atan2" => number(0)?.atan2(number(1)?),
            _ => return Err(error(format!("unknown math function \"{name}\""))),
        };
        if real.is_nan() {
            return Err(error("domain error: argument not in valid range"));
        }
        Ok(Value::Real(real))
    }
}

/// The functions by their number of arguments; `min` and `max` take any number above 0.
const FUNCTIONS: [(usize, &str); 3] = [
    (0, "rand"),
    (
        1,
        "abs bool ceil cos double entier exp floor int log log10 round sin sqrt srand tan wide",
    ),
    (2, "atan2 fmod hypot pow"),
];

fn min_or_max(args: &[Value], name: &str) -> Result<Value, Flow> {
    let mut best: Option<(f64, &Value)> = None;
    for arg in args {
        let number = arg.as_real()?;
        let is_best = match best {
            None => true,
            Some((best, _)) if name == "max" => number > best,
            Some((best, _)) => number < best,
        };
        if is_best {
            best = Some((number, arg));
        }
    }
    best.map(|(_, value)| value.clone())
        .ok_or_else(|| error(format!("not enough arguments to math function \"{name}\"")))
}

fn apply_unary(sign: char, value: &Value) -> Result<Value, String> {
    match (sign, value) {
        ('!', value) => Ok(Value::Integer(i64::from(!value.as_bool()?))),
        ('~', Value::Integer(number)) => Ok(Value::Integer(!number)),
        ('-', Value::Integer(number)) => {
            (number.checked_neg().map(Value::Integer)).ok_or_else(|| TOO_LARGE.to_owned())
        }
        ('-', Value::Real(number)) => Ok(Value::Real(-number)),
        ('~', Value::Real(_)) => Err(format!(
            "can't use floating-point value as operand of \"{sign}\""
        )),
        // `+`.
        (_, Value::Integer(_) | Value::Real(_)) => Ok(value.clone()),
        (_, Value::Text(text)) => Err(not_a_number(text, &sign.to_string())),
    }
}

fn not_a_number(text: &str, operator: &str) -> String {
    let kind = if text.is_empty() { "empty" } else { "non-numeric" };
    format!("can't use {kind} string as operand of \"{operator}\"")
}

fn apply_binary(operator: &str, left: &Operand, right: &Operand) -> Result<Value, String> {
    let boolean = |value: bool| Ok(Value::Integer(i64::from(value)));
    match operator {
        "eq" => return boolean(left.text == right.text),
        "ne" => return boolean(left.text != right.text),
        "in" | "ni" => {
            let is_element = super::list::split(&right.text)?.contains(&left.text);
            return boolean(is_element == (operator == "in"));
        }
        "==" | "!=" | "<" | ">" | "<=" | ">=" => {
            let order = compare(left, right);
            return boolean(match operator {
                "==" => order.is_some_and(|order| order.is_eq()),
                "!=" => order.is_none_or(|order| order.is_ne()),
                "<" => order.is_some_and(|order| order.is_lt()),
                ">" => order.is_some_and(|order| order.is_gt()),
                "<=" => order.is_some_and(|order| order.is_le()),
                _ => order.is_some_and(|order| order.is_ge()),
            });
        }
        _ => {}
    }
    match (&left.value, &right.value) {
        (Value::Integer(a), Value::Integer(b)) => compute_integers(operator, *a, *b),
        (Value::Text(_), _) | (_, Value::Text(_)) => {
            let text = if matches!(left.value, Value::Text(_)) { &left.text } else { &right.text };
            Err(not_a_number(text, operator))
        }
        (a, b) => compute_reals(operator, a.as_real()?, b.as_real()?),
    }
}

/// Compares as numbers, or as texts if one operand is no number; `None` if one is not a number (NaN).
fn compare(left: &Operand, right: &Operand) -> Option<std::cmp::Ordering> {
    match (&left.value, &right.value) {
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Text(_), _) | (_, Value::Text(_)) => Some(left.text.cmp(&right.text)),
        (a, b) => a.as_real().ok()?.partial_cmp(&b.as_real().ok()?),
    }
}

fn compute_reals(operator: &str, a: f64, b: f64) -> Result<Value, String> {
    let result = match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        // In Tcl, a real divided by zero is Inf.
        "/" => a / b,
        "**" => a.powf(b),
        _ => {
            return Err(format!(
                "can't use floating-point value as operand of \"{operator}\""
            ));
        }
    };
    if result.is_nan() {
        return Err("domain error: argument not in valid range".to_owned());
    }
    Ok(Value::Real(result))
}

fn compute_integers(operator: &str, a: i64, b: i64) -> Result<Value, String> {
    let division_by_zero = || "divide by zero".to_owned();
    let result = match operator {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" | "%" if b == 0 => return Err(division_by_zero()),
        // Tcl rounds the quotient down, and the remainder has the divisor's sign.
        "/" => a.checked_div(b).map(|quotient| {
            let is_rounded_up = (a % b != 0) && ((a < 0) != (b < 0));
            quotient - i64::from(is_rounded_up)
        }),
        // -1 divides every number, but the smallest one overflows.
        "%" if b == -1 => Some(0),
        "%" => a.checked_rem(b).map(|remainder| {
            if remainder != 0 && ((remainder < 0) != (b < 0)) { remainder + b } else { remainder }
        }),
        "**" => return power(a, b),
        "<<" | ">>" if b < 0 => return Err("negative shift argument".to_owned()),
        "<<" if a == 0 => Some(0),
        "<<" if b > 62 => None,
        "<<" => a.checked_mul(1_i64 << b),
        ">>" => Some(a >> b.min(63)),
        "&" => Some(a & b),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        _ => return Err(format!("unknown operator \"{operator}\"")),
    };
    (result.map(Value::Integer)).ok_or_else(|| TOO_LARGE.to_owned())
}

fn power(base: i64, exponent: i64) -> Result<Value, String> {
    if exponent < 0 {
        return match base {
            0 => Err("exponentiation of zero by negative power".to_owned()),
            1 => Ok(Value::Integer(1)),
            -1 => Ok(Value::Integer(if exponent % 2 == 0 { 1 } else { -1 })),
            _ => Ok(Value::Integer(0)),
        };
    }
    let result = match base {
        0 | 1 => Some(if exponent == 0 { 1 } else { base }),
        -1 => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => u32::try_from(exponent)
            .ok()
            .and_then(|exponent| base.checked_pow(exponent)),
    };
    (result.map(Value::Integer)).ok_or_else(|| TOO_LARGE.to_owned())
}
