//! TIFFs of 16-bit floats, which the decoder reads as integers.

use super::SAMPLE_FORMAT;
use tiff_reader::ifd::Ifd;
use tiff_reader::source::{SharedSource, TiffSource};
use tiff_reader::{ByteOrder, TiffError, TiffFile};

/// Two bytes of a file in place of its own.
pub struct Patch {
    at: u64,
    bytes: [u8; 2],
}

impl Patch {
    /// Makes the tag of 16-bit floats say that they are integers: the decoder reads those, and
    /// floats only with a version of a library that the graphics card's does not allow. The bits
    /// are the same.
    pub fn halves_as_integers(file: &TiffFile, ifd: &Ifd) -> Option<Self> {
        let big = file.is_bigtiff();
        let word = |at: u64| -> Option<[u8; 2]> {
            file.source().read_exact_at(at, 2).ok()?.try_into().ok()
        };
        let little = file.byte_order() == ByteOrder::LittleEndian;
        let number = |bytes: [u8; 2]| {
            if little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
        };
        // A count of entries, and then entries of a tag, its type, its count and its value.
        let (head, each, value) = if big { (8, 20, 12) } else { (2, 12, 8) };
        let entries = (0..ifd.tags().len() as u64).map(|i| ifd.offset() + head + i * each);
        let entry = entries
            .into_iter()
            .find(|at| word(*at).is_some_and(|tag| number(tag) == SAMPLE_FORMAT))?;
        let one: u16 = 1;
        Some(Self {
            at: entry + value,
            bytes: if little { one.to_le_bytes() } else { one.to_be_bytes() },
        })
    }
}

/// The bytes of a file with a patch.
pub struct Patched {
    pub bytes: SharedSource,
    pub patch: Patch,
}

impl TiffSource for Patched {
    fn len(&self) -> u64 {
        self.bytes.len()
    }

    fn read_exact_at(&self, offset: u64, len: usize) -> std::result::Result<Vec<u8>, TiffError> {
        let mut bytes = self.bytes.read_exact_at(offset, len)?;
        // What is read may begin or end within the patch, or lie apart from it.
        for (at, byte) in (self.patch.at..).zip(self.patch.bytes) {
            if let Some(own) =
                at.checked_sub(offset).and_then(|i| bytes.get_mut(usize::try_from(i).ok()?))
            {
                *own = byte;
            }
        }
        Ok(bytes)
    }
}
