//! A Terrain of Unity, whole or in tiles that are neighbours, and a script for its editor.

use super::{Made, Map, Part, RIVERS, Result, rounded, sea};
use crate::engine::UNITY_TILE;

/// Levels of a height in a `.raw`, by which Unity's import divides.
const LEVELS: f64 = 65536.0;

impl Made<'_> {
    /// One terrain; or `tiled`, several that share their edges.
    pub(super) fn unity(&mut self, tiled: bool) -> Result<()> {
        let map = self.land.height;
        let (low, high) = self.range;
        let [across, down] = self.extent();
        let parts = self.unity_parts(tiled);
        self.warn_beyond();
        for part in &parts {
            let heights = raw(&map.crop(part.at, part.size)?, self.range);
            self.out.files.push((self.unity_heights(part, tiled), heights));
        }
        let [wide, deep] = parts[0].size.map(|side| f64::from(side - 1) * map.spacing_m);
        if tiled {
            self.say(format!(
                "Tiles of {} x {} samples, which share their edges: x counts to the east, z to the \
                 north.",
                parts[0].size[0], parts[0].size[1]
            ));
            self.say(format!(
                "Position of the terrain xI_zJ: X I * {}, Z J * {}. Group ID the same for all, \
                 Auto Connect on.",
                rounded(wide),
                rounded(deep)
            ));
        }
        self.say(
            "Put this folder into Assets. Then Tools, thalweg: a script does the rest.".into(),
        );
        self.say(
            "Or: Terrain, Terrain Settings, Import Raw: Depth 16 bit, Byte Order Windows, Flip \
             Vertically off."
                .into(),
        );
        self.say(format!("Resolution: {}", parts[0].size[0]));
        let [wide, tall, deep] = [wide, high - low, deep].map(rounded);
        self.say(format!("Terrain Size: X {wide}, Y {tall}, Z {deep}"));
        self.say(format!("Position Y: {}", rounded(low)));
        self.say(sea(self.land, |m| format!("Water at Y = {}", rounded(m))));
        let from = "from the south-west corner";
        self.lakes(from, |[x, y, z]| {
            format!("X {}, Y {}, Z {}", rounded(x), rounded(z), rounded(down - y))
        });
        let has_rivers = self.river_table(&format!("{from}, y up"), |[x, y, z]| [x, z, down - y]);
        self.things(
            &format!("{from}, y up, and the rotation about Y"),
            |[x, y, z]| [x, z, down - y],
            |clockwise| clockwise,
        );
        for part in &parts {
            self.out.splats(self.land, part)?;
        }
        self.out.normals(map, false)?;
        self.say("Normal map: OpenGL (green up).".into());
        self.unity_script(&parts, tiled, across, has_rivers)
    }

    /// The tiles from the south-west on, by rows; or all in one.
    fn unity_parts(&self, tiled: bool) -> Vec<Part> {
        let map = self.land.height;
        if !tiled {
            return vec![Part::whole(map)];
        }
        let step = UNITY_TILE - 1;
        let [columns, rows] = [map.width, map.height].map(|side| (side - 1) / step);
        let tile = |column: u32, row: u32| Part {
            name: format!("_x{column}_z{row}"),
            at: [column * step, map.height - 1 - (row + 1) * step],
            size: [UNITY_TILE; 2],
        };
        (0..rows).flat_map(|row| (0..columns).map(move |column| tile(column, row))).collect()
    }

    fn unity_heights(&self, part: &Part, tiled: bool) -> String {
        let stem = if tiled { self.out.stem } else { &self.land_stem };
        format!("{stem}{}.raw", part.name)
    }

    /// Says how many heights a terrain cannot have.
    fn warn_beyond(&mut self) {
        let (low, high) = self.range;
        let beyond = |h: &&f32| !(low..=high).contains(&f64::from(**h));
        let count = self.land.height.data.iter().filter(beyond).count();
        if count > 0 {
            self.out.warnings.push(format!(
                "{count} heights lie beyond {low} to {high} m and were cut off there"
            ));
        }
    }

    /// A script for Unity's editor that makes the terrains which the text describes.
    fn unity_script(
        &mut self,
        parts: &[Part],
        tiled: bool,
        across: f64,
        has_rivers: bool,
    ) -> Result<()> {
        let map = self.land.height;
        let (low, high) = self.range;
        let step = parts[0].size.map(|side| f64::from(side - 1) * map.spacing_m);
        let columns = if tiled { (across / step[0]).round() as usize } else { 1 };
        let list = |items: Vec<String>| items.join(", ");
        let tiles = parts.iter().enumerate().map(|(i, part)| {
            let splats = (1..=self.land.textures.len())
                .map(|n| text(&self.out.splat(part, n)))
                .collect::<Vec<_>>();
            format!(
                "new Tile {{ X = {}, Z = {}, Heights = {}, Splats = new string[] {{ {} }} }}",
                i % columns,
                i / columns,
                text(&self.unity_heights(part, tiled)),
                list(splats)
            )
        });
        let layers = self.land.textures.iter().flat_map(|(names, _)| *names).enumerate();
        let layers = layers.map(|(n, name)| text(&format!("{n}_{}", ascii(name))));
        // Lands of one name are told apart by what they are.
        let mut digest = blake3::Hasher::new();
        for (_, bytes) in &self.out.files {
            digest.update(bytes);
        }
        let id = &digest.finalize().to_hex()[..8];
        let things =
            self.land.things.iter().map(|(name, _)| {
                format!("new[] {{ {}, {} }}", text(name), text(&self.table(name)))
            });
        let replaced = [
            ("STEM", self.out.stem.to_string()),
            ("ID", id.to_string()),
            ("CLASS", format!("Import_{}_{id}", ascii(self.out.stem).replace('-', "_"))),
            ("SAMPLES", parts[0].size[0].to_string()),
            ("SIZE", [step[0], high - low, step[1]].map(|m| format!("{}f", m as f32)).join(", ")),
            ("BOTTOM", format!("{}f", low as f32)),
            ("TILES", tiles.collect::<Vec<_>>().join(",\n        ")),
            ("LAYERS", list(layers.collect())),
            ("THINGS", list(things.collect())),
            ("RIVERS", text(if has_rivers { RIVERS } else { "" })),
        ];
        // In one go, since a name may look like a place that is to be filled.
        let filled = |part: &str| {
            let found = replaced.iter().find(|(name, _)| *name == part);
            found.map_or(part, |(_, value)| value.as_str()).to_string()
        };
        let script: String = include_str!("unity_import.cs").split('@').map(filled).collect();
        self.out.files.push(("Import.cs".into(), script.into_bytes()));
        Ok(())
    }
}

/// Rows from the south, of levels of 16 bits.
fn raw(map: &Map, (low, high): (f64, f64)) -> Vec<u8> {
    // The top of the range takes the level below it.
    let level = |h: &f32| {
        ((f64::from(*h) - low) / (high - low) * LEVELS).round().clamp(0.0, LEVELS - 1.0) as u16
    };
    let rows = map.data.chunks(map.width as usize).rev();
    rows.flat_map(|row| row.iter().flat_map(|h| level(h).to_le_bytes())).collect()
}

/// A text of C#, which ends a line where JSON does not.
fn text(value: &str) -> String {
    let text = serde_json::Value::from(value).to_string();
    let ends = [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    ends.into_iter().fold(text, |text, (end, escape)| text.replace(end, escape))
}

/// Letters, digits and hyphens that every file system and language takes.
fn ascii(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(plain).collect()
}
