//! File formats for maps: their names, and what their files can say. [`crate::io`] reads and writes
//! them.

use crate::error::{Error, Result};
use std::path::Path;

/// A file format for maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapFormat {
    /// Grey PNG; written with 16 bits a sample.
    Png,
    /// TIFF and GeoTIFF; written with 32-bit floats.
    Tiff,
    /// OpenEXR; written with 32-bit floats in one channel, `Y`.
    Exr,
    /// A NumPy array of rows; written with 32-bit floats.
    Npy,
    /// Bare 16-bit unsigned samples, little-endian, row by row.
    R16,
    /// Bare 32-bit floats, little-endian, row by row.
    R32,
    /// An ESRI ASCII grid: text.
    Asc,
    /// A tile of SRTM: bare 16-bit signed metres, big-endian, row by row.
    Hgt,
}

/// What is known of a format.
struct Facts {
    format: MapFormat,
    /// Its extensions in lower case, the usual one first.
    extensions: &'static [&'static str],
    /// Samples are unsigned integers of 16 bits.
    quantised: bool,
    /// Samples lie in the file without a header.
    raw: bool,
    /// A file may have several bands.
    bands: bool,
    /// A file can say where on Earth the map lies.
    placed: bool,
    /// A sample can be a colour of 24 bits.
    colours: bool,
    /// A recipe can have its maps in it.
    of_recipes: bool,
}

/// A format of floats without any of the rest.
const PLAIN: Facts = Facts {
    format: MapFormat::Npy,
    extensions: &["npy"],
    quantised: false,
    raw: false,
    bands: false,
    placed: false,
    colours: true,
    of_recipes: true,
};

/// All formats, in the order of [`MapFormat`], which is that of lists for people.
const FORMATS: [Facts; 8] = [
    Facts { format: MapFormat::Png, extensions: &["png"], quantised: true, ..PLAIN },
    Facts {
        format: MapFormat::Tiff,
        extensions: &["tif", "tiff"],
        bands: true,
        placed: true,
        ..PLAIN
    },
    Facts { format: MapFormat::Exr, extensions: &["exr"], bands: true, ..PLAIN },
    PLAIN,
    Facts {
        format: MapFormat::R16,
        extensions: &["r16", "raw"],
        quantised: true,
        raw: true,
        colours: false,
        ..PLAIN
    },
    Facts { format: MapFormat::R32, extensions: &["r32"], raw: true, ..PLAIN },
    Facts { format: MapFormat::Asc, extensions: &["asc"], placed: true, ..PLAIN },
    Facts {
        format: MapFormat::Hgt,
        extensions: &["hgt"],
        raw: true,
        colours: false,
        of_recipes: false,
        ..PLAIN
    },
];

// A format finds its facts by its number.
const _: () = {
    let mut i = 0;
    while i < FORMATS.len() {
        assert!(FORMATS[i].format as usize == i);
        i += 1;
    }
};

impl MapFormat {
    /// The format that the file name's extension stands for: `png`, `tif`, `tiff`, `exr`, `npy`,
    /// `r16`, `raw`, `r32`, `asc` or `hgt`, in any case.
    ///
    /// # Errors
    /// [`Error::Param`] for any other extension, or none.
    pub fn from_path(path: &Path) -> Result<Self> {
        let extension = extension(path);
        Self::from_extension(extension.as_deref())
            .ok_or_else(|| Error::param(unknown(path, extension, &[])))
    }

    /// The format that an extension in lower case stands for.
    pub(crate) fn from_extension(extension: Option<&str>) -> Option<Self> {
        let extension = extension?;
        let known = FORMATS.iter().find(|facts| facts.extensions.contains(&extension));
        known.map(|facts| facts.format)
    }

    fn facts(self) -> &'static Facts {
        &FORMATS[self as usize]
    }

    /// The usual extension, without the dot.
    pub fn extension(self) -> &'static str {
        self.facts().extensions[0]
    }

    /// Whether samples are stored as 16-bit integers, so that heights are rounded to 65536 steps.
    pub fn is_quantised(self) -> bool {
        self.facts().quantised
    }

    /// Whether the samples lie in the file without a header.
    pub fn is_raw(self) -> bool {
        self.facts().raw
    }

    /// Whether a file may have several bands, of which one is read.
    pub fn has_bands(self) -> bool {
        self.facts().bands
    }

    /// Whether a file can say where on Earth its map lies.
    pub fn is_placed(self) -> bool {
        self.facts().placed
    }

    /// Whether a sample can be a colour of 24 bits.
    pub(crate) fn holds_colours(self) -> bool {
        self.facts().colours
    }

    /// Whether a recipe can have its maps in this format.
    pub(crate) fn is_of_recipes(self) -> bool {
        self.facts().of_recipes
    }

    /// The usual extensions of the formats that `which` accepts, in the order of lists for people.
    pub fn names(which: impl Fn(Self) -> bool) -> Vec<&'static str> {
        FORMATS
            .iter()
            .map(|facts| facts.format)
            .filter(|f| which(*f))
            .map(Self::extension)
            .collect()
    }
}

/// Names as people list them: `a, b or c`.
pub fn either(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// The extension of a path in lower case.
pub(crate) fn extension(path: &Path) -> Option<String> {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase())
}

/// What to say of a path whose extension stands for no format; `more` are those of other formats
/// that would do.
pub(crate) fn unknown(path: &Path, extension: Option<String>, more: &[&str]) -> String {
    let given = extension
        .map_or("there is no extension".into(), |e| format!("the extension .{e} is unknown"));
    let dotted = |facts: &Facts| match facts.extensions {
        [usual, other] => format!(".{usual} (or .{other})"),
        extensions => format!(".{}", extensions[0]),
    };
    let more = more.iter().map(|extension| format!(".{extension}"));
    let known: Vec<String> = FORMATS.iter().map(dotted).chain(more).collect();
    format!("{}: {given}; use {}", path.display(), either(&known))
}

/// A file of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointFormat {
    /// One line for each place: x, y (cells of the world), east, north, height in metres, the
    /// biome's number and name, the factor of size, and the turn in degrees.
    Csv,
    /// One feature for each place, with the same data as properties.
    GeoJson,
    /// Binary glTF: one mesh, drawn at every place by the extension
    /// `EXT_mesh_gpu_instancing`.
    Glb,
}

impl PointFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Csv, Self::GeoJson, Self::Glb];

    /// The extension of its files, which is its name in recipes.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::GeoJson => "geojson",
            Self::Glb => "glb",
        }
    }

    /// The format that a path's extension names.
    ///
    /// # Errors
    /// [`Error::Param`] with the extensions that are known.
    pub fn from_path(path: &Path) -> Result<Self> {
        let given = extension(path);
        let given = given.as_deref().map(|word| if word == "json" { "geojson" } else { word });
        let found = Self::ALL.into_iter().find(|format| given == Some(format.extension()));
        found.ok_or_else(|| {
            let path = path.display();
            Error::param(format!("{path}: places are written as .csv, .geojson or .glb"))
        })
    }
}
