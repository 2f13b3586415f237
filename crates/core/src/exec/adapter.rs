//! Graphics adapters, as people and programs name and see them.

use serde::Serialize;

/// A graphics adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adapter {
    /// The fastest kind; a software adapter only if there is no other.
    Best,
    /// By its place in [`adapters`](crate::device::adapters).
    Index(usize),
    /// By a part of its name, in upper or lower case.
    Name(String),
}

impl Adapter {
    /// The adapter that is meant, of all that there are, best first.
    pub fn of<'a>(&self, all: &'a [AdapterInfo]) -> Option<&'a AdapterInfo> {
        match self {
            Self::Best => all.first(),
            Self::Index(i) => all.get(*i),
            Self::Name(part) => {
                all.iter().find(|info| info.name.to_lowercase().contains(&part.to_lowercase()))
            }
        }
    }
}

/// A graphics adapter, for people and programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AdapterInfo {
    /// Its number, for [`Adapter::Index`].
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Vulkan, Metal or Dx12.
    pub backend: String,
    /// DiscreteGpu, IntegratedGpu, VirtualGpu, Cpu (software) or Other.
    pub kind: String,
    /// The driver and its version.
    pub driver: String,
    /// Bytes of the largest storage binding.
    pub binding_max_bytes: u64,
    /// Bytes of the largest buffer.
    pub buffer_max_bytes: u64,
    /// Storage buffers that one pass may bind.
    pub storage_buffers_max: u32,
    /// Invocations of a workgroup.
    pub workgroup_max: u32,
}

impl AdapterInfo {
    /// Whether the adapter is a program on the CPU.
    pub fn is_software(&self) -> bool {
        self.kind == "Cpu"
    }
}
