//! Commands for control flow, such as `if`, loops, `proc` and `catch`.
//!
//! Must never: catch a request to end the script.

use std::rc::Rc;

use super::interp::{Interp, Proc, error, wrong_args};
use super::pattern::Matching;
use super::{
    Call, CommandResult, Flow, Host, TclResult, expr, list, number, parse, pattern, regex,
};

impl Interp {
    pub(super) fn control_command(&mut self, host: &mut dyn Host, call: Call<'_>) -> CommandResult {
        Some(match call {
            ("if", args) => self.if_command(host, args),
            ("while", args) => self.while_command(host, args),
            ("for", args) => self.for_command(host, args),
            ("foreach", args) => self.foreach(host, args, false),
            ("lmap", args) => self.foreach(host, args, true),
            ("switch", args) => self.switch(host, args),
            ("break", _) => Err(Flow::Break),
            ("continue", _) => Err(Flow::Continue),
            ("return", args) => return_command(args),
            ("error", [message, ..]) => error(message.clone()),
            ("error", []) => wrong_args("error message ?errorInfo? ?errorCode?"),
            ("catch", args) => self.catch(host, args),
            ("try", args) => self.try_command(host, args),
            ("eval", args) => self.eval_text(host, &args.join(" ")),
            ("expr", args) => self.expr_command(host, args),
            ("proc", args) => self.define_procedure(args),
            ("exit", args) => exit(args),
            _ => return None,
        })
    }

    fn expr_command(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        if args.is_empty() {
            return wrong_args("expr arg ?arg ...?");
        }
        let node = expr::parse(&args.join(" "))?;
        Ok(self.evaluate(host, &node)?.text())
    }

    fn if_command(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let mut clauses = args;
        loop {
            let [condition, after @ ..] = clauses else {
                return error("wrong # args: no expression after \"if\" argument");
            };
            let is_true = self.condition(host, &expr::parse(condition)?)?;
            let after = match after {
                [keyword, after @ ..] if keyword == "then" => after,
                after => after,
            };
            let [body, after @ ..] = after else {
                return error(format!(
                    "wrong # args: no script following \"{condition}\" argument"
                ));
            };
            if is_true {
                return self.eval_text(host, body);
            }
            match after {
                [] => return Ok(String::new()),
                [keyword, after @ ..] if keyword == "elseif" => clauses = after,
                [keyword, body] if keyword == "else" => return self.eval_text(host, body),
                [body] => return self.eval_text(host, body),
                [_, ..] => {
                    return error(
                        "wrong # args: extra words after \"else\" clause in \"if\" command",
                    );
                }
            }
        }
    }

    fn while_command(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let [condition, body] = args else {
            return wrong_args("while test command");
        };
        let condition = expr::parse(condition)?;
        let body = parse::script(body);
        while self.condition(host, &condition)? {
            if !self.run_iteration(host, &body)? {
                break;
            }
        }
        Ok(String::new())
    }

    /// Runs the body of a loop once; returns whether the loop continues.
    fn run_iteration(&mut self, host: &mut dyn Host, body: &parse::Script) -> Result<bool, Flow> {
        match self.run(host, body) {
            Ok(_) | Err(Flow::Continue) => Ok(true),
            Err(Flow::Break) => Ok(false),
            Err(other) => Err(other),
        }
    }

    fn for_command(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let [start, condition, next, body] = args else {
            return wrong_args("for start test next command");
        };
        self.eval_text(host, start)?;
        let condition = expr::parse(condition)?;
        let (next, body) = (parse::script(next), parse::script(body));
        while self.condition(host, &condition)? {
            if !self.run_iteration(host, &body)? || !self.run_iteration(host, &next)? {
                break;
            }
        }
        Ok(String::new())
    }

    /// `foreach`, or `lmap`, which collects the results of the body.
    fn foreach(&mut self, host: &mut dyn Host, args: &[String], collects: bool) -> TclResult {
        if args.len() < 3 || args.len().is_multiple_of(2) {
            return wrong_args("foreach varList list ?varList list ...? command");
        }
        let (pairs, body) = args.split_at(args.len() - 1);
        let body = parse::script(&body[0]);
        let mut lists = Vec::new();
        let mut iterations = 0;
        for pair in pairs.chunks(2) {
            let names = list::split(&pair[0])?;
            let values = list::split(&pair[1])?;
            if names.is_empty() {
                return error("foreach varlist is empty");
            }
            iterations = iterations.max(values.len().div_ceil(names.len()));
            lists.push((names, values));
        }
        let mut results = Vec::new();
        for iteration in 0..iterations {
            for (names, values) in &lists {
                for (index, name) in names.iter().enumerate() {
                    let value = values.get(iteration * names.len() + index);
                    self.set(name, value.cloned().unwrap_or_default())?;
                }
            }
            match self.run(host, &body) {
                Ok(value) if collects => results.push(value),
                Ok(_) | Err(Flow::Continue) => {}
                Err(Flow::Break) => break,
                Err(other) => return Err(other),
            }
        }
        Ok(list::join(&results))
    }

