//! The GPU executor: runs passes as compute shaders. The only file that names wgpu.

use super::shader::{self, Access, Binding, Checked};
use super::{Adapter, AdapterInfo, Control, Executor, Params, READ, Selection};
use crate::clock::Moment;
use crate::error::{Error, Fault, Result};
use crate::plan::{Fill, Pass, Plan, Uniform};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

/// A submission should take about this long. The desktop then stays responsive, no watchdog fires,
/// and Ctrl-C works.
const SLICE: Duration = Duration::from_millis(50);
/// A submission that takes longer than this has hung.
const HUNG: Duration = Duration::from_secs(120);
/// Most dispatches in one submission: their uniform data lie side by side.
const DISPATCHES_MAX: usize = 256;
/// Submissions that may be under way: one runs while the next is written.
const SUBMISSIONS: u32 = 2;
/// Most bytes of a uniform struct, a multiple of the largest alignment that WebGPU lets a device
/// require.
const UNIFORM_BYTES: u64 = 256;
/// Bytes from the uniform data of one dispatch to the next: `params`, then `dispatch`. `params` is
/// bound with so many, since a software driver's has two elements ([`shader::indirect`]).
const UNIFORM_STRIDE: u64 = 2 * UNIFORM_BYTES;
/// Invocations of a workgroup, where the caller does not say: what every WebGPU device allows. An
/// NVIDIA H200 starts 1.2 workgroups in a nanosecond, so smaller ones would bound kernels that do
/// little.
const WORKGROUP: u32 = 256;
/// Bytes that are copied at a time.
const STAGING: u64 = 32 << 20;
/// The kernels that prepare what is read back.
/// Words that a thread copies at a time.
const PORTION: usize = 1 << 16;
/// Words that an invocation of `add_up` adds, about.
const ADDED: usize = 256;

fn all_adapters() -> Vec<wgpu::Adapter> {
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

fn describe(index: usize, info: wgpu::AdapterInfo, limits: &wgpu::Limits) -> AdapterInfo {
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

fn infos(all: &[wgpu::Adapter]) -> Vec<AdapterInfo> {
    all.iter().enumerate().map(|(i, a)| describe(i, a.get_info(), &a.limits())).collect()
}

/// Runs passes on a graphics card.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: AdapterInfo,
    workgroup: u32,
    split: Option<u32>,
    shaders: HashMap<usize, Arc<Shader>>,
    kernels: HashMap<Key, Arc<Ready>>,
    buffers: BTreeMap<&'static str, wgpu::Buffer>,
    spare: Vec<wgpu::Buffer>,
    // What words are read back through. To make such a buffer takes longer than to copy through it.
    staging: Vec<wgpu::Buffer>,
    // A part for each submission that may be under way, since the card may still read the other.
    uniforms: wgpu::Buffer,
    part: u32,
    flying: Option<Flight>,
    // When the submission before that was done.
    landed: Moment,
    faults: Arc<Mutex<Option<String>>>,
    // Only for the caller's device: read after each submission, because only a failing read shows
    // that the device was lost.
    heartbeat: Option<wgpu::Buffer>,
    clock: Option<Clock>,
    // Nanoseconds that an invocation took lately, by kernel. They decide how much goes into one
    // submission.
    pace: HashMap<&'static str, f64>,
    read_bytes: u64,
}

/// What a kernel is compiled from.
#[derive(Clone, Copy)]
struct Source {
    shader: &'static str,
    entry: &'static str,
    constant: Option<(&'static str, i32)>,
}

impl Source {
    fn of(plan: &Plan, pass: &Pass) -> Self {
        Self {
            shader: pass.shader.unwrap_or(plan.shader),
            entry: pass.kernel.entry,
            constant: pass.constant,
        }
    }

    fn all(plan: &Plan) -> impl Iterator<Item = Self> {
        plan.passes.iter().map(|pass| Self::of(plan, pass))
    }

    fn key(self) -> Key {
        (self.shader.as_ptr() as usize, self.entry, self.constant)
    }
}

/// A [`Source`] with the address of its shader.
type Key = (usize, &'static str, Option<(&'static str, i32)>);

/// Bind groups by kernel and buffers, since buffers can exchange their names.
type Groups = HashMap<(usize, Vec<wgpu::Buffer>), Arc<wgpu::BindGroup>>;

/// A dispatch that is still to be submitted.
struct Dispatch<'a> {
    ready: Arc<Ready>,
    /// Its buffers.
    group: Arc<wgpu::BindGroup>,
    entry: &'static str,
    uniform: &'a Uniform,
    range: Range<u32>,
}

impl<'a> Dispatch<'a> {
    fn of(
        ready: Arc<Ready>,
        group: Arc<wgpu::BindGroup>,
        pass: &'a Pass,
        range: Range<u32>,
    ) -> Self {
        Self { ready, group, entry: pass.kernel.entry, uniform: &pass.uniform, range }
    }
}

/// A shader as naga and as the device have it.
struct Shader {
    checked: Checked,
    module: wgpu::ShaderModule,
}

