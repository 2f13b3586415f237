//! A Landscape of Unreal Engine, and a script for its editor.

use super::{Made, Map, MapFormat, Part, Result, Splines, cm, rounded, sea, shores};
use crate::engine::UNREAL_TILE;

impl Made<'_> {
    /// A Landscape of Unreal Engine, whole or as tiles of World Partition.
    pub(super) fn unreal(&mut self, tiled: bool) -> Result<()> {
        let land = self.land;
        let map = self.land.height;
        let (low, high) = self.range;
        let spacing_m = self.land.height.spacing_m;
        let land_stem = self.land_stem.clone();
        let stem = self.out.stem.to_string();
        let parts = unreal_parts(map, tiled);
        for part in &parts {
            let name = if tiled { &stem } else { &land_stem };
            let file = format!("{name}{}.r16", part.name);
            let heights = map.crop(part.at, part.size)?;
            self.out.sixteen(&file, &heights, MapFormat::R16, (low, high))?;
        }
        if tiled {
            self.say(format!(
                "Tiles of {UNREAL_TILE} x {UNREAL_TILE} vertices, which share no edge. \
                 Pick any of them; the others are found, and so are those of a weight."
            ));
        }
        self.say("Landscape mode, Manage, New, Import from File.".into());
        // A level is Z scale / 128 centimetres, and level 32768 is at the location.
        let z = (high - low) * 100.0 * 128.0 / 65535.0;
        // Level 0 is 32768 levels below the location, which are 256 times the scale.
        self.say(format!("Location Z: {} (centimetres)", rounded(low * 100.0 + 256.0 * z)));
        self.say(format!("Scale X and Y: {}, Z: {}", rounded(spacing_m * 100.0), rounded(z)));
        self.say(sea(land, |m| format!("Water at Z = {} (centimetres)", rounded(m * 100.0))));
        self.lakes("centimetres from the corner of the landscape", |[x, y, z]| {
            format!("X {}, Y {}, Z {}", cm(x), cm(y), cm(z))
        });
        let rivers = self.rivers(Splines::Unreal, "points of splines for a Water Body River each");
        self.things(
            "centimetres from the corner of the landscape, and Yaw",
            |metres| metres.map(|m| m * 100.0),
            |clockwise| clockwise,
        );
        for part in &parts {
            self.out.weights(land, part)?;
        }
        self.out.normals(map, true)?;
        self.say("Normal map: DirectX (green down).".into());
        self.unreal_script(
            [rounded(spacing_m * 100.0), rounded(z)],
            rounded(low * 100.0 + 256.0 * z),
            rivers.unwrap_or_default(),
        )
    }

    /// A script for Unreal's Python that sets what the text says.
    fn unreal_script(
        &mut self,
        [across, up]: [f64; 2],
        location: f64,
        rivers: String,
    ) -> Result<()> {
        let stem = self.out.stem;
        let things =
            self.land.things.iter().map(|(name, _)| (name.clone(), self.table(name).into()));
        let things: serde_json::Map<String, serde_json::Value> = things.collect();
        let water = self.land.water;
        let lakes = water.map_or(vec![], |water| shores(water, self.land.height.spacing_m));
        let lakes: Vec<[f64; 3]> = lakes.into_iter().map(|(at, _)| at.map(cm)).collect();
        let land = serde_json::json!({
            "heights": self.out.files.first().map(|(name, _)| name),
            "location": [0.0, 0.0, location], "scale": [across, across, up],
            "things": things, "rivers": rivers, "lakes": lakes,
        });
        let text = format!(
            "\"\"\"Sets the landscape {stem} as README.txt says, with what stands on it.\n\n\
             Import the heights first. Then: Tools, Execute Python Script. (Plugins: Python Editor \
             Script Plugin.)\n\"\"\"\n\nLAND = {land:#}{}",
            include_str!("unreal_import.py")
        );
        self.say(
            "Then Tools, Execute Python Script: import.py sets these numbers, and more.".into(),
        );
        self.out.files.push(("import.py".into(), text.into_bytes()));
        Ok(())
    }
}

/// The tiles of World Partition, or all in one.
fn unreal_parts(map: &Map, tiled: bool) -> Vec<Part> {
    if !tiled {
        return vec![Part::whole(map)];
    }
    let [columns, rows] = [map.width, map.height].map(|side| side / UNREAL_TILE);
    let tile = |column: u32, row: u32| Part {
        name: format!("_x{column}_y{row}"),
        at: [column * UNREAL_TILE, row * UNREAL_TILE],
        size: [UNREAL_TILE; 2],
    };
    (0..rows).flat_map(|row| (0..columns).map(move |column| tile(column, row))).collect()
}
