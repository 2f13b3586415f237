//! Programs whose files thalweg makes: their names, and the sizes that they take.
//! [`crate::io::engine`] makes the files.
//!
//! # Sources
//! Epic Games, *Landscape Technical Guide*; Unity Technologies, `TerrainWizards.cs`
//! (UnityCsReference); Terrain3D, *Importing & Exporting Data*.

use crate::params::unknown;
use crate::{Error, Result};

/// A program that takes terrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Unreal Engine, one landscape.
    Unreal,
    /// Unreal Engine, a landscape in tiles for World Partition.
    UnrealWp,
    /// Unity, one terrain.
    Unity,
    /// Unity, terrains that are neighbours.
    UnityTiles,
    /// Godot with Terrain3D.
    Godot,
    /// Blender.
    Blender,
    /// Minecraft, by WorldPainter.
    Worldpainter,
    /// Houdini.
    Houdini,
    /// Pages in a browser: three.js, Babylon.js and their kin.
    Web,
}

/// Sides of landscapes that Epic recommends, in vertices.
const UNREAL_SIDES: [u32; 7] = [127, 253, 505, 1009, 2017, 4033, 8129];
/// Side of a tile for World Partition.
pub(crate) const UNREAL_TILE: u32 = 1009;
/// Lowest and highest side of a terrain of Unity less 1, powers of two.
const UNITY_SIDES: [u32; 2] = [32, 4096];
/// Side of a terrain among neighbours, which share their edges.
pub(crate) const UNITY_TILE: u32 = 513;
/// Longest side of a land whose meshes are made for a page: they are made at once.
pub(crate) const WEB_SIDE: u32 = 4097;
/// Longest side of Terrain3D: 32 regions of 2048.
const GODOT_SIDE: u32 = 65536;

impl Engine {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Unreal,
        Self::UnrealWp,
        Self::Unity,
        Self::UnityTiles,
        Self::Godot,
        Self::Blender,
        Self::Worldpainter,
        Self::Houdini,
        Self::Web,
    ];

    /// Names of all.
    pub(crate) fn names() -> Vec<&'static str> {
        Self::ALL.map(Self::name).to_vec()
    }

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreal => "unreal",
            Self::UnrealWp => "unreal-wp",
            Self::Unity => "unity",
            Self::UnityTiles => "unity-tiles",
            Self::Godot => "godot",
            Self::Blender => "blender",
            Self::Worldpainter => "worldpainter",
            Self::Houdini => "houdini",
            Self::Web => "web",
        }
    }

    /// Refuses a size that the program does not take, and names the nearest that it does.
    ///
    /// # Errors
    /// [`Error::Param`].
    pub fn check(self, width: u32, height: u32) -> Result<()> {
        if width.min(height) < 2 {
            let name = self.name();
            return Err(Error::param(format!(
                "{width}x{height} samples: {name} takes land of 2 rows and 2 columns or more, not a \
                 line: choose a larger size"
            )));
        }
        let square = width == height;
        let nearest = |sides: &mut dyn Iterator<Item = u32>| {
            let side = width.max(height);
            sides.min_by_key(|known| known.abs_diff(side)).unwrap_or(side)
        };
        let unity = || (UNITY_SIDES[0].ilog2()..=UNITY_SIDES[1].ilog2()).map(|n| (1 << n) + 1);
        if let Self::UnrealWp | Self::UnityTiles = self {
            return self.check_tiles(width, height);
        }
        let (fits, rule, near) = match self {
            Self::Unreal => {
                let sides = UNREAL_SIDES.map(|side| side.to_string()).join(", ");
                (
                    square && UNREAL_SIDES.contains(&width),
                    format!("a square of {sides}"),
                    nearest(&mut UNREAL_SIDES.into_iter()),
                )
            }
            Self::Unity => {
                let [low, high] = UNITY_SIDES.map(|side| side + 1);
                let rule = format!("a square of a power of two and 1, {low} to {high}");
                (square && unity().any(|side| side == width), rule, nearest(&mut unity()))
            }
            Self::Godot => {
                (width.max(height) <= GODOT_SIDE, format!("up to {GODOT_SIDE} a side"), GODOT_SIDE)
            }
            Self::Web => {
                (width.max(height) <= WEB_SIDE, format!("up to {WEB_SIDE} a side"), WEB_SIDE)
            }
            _ => return Ok(()),
        };
        if fits {
            return Ok(());
        }
        let first = if square { "" } else { "crop it to a square, and " };
        Err(Error::param(format!(
            "{width}x{height} samples: {} takes {rule}; the nearest is {near}: choose that size, \
             or {first}use --resample {near} of convert",
            self.name()
        )))
    }

    /// The same for programs that take tiles: samples of a tile, less those that it shares.
    fn check_tiles(self, width: u32, height: u32) -> Result<()> {
        let (step, shared, rule) = match self {
            Self::UnityTiles => (UNITY_TILE - 1, 1, "sides of a multiple of 512 and 1".to_string()),
            _ => (UNREAL_TILE, 0, format!("sides of a multiple of {UNREAL_TILE}")),
        };
        let size = [width, height];
        let fits = |side: u32| side > shared && (side - shared).is_multiple_of(step);
        if size.into_iter().all(fits) {
            return Ok(());
        }
        let sides = |tiles: fn(u32, u32) -> u32| {
            size.map(|side| tiles(side - shared, step).max(1) * step + shared)
        };
        let [w, h] = sides(|side, step| (side + step / 2) / step);
        let how = if width == height {
            format!("use --resample {w} of convert")
        } else if size.iter().all(|side| *side >= step + shared) {
            let [w, h] = sides(|side, step| side / step);
            format!("use --crop {w}x{h}+0+0 of convert")
        } else {
            format!("crop it to a square, and use --resample {} of convert", step + shared)
        };
        Err(Error::param(format!(
            "{width}x{height} samples: {} takes {rule}; the nearest is {w}x{h}: choose that size, \
             or {how}",
            self.name()
        )))
    }
}

impl std::str::FromStr for Engine {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|engine| engine.name() == text);
        found.ok_or_else(|| unknown("program", text, Self::names().into_iter()).into())
    }
}
