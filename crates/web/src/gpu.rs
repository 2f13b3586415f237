//! The executor on the page's WebGPU: the shaders of the library, in the order of its plans.

use crate::page;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use thalweg::exec::{self, Control, source};
use thalweg::plan::{Fill, Pass, Plan};
use thalweg::{Error, Executor, Fault, Result};

/// Runs passes on the page's WebGPU device.
pub struct WebGpu {
    /// What the device is called.
    pub name: String,
    /// The largest buffer that it binds, bytes.
    pub largest_bytes: u64,
    /// Invocations of a workgroup.
    pub workgroup: u32,
}

impl WebGpu {
    fn failed(&self) -> Error {
        Fault::of(&self.name, page::fault()).into()
    }

    fn done(&self, is_done: bool) -> Result<()> {
        if is_done { Ok(()) } else { Err(self.failed()) }
    }
}

impl Executor for WebGpu {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn admits(&self, plan: &Plan) -> Result<()> {
        let largest = plan.largest();
        let needed = largest.words as u64 * 4;
        if needed <= self.largest_bytes {
            return Ok(());
        }
        Err(Error::over(
            format!(
                "{}: buffers of {} MiB, and the largest of this land has {} MiB: make the land \
                 smaller, or use the device cpu",
                self.name,
                self.largest_bytes >> 20,
                needed >> 20
            ),
            needed,
            self.largest_bytes,
            "bytes",
        ))
    }

    fn begin(&mut self, plan: &Plan) -> Result<()> {
        exec::check_kept(plan, page::size)?;
        let (written, words) = Writer::new(self.workgroup).plan(plan);
        self.done(page::begin(&written, &words))
    }

    fn run(&mut self, _: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
        let mut next = passes.start;
        while next < passes.end {
            next = page::run(next, passes.end).ok_or_else(|| self.failed())?;
            control.check()?;
            (control.progress)(next)?;
        }
        Ok(())
    }

    fn end(&mut self, _: &Plan) {
        page::end();
    }

    fn release(&mut self) {}

    fn clear(&mut self) {
        page::clear();
    }

    fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
        self.done(page::write(name, words))
    }

    fn read(&mut self, name: &str) -> Result<Vec<i32>> {
        let size = page::size(name).ok_or_else(|| exec::absent(name))?;
        let mut words = vec![0; size];
        self.done(page::read(name, &mut words))?;
        Ok(words)
    }
}

/// The number of a shader, the entry point, and the constant that it is made with.
type Key = (usize, &'static str, Option<(&'static str, i32)>);

/// Writes a plan down for the page: texts and numbers as JSON, words and uniform structs as bytes.
struct Writer {
    workgroup: u32,
    shaders: Vec<&'static str>,
    kernels: Vec<Value>,
    known: BTreeMap<Key, usize>,
    uniforms: BTreeMap<Vec<u8>, usize>,
    words: Vec<u8>,
}

impl Writer {
    fn new(workgroup: u32) -> Self {
        Self {
            workgroup,
            shaders: vec![],
            kernels: vec![],
            known: BTreeMap::new(),
            uniforms: BTreeMap::new(),
            words: vec![],
        }
    }

    fn plan(mut self, plan: &Plan) -> (Value, Vec<u8>) {
        let buffers: Vec<Value> = plan
            .buffers
            .iter()
            .map(|buffer| {
                let fill = match &buffer.fill {
                    Fill::Keep => json!("keep"),
                    Fill::Unset => json!(0),
                    Fill::Word(word) => json!(word),
                    Fill::Taken(from) => json!({ "from": from }),
                    Fill::Words(words) => {
                        let at = self.words.len();
                        self.words.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                        json!({ "at": at })
                    }
                };
                json!({ "name": buffer.name, "words": buffer.words, "fill": fill,
                    "keep": buffer.keep })
            })
            .collect();
        let passes: Vec<Value> = plan.passes.iter().map(|pass| self.pass(plan, pass)).collect();
        let shaders: Vec<String> =
            self.shaders.iter().map(|text| source(text, self.workgroup)).collect();
        let written = json!({ "buffers": buffers, "shaders": shaders, "kernels": self.kernels,
            "passes": passes });
        (written, self.words)
    }

    /// The kernel, where its uniform struct begins and how long it is, its invocations, and which
    /// buffers exchange their names after it.
    fn pass(&mut self, plan: &Plan, pass: &Pass) -> Value {
        let kernel = self.kernel(pass.shader.unwrap_or(plan.shader), pass);
        let bytes = pass.uniform.bytes();
        let length = bytes.len();
        let words = &mut self.words;
        let at = *self.uniforms.entry(bytes).or_insert_with_key(|bytes| {
            let at = words.len();
            words.extend(bytes);
            words.resize(words.len().next_multiple_of(4), 0);
            at
        });
        json!([kernel, at, length, pass.range.start, pass.range.end, pass.swaps])
    }

    fn kernel(&mut self, text: &'static str, pass: &Pass) -> usize {
        // Texts are known by their addresses, of which each has one.
        let shader = self.shaders.iter().position(|known| std::ptr::eq(*known, text));
        let shader = shader.unwrap_or_else(|| {
            self.shaders.push(text);
            self.shaders.len() - 1
        });
        let kernels = &mut self.kernels;
        *self.known.entry((shader, pass.kernel.entry, pass.constant)).or_insert_with(|| {
            let owns: Vec<&str> = pass.kernel.owns.iter().map(|(name, _)| *name).collect();
            kernels.push(json!({ "shader": shader, "entry": pass.kernel.entry,
                "reads": pass.kernel.reads, "owns": owns, "adds": pass.kernel.adds,
                "constant": pass.constant }));
            kernels.len() - 1
        })
    }
}
