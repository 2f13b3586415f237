//! What there is to compute on: the CPU and the graphics adapters, and how a run says which it
//! wants.

use crate::error::{Error, Result};
use crate::exec::cpu::{Cpu, Order};
use crate::exec::{Adapter, AdapterInfo, Executor};
use std::fmt;
use std::str::FromStr;

/// Where a run computes. The results are the same bytes.
///
/// As text: `auto`, `cpu`, `gpu` (the best adapter), an adapter's number, or a part of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// A graphics card if there is one that can hold the map, else the CPU. Software adapters do
    /// not count. If the card fails, the CPU starts the run over.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// This graphics adapter and no other.
    Adapter(Adapter),
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "" => return Err("expected auto, cpu, gpu, or an adapter's number or name".into()),
            "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "gpu" => Self::Adapter(Adapter::Best),
            _ => Self::Adapter(
                text.parse().map(Adapter::Index).unwrap_or_else(|_| Adapter::Name(text.into())),
            ),
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Adapter(Adapter::Best) => f.write_str("gpu"),
            Self::Adapter(Adapter::Index(index)) => write!(f, "{index}"),
            Self::Adapter(Adapter::Name(name)) => f.write_str(name),
        }
    }
}

/// The graphics adapters of this machine, best first; none without a driver or without the feature
/// `gpu`.
pub fn adapters() -> Vec<AdapterInfo> {
    #[cfg(feature = "gpu")]
    return crate::exec::gpu::list();
    #[cfg(not(feature = "gpu"))]
    return vec![];
}

/// The adapter that [`Device::Auto`] takes: the best one that is not software.
pub fn automatic(adapters: &[AdapterInfo]) -> Option<usize> {
    adapters.iter().position(|adapter| !adapter.is_software())
}

/// A device and how it is used. None of it changes a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Where.
    pub device: Device,
    /// Threads of the CPU; 0: one a core.
    pub threads: usize,
    /// Invocations of a workgroup on a graphics adapter; 0: 256, or its limit if that is lower.
    pub workgroup_size: u32,
    /// The seed by which the CPU shuffles its work, to prove that the order does not matter.
    pub shuffle: Option<u64>,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self { device: Device::Auto, threads: 0, workgroup_size: 0, shuffle: None }
    }
}

impl DeviceOptions {
    /// Whether the CPU does the work, as long as no card is asked for that is not there.
    pub fn is_cpu(&self) -> bool {
        match self.device {
            Device::Auto => automatic(&adapters()).is_none(),
            Device::Cpu => true,
            Device::Adapter(_) => false,
        }
    }

    /// Opens the CPU.
    pub fn cpu(&self) -> Result<Cpu> {
        Cpu::new(self.threads, Order { shuffle: self.shuffle, ..Order::default() })
    }

    /// Opens a graphics adapter.
    #[cfg(feature = "gpu")]
    pub fn gpu(&self, adapter: &Adapter) -> Result<Box<dyn Executor>> {
        Ok(Box::new(crate::exec::gpu::Gpu::open(adapter, self.workgroup_size, None)?))
    }

    /// There is none in a build without the feature.
    #[cfg(not(feature = "gpu"))]
    pub fn gpu(&self, _: &Adapter) -> Result<Box<dyn Executor>> {
        Err(Error::device("this thalweg was built without its gpu feature: use --device cpu"))
    }

    /// Opens the executor that was asked for, if it `admits` the work. Says why the CPU stands in
    /// for a card, where it does.
    pub fn open(
        &self,
        admits: &dyn Fn(&dyn Executor) -> Result<()>,
        warn: &mut dyn FnMut(String),
    ) -> Result<Opened> {
        let adapter = match &self.device {
            Device::Auto => automatic(&adapters()).map(Adapter::Index),
            Device::Cpu => None,
            Device::Adapter(adapter) => Some(adapter.clone()),
        };
        let replaceable = self.device == Device::Auto;
        if let Some(adapter) = adapter {
            match self.gpu(&adapter).and_then(|gpu| admits(&*gpu).map(|()| gpu)) {
                Ok(executor) => return Ok(Opened { executor, replaceable }),
                Err(e @ (Error::Device(_) | Error::Limit(_))) if replaceable => {
                    warn(format!("{e}; the CPU takes over"))
                }
                Err(e) => return Err(e),
            }
        }
        let executor = Box::new(self.cpu()?);
        admits(&*executor)?;
        Ok(Opened { executor, replaceable: false })
    }
}

/// An executor that was opened for a run.
pub struct Opened {
    /// The executor.
    pub executor: Box<dyn Executor>,
    /// Whether the CPU may do the work if this one fails.
    pub replaceable: bool,
}

/// Does `work` on an executor and closes it, but for one whose device failed: closing a device that
/// hangs would wait for ever.
pub fn with<T>(
    mut executor: Box<dyn Executor>,
    work: impl FnOnce(&mut dyn Executor) -> Result<T>,
) -> Result<T> {
    let done = work(&mut *executor);
    match done {
        Err(Error::Device(_)) => std::mem::forget(executor),
        _ => drop(executor),
    }
    done
}