/// The device's own clock.
struct Clock {
    /// The beginning and the end of each dispatch of the submission that was clocked last.
    queries: wgpu::QuerySet,
    /// The same as two numbers of 64 bits.
    times: wgpu::Buffer,
    /// Nanoseconds of a tick.
    tick_ns: f64,
}

/// A submission that may still run.
struct Flight {
    index: wgpu::SubmissionIndex,
    sent: Moment,
    /// Its dispatches: kernel, invocations.
    work: Vec<(&'static str, u32)>,
}

/// A copy of a part of a buffer to a staging buffer that may still run.
struct Copy<'a> {
    staging: &'a wgpu::Buffer,
    size: u64,
    index: wgpu::SubmissionIndex,
    failed: Arc<Mutex<Option<String>>>,
}

/// A compiled kernel.
struct Ready {
    bindings: Vec<Binding>,
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

impl Gpu {
    /// Opens an adapter. `workgroup` is the number of invocations of a workgroup, 1 to 1024 and
    /// within the adapter's limit, or 0 for 256, or for its limit if that is lower; `split` cuts
    /// every pass into dispatches of at most that many invocations.
    pub fn open(choice: &Adapter, workgroup: u32, split: Option<u32>) -> Result<Self> {
        let all = all_adapters();
        let infos = infos(&all);
        let names: Vec<String> =
            infos.iter().map(|info| format!("{}: {}", info.index, info.name)).collect();
        let known = if names.is_empty() {
            "there is none: install a Vulkan driver (Debian: mesa-vulkan-drivers) or use --device \
             cpu"
            .to_string()
        } else {
            format!("those here are {}", names.join(", "))
        };
        let Some(info) = choice.of(&infos).cloned() else {
            let asked = match choice {
                Adapter::Best => "no graphics adapter".to_string(),
                Adapter::Index(i) => format!("no graphics adapter number {i}"),
                Adapter::Name(part) => format!("no graphics adapter called {part:?}"),
            };
            return Err(Error::device(format!("{asked}: {known}")));
        };
        let adapter = &all[info.index];
        if workgroup > info.workgroup_max {
            return Err(Error::param(format!(
                "workgroup-size = {workgroup}: {} allows 1 to {}",
                info.name, info.workgroup_max
            )));
        }
        let workgroup = if workgroup == 0 { WORKGROUP.min(info.workgroup_max) } else { workgroup };
        let request = adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("thalweg"),
            required_limits: adapter.limits(),
            // For its clock, where it has one.
            required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        });
        let (device, queue) =
            pollster::block_on(request).map_err(|e| Error::from(Fault::of(&info.name, e)))?;
        let faults = Arc::new(Mutex::new(None));
        let note = |faults: &Arc<Mutex<Option<String>>>| {
            let faults = faults.clone();
            move |what: String| {
                if let Ok(mut fault) = faults.lock() {
                    fault.get_or_insert(what);
                }
            }
        };
        // Without a handler wgpu panics.
        let (error, lost) = (note(&faults), note(&faults));
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| error(e.to_string())));
        device.set_device_lost_callback(move |reason, text| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                lost(format!("the device was lost: {text}"));
            }
        });
        Ok(Self { split, ..Self::on(device, queue, info, workgroup, faults, None) })
    }

    /// An executor on the caller's device, with workgroups of 256 invocations. Buffers and
    /// submissions are on this device and queue, so results can stay there: see
    /// [`Gpu::take_buffer`]. The device's error handler and lost callback stay the caller's.
    ///
    /// The device needs no features, and the limits of [`Gpu::required_limits`].
    ///
    /// # Errors
    /// [`Error::Limit`] for a device with lower limits, by the name of the first.
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self> {
        let (has, needs) = (device.limits(), Self::required_limits(0));
        let compared = [
            (
                "max_storage_buffers_per_shader_stage",
                has.max_storage_buffers_per_shader_stage,
                needs.max_storage_buffers_per_shader_stage,
            ),
            (
                "max_uniform_buffers_per_shader_stage",
                has.max_uniform_buffers_per_shader_stage,
                needs.max_uniform_buffers_per_shader_stage,
            ),
            (
                "max_compute_invocations_per_workgroup",
                has.max_compute_invocations_per_workgroup,
                WORKGROUP,
            ),
            ("max_compute_workgroup_size_x", has.max_compute_workgroup_size_x, WORKGROUP),
            (
                "max_compute_workgroups_per_dimension",
                has.max_compute_workgroups_per_dimension,
                needs.max_compute_workgroups_per_dimension,
            ),
        ];
        let info = describe(0, device.adapter_info(), &has);
        if let Some((limit, has, needs)) = compared.into_iter().find(|(_, has, needs)| has < needs)
        {
            return Err(Error::limit(format!(
                "{}: the device has {limit} = {has}: allowed {needs} or more; request \
                 Gpu::required_limits",
                info.name
            )));
        }
        let heartbeat = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("heartbeat"),
            size: 4,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Ok(Self::on(device, queue, info, WORKGROUP, Arc::default(), Some(heartbeat)))
    }

    /// The limits that a device needs if its largest buffer has `largest_bytes` bytes: WebGPU's
    /// default limits, and room for the buffer.
    /// `Job::largest_buffer_bytes` says how many. A land of n
    /// cells with droplets of density 1/4 needs 12 · n bytes.
    pub fn required_limits(largest_bytes: u64) -> wgpu::Limits {
        let usual = wgpu::Limits::default();
        wgpu::Limits {
            max_storage_buffer_binding_size: usual
                .max_storage_buffer_binding_size
                .max(largest_bytes),
            max_buffer_size: usual.max_buffer_size.max(largest_bytes),
            ..usual
        }
    }

    fn on(
        device: wgpu::Device,
        queue: wgpu::Queue,
        info: AdapterInfo,
        workgroup: u32,
        faults: Arc<Mutex<Option<String>>>,
        heartbeat: Option<wgpu::Buffer>,
    ) -> Self {
        let uniforms = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("uniforms"),
            size: u64::from(SUBMISSIONS) * DISPATCHES_MAX as u64 * UNIFORM_STRIDE,
            usage: wgpu::BufferUsages::UNIFORM
                | wgpu::BufferUsages::COPY_DST
                | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let clock = device.features().contains(wgpu::Features::TIMESTAMP_QUERY).then(|| Clock {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("clock"),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * DISPATCHES_MAX as u32,
            }),
            times: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("times"),
                size: 16 * DISPATCHES_MAX as u64,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            tick_ns: f64::from(queue.get_timestamp_period()),
        });
        Self {
            device,
            queue,
            clock,
            info,
            workgroup,
            split: None,
            shaders: HashMap::new(),
            kernels: HashMap::new(),
            buffers: BTreeMap::new(),
            spare: vec![],
            staging: vec![],
            uniforms,
            part: 0,
            flying: None,
            landed: Moment::now(),
            faults,
            heartbeat,
            pace: HashMap::new(),
            read_bytes: 0,
        }
    }

    /// Takes a buffer that a run has left, such as `height`, out of the executor. Nothing is
    /// copied: it is on the device. A map that only an earlier run on this executor has left is
    /// still there, too.
    ///
    /// It has one `i32` for each cell of the land with its margin, row by row from the north, and
    /// may be longer than that. A height in metres is word / 2¹⁸ · `spacing_m` + `datum_m`; what
    /// the words of other maps mean is in the table of fields. It may be bound as a storage buffer
    /// and copied from and to.
    ///
    /// # Errors
    /// [`Error::Param`] for a buffer that the run has not left.
    pub fn take_buffer(&mut self, name: &str) -> Result<wgpu::Buffer> {
        self.buffers.remove(name).ok_or_else(|| super::absent(name))
    }

    /// What was opened.
    pub fn info(&self) -> &AdapterInfo {
        &self.info
    }

    /// How many bytes of buffers were read back so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Gives the device up, as a driver that crashes would: everything after this is an error. For
    /// tests of what follows.
    pub fn lose(&self) {
        self.device.destroy();
        if let Ok(mut fault) = self.faults.lock() {
            fault.get_or_insert("the device was lost: given up on request".into());
        }
    }

    fn fault(&self) -> Result<()> {
        match self.faults.lock() {
            Ok(fault) => match fault.as_ref() {
                Some(what) => Err(self.failed(what)),
                None => Ok(()),
            },
            Err(_) => Err(self.failed("a callback of the driver failed")),
        }
    }

    /// Waits for a submission, or for all.
    fn wait(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<()> {
        let done = self
            .device
            .poll(wgpu::PollType::Wait { submission_index: submission, timeout: Some(HUNG) });
        self.fault()?;
        match done {
            Ok(_) => Ok(()),
            Err(wgpu::PollError::Timeout) => {
                // Dropping a device that hangs would wait for ever, so the process has to end; the
                // command exits on this.
                Err(self.failed(format!("no answer for {} s; the driver hangs", HUNG.as_secs())))
            }
            Err(e) => Err(self.failed(e)),
        }
    }

    /// Does some work. On the caller's device, whose error handler may panic, errors are caught
    /// here.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.heartbeat.is_none() {
            return work(self);
        }
        let device = self.device.clone();
        let outer = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let inner = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let done = work(self);
        let faults = [pollster::block_on(inner.pop()), pollster::block_on(outer.pop())];
        match faults.into_iter().flatten().next() {
            Some(e) => Err(self.failed(e)),
            None => done,
        }
    }

    /// Checks that the caller's device still exists.
    fn listen(&self) -> Result<()> {
        let Some(heartbeat) = &self.heartbeat else { return Ok(()) };
        let copy = self.copy(&self.uniforms, 0..4, heartbeat);
        self.map(&copy).map_err(|e| self.failed(format!("the device was lost: {e}")))?;
        heartbeat.unmap();
        Ok(())
    }

    /// Copies a part of a buffer to the beginning of a staging buffer, which is mapped for reading
    /// when that is done.
    fn copy<'a>(
        &self,
        from: &wgpu::Buffer,
        part: Range<u64>,
        staging: &'a wgpu::Buffer,
    ) -> Copy<'a> {
        let size = part.end - part.start;
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from, part.start, staging, 0, size);
        let index = self.queue.submit([encoder.finish()]);
        let failed = Arc::new(Mutex::new(None));
        let note = failed.clone();
        staging.map_async(wgpu::MapMode::Read, 0..size, move |done| {
            if let (Err(e), Ok(mut failed)) = (done, note.lock()) {
                *failed = Some(e.to_string());
            }
        });
        Copy { staging, size, index, failed }
    }

    /// Waits until a staging buffer is mapped.
    fn map(&self, copy: &Copy) -> Result<(), String> {
        self.wait(Some(copy.index.clone())).map_err(|e| e.to_string())?;
        match copy.failed.lock() {
            Ok(failed) => failed.clone().map_or(Ok(()), Err),
            Err(_) => Err("a callback of the driver failed".into()),
        }
    }

    fn fresh(&mut self, words: usize) -> Result<wgpu::Buffer> {
        let size = (words.max(1) * 4) as u64;
        if let Some(i) = self.spare.iter().position(|b| b.size() == size) {
            return Ok(self.spare.swap_remove(i));
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_DST
                | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        match pollster::block_on(scope.pop()) {
            None => Ok(buffer),
            Some(_) => Err(Error::limit(format!(
                "{}: no memory for a buffer of {} MiB: make the map smaller or use --device cpu",
                self.info.name,
                size >> 20
            ))),
        }
    }

    fn fill(&self, buffer: &wgpu::Buffer, words: &[i32]) -> Result<()> {
        // In pieces, because each passes through memory of its own.
        for (i, piece) in words.chunks((STAGING / 4) as usize).enumerate() {
            self.queue.write_buffer(buffer, i as u64 * STAGING, bytemuck::cast_slice(piece));
            if words.len() > piece.len() {
                self.queue.submit([]);
                self.wait(None)?;
            }
        }
        self.fault()
    }

    /// The kernel of a pass, which is compiled if no plan had it before.
    fn ready(&mut self, plan: &Plan, pass: &Pass) -> Result<Arc<Ready>> {
        let key = Source::of(plan, pass).key();
        if !self.kernels.contains_key(&key) {
            self.compile(Source::all(plan))?;
        }
        Ok(self.kernels[&key].clone())
    }

    /// A kernel that prepares what is read back.
    fn reader(&mut self, entry: &'static str) -> Result<Arc<Ready>> {
        let source = Source { shader: READ, entry, constant: None };
        self.compile([source])?;
        Ok(self.kernels[&source.key()].clone())
    }

    /// Compiles the kernels that are not there yet, side by side. Each shader is read once.
    fn compile(&mut self, wanted: impl IntoIterator<Item = Source>) -> Result<()> {
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

    /// The error for what this device did.
    fn failed(&self, what: impl std::fmt::Display) -> Error {
        Fault::of(&self.info.name, what).into()
    }

    /// Reads a shader. `entry` is for the error.
    fn shader(&self, source: &str, entry: &str) -> Result<Shader> {
        let fail = |e: String| Error::device(format!("shader of pass {entry}: {e}"));
        let mut text = shader::source(source, self.workgroup);
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
    fn kernel(
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

    fn group(&self, ready: &Ready) -> wgpu::BindGroup {
        self.group_with(ready, |name| &self.buffers[name])
    }

    fn group_with<'a>(
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
    fn group_of(&self, groups: &mut Groups, ready: &Arc<Ready>) -> Arc<wgpu::BindGroup> {
        let bound = ready
            .bindings
            .iter()
            .filter(|b| !b.access.is_uniform())
            .map(|b| self.buffers[b.buffer.as_str()].clone());
        let key = (Arc::as_ptr(ready) as usize, bound.collect());
        groups.entry(key).or_insert_with(|| Arc::new(self.group(ready))).clone()
    }

    /// Runs only the invocations `range` of the pass at `i`, and waits. For tests.
    pub fn run_part(&mut self, plan: &Plan, i: usize, range: Range<u32>) -> Result<()> {
        let ready = self.ready(plan, &plan.passes[i])?;
        let group = self.group(&ready);
        self.submit(&[Dispatch::of(ready, Arc::new(group), &plan.passes[i], range)], false)?;
        self.wait(None)
    }

    /// Submits dispatches; `clocked`, each between two looks at the device's clock.
    fn submit(&mut self, work: &[Dispatch], clocked: bool) -> Result<Flight> {
        let sent = Moment::now();
        self.part = (self.part + 1) % SUBMISSIONS;
        let begin = self.part * DISPATCHES_MAX as u32 * UNIFORM_STRIDE as u32;
        let (commands, uniforms) = self.record(work, begin, clocked);
        self.queue.write_buffer(&self.uniforms, begin.into(), &uniforms);
        let index = self.queue.submit([commands]);
        self.fault()?;
        let work =
            work.iter().map(|dispatch| (dispatch.entry, dispatch.range.len() as u32)).collect();
        Ok(Flight { index, sent, work })
    }

    /// Writes dispatches down, and their uniform data, which lie from `begin` on.
    fn record(
        &self,
        work: &[Dispatch],
        begin: u32,
        clocked: bool,
    ) -> (wgpu::CommandBuffer, Vec<u8>) {
        let mut uniforms = vec![0u8; work.len() * UNIFORM_STRIDE as usize];
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let clock = self.clock.as_ref().filter(|_| clocked);
        // Dispatches that are clocked are compute passes of their own.
        let together = if clock.is_some() { 1 } else { work.len().max(1) };
        for (pass, work) in work.chunks(together).enumerate() {
            let pass = pass as u32;
            let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: None,
                timestamp_writes: clock.map(|clock| wgpu::ComputePassTimestampWrites {
                    query_set: &clock.queries,
                    beginning_of_pass_write_index: Some(2 * pass),
                    end_of_pass_write_index: Some(2 * pass + 1),
                }),
            });
            for (slot, Dispatch { ready, group, uniform, range, .. }) in work.iter().enumerate() {
                let slot = pass as usize * together + slot;
                let bytes =
                    &mut uniforms[slot * UNIFORM_STRIDE as usize..][..UNIFORM_STRIDE as usize];
                let offset = begin + slot as u32 * UNIFORM_STRIDE as u32;
                let params = uniform.bytes();
                bytes[..params.len()].copy_from_slice(&params);
                bytes[UNIFORM_BYTES as usize..][..12].copy_from_slice(bytemuck::bytes_of(&[
                    range.start,
                    range.end,
                    0,
                ]));
                // One offset for each uniform struct that the kernel uses.
                let offsets =
                    ready.bindings.iter().filter(|b| b.access.is_uniform()).map(|_| offset);
                let groups = (range.len() as u32).div_ceil(self.workgroup);
                let wide = groups.min(65535);
                compute.set_pipeline(&ready.pipeline);
                compute.set_bind_group(0, &**group, &offsets.collect::<Vec<_>>());
                compute.dispatch_workgroups(wide, groups.div_ceil(wide.max(1)), 1);
            }
        }
        if let Some(clock) = clock {
            encoder.resolve_query_set(&clock.queries, 0..2 * work.len() as u32, &clock.times, 0);
        }
        (encoder.finish(), uniforms)
    }
}

impl Executor for Gpu {
    fn name(&self) -> String {
        format!("{} ({}, {})", self.info.name, self.info.backend, self.info.driver)
    }

    fn admits(&self, plan: &Plan) -> Result<()> {
        let largest = plan.largest();
        let limit = self.info.binding_max_bytes.min(self.info.buffer_max_bytes);
        if largest.words as u64 * 4 <= limit {
            return Ok(());
        }
        let per_cell = largest.words as f64 / plan.window.cells() as f64 * 4.0;
        let side = (limit as f64 / per_cell).sqrt() as u64;
        Err(Error::over(
            format!(
                "{}: the buffer {} needs {} MiB and the device binds {} MiB at most: a map of \
                 about \
             {side} x {side} fits, or use --device cpu",
                self.info.name,
                largest.name,
                (largest.words as u64 * 4) >> 20,
                limit >> 20
            ),
            largest.words as u64 * 4,
            limit,
            "bytes",
        ))
    }

    fn prepare(&mut self, plans: &mut dyn Iterator<Item = Plan>) -> Result<()> {
        let readers =
            ["pick", "add_up"].map(|entry| Source { shader: READ, entry, constant: None });
        let all: Vec<Source> =
            plans.flat_map(|plan| Source::all(&plan).collect::<Vec<_>>()).chain(readers).collect();
        self.guarded(|gpu| gpu.compile(all))
    }

    fn begin(&mut self, plan: &Plan) -> Result<()> {
        self.guarded(|gpu| gpu.fill_all(plan))
    }

    fn run(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
        self.guarded(|gpu| {
            let done = gpu.run_all(plan, passes, control);
            // Nothing is under way when this returns, also after an error.
            let landed = gpu.land();
            done.and(landed)
        })
    }

    fn clocked(&mut self, plan: &Plan, passes: Range<usize>) -> Result<Option<Vec<f64>>> {
        if self.clock.is_none() {
            return Ok(None);
        }
        self.guarded(|gpu| gpu.clock_passes(plan, passes)).map(Some)
    }

    fn recorded(&mut self, plan: &Plan, passes: Range<usize>) -> Result<Option<f64>> {
        if passes.len() > DISPATCHES_MAX {
            return Ok(None);
        }
        self.guarded(|gpu| gpu.record_all(plan, passes)).map(Some)
    }

    fn end(&mut self, plan: &Plan) {
        for buffer in &plan.buffers {
            let words = self.buffers.remove(buffer.name);
            match (buffer.keep, words) {
                (Some(name), Some(words)) => drop(self.buffers.insert(name, words)),
                (_, words) => self.spare.extend(words),
            }
        }
    }

    fn release(&mut self) {
        self.spare.clear();
    }

    fn clear(&mut self) {
        self.buffers.clear();
        self.spare.clear();
    }

    fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
        self.guarded(|gpu| gpu.put(name, words))
    }

    fn read(&mut self, name: &str) -> Result<Vec<i32>> {
        self.guarded(|gpu| {
            let buffer = gpu.held(name)?;
            gpu.get(name, &buffer, &Selection::all(buffer.size() as usize / 4))
        })
    }

    fn read_selection(&mut self, name: &str, selection: &Selection) -> Result<Vec<i32>> {
        self.guarded(|gpu| {
            let buffer = gpu.held(name)?;
            gpu.get(name, &buffer, selection)
        })
    }

    fn sum(&mut self, name: &str, signed: bool) -> Result<i64> {
        self.guarded(|gpu| gpu.add_up(name, signed))
    }
}

