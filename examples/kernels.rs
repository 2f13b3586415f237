//! Writes every kernel as the SPIR-V that the executor gives to a Vulkan driver, for
//! `benches/gpu/instructions.py`.
//!
//! ```sh
//! cargo run --example kernels -- OUT          # the kernels of this build
//! cargo run --example kernels -- OUT FOLDER   # from the texts of a folder
//! ```
//!
//! In `THALWEG_WITHOUT` there may be `index` and `loops`, for kernels whose indices are not clamped
//! and whose loops are not bounded. The executor never makes such ones: they show what the checks
//! cost.
//!
//! Prints a line for each kernel: the file, the entry point, its bindings (`u` for uniform data,
//! `s` for a storage buffer), its name.

use naga::back::{pipeline_constants::process_overrides, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::path::Path;
use thalweg::Error;
use thalweg::exec::shader::Checked;
use thalweg::exec::source;
use thalweg::stage::{INNER, STAGES, Stage};

/// Invocations of a workgroup, as in runs.
const WORKGROUP: u32 = 64;
/// The brush for which `settle` is compiled of its own, by its taps to each side.
const BRUSH: i32 = 2;

/// What kernels ask to learn whether they are near the border, and what it says inside.
const BORDERS: [[&str; 2]; 4] = [
    [
        "return min(x, y) >= reach && x + reach < params.width && y + reach < params.height;",
        "return true;",
    ],
    ["if x == 0 || y == 0 || x == params.width - 1 || y == params.height - 1 {", "if false {"],
    ["if i > 0 && i + 1 < n {", "if true {"],
    ["if min(x, y) > 0 && x + 1 < params.width && y + 1 < params.height {", "if true {"],
];
/// The kernels that ask.
const ASKING: [&str; 9] = [
    "settle",
    "limit",
    "smoothen",
    "slide",
    "halve",
    "raise",
    "raise_ledger",
    "raise_flow",
    "smooth_cells",
];

/// A stage's shader with the files of another folder in place of those of this build. What they
/// share with Rust is of this build.
fn text(stage: &Stage, folder: &Path) -> thalweg::Result<String> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| Error::input(path, e));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/core/shaders");
    let mut text = stage.shader.to_string();
    for file in std::fs::read_dir(&own).map_err(|e| Error::input(&own, e))? {
        let file = file.map_err(|e| Error::input(&own, e))?;
        let before = read(&file.path())?;
        if text.contains(&before) {
            text = text.replace(&before, &read(&folder.join(file.file_name()))?);
        }
    }
    Ok(text)
}

/// The words of an entry point, with the options that wgpu 30 has for a Vulkan 1.3 driver with
/// robust buffers, and what is bound.
fn words(text: &str, entry: &str, constant: Option<i32>) -> Result<(Vec<u32>, String), String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|e| e.emit_to_string(text))?;
    let constants = constant.map(|taps| ("TAPS".to_string(), taps.into())).into_iter().collect();
    let stage = naga::ShaderStage::Compute;
    let (module, info) = process_overrides(&module, &info, Some((stage, entry)), &constants)
        .map_err(|e| format!("{entry}: {e}"))?;
    // Bindings are numbered anew, without gaps.
    let found = Checked::read(text)?.bindings(entry)?;
    let numbered = found.iter().enumerate().map(|(binding, b)| {
        let bound = spv::BindingInfo {
            descriptor_set: 0,
            binding: binding as u32,
            binding_array_size: None,
        };
        (naga::ResourceBinding { group: 0, binding: b.slot }, bound)
    });
    let without = std::env::var("THALWEG_WITHOUT").unwrap_or_default();
    let options = spv::Options {
        lang_version: (1, 6),
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        binding_map: numbered.collect(),
        bounds_check_policies: BoundsCheckPolicies {
            index: if without.contains("index") {
                BoundsCheckPolicy::Unchecked
            } else {
                BoundsCheckPolicy::Restrict
            },
            buffer: BoundsCheckPolicy::Unchecked,
            ..Default::default()
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: !without.contains("loops"),
        ..Default::default()
    };
    let one = spv::PipelineOptions { shader_stage: stage, entry_point: entry.into() };
    let words = spv::write_vec(&module, &info, &options, Some(&one))
        .map_err(|e| format!("{entry}: {e}"))?;
    Ok((words, found.iter().map(|b| if b.access.is_uniform() { 'u' } else { 's' }).collect()))
}

fn main() -> thalweg::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(out) = arguments.next() else {
        return Err(Error::param("the folder to write to is missing"));
    };
    let folder = arguments.next();
    for [border, _] in BORDERS {
        if folder.is_none()
            && !STAGES.into_iter().chain(INNER).any(|stage| stage.shader.contains(border))
        {
            return Err(Error::device(format!(
                "no shader says {border:?} any more: mend examples/kernels.rs"
            )));
        }
    }
    let mut seen = vec![];
    for stage in STAGES.into_iter().chain(INNER) {
        let text = match &folder {
            Some(folder) => text(stage, Path::new(folder))?,
            None => stage.shader.to_string(),
        };
        let text = source(&text, WORKGROUP);
        let inside =
            BORDERS.iter().fold(text.clone(), |text, [border, not]| text.replace(border, not));
        for kernel in stage.kernels {
            // What laws share counts once.
            if seen.contains(&std::ptr::from_ref(*kernel)) {
                continue;
            }
            seen.push(std::ptr::from_ref(*kernel));
            let brush =
                (kernel.entry == "settle" && text.contains("override TAPS")).then_some(Some(BRUSH));
            for constant in std::iter::once(None).chain(brush) {
                let whole = constant.map_or(String::new(), |taps| format!(", {taps} taps"));
                let mut variants = vec![(&text, format!("{} {}{whole}", stage.name, kernel.entry))];
                if inside != text && ASKING.contains(&kernel.entry) {
                    variants
                        .push((&inside, format!("{} {}{whole}, inside", stage.name, kernel.entry)));
                }
                for (text, name) in variants {
                    let (words, bound) =
                        words(text, kernel.entry, constant).map_err(Error::device)?;
                    let path = Path::new(&out).join(name.replace([' ', ','], "_") + ".spv");
                    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    std::fs::write(&path, bytes).map_err(|e| Error::output(&path, e))?;
                    println!("{}\t{}\t{bound}\t{name}", path.display(), kernel.entry);
                }
            }
        }
    }
    Ok(())
}
