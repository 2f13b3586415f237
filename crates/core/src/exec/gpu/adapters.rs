//! Graphics cards and software drivers that are here.

use super::super::AdapterInfo;
use std::sync::LazyLock;

pub(super) fn all_adapters() -> Vec<wgpu::Adapter> {
    // A driver takes a tenth of a second to start, and stays.
    static INSTANCE: LazyLock<wgpu::Instance> = LazyLock::new(|| {
        wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle())
    });
    let instance = &*INSTANCE;
    let mut all = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    all.retain(|a| {
        a.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
    });
    // Best first, in an order of our own, since drivers list them as they please.
    all.sort_by_key(|a| match a.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    all
}

pub(super) fn describe(
    index: usize,
    info: wgpu::AdapterInfo,
    limits: &wgpu::Limits,
) -> AdapterInfo {
    AdapterInfo {
        index,
        name: info.name,
        backend: format!("{:?}", info.backend),
        kind: format!("{:?}", info.device_type),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
        binding_max_bytes: limits.max_storage_buffer_binding_size,
        buffer_max_bytes: limits.max_buffer_size,
        storage_buffers_max: limits.max_storage_buffers_per_shader_stage,
        workgroup_max: limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x),
    }
}

/// The adapters of this machine, best first; none where there is no driver.
pub fn list() -> Vec<AdapterInfo> {
    infos(&all_adapters())
}

pub(super) fn infos(all: &[wgpu::Adapter]) -> Vec<AdapterInfo> {
    all.iter().enumerate().map(|(i, a)| describe(i, a.get_info(), &a.limits())).collect()
}