impl Gpu {
    fn fill_all(&mut self, plan: &Plan) -> Result<()> {
        self.admits(plan)?;
        let taken = super::taken(plan, |from| self.buffers.remove(from))?;
        for buffer in plan.buffers.iter().filter(|b| b.fill != Fill::Keep) {
            let old = [Some(buffer.name), buffer.keep]
                .map(|name| name.and_then(|name| self.buffers.remove(name)));
            self.spare.extend(old.into_iter().flatten());
        }
        // Spare buffers of other sizes would only take room from this plan's.
        self.spare.retain(|s| plan.buffers.iter().any(|b| b.words as u64 * 4 == s.size()));
        for buffer in &plan.buffers {
            let fresh = match &buffer.fill {
                Fill::Keep | Fill::Taken(_) => continue,
                // Unset words are zeroed too, so that a run never depends on what was in a reused
                // buffer.
                Fill::Word(0) | Fill::Unset => {
                    let fresh = self.fresh(buffer.words)?;
                    let mut encoder = self.device.create_command_encoder(&Default::default());
                    encoder.clear_buffer(&fresh, 0, None);
                    self.queue.submit([encoder.finish()]);
                    fresh
                }
                Fill::Word(word) => {
                    let fresh = self.fresh(buffer.words)?;
                    self.fill(&fresh, &vec![*word; buffer.words])?;
                    fresh
                }
                Fill::Words(words) => {
                    let fresh = self.fresh(buffer.words)?;
                    self.fill(&fresh, words)?;
                    fresh
                }
            };
            self.buffers.insert(buffer.name, fresh);
        }
        self.buffers.extend(taken);
        self.fault()
    }

