//! Words to the card and back.

use super::super::{Params, Selection};
use super::{ADDED, Copy, Dispatch, Gpu, PORTION, STAGING};
use crate::error::{Error, Result};
use crate::plan::Uniform;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex};

impl Gpu {
    /// Copies a part of a buffer to the beginning of a staging buffer, which is mapped for reading
    /// when that is done.
    pub(super) fn copy<'a>(
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
    pub(super) fn map(&self, copy: &Copy) -> Result<(), String> {
        self.wait(Some(copy.index.clone())).map_err(|e| e.to_string())?;
        match copy.failed.lock() {
            Ok(failed) => failed.clone().map_or(Ok(()), Err),
            Err(_) => Err("a callback of the driver failed".into()),
        }
    }

    pub(super) fn put(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
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

    pub(super) fn held(&self, name: &str) -> Result<wgpu::Buffer> {
        self.buffers.get(name).cloned().ok_or_else(|| crate::exec::absent(name))
    }

    /// The words of a part of a buffer. If they do not lie side by side, a kernel brings them
    /// together, a piece at a time.
    pub(super) fn get(
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
    pub(super) fn staging(&mut self, size: u64, count: usize) -> Vec<wgpu::Buffer> {
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
    pub(super) fn take(&self, name: &str, copy: &Copy, words: &mut Vec<i32>) -> Result<()> {
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
    pub(super) fn add_up(&mut self, name: &str, signed: bool) -> Result<i64> {
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
        // With the top bit flipped, each word is 2³¹ more than its number.
        Ok(if signed { all - words as i64 * i64::from(sign) } else { all })
    }
}
