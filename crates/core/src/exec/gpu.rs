//! The GPU executor: runs passes as compute shaders. The only file that names wgpu.

mod adapters;
mod flight;
mod kernels;
mod transfer;

use super::{Adapter, AdapterInfo, Control, Executor, READ, Selection};
use crate::clock::Moment;
use crate::error::{Error, Fault, Result};
use crate::plan::{Fill, Pass, Plan, Uniform};
pub use adapters::list;
use adapters::{all_adapters, describe, infos};
use flight::{Clock, Flight};
use kernels::{Ready, Shader, Source};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex};
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
/// Words that a thread copies at a time.
const PORTION: usize = 1 << 16;
/// Words that an invocation of `add_up` adds, about.
const ADDED: usize = 256;

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

/// A copy of a part of a buffer to a staging buffer that may still run.
struct Copy<'a> {
    staging: &'a wgpu::Buffer,
    size: u64,
    index: wgpu::SubmissionIndex,
    failed: Arc<Mutex<Option<String>>>,
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
        // The inner scope first, since scopes are a stack.
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

    /// The error for what this device did.
    fn failed(&self, what: impl std::fmt::Display) -> Error {
        Fault::of(&self.info.name, what).into()
    }

    /// Runs only the invocations `range` of the pass at `i`, and waits. For tests.
    pub fn run_part(&mut self, plan: &Plan, i: usize, range: Range<u32>) -> Result<()> {
        let ready = self.ready(plan, &plan.passes[i])?;
        let group = self.group(&ready);
        self.submit(&[Dispatch::of(ready, Arc::new(group), &plan.passes[i], range)], false)?;
        self.wait(None)
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
        let words = |name: &str| self.buffers.get(name).map(|words| words.size() as usize / 4);
        super::check_kept(plan, words)?;
        let taken = super::taken(plan, |from| self.buffers.remove(from));
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

    /// Exchanges the names of buffers after a pass.
    fn swap(&mut self, pass: &Pass) {
        for &[a, b] in pass.swaps {
            let (a, first) =
                self.buffers.remove_entry(a).unwrap_or_else(|| panic!("no buffer {a}"));
            let (b, second) =
                self.buffers.remove_entry(b).unwrap_or_else(|| panic!("no buffer {b}"));
            // Both leave the table first, since each takes the place of the other.
            self.buffers.extend([(a, second), (b, first)]);
        }
    }
}