    fn run_all(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
        #[expect(
            clippy::mutable_key_type,
            reason = "a buffer is compared and hashed by its identity"
        )]
        let mut groups = Groups::new();
        let mut work: Vec<Dispatch> = vec![];
        let mut expected = 0.0;
        let slice = SLICE.as_nanos() as f64;
        let last = passes.end;
        for i in passes {
            let pass = &plan.passes[i];
            let ready = self.ready(plan, pass)?;
            let group = self.group_of(&mut groups, &ready);
            let mut first = pass.range.start;
            while first < pass.range.end {
                // A small portion measures a kernel whose pace is not known yet.
                if !self.pace.contains_key(pass.kernel.entry) {
                    self.land()?;
                }
                let pace = self.pace.get(pass.kernel.entry).copied();
                let end = pass.range.end.min(first.saturating_add(self.fits(pass)));
                expected += (end - first) as f64 * pace.unwrap_or(slice);
                work.push(Dispatch::of(ready.clone(), group.clone(), pass, first..end));
                first = end;
                if expected >= slice || work.len() == DISPATCHES_MAX {
                    self.flush(&mut work, &mut expected)?;
                    control.check()?;
                    (control.progress)(i)?;
                }
            }
            self.swap(pass);
        }
        self.flush(&mut work, &mut expected)?;
        self.land()?;
        control.check()?;
        (control.progress)(last)
    }

    /// How many invocations of a pass go into one dispatch.
    fn fits(&self, pass: &Pass) -> u32 {
        let pace = self.pace.get(pass.kernel.entry);
        let fits = pace.map_or(1 << 14, |ns| ((SLICE.as_nanos() as f64 / ns) as u32).max(1 << 14));
        fits.min(self.split.unwrap_or(u32::MAX))
    }

    /// Exchanges the names of buffers after a pass.
    fn swap(&mut self, pass: &Pass) {
        for &[a, b] in pass.swaps {
            let (a, first) =
                self.buffers.remove_entry(a).unwrap_or_else(|| panic!("no buffer {a}"));
            let (b, second) =
                self.buffers.remove_entry(b).unwrap_or_else(|| panic!("no buffer {b}"));
            self.buffers.extend([(a, second), (b, first)]);
        }
    }

    /// Writes passes down, each as one dispatch, and says how many seconds that took.
    fn record_all(&mut self, plan: &Plan, passes: Range<usize>) -> Result<f64> {
        let begun = Moment::now();
        #[expect(
            clippy::mutable_key_type,
            reason = "a buffer is compared and hashed by its identity"
        )]
        let mut groups = Groups::new();
        let mut work: Vec<Dispatch> = vec![];
        for pass in &plan.passes[passes] {
            let ready = self.ready(plan, pass)?;
            let group = self.group_of(&mut groups, &ready);
            work.push(Dispatch::of(ready, group, pass, pass.range.clone()));
            self.swap(pass);
        }
        drop(self.record(&work, 0, false));
        let seconds = begun.elapsed().as_secs_f64();
        self.fault()?;
        Ok(seconds)
    }

    /// Runs passes and adds up the seconds that the dispatches of each took. Many go together,
    /// since a card that waits lowers its rate.
    fn clock_passes(&mut self, plan: &Plan, passes: Range<usize>) -> Result<Vec<f64>> {
        let mut seconds = vec![0.0; passes.len()];
        let mut work: Vec<Dispatch> = vec![];
        // Of each dispatch, its pass.
        let mut of: Vec<usize> = vec![];
        for (n, pass) in plan.passes[passes].iter().enumerate() {
            let ready = self.ready(plan, pass)?;
            let group = Arc::new(self.group(&ready));
            let mut first = pass.range.start;
            while first < pass.range.end {
                let is_known = self.pace.contains_key(pass.kernel.entry);
                let end = pass.range.end.min(first.saturating_add(self.fits(pass)));
                work.push(Dispatch::of(ready.clone(), group.clone(), pass, first..end));
                of.push(n);
                first = end;
                let expected: f64 = work
                    .iter()
                    .map(|d| self.pace.get(d.entry).unwrap_or(&0.0) * d.range.len() as f64)
                    .sum();
                if !is_known || work.len() == DISPATCHES_MAX || expected >= SLICE.as_nanos() as f64
                {
                    self.clock_work(&mut work, &mut of, &mut seconds)?;
                }
            }
            self.swap(pass);
        }
        self.clock_work(&mut work, &mut of, &mut seconds)?;
        Ok(seconds)
    }

    /// Runs dispatches and adds the seconds of each to those of its pass.
    fn clock_work(
        &mut self,
        work: &mut Vec<Dispatch>,
        of: &mut Vec<usize>,
        seconds: &mut [f64],
    ) -> Result<()> {
        let Some(clock) = &self.clock else { return Ok(()) };
        let (times, tick_ns, bytes) = (clock.times.clone(), clock.tick_ns, work.len() as u64 * 16);
        if work.is_empty() {
            return Ok(());
        }
        let flight = self.submit(work, true)?;
        self.learn(flight)?;
        let staging = self.staging(bytes, 1);
        let unread = |e: String| self.failed(format!("reading the clock: {e}"));
        for staging in &staging {
            self.map(&self.copy(&times, 0..bytes, staging)).map_err(unread)?;
            let view = staging.get_mapped_range(0..bytes).map_err(|e| unread(e.to_string()))?;
            for (&[begin, end], pass) in
                bytemuck::cast_slice::<u8, [u64; 2]>(&view).iter().zip(of.iter())
            {
                seconds[*pass] += end.wrapping_sub(begin) as f64 * tick_ns / 1e9;
            }
            drop(view);
            staging.unmap();
        }
        self.staging.extend(staging);
        work.clear();
        of.clear();
        Ok(())
    }

    fn put(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
        let limit = self.info.binding_max_bytes.min(self.info.buffer_max_bytes);
        if words.len() as u64 * 4 > limit {
            let side = ((limit / 4) as f64).sqrt() as u64;
            return Err(Error::over(
                format!(
                    "{}: {name} needs {} MiB and the device binds {} MiB at most: a map of about \
                 {side} x {side} fits, or use --device cpu",
                    self.info.name,
                    (words.len() as u64 * 4) >> 20,
                    limit >> 20
                ),
                words.len() as u64 * 4,
                limit,
                "bytes",
            ));
        }
        let fresh = self.fresh(words.len())?;
        self.fill(&fresh, words)?;
        self.buffers.insert(name, fresh);
        Ok(())
    }

    fn held(&self, name: &str) -> Result<wgpu::Buffer> {
        self.buffers.get(name).cloned().ok_or_else(|| super::absent(name))
    }

    /// The words of a part of a buffer. If they do not lie side by side, a kernel brings them
    /// together, a piece at a time.
    fn get(
        &mut self,
        name: &str,
        buffer: &wgpu::Buffer,
        selection: &Selection,
    ) -> Result<Vec<i32>> {
        let (size, together) = (selection.words() as u64 * 4, selection.together());
        let piece = size.min(STAGING);
        let picked = match together {
            Some(_) => None,
            None => {
                let ready = self.reader("pick")?;
                let picked = self.fresh(piece as usize / 4)?;
                let bound = |name: &str| if name == "source" { buffer } else { &picked };
                let group = Arc::new(self.group_with(&ready, bound));
                let (first, row) = selection.row();
                let [first, row, across, each, words] =
                    [first, row, selection.columns.len(), selection.each, selection.of.len()]
                        .map(|words| words as u32);
                Some((
                    ready,
                    group,
                    picked,
                    Uniform::of(Params { first, row, across, each, words, flip: 0 }),
                ))
            }
        };
        let mut words = Vec::with_capacity(selection.words());
        // While a piece is taken from one staging buffer, the next comes into the other.
        let count = size.div_ceil(STAGING);
        let staging = self.staging(piece, count.min(2) as usize);
        let mut under_way: Option<Copy> = None;
        for n in 0..count {
            let bytes = n * STAGING..size.min((n + 1) * STAGING);
            let to = &staging[n as usize % staging.len()];
            let copy = match (&picked, &together) {
                (Some((ready, group, picked, uniform)), _) => {
                    let range = (bytes.start / 4) as u32..(bytes.end / 4) as u32;
                    let (ready, group) = (ready.clone(), group.clone());
                    self.submit(
                        &[Dispatch { ready, group, entry: "pick", uniform, range }],
                        false,
                    )?;
                    self.copy(picked, 0..bytes.end - bytes.start, to)
                }
                (None, lies) => {
                    let first = lies.as_ref().map_or(0, |lies| lies.start as u64 * 4);
                    self.copy(buffer, first + bytes.start..first + bytes.end, to)
                }
            };
            if let Some(copy) = under_way.replace(copy) {
                self.take(name, &copy, &mut words)?;
            }
        }
        if let Some(copy) = under_way {
            self.take(name, &copy, &mut words)?;
        }
        self.read_bytes += size;
        self.staging.extend(staging);
        Ok(words)
    }

    /// Buffers of at least `size` bytes to read back through: those of the read before, if they
    /// are large enough.
    fn staging(&mut self, size: u64, count: usize) -> Vec<wgpu::Buffer> {
        let (mut large, small) = std::mem::take(&mut self.staging)
            .into_iter()
            .partition::<Vec<_>, _>(|b| b.size() >= size);
        self.staging = large.split_off(count.min(large.len()));
        if large.len() == count {
            self.staging.extend(small);
        }
        large.resize_with(count, || {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("staging"),
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        large
    }

    /// Takes the words of a copy when it is done.
    fn take(&self, name: &str, copy: &Copy, words: &mut Vec<i32>) -> Result<()> {
        let unread = |e: String| self.failed(format!("reading {name} back: {e}"));
        self.map(copy).map_err(unread)?;
        let view =
            copy.staging.get_mapped_range(0..copy.size).map_err(|e| unread(e.to_string()))?;
        let read: &[i32] = bytemuck::cast_slice(&view);
        // Fresh memory is found page by page, which takes longer than to copy.
        words.par_extend(read.par_iter().with_min_len(PORTION));
        drop(view);
        copy.staging.unmap();
        Ok(())
    }

    /// The sum of a buffer's words. Sums of some hundred words each are read back.
    fn add_up(&mut self, name: &str, signed: bool) -> Result<i64> {
        let (buffer, ready) = (self.held(name)?, self.reader("add_up")?);
        let words = buffer.size() / 4;
        let count = (words as usize).div_ceil(ADDED);
        let sums = self.fresh(2 * count)?;
        let group = Arc::new(
            self.group_with(&ready, |name| if name == "source" { &buffer } else { &sums }),
        );
        let sign = 1 << 31;
        let uniform =
            &Uniform::of(Params { flip: if signed { sign } else { 0 }, ..Params::default() });
        self.submit(
            &[Dispatch { ready, group, entry: "add_up", uniform, range: 0..count as u32 }],
            false,
        )?;
        let sums = self.get(name, &sums, &Selection::all(2 * count))?;
        let all: i64 = sums
            .as_chunks()
            .0
            .iter()
            .map(|&[low, high]| i64::from(low as u32) | i64::from(high) << 32)
            .sum();
        Ok(if signed { all - words as i64 * i64::from(sign) } else { all })
    }

    /// Submits what has gathered while the submission before it may still run, and waits for that
    /// one: so the card has work while the next is written.
    fn flush(&mut self, work: &mut Vec<Dispatch>, expected: &mut f64) -> Result<()> {
        if work.is_empty() {
            return Ok(());
        }
        let flight = self.submit(work, false)?;
        work.clear();
        *expected = 0.0;
        let before = self.flying.replace(flight);
        if self.heartbeat.is_some() {
            // Whether the caller's device is still there is known when all is done.
            self.land()?;
            return self.listen();
        }
        before.map_or(Ok(()), |flight| self.learn(flight))
    }

    /// Waits for the submission that is under way, if there is one.
    fn land(&mut self) -> Result<()> {
        self.flying.take().map_or(Ok(()), |flight| self.learn(flight))
    }

    /// Waits for a submission, and learns from the time it took.
    fn learn(&mut self, flight: Flight) -> Result<()> {
        self.wait(Some(flight.index))?;
        let now = Moment::now();
        // It began when it was sent and the one before it was done.
        let took = now.since(flight.sent.max(self.landed)).as_nanos() as f64;
        self.landed = now;
        // We assume that every kernel of the submission was misjudged by the same factor. A new
        // kernel starts from its first measurement.
        let guess: f64 = flight
            .work
            .iter()
            .map(|(entry, count)| self.pace.get(entry).copied().unwrap_or(1.0) * f64::from(*count))
            .sum();
        let factor = took / guess.max(1.0);
        let mut entries: Vec<_> = flight.work.into_iter().map(|(entry, _)| entry).collect();
        entries.sort_unstable();
        entries.dedup();
        for entry in entries {
            self.pace
                .entry(entry)
                .and_modify(|pace| {
                    *pace *= if factor > 1.0 { factor } else { factor.max(0.25).sqrt() }
                })
                .or_insert(factor);
        }
        Ok(())
    }
}
