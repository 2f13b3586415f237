//! What the page does for the module.

use serde_json::Value;

// SAFETY: the page gets addresses and lengths of slices that live until the call ends, and reads
// no further; `gpu_read` and `gpu_fault` write no more than the length that they are given. They
// may wait, and nothing else runs in the module meanwhile.
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    safe fn tell(text: *const u8, length: usize, values: *const f32, count: usize) -> i32;
    safe fn gpu_begin(plan: *const u8, length: usize, words: *const u8, bytes: usize) -> i32;
    safe fn gpu_run(from: usize, to: usize) -> i32;
    safe fn gpu_end();
    safe fn gpu_clear();
    safe fn gpu_write(name: *const u8, length: usize, words: *const i32, count: usize) -> i32;
    safe fn gpu_size(name: *const u8, length: usize) -> i32;
    safe fn gpu_read(name: *const u8, length: usize, words: *mut i32, count: usize) -> i32;
    safe fn gpu_fault(text: *mut u8, most: usize) -> usize;
}

/// Tells the page something, with values. Returns whether to continue.
pub fn say(what: &Value, values: &[f32]) -> bool {
    let text = what.to_string();
    tell(text.as_ptr(), text.len(), values.as_ptr(), values.len()) == 0
}

/// Makes and fills the buffers of a plan; `words` has their bytes. Returns whether it could.
pub fn begin(plan: &Value, words: &[u8]) -> bool {
    let text = plan.to_string();
    gpu_begin(text.as_ptr(), text.len(), words.as_ptr(), words.len()) == 0
}

/// Runs some passes of the plan, for about 40 ms. Returns how many passes are done, or none if the
/// device failed.
pub fn run(from: usize, to: usize) -> Option<usize> {
    usize::try_from(gpu_run(from, to)).ok()
}

/// Lets go of the plan's buffers that do not outlive it.
pub fn end() {
    gpu_end();
}

/// Lets go of all buffers.
pub fn clear() {
    gpu_clear();
}

/// Makes a buffer. Returns whether it could.
pub fn write(name: &str, words: &[i32]) -> bool {
    gpu_write(name.as_ptr(), name.len(), words.as_ptr(), words.len()) == 0
}

/// The words of a buffer that is there.
pub fn size(name: &str) -> Option<usize> {
    usize::try_from(gpu_size(name.as_ptr(), name.len())).ok()
}

/// Fills `words` from a buffer. Returns whether it could.
pub fn read(name: &str, words: &mut [i32]) -> bool {
    gpu_read(name.as_ptr(), name.len(), words.as_mut_ptr(), words.len()) == 0
}

/// Why the device failed.
pub fn fault() -> String {
    let mut text = vec![0; 2000];
    let length = gpu_fault(text.as_mut_ptr(), text.len()).min(text.len());
    text.truncate(length);
    String::from_utf8_lossy(&text).into_owned()
}
