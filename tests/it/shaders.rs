//! Shaders as naga sees them: bindings, layouts and constants are those of the Rust side, and
//! floats decide nothing.

use crate::common::{cases, plan};
use crate::mutants::mutant;
use thalweg::exec::shader::{Access, Checked, indirect};
use thalweg::exec::source;
use thalweg::params::ParamKind;
use thalweg::plan::Uniform;
use thalweg::stage::stepper;
use thalweg::vectors::stages;

/// WebGPU's default limit: storage buffers that a shader stage can bind.
const STORAGE_BUFFERS_MAX: usize = 8;

#[test]
fn entry_points_use_what_their_kernels_say() {
    for stage in stages() {
        let shader = Checked::read(&source(stage.shader, 64))
            .unwrap_or_else(|e| panic!("{}: {e}", stage.name));
        for kernel in stage.kernels {
            let found = shader
                .bindings(kernel.entry)
                .unwrap_or_else(|e| panic!("{} {}: {e}", stage.name, kernel.entry));
            let of = |access| {
                let mut names: Vec<&str> = found
                    .iter()
                    .filter(|b| b.access == access)
                    .map(|b| b.buffer.as_str())
                    .collect();
                names.sort();
                names
            };
            let sorted = |names: &[&'static str]| {
                let mut names = names.to_vec();
                names.sort();
                names
            };
            let owns: Vec<&str> = kernel.owns.iter().map(|(n, _)| *n).collect();
            assert_eq!(
                of(Access::Read),
                sorted(kernel.reads),
                "{} {} reads",
                stage.name,
                kernel.entry
            );
            assert_eq!(of(Access::Own), sorted(&owns), "{} {} owns", stage.name, kernel.entry);
            assert_eq!(
                of(Access::Add),
                sorted(kernel.adds),
                "{} {} adds",
                stage.name,
                kernel.entry
            );
            assert_eq!(of(Access::Dispatch), ["dispatch"], "{} {}", stage.name, kernel.entry);
            assert!(of(Access::Params).len() <= 1, "{} {}", stage.name, kernel.entry);
            let buffers = found.iter().filter(|b| !b.access.is_uniform()).count();
            assert!(
                buffers <= STORAGE_BUFFERS_MAX,
                "{} {} binds {buffers} buffers",
                stage.name,
                kernel.entry
            );
        }
    }
}

/// For software drivers no kernel has `params` at a place that the driver knows, and all bindings
/// are the same.
#[test]
fn software_drivers_do_not_know_where_parameters_are() {
    for stage in stages() {
        let (plain, text) = (source(stage.shader, 64), indirect(&source(stage.shader, 64)));
        let [plain, shader] = [&plain, &text]
            .map(|text| Checked::read(text).unwrap_or_else(|e| panic!("{}: {e}", stage.name)));
        for kernel in stage.kernels {
            assert_eq!(
                shader.bindings(kernel.entry),
                plain.bindings(kernel.entry),
                "{} {}",
                stage.name,
                kernel.entry
            );
        }
        let params = shader
            .module()
            .global_variables
            .iter()
            .find(|(_, variable)| variable.name.as_deref() == Some("params"));
        let (handle, variable) = params.unwrap_or_else(|| panic!("{} has no params", stage.name));
        let ty = &shader.module().types[variable.ty].inner;
        assert!(matches!(ty, naga::TypeInner::Array { stride: 256, .. }), "{}: {ty:?}", stage.name);
        for function in shader
            .module()
            .functions
            .iter()
            .map(|(_, f)| f)
            .chain(shader.module().entry_points.iter().map(|e| &e.function))
        {
            let constant = function.expressions.iter().find(|(_, expression)| {
                matches!(expression, naga::Expression::AccessIndex { base, .. }
                    if matches!(function.expressions[*base],
                        naga::Expression::GlobalVariable(global) if global == handle))
            });
            assert!(constant.is_none(), "{} {:?}", stage.name, function.name);
        }
    }
}

#[test]
fn a_kernel_never_reads_what_it_writes() {
    for stage in stages() {
        for kernel in stage.kernels {
            for (own, _) in kernel.owns {
                assert!(
                    !kernel.reads.contains(own) && !kernel.adds.contains(own),
                    "{} {}: {own}",
                    stage.name,
                    kernel.entry
                );
            }
            for add in kernel.adds {
                assert!(!kernel.reads.contains(add), "{} {}: {add}", stage.name, kernel.entry);
            }
        }
    }
}

/// A member of a uniform struct: its name, and the values of its components.
type Member = (String, Vec<i64>);

