//! The executors: they run plans, and know nothing of what a plan is for.

mod adapter;
pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
mod pool;
mod selection;
#[cfg(feature = "gpu")]
pub mod shader;

pub use adapter::{Adapter, AdapterInfo};
pub use selection::Selection;

use crate::error::{Error, Result};
use crate::plan::{Fill, Plan};
use crate::twin::uniform;
use encase::ShaderType;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

static ARITH: &str =
    constcat::concat!(crate::arith::WGSL, include_str!("../../shaders/arith.wgsl"));
// Compiled kernels are known by the address of their text, so it must have one alone.
static READ: &str = constcat::concat!(Params::WGSL, include_str!("../../shaders/read.wgsl"));

uniform! {
    /// The uniform struct of `pick` and `add_up`.
    #[derive(Debug, Default, ShaderType)]
    struct Params {
        first: u32,
        row: u32,
        across: u32,
        each: u32,
        words: u32,
        flip: u32,
    }
}

/// The shaders beside those of the stages: the arithmetic that stands before each of them, and how
/// maps are read back.
pub fn shared() -> [&'static str; 2] {
    [ARITH, READ]
}

/// The whole text of a shader: what stands before it, with the invocations of a workgroup.
pub fn source(shader: &str, workgroup: u32) -> String {
    format!("const WORKGROUP: u32 = {workgroup}u;\n{ARITH}\n{shader}")
}

/// How a run is watched and stopped.
pub struct Control<'a> {
    /// Set from anywhere to stop the run within a second.
    pub stop: &'a AtomicBool,
    /// Called now and then with the number of passes that are done. Its error ends the run.
    pub progress: &'a mut dyn FnMut(usize) -> Result<()>,
}

impl Control<'_> {
    /// [`Error::Cancelled`] once the run was asked to stop.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// The sum of words, as numbers with a sign or without.
fn sum_of(words: &[i32], signed: bool) -> i64 {
    if signed {
        words.iter().map(|&word| i64::from(word)).sum()
    } else {
        words.iter().map(|&word| i64::from(word as u32)).sum()
    }
}

/// The error of an executor that is asked for a buffer that it does not hold.
pub fn absent(name: &str) -> Error {
    Error::param(format!("{name:?}: the executor holds no such buffer"))
}

/// Refuses a plan if a buffer that it takes over from the plan before is missing or too short.
/// `words` says how many words a buffer of the executor has, if it holds one of that name.
///
/// # Errors
/// [`Error::Param`] names the buffer.
pub fn check_kept(plan: &Plan, words: impl Fn(&str) -> Option<usize>) -> Result<()> {
    for buffer in &plan.buffers {
        let name = match buffer.fill {
            Fill::Keep => buffer.name,
            Fill::Taken(from) => from,
            _ => continue,
        };
        let (there, needed) = (words(name).ok_or_else(|| absent(name))?, buffer.words);
        if there < needed {
            let message = format!("{name:?} has {there} words, and the plan needs {needed}");
            return Err(Error::param(message));
        }
    }
    Ok(())
}

/// The buffers that a plan takes from others' names, with the names that they have in the plan.
fn taken<B>(plan: &Plan, mut remove: impl FnMut(&str) -> Option<B>) -> Vec<(&'static str, B)> {
    let taken = |buffer: &crate::plan::Buffer| match buffer.fill {
        Fill::Taken(from) => remove(from).map(|words| (buffer.name, words)),
        _ => None,
    };
    plan.buffers.iter().filter_map(taken).collect()
}

/// Something that holds buffers and runs passes over them.
pub trait Executor: Send {
    /// Its name for people: the device and the driver.
    fn name(&self) -> String;

    /// Refuses a plan whose buffers it cannot hold, naming what fits.
    fn admits(&self, plan: &Plan) -> Result<()>;

    /// Is told which plans follow, so that it can compile for all of them at once. Nothing else
    /// follows from it.
    fn prepare(&mut self, plans: &mut dyn Iterator<Item = Plan>) -> Result<()> {
        let _ = plans;
        Ok(())
    }

    /// Makes the plan's buffers and fills them. Buffers of the previous stage that are not kept are
    /// freed.
    fn begin(&mut self, plan: &Plan) -> Result<()>;

    /// Runs some of the plan's passes, in order.
    fn run(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()>;

    /// Runs some of the plan's passes, one after the other, and says how many seconds each took by
    /// the device's own clock. Where there is no such clock it runs nothing.
    fn clocked(&mut self, plan: &Plan, passes: Range<usize>) -> Result<Option<Vec<f64>>> {
        let _ = (plan, passes);
        Ok(None)
    }

    /// The part of the map, 0 to 1, that the last pass with [`Pass::calm`](crate::plan::Pass::calm)
    /// had no need to look at, since it knew that nothing happened there. None where nothing is
    /// known.
    fn passed_over(&self) -> Option<f64> {
        None
    }

    /// Writes some of the plan's passes down as it would to run them, and says how many seconds
    /// that took. Nothing runs. None where nothing is written down, or for more passes than go
    /// together.
    fn recorded(&mut self, plan: &Plan, passes: Range<usize>) -> Result<Option<f64>> {
        let _ = (plan, passes);
        Ok(None)
    }

    /// Lets go of the plan's buffers that do not outlive it.
    fn end(&mut self, plan: &Plan);

    /// Lets go of memory that it keeps for plans to come.
    fn release(&mut self);

    /// Lets go of all buffers, so that another run may begin.
    fn clear(&mut self);

    /// Makes a buffer, or replaces it.
    fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()>;

    /// The words of a buffer; every pass so far is done when this returns.
    fn read(&mut self, name: &str) -> Result<Vec<i32>>;

    /// The selected words of a buffer. No others leave the device.
    fn read_selection(&mut self, name: &str, selection: &Selection) -> Result<Vec<i32>> {
        self.read(name).map(|words| selection.of(&words))
    }

    /// The sum of a buffer's words, as numbers with a sign or without.
    fn sum(&mut self, name: &str, signed: bool) -> Result<i64> {
        Ok(sum_of(&self.read(name)?, signed))
    }
}
