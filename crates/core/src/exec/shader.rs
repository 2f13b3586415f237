//! Shaders as text, and the buffers that an entry point uses, as naga reports them.
//!
//! No second list of bindings exists: a buffer is bound where the WGSL variable of its name says.

use naga::valid::{Capabilities, GlobalUse, ModuleInfo, ValidationFlags, Validator};

/// How an entry point uses a buffer. The prefix of the variable's name says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// The uniform struct `params` of the pass.
    Params,
    /// The uniform struct `dispatch`: the range of invocations, which the executor fills in.
    Dispatch,
    /// Reads it. The pass does not write it.
    Read,
    /// Writes its own words.
    Own,
    /// Adds to it.
    Add,
}

impl Access {
    /// Whether what is bound is uniform data rather than a storage buffer.
    pub fn is_uniform(self) -> bool {
        matches!(self, Self::Params | Self::Dispatch)
    }
}

/// One binding of an entry point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binding {
    /// `@binding`.
    pub slot: u32,
    /// How it is used.
    pub access: Access,
    /// The buffer's name, without the prefix.
    pub buffer: String,
}

/// The same shader for a software driver. There `params` is an element of an array, whose number
/// the executor writes into `dispatch`: 0. What a kernel does is the same.
///
/// Lavapipe compiles a kernel anew for the values of `params` that its branches depend on, in Mesa
/// 22.3 for every dispatch, and keeps the memory: a tenth of a second and half a MiB for a step of
/// droplets. It does so for what lies at places that it knows.
pub fn indirect(source: &str) -> String {
    let source = source.replace("    end: u32,\n}", "    end: u32,\n    element: u32,\n}");
    let source = source.replace("params.", "params[dispatch.element].each.");
    source.replace(
        "params: Params;",
        "params: array<Element, 2>;\nstruct Element { @size(256) each: Params }",
    )
}

/// A shader that was read and checked, once for all of its entry points.
pub struct Checked {
    module: naga::Module,
    info: ModuleInfo,
}

impl Checked {
    /// Reads a shader's text. The error is a text that shows the place.
    pub fn read(text: &str) -> Result<Self, String> {
        let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .map_err(|e| e.emit_to_string(text))?;
        Ok(Self { module, info })
    }

    /// The shader itself.
    pub fn module(&self) -> &naga::Module {
        &self.module
    }

    /// The bindings of an entry point, by slot, or an error text for a shader that breaks the
    /// conventions.
    pub fn bindings(&self, entry: &str) -> Result<Vec<Binding>, String> {
        let Self { module, info } = self;
        let at = module
            .entry_points
            .iter()
            .position(|e| e.name == entry)
            .ok_or_else(|| format!("no entry point {entry}"))?;
        let uses = info.get_entry_point(at);
        let mut found = vec![];
        for (handle, variable) in module.global_variables.iter() {
            if uses[handle] == GlobalUse::empty() {
                continue;
            }
            let name = variable.name.as_deref().unwrap_or_default();
            let slot = variable.binding.ok_or_else(|| format!("{name} has no binding"))?.binding;
            let (access, buffer) = match (name.strip_prefix("own_"), name.strip_prefix("add_")) {
                (Some(buffer), _) => (Access::Own, buffer),
                (_, Some(buffer)) => (Access::Add, buffer),
                _ if variable.space == naga::AddressSpace::Uniform => match name {
                    "params" => (Access::Params, name),
                    "dispatch" => (Access::Dispatch, name),
                    _ => {
                        return Err(format!(
                            "{name}: the uniform structs are called params and dispatch"
                        ));
                    }
                },
                _ => (Access::Read, name),
            };
            let writable = match variable.space {
                naga::AddressSpace::Storage { access } => {
                    access.contains(naga::StorageAccess::STORE)
                }
                _ => false,
            };
            if writable != matches!(access, Access::Own | Access::Add) {
                return Err(format!(
                    "{name}: the names of buffers that are written begin with own_ or add_, and no \
                     others"
                ));
            }
            found.push(Binding { slot, access, buffer: buffer.into() });
        }
        found.sort();
        Ok(found)
    }
}