/// The members of the struct `Params` of a shader, read from `bytes` where WGSL puts them. A struct
/// within it counts as its members.
fn members(module: &naga::Module, bytes: &[u8]) -> Vec<Member> {
    fn flat(module: &naga::Module, ty: &naga::Type, bytes: &[u8]) -> Vec<Member> {
        let naga::TypeInner::Struct { members, .. } = &ty.inner else {
            panic!("{ty:?} is a struct")
        };
        let member = |m: &naga::StructMember| {
            let bytes = &bytes[m.offset as usize..];
            let (scalar, count) = match module.types[m.ty].inner {
                naga::TypeInner::Scalar(scalar) => (scalar, 1),
                naga::TypeInner::Vector { size, scalar } => (scalar, size as usize),
                naga::TypeInner::Struct { .. } => return flat(module, &module.types[m.ty], bytes),
                ref other => panic!("{:?}: {other:?}", m.name),
            };
            let value = |word: &[u8; 4]| match scalar.kind {
                naga::ScalarKind::Sint => i32::from_le_bytes(*word).into(),
                naga::ScalarKind::Uint => u32::from_le_bytes(*word).into(),
                other => panic!("{:?}: {other:?}", m.name),
            };
            vec![(
                m.name.clone().unwrap_or_default(),
                bytes.as_chunks().0[..count].iter().map(value).collect(),
            )]
        };
        members.iter().flat_map(member).collect()
    }
    let (_, ty) = module
        .types
        .iter()
        .find(|(_, t)| t.name.as_deref() == Some("Params"))
        .expect("a struct Params");
    flat(module, ty, bytes)
}

/// The fields of the Rust structs of a uniform, as their `Debug` shows them.
fn fields(uniform: &Uniform) -> Vec<Member> {
    let mut found: Vec<Member> = vec![];
    for block in uniform.blocks() {
        let text = format!("{block:?}");
        for word in text.split([' ', ',', '(', ')', '{', '}']).filter(|word| !word.is_empty()) {
            match (word.strip_suffix(':'), word.parse()) {
                (Some(name), _) => found.push((name.into(), vec![])),
                (_, Ok(value)) => found.last_mut().expect("a name comes first").1.push(value),
                // The name of a type.
                _ => {}
            }
        }
    }
    found
}

#[test]
fn uniform_structs_have_one_layout() {
    for (stage, case) in cases() {
        let plan = plan(stage, &case);
        let module = naga::front::wgsl::parse_str(&source(plan.shader, 64)).unwrap();
        // Passes with a shader of their own belong to other stages.
        for pass in plan.passes.iter().filter(|pass| pass.shader.is_none()) {
            let (ours, bytes) = (fields(&pass.uniform), pass.uniform.bytes());
            assert!(bytes.len() <= 256, "{}: {} bytes of uniform data", stage.name, bytes.len());
            assert_eq!(
                ours,
                members(&module, &bytes),
                "{} {} {}",
                stage.name,
                case.name,
                pass.kernel.entry
            );
        }
    }
}

/// The check bites: two fields that have changed places are found.
#[test]
fn a_wrong_layout_is_found() {
    #[derive(Debug, encase::ShaderType)]
    struct Params {
        height: i32,
        width: i32,
        torus: u32,
    }
    let uniform = Uniform::of(Params { height: 2, width: 1, torus: 0 });
    let module =
        naga::front::wgsl::parse_str(&source(thalweg::stage::blur::STAGE.shader, 64)).unwrap();
    assert_ne!(fields(&uniform), members(&module, &uniform.bytes()));
}

/// The constants of a shader that are plain numbers.
fn constants(text: &str) -> Vec<(String, i64)> {
    let constant = |line: &str| {
        let (name, value) = line.strip_prefix("const ")?.strip_suffix(';')?.split_once(": ")?;
        Some((name.to_string(), value.split_once(" = ")?.1.parse().ok()?))
    };
    text.lines().filter_map(constant).collect()
}

/// Constants and uniform structs stand in Rust alone, from which their WGSL follows.
#[test]
fn shaders_share_the_declarations_of_rust() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/core/shaders");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let twice = |line: &&str| {
            ["const ", "struct Params ", "struct Law "].iter().any(|start| line.starts_with(start))
        };
        assert_eq!(text.lines().find(twice), None, "{}", path.display());
        read += 1;
    }
    assert!(read > 20);
}

