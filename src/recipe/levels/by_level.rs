//! Settings that differ by level.

use crate::error::{Error, Invalid, Result};
use crate::params::{Param, ParamKind, Value};
use crate::table::{Table, shown};
use serde_json::json;

/// A setting that differs by level.
#[derive(Clone, Debug, PartialEq)]
pub enum ByLevel {
    /// A value for each level, the finest last.
    List(Vec<Value>),
    /// From a number on the coarsest level to another on the finest, by equal steps.
    Ramp {
        /// On the coarsest level.
        from: f64,
        /// On the finest.
        to: f64,
    },
}

impl ByLevel {
    /// From a list, or a table with `from` and `to`.
    pub(in crate::recipe) fn parse(param: &Param, value: &serde_json::Value) -> Result<Self> {
        let one = |value: &serde_json::Value| {
            let given = match value {
                serde_json::Value::Bool(v) => Value::Switch(*v),
                serde_json::Value::String(v) => Value::Word(v.clone()),
                serde_json::Value::Number(v) => {
                    v.as_i64().map_or(Value::Number(v.as_f64().unwrap_or(f64::NAN)), Value::Integer)
                }
                other => Value::List(vec![other.clone()]),
            };
            param.accept(&given)
        };
        let wrong = |what: &str| {
            let allowed = format!(
                "{}, or a list of such by level, the finest last, or {{ from = …, to = … }}",
                param.allowed()
            );
            let message = format!("{} = {}: {what}", param.name, shown(value));
            Error::param(Invalid::of(param.name, shown(value), allowed).saying(message))
        };
        match value {
            serde_json::Value::Array(list) if list.is_empty() => {
                Err(wrong("an empty list: give a value for each level, the finest last"))
            }
            serde_json::Value::Array(list) => {
                Ok(Self::List(list.iter().map(one).collect::<Result<_>>()?))
            }
            _ => {
                if !matches!(param.kind, ParamKind::Number { .. } | ParamKind::Integer { .. }) {
                    return Err(wrong("only a number goes from one value to another"));
                }
                let table = Table::new(param.name, value)?;
                let inside = |e: Error| e.inside("", &format!("/{}", param.name));
                table.known(&["from", "to"]).map_err(inside)?;
                let end = |key: &str| {
                    let given = table.get(key).ok_or_else(|| {
                        wrong(&format!("{key} is missing: {{ from = …, to = … }}"))
                    })?;
                    Ok::<_, Error>(match one(given)? {
                        Value::Integer(v) => v as f64,
                        Value::Number(v) => v,
                        _ => 0.0,
                    })
                };
                Ok(Self::Ramp { from: end("from")?, to: end("to")? })
            }
        }
    }

    /// As a recipe has it, for a parameter.
    pub(in crate::recipe) fn describe(&self, param: &Param) -> serde_json::Value {
        // An end of a ramp is a number of the parameter's kind.
        let end = |v: f64| param.accept(&Value::Number(v)).unwrap_or(Value::Number(v)).to_json();
        match self {
            Self::List(list) => list.iter().map(Value::to_json).collect(),
            Self::Ramp { from, to } => json!({ "from": end(*from), "to": end(*to) }),
        }
    }

    /// The value on a level of `count`: 0 is the recipe's lattice, and finer ones have its value.
    pub(in crate::recipe) fn at(&self, param: &Param, level: i32, count: u32) -> Value {
        let level = level.max(0) as u32;
        match self {
            // The last value is that of the finest level, whatever the land's size: where there are
            // more levels than values, the first one is that of all the coarser ones.
            Self::List(list) => list[list.len() - 1 - (level as usize).min(list.len() - 1)].clone(),
            Self::Ramp { from, to } => {
                let way = if count > 1 {
                    f64::from(count - 1 - level) / f64::from(count - 1)
                } else {
                    1.0
                };
                // Rounding can carry the sum past the end, which may be that of the allowed range.
                let value = (from + (to - from) * way).clamp(from.min(*to), from.max(*to));
                match param.kind {
                    ParamKind::Integer { .. } => Value::Integer(value.round() as i64),
                    _ => Value::Number(value),
                }
            }
        }
    }

    /// The value on the finest level.
    pub(in crate::recipe) fn finest(&self, param: &Param) -> Value {
        match self {
            Self::List(list) => list[list.len() - 1].clone(),
            Self::Ramp { .. } => self.at(param, 0, 2),
        }
    }
}
