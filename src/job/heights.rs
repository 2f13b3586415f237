//! Heights that a run starts from.

use super::missing::{Missing, continue_ground};
use crate::arith::CELL;
use crate::error::{Error, Invalid, Result};
use crate::map::{Georef, Map};
use crate::site::{HEIGHT_MAX, Scale, Window};

/// Heights in memory that a [`Job`](crate::Job) starts from: metres, or exact words. They are
/// borrowed, and copied once.
#[derive(Clone, Debug)]
pub struct Heights<'a> {
    width: u32,
    height: u32,
    values: Values<'a>,
    pub(super) range_m: Option<(f64, f64)>,
    pub(super) georef: Option<Georef>,
    pub(super) missing: &'a [usize],
}

#[derive(Clone, Debug)]
enum Values<'a> {
    Metres { spacing_m: f64, data: &'a [f32] },
    Words { scale: Scale, data: &'a [i32] },
}

impl<'a> Heights<'a> {
    /// Heights in metres: `width` to a row, row by row from the north, `spacing_m` metres from a
    /// sample to the next.
    pub fn metres(width: u32, height: u32, spacing_m: f64, data: &'a [f32]) -> Self {
        Self {
            width,
            height,
            values: Values::Metres { spacing_m, data },
            range_m: None,
            georef: None,
            missing: &[],
        }
    }

    /// Heights as words, such as [`Outcome::words`](crate::Outcome::words) has: 2⁻¹⁸ cells above
    /// the datum of `scale`. No bit is lost. A recipe with another `spacing_m` stretches them with
    /// the cells.
    pub fn words_of(width: u32, height: u32, scale: Scale, data: &'a [i32]) -> Self {
        Self {
            width,
            height,
            values: Values::Words { scale, data },
            range_m: None,
            georef: None,
            missing: &[],
        }
    }

    /// The same, of which the cells with these numbers, from the north-west corner, have no height,
    /// whatever value is given: they lie outside the land, and
    /// [`Outcome::missing`](crate::Outcome::missing) has them again.
    pub fn without(self, missing: &'a [usize]) -> Self {
        Self { missing, ..self }
    }

    /// The window of the heights, at the origin of the world.
    pub(super) fn window(&self) -> Result<Window> {
        let (width, height) = (self.width, self.height);
        if width.max(height) > Window::SIDE_MAX {
            return Err(Error::over(
                format!("{width} x {height} cells: a side has at most {}", Window::SIDE_MAX),
                width.max(height),
                Window::SIDE_MAX,
                "cells a side",
            ));
        }
        let window = Window::sized(width, height);
        let given = match self.values {
            Values::Metres { data, .. } => data.len(),
            Values::Words { data, .. } => data.len(),
        };
        if window.cells() != given || given == 0 {
            let message = format!(
                "heights: {given} values for {width} x {height} cells: give one for each cell, and \
                 at least one"
            );
            return Err(Invalid::of("heights", given, format!("{}", window.cells()))
                .saying(message)
                .into());
        }
        Ok(window)
    }

    /// The words, and what they mean. `spacing_m` wins over the heights' own.
    pub(super) fn words(
        &self,
        spacing_m: Option<f64>,
        missing: Option<&Missing>,
    ) -> Result<(Scale, Vec<i32>)> {
        let there = |at: usize| missing.is_none_or(|missing| !missing.cells()[at]);
        if missing.is_some_and(|missing| !missing.cells().contains(&false)) {
            let message = "heights: no cell has a height, so there is no land";
            return Err(Invalid::from(message).about("heights").into());
        }
        let (scale, mut words) = self.known_words(spacing_m, &there)?;
        if let Some(missing) = missing {
            continue_ground(&mut words, self.width as usize, missing.cells());
        }
        Ok((scale, words))
    }

    /// The same, with any words in cells that are not `there`.
    fn known_words(
        &self,
        spacing_m: Option<f64>,
        there: &dyn Fn(usize) -> bool,
    ) -> Result<(Scale, Vec<i32>)> {
        let wrong = |at: usize, given: String, allowed: String| {
            let (column, row) = (at % self.width as usize, at / self.width as usize);
            let message =
                format!("heights: {given} in column {column}, row {row}: allowed {allowed}");
            Error::param(Invalid::of("heights", given, allowed).saying(message))
        };
        match self.values {
            Values::Metres { spacing_m: own, data } => {
                let spacing_m = spacing_m.unwrap_or(own);
                check_spacing(spacing_m)?;
                if let Some(at) = (0..data.len()).find(|at| there(*at) && !data[*at].is_finite()) {
                    return Err(wrong(at, data[at].to_string(), "finite numbers of metres".into()));
                }
                // Whatever is given for missing cells does not count.
                let known = data.iter().enumerate().filter(|(at, _)| there(*at));
                let (lowest, highest) =
                    known.fold((f32::MAX, f32::MIN), |(lo, hi), (_, &v)| (lo.min(v), hi.max(v)));
                let scale = Scale::fitting(spacing_m, lowest.into(), highest.into())?;
                Ok((scale, scale.to_words(data)))
            }
            Values::Words { scale, data } => {
                let scale = Scale { spacing_m: spacing_m.unwrap_or(scale.spacing_m), ..scale };
                check_spacing(scale.spacing_m)?;
                let most = HEIGHT_MAX.saturating_mul(CELL);
                match (0..data.len()).find(|at| there(*at) && !(-most..=most).contains(&data[*at]))
                {
                    Some(at) => Err(wrong(
                        at,
                        data[at].to_string(),
                        format!("words of {} to {most}", -most),
                    )),
                    None => Ok((scale, data.to_vec())),
                }
            }
        }
    }
}

fn check_spacing(spacing_m: f64) -> Result<()> {
    if spacing_m.is_finite() && spacing_m > 0.0 {
        return Ok(());
    }
    Err(Invalid::value("spacing_m", spacing_m, "finite numbers of metres over 0").into())
}

impl<'a> From<&'a Map> for Heights<'a> {
    fn from(map: &'a Map) -> Self {
        let heights = Self::metres(map.width, map.height, map.spacing_m, &map.data);
        Self { range_m: map.range_m, georef: map.georef.clone(), ..heights }
    }
}
