//! The executors to measure.

use std::convert::Infallible;
use std::str::FromStr;
use thalweg::Result;
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};

/// Which graphics adapter to measure as well as the CPU.
#[derive(Clone)]
pub enum Device {
    Auto,
    Cpu,
    Gpu,
    Index(usize),
    Name(String),
}

impl FromStr for Device {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(match text {
            "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "gpu" => Self::Gpu,
            _ => text.parse().map_or_else(|_| Self::Name(text.into()), Self::Index),
        })
    }
}

/// The CPU, then the adapter if one is wanted.
pub fn open(device: &Device) -> Result<Vec<Box<dyn Executor>>> {
    let cpu: Box<dyn Executor> = Box::new(Cpu::new(0, Order::default())?);
    let gpu = adapter(device)?;
    Ok([cpu].into_iter().chain(gpu).collect())
}

#[cfg(feature = "gpu")]
fn adapter(device: &Device) -> Result<Option<Box<dyn Executor>>> {
    use thalweg::device::adapters;
    use thalweg::exec::Adapter;
    use thalweg::exec::gpu::Gpu;
    let choice = match device {
        Device::Cpu => None,
        Device::Auto => list().iter().position(|adapter| adapter.kind != "Cpu").map(Adapter::Index),
        Device::Gpu => Some(Adapter::Best),
        Device::Index(i) => Some(Adapter::Index(*i)),
        Device::Name(name) => Some(Adapter::Name(name.clone())),
    };
    choice.map(|choice| Ok(Box::new(Gpu::open(&choice, 64, None)?) as Box<dyn Executor>)).transpose()
}

#[cfg(not(feature = "gpu"))]
fn adapter(device: &Device) -> Result<Option<Box<dyn Executor>>> {
    match device {
        Device::Auto | Device::Cpu => Ok(None),
        Device::Gpu => Err(thalweg::Error::Device("built without the gpu feature: use --device cpu".into())),
        Device::Index(i) => Err(thalweg::Error::Device(format!("--device {i}: built without the gpu feature"))),
        Device::Name(name) => Err(thalweg::Error::Device(format!("--device {name}: built without the gpu feature"))),
    }
}
