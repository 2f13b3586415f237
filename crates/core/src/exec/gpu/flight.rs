//! Passes on their way: records, clocks, and how much to submit at once.

use super::super::Control;
use super::{
    DISPATCHES_MAX, Dispatch, Gpu, Groups, SLICE, SUBMISSIONS, UNIFORM_BYTES, UNIFORM_STRIDE,
};
use crate::clock::Moment;
use crate::error::Result;
use crate::plan::{Pass, Plan};
use std::ops::Range;
use std::sync::Arc;

/// The device's own clock.
pub(super) struct Clock {
    /// The beginning and the end of each dispatch of the submission that was clocked last.
    pub(super) queries: wgpu::QuerySet,
    /// The same as two numbers of 64 bits.
    pub(super) times: wgpu::Buffer,
    /// Nanoseconds of a tick.
    pub(super) tick_ns: f64,
}

/// A submission that may still run.
pub(super) struct Flight {
    pub(super) index: wgpu::SubmissionIndex,
    sent: Moment,
    /// Its dispatches: kernel, invocations.
    pub(super) work: Vec<(&'static str, u32)>,
}

impl Gpu {
    /// Submits dispatches; `clocked`, each between two looks at the device's clock.
    pub(super) fn submit(&mut self, work: &[Dispatch], clocked: bool) -> Result<Flight> {
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
                // A dimension has at most 65535 workgroups, so more of them make rows. Invocations
                // beyond the last return at once.
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

    pub(super) fn run_all(
        &mut self,
        plan: &Plan,
        passes: Range<usize>,
        control: &mut Control,
    ) -> Result<()> {
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
                // A kernel without a pace counts as at least a slice, so it is submitted at once.
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

    /// Writes passes down, each as one dispatch, and says how many seconds that took.
    pub(super) fn record_all(&mut self, plan: &Plan, passes: Range<usize>) -> Result<f64> {
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
    pub(super) fn clock_passes(&mut self, plan: &Plan, passes: Range<usize>) -> Result<Vec<f64>> {
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
    pub(super) fn land(&mut self) -> Result<()> {
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
                    // A slower pace is believed at once. A faster one is believed by its root, and
                    // down to half.
                    *pace *= if factor > 1.0 { factor } else { factor.max(0.25).sqrt() }
                })
                .or_insert(factor);
        }
        Ok(())
    }
}
