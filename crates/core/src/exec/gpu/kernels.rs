//! Shaders, pipelines and what they bind.

use super::super::READ;
use super::super::shader::{self, Access, Binding, Checked};
use super::{Gpu, Groups, Key, UNIFORM_BYTES, UNIFORM_STRIDE};
use crate::error::{Error, Result};
use crate::plan::{Pass, Plan};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a kernel is compiled from.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) shader: &'static str,
    pub(super) entry: &'static str,
    pub(super) constant: Option<(&'static str, i32)>,
}

impl Source {
    pub(super) fn of(plan: &Plan, pass: &Pass) -> Self {
        Self {
            shader: pass.shader.unwrap_or(plan.shader),
            entry: pass.kernel.entry,
            constant: pass.constant,
        }
    }

    pub(super) fn all(plan: &Plan) -> impl Iterator<Item = Self> {
        plan.passes.iter().map(|pass| Self::of(plan, pass))
    }

    fn key(self) -> Key {
        // Shaders are static, so an address always stands for the same text.
        (self.shader.as_ptr() as usize, self.entry, self.constant)
    }
}

/// A shader as naga and as the device have it.
pub(super) struct Shader {
    checked: Checked,
    module: wgpu::ShaderModule,
}

/// A compiled kernel.
pub(super) struct Ready {
    pub(super) bindings: Vec<Binding>,
    layout: wgpu::BindGroupLayout,
    pub(super) pipeline: wgpu::ComputePipeline,
}

impl Gpu {
    /// The kernel of a pass, which is compiled if no plan had it before.
    pub(super) fn ready(&mut self, plan: &Plan, pass: &Pass) -> Result<Arc<Ready>> {
        let key = Source::of(plan, pass).key();
        if !self.kernels.contains_key(&key) {
            self.compile(Source::all(plan))?;
        }
        Ok(self.kernels[&key].clone())
    }

    /// A kernel that prepares what is read back.
    pub(super) fn reader(&mut self, entry: &'static str) -> Result<Arc<Ready>> {
        let source = Source { shader: READ, entry, constant: None };
        self.compile([source])?;
        Ok(self.kernels[&source.key()].clone())
    }

    /// Compiles the kernels that are not there yet, side by side. Each shader is read once.
    pub(super) fn compile(&mut self, wanted: impl IntoIterator<Item = Source>) -> Result<()> {
        let mut missing: BTreeMap<Key, Arc<Shader>> = BTreeMap::new();
        for source in wanted {
            let key = source.key();
            if self.kernels.contains_key(&key) || missing.contains_key(&key) {
                continue;
            }
            let shader = match self.shaders.get(&key.0) {
                Some(shader) => shader.clone(),
                None => {
                    let shader = Arc::new(self.shader(source.shader, source.entry)?);
                    self.shaders.insert(key.0, shader.clone());
                    shader
                }
            };
            missing.insert(key, shader);
        }
        let this = &*self;
        let made = missing
            .into_par_iter()
            .map(|(key, shader)| Ok((key, Arc::new(this.kernel(&shader, key.1, key.2)?))));
        let made: Vec<_> = made.collect::<Result<_>>()?;
        self.kernels.extend(made);
        Ok(())
    }

    /// The entry points of the kernels that were compiled so far. Those of several stages may have
    /// one name.
    pub fn compiled(&self) -> Vec<&'static str> {
        let mut entries: Vec<_> = self.kernels.keys().map(|(_, entry, _)| *entry).collect();
        entries.sort_unstable();
        entries
    }

    /// Reads a shader. `entry` is for the error.
    pub(super) fn shader(&self, source: &str, entry: &str) -> Result<Shader> {
        let fail = |e: String| Error::device(format!("shader of pass {entry}: {e}"));
        let mut text = crate::exec::source(source, self.workgroup);
        // As wgpu calls software drivers.
        if self.info.kind == "Cpu" {
            text = shader::indirect(&text);
        }
        let checked = Checked::read(&text).map_err(fail)?;
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(entry),
            source: wgpu::ShaderSource::Naga(std::borrow::Cow::Owned(checked.module().clone())),
        });
        match pollster::block_on(scope.pop()) {
            Some(e) => Err(fail(e.to_string())),
            None => Ok(Shader { checked, module }),
        }
    }

    /// Compiles a kernel.
    pub(super) fn kernel(
        &self,
        shader: &Shader,
        entry: &'static str,
        constant: Option<(&'static str, i32)>,
    ) -> Result<Ready> {
        let fail = |e: String| Error::device(format!("shader of pass {entry}: {e}"));
        let bindings = shader.checked.bindings(entry).map_err(fail)?;
        let storage = bindings.iter().filter(|b| !b.access.is_uniform()).count() as u32;
        if storage > self.info.storage_buffers_max {
            return Err(Error::over(
                format!(
                    "{}: pass {} binds {storage} buffers, and the device allows {}",
                    self.info.name, entry, self.info.storage_buffers_max
                ),
                storage,
                self.info.storage_buffers_max,
                "buffers",
            ));
        }
        let entries: Vec<_> = bindings
            .iter()
            .map(|b| wgpu::BindGroupLayoutEntry {
                binding: b.slot,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: match b.access {
                        access if access.is_uniform() => wgpu::BufferBindingType::Uniform,
                        access => {
                            wgpu::BufferBindingType::Storage { read_only: access == Access::Read }
                        }
                    },
                    has_dynamic_offset: b.access.is_uniform(),
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(entry),
            entries: &entries,
        });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(entry),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let constants: Vec<(&str, f64)> =
            constant.iter().map(|&(name, value)| (name, value.into())).collect();
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: Some(&pipeline_layout),
            module: &shader.module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        if let Some(e) = pollster::block_on(scope.pop()) {
            return Err(fail(e.to_string()));
        }
        Ok(Ready { bindings, layout, pipeline })
    }

    pub(super) fn group(&self, ready: &Ready) -> wgpu::BindGroup {
        self.group_with(ready, |name| &self.buffers[name])
    }

    pub(super) fn group_with<'a>(
        &'a self,
        ready: &Ready,
        buffer: impl Fn(&str) -> &'a wgpu::Buffer,
    ) -> wgpu::BindGroup {
        let entries: Vec<_> = ready
            .bindings
            .iter()
            .map(|b| wgpu::BindGroupEntry {
                binding: b.slot,
                resource: if b.access.is_uniform() {
                    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &self.uniforms,
                        offset: if b.access == Access::Dispatch { UNIFORM_BYTES } else { 0 },
                        size: std::num::NonZeroU64::new(if b.access == Access::Dispatch {
                            UNIFORM_BYTES
                        } else {
                            UNIFORM_STRIDE
                        }),
                    })
                } else {
                    buffer(&b.buffer).as_entire_binding()
                },
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &ready.layout,
            entries: &entries,
        })
    }

    /// The same, made once for a kernel and its buffers.
    #[expect(clippy::mutable_key_type, reason = "a buffer is compared and hashed by its identity")]
    pub(super) fn group_of(&self, groups: &mut Groups, ready: &Arc<Ready>) -> Arc<wgpu::BindGroup> {
        let bound = ready
            .bindings
            .iter()
            .filter(|b| !b.access.is_uniform())
            .map(|b| self.buffers[b.buffer.as_str()].clone());
        let key = (Arc::as_ptr(ready) as usize, bound.collect());
        groups.entry(key).or_insert_with(|| Arc::new(self.group(ready))).clone()
    }
}
