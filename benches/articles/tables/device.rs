//! The executors to measure.

use thalweg::device::{DeviceOptions, automatic};
use thalweg::exec::{Adapter, Executor};
use thalweg::{Device, Result, adapters};

/// The CPU, then the adapter if one is wanted.
pub fn open(device: &Device) -> Result<Vec<Box<dyn Executor>>> {
    let options = DeviceOptions { device: device.clone(), ..DeviceOptions::default() };
    let adapter = match device {
        Device::Cpu => None,
        Device::Auto => automatic(&adapters()).map(Adapter::Index),
        Device::Adapter(adapter) => Some(adapter.clone()),
    };
    let cpu: Box<dyn Executor> = Box::new(options.cpu()?);
    let gpu = adapter.map(|adapter| options.gpu(&adapter)).transpose()?;
    Ok([cpu].into_iter().chain(gpu).collect())
}