    fn switch(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let mut remaining = args;
        let mut matching = Matching::Exact;
        let mut ignore_case = false;
        while let [option, after @ ..] = remaining
            && option.starts_with('-')
            && after.len() > 1
        {
            remaining = after;
            match option.as_str() {
                "-glob" => matching = Matching::Glob,
                "-regexp" => matching = Matching::Regex,
                "-exact" => matching = Matching::Exact,
                "-nocase" => ignore_case = true,
                "--" => break,
                other => {
                    return error(format!(
                        "bad option \"{other}\": must be -exact, -glob, -nocase, -regexp or --"
                    ));
                }
            }
        }
        let (text, cases) = match remaining {
            [text, cases] => (text, list::split(cases)?),
            [text, cases @ ..] => (text, cases.to_vec()),
            [] => {
                return wrong_args("switch ?-option ...? string ?pattern body ...? ?default body?");
            }
        };
        if cases.len() % 2 == 1 {
            return error("extra switch pattern with no body");
        }
        let last = cases.len().saturating_sub(2);
        let fold = |text: &str| pattern::fold_case(text, ignore_case);
        let mut matched = None;
        for index in (0..cases.len()).step_by(2) {
            let case = &cases[index];
            let is_match = (index == last && case == "default")
                || match matching {
                    Matching::Glob => pattern::matches(&fold(case), &fold(text)),
                    Matching::Regex => regex::compile(case, ignore_case)?.is_match(text),
                    Matching::Exact => fold(case) == fold(text),
                };
            if is_match {
                matched = Some(index);
                break;
            }
        }
        let Some(matched) = matched else {
            return Ok(String::new());
        };
        // A body `-` means the body of the next pattern.
        let mut bodies = (matched + 1..cases.len()).step_by(2);
        match bodies.find(|&body| cases[body] != "-") {
            Some(body) => self.eval_text(host, &cases[body]),
            None => error(format!(
                "no body specified for pattern \"{}\"",
                cases[matched]
            )),
        }
    }

    fn catch(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let [script, variables @ ..] = args else {
            return wrong_args("catch script ?resultVarName? ?optionVarName?");
        };
        let (code, value) = match self.eval_text(host, script) {
            Ok(value) => (0, value),
            Err(Flow::Error(message)) => (1, message),
            Err(Flow::Return(value)) => (2, value),
            Err(Flow::Break) => (3, String::new()),
            Err(Flow::Continue) => (4, String::new()),
            Err(flow @ (Flow::Exit(_) | Flow::Stopped(_))) => return Err(flow),
        };
        if code == 1 {
            self.set_global("errorInfo", &value);
        }
        if let [name, options @ ..] = variables {
            self.set(name, value)?;
            if let [options_variable] = options {
                self.set(options_variable, format!("-code {code} -level 0"))?;
            }
        }
        Ok(code.to_string())
    }

    /// `try body ?on CODE vars script ...? ?finally script?`.
    fn try_command(&mut self, host: &mut dyn Host, args: &[String]) -> TclResult {
        let [body, clauses @ ..] = args else {
            return wrong_args("try body ?handler ...? ?finally script?");
        };
        let mut clauses = clauses;
        let mut outcome = self.eval_text(host, body);
        let mut is_handled = false;
        while let [kind, operand, handler @ ..] = clauses {
            if kind == "finally" {
                if !matches!(outcome, Err(Flow::Stopped(_))) {
                    self.eval_text(host, operand)?;
                }
                break;
            }
            let [names, script, after @ ..] = handler else {
                return error(format!("wrong # args to {kind} clause"));
            };
            clauses = after;
            let value = match (&outcome, kind.as_str(), operand.as_str()) {
                (Err(Flow::Error(message)), "on", "error" | "1") => Some(message.clone()),
                (Err(Flow::Error(message)), "trap", _) => Some(message.clone()),
                (Ok(value), "on", "ok" | "0") => Some(value.clone()),
                _ => None,
            };
            if let Some(value) = value.filter(|_| !is_handled) {
                is_handled = true;
                if let Some(name) = list::split(names)?.first() {
                    self.set(name, value)?;
                }
                outcome = self.eval_text(host, script);
            }
        }
        outcome
    }

    fn define_procedure(&mut self, args: &[String]) -> TclResult {
        let [name, parameter_text, body_text] = args else {
            return wrong_args("proc name args body");
        };
        let mut procedure = Self::parse_procedure(parameter_text, body_text)?;
        let name = self.qualified(name);
        if let Some((namespace, _)) = name.rsplit_once("::") {
            procedure.namespace = namespace.to_owned();
        }
        self.procs.insert(name, Rc::new(procedure));
        Ok(String::new())
    }

    pub(super) fn parse_procedure(parameter_text: &str, body_text: &str) -> Result<Proc, Flow> {
        let mut parameters = Vec::new();
        for parameter in list::split(parameter_text)? {
            let mut parts = list::split(&parameter)?.into_iter();
            match (parts.next(), parts.next(), parts.next()) {
                (Some(name), default, None) => parameters.push((name, default)),
                (None, ..) => return error("argument with no name"),
                _ => {
                    return error(format!(
                        "too many fields in argument specifier \"{parameter}\""
                    ));
                }
            }
        }
        Ok(Proc {
            parameters,
            parameter_text: parameter_text.to_owned(),
            body_text: body_text.to_owned(),
            body: parse::script(body_text),
            namespace: String::new(),
        })
    }
}

fn return_command(args: &[String]) -> TclResult {
    match args {
        [] => Err(Flow::Return(String::new())),
        [value] => Err(Flow::Return(value.clone())),
        [option, code, values @ ..] if option == "-code" => {
            let value = values.last().cloned().unwrap_or_default();
            Err(match code.as_str() {
                "error" | "1" => Flow::Error(value),
                "break" | "3" => Flow::Break,
                "continue" | "4" => Flow::Continue,
                _ => Flow::Return(value),
            })
        }
        [.., value] => Err(Flow::Return(value.clone())),
    }
}

fn exit(args: &[String]) -> TclResult {
    match args {
        [] => Err(Flow::Exit(0)),
        // The system uses only the low 8 bits of a status.
        [status] => Err(Flow::Exit((number::require_integer(status)? & 0xff) as u8)),
        _ => wrong_args("exit ?returnCode?"),
    }
}