/// Where a shader has a constant for a word of a choice, its value is the number that the kernel
/// gets for the word.
#[test]
fn words_have_the_numbers_of_the_shader() {
    let mut compared = vec![];
    for stage in stages() {
        let constants = constants(stage.shader);
        let law = stage.kernels.iter().any(|kernel| kernel.entry == "settle");
        for param in stage.params {
            let ParamKind::Choice(words) = param.kind else { continue };
            // The laws share the numbers of the stepper's table, but not its default.
            let numbers = if law && param.name == "border" { &stepper::BORDER } else { param };
            for word in words {
                let Some((_, value)) =
                    constants.iter().find(|(name, _)| *name == word.to_uppercase())
                else {
                    continue;
                };
                assert_eq!(
                    i64::from(numbers.number_of(word)),
                    *value,
                    "{} {} = {word:?}",
                    stage.name,
                    param.name
                );
                compared.push(format!("{} {word}", stage.name));
            }
        }
    }
    let borders = ["droplets", "snowballs", "wind"]
        .map(|law| [format!("{law} torus"), format!("{law} wall")]);
    for word in borders.concat() {
        assert!(compared.contains(&word), "{word} has no constant");
    }
    let words =
        |stage: &str| compared.iter().filter(|word| word.starts_with(&format!("{stage} "))).count();
    assert_eq!(["diamond_square", "layer", "biomes"].map(words), [4, 8, 1]);
}

/// Names of functions that handle floats.
fn float_functions(text: &str) -> Vec<String> {
    let module = naga::front::wgsl::parse_str(text).unwrap();
    let float = |ty: naga::Handle<naga::Type>| {
        matches!(module.types[ty].inner.scalar_kind(), Some(naga::ScalarKind::Float))
    };
    let handles = |f: &naga::Function| {
        f.expressions.iter().any(|(_, e)| match e {
            naga::Expression::As { kind, .. } => *kind == naga::ScalarKind::Float,
            naga::Expression::Literal(naga::Literal::F32(_) | naga::Literal::AbstractFloat(_)) => {
                true
            }
            _ => false,
        }) || f.local_variables.iter().any(|(_, v)| float(v.ty))
            || f.arguments.iter().any(|a| float(a.ty))
    };
    let functions = module
        .functions
        .iter()
        .map(|(_, f)| f)
        .chain(module.entry_points.iter().map(|e| &e.function));
    functions
        .filter(|f| handles(f))
        .map(|f| f.name.clone().unwrap_or_else(|| "an entry point".into()))
        .collect()
}

#[test]
fn floats_are_only_first_guesses() {
    for stage in stages() {
        let text = source(stage.shader, 64);
        for name in float_functions(&text) {
            assert!(
                ["div_small", "isqrt"].contains(&name.as_str()),
                "{}: {name} handles floats",
                stage.name
            );
        }
    }
    // The check bites.
    let drops = source(thalweg::stage::droplets::STAGE.shader, 64);
    let broken = mutant(
        &drops,
        "let wish_and_speed = ",
        "let slope_here = f32(want); let wish_and_speed = ",
    );
    assert!(float_functions(broken).contains(&"drops".to_string()));
}

#[test]
fn shifts_are_masked_or_constant() {
    // WGSL leaves shifts by 32 and more to the device, so counts must be literals or masked.
    for stage in stages() {
        let text = source(stage.shader, 64);
        assert_eq!(loose_shifts(&text), Vec::<String>::new(), "{}", stage.name);
    }
    assert_eq!(loose_shifts("x << n;").len(), 1);
    assert_eq!(loose_shifts("x >> vec4<u32>(n);").len(), 1);
    assert_eq!(loose_shifts("x >> (n & 31u);").len(), 0);
    assert_eq!(loose_shifts("x >> vec4<u32>(0u, 4u, 8u, 12u);").len(), 0);
}

fn loose_shifts(text: &str) -> Vec<String> {
    let mut found = vec![];
    // Constants are worked out, and wrong shifts found, when the shader is read.
    let lines = text.lines().filter(|line| !line.starts_with("const "));
    for line in lines.map(|l| l.split("//").next().unwrap_or("")) {
        for op in ["<<", ">>"] {
            for (at, _) in line.match_indices(op) {
                let count = line[at + 2..].trim_start();
                let vector = count.strip_prefix("vec4<u32>(").and_then(|rest| rest.split_once(')'));
                let literals = |list: &str| {
                    list.split(',').all(|c| {
                        c.trim()
                            .strip_suffix('u')
                            .is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n < 32))
                    })
                };
                let literal = count.starts_with(|c: char| c.is_ascii_digit())
                    || vector.is_some_and(|(list, _)| literals(list));
                let masked = count.starts_with('(')
                    && count.split(')').next().is_some_and(|c| c.contains("& 31u"));
                let generic = line[..at].ends_with("array<atomic<i32")
                    || count.is_empty()
                    || count.starts_with(';');
                if !literal && !masked && !generic {
                    found.push(line.trim().to_string());
                }
            }
        }
    }
    found
}
