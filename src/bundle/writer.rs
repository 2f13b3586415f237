//! The files of a bundle, one after another.

use super::sink::Sink;
use super::{
    ENCODED_AT_ONCE, PREVIEW, encode_field, entries, entry, known_range, texture, weights,
};
use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::field::{self};
use crate::io::engine::{Engine, Land, Things};
use crate::io::points;
use crate::io::{Encoded, MapFormat, Stored, encode_layers, encode_picture};
use crate::job::{Event, Job, Outcome};
use crate::map::{Georef, Map};
use crate::materials;
use crate::recipe::Output;
use image::RgbaImage;
use rayon::prelude::*;
use serde_json::json;
use std::path::Path;

/// A bundle being stored.
pub(super) struct Writer<'a> {
    pub(super) job: &'a Job,
    pub(super) outcome: &'a Outcome,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) files: Vec<Stored>,
    pub(super) quantised: Vec<(String, (f64, f64))>,
    pub(super) encoding_seconds: f64,
}

/// A map of a bundle as the bytes of its file, and its entry in the manifest.
struct EncodedMap {
    pub(super) entry: serde_json::Value,
    encoded: Encoded,
    /// How many cells hold the highest or lowest value that they can.
    stopped: usize,
}

impl EncodedMap {
    pub(super) fn of(outcome: &Outcome, name: &str, palette: &[[u8; 3]]) -> Result<Self> {
        let output = &outcome.recipe.output;
        let map = outcome.map(name)?;
        let field =
            field::find(name).ok_or_else(|| Error::param(format!("{name:?}: no such map")))?;
        let file = output.file_of(name);
        let format = MapFormat::from_path(Path::new(&file))?;
        let encoded =
            encode_field(field, &map, format, palette, output.range_m, outcome.missing())?;
        let (min, max) = known_range(&map, outcome.missing());
        let mut entry = json!({
            "name": name, "file": file, "unit": field.unit, "bytes": null, "blake3": null,
            "min": min, "max": max,
        });
        if let Some((low, high)) = encoded.quantised {
            entry["quantised"] = json!([low, high]);
        }
        entry["words_blake3"] = json!(outcome.digest(name)?);
        Ok(Self { entry, encoded, stopped: outcome.stopped(name)? })
    }
}

impl Writer<'_> {
    /// Stores the maps and the preview, if the recipe has one, and returns the maps' entries in the
    /// manifest.
    pub(super) fn maps_and_preview(
        &mut self,
        warnings: &mut Vec<String>,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Vec<serde_json::Value>> {
        let outcome = self.outcome;
        let output = &outcome.recipe.output;
        let palette = outcome.palette()?;
        let encode = |names: &[String]| -> Vec<Result<EncodedMap>> {
            names.par_iter().map(|name| EncodedMap::of(outcome, name, &palette)).collect()
        };
        let mut batches = output.maps.chunks(ENCODED_AT_ONCE);
        let first = batches.next().unwrap_or_default();
        let draw = || output.preview.then(|| encode_picture(outcome.picture()?)).transpose();
        let encoding = Moment::now();
        let (preview, maps) = rayon::join(draw, || encode(first));
        self.encoding_seconds += encoding.elapsed().as_secs_f64();
        let mut entries = self.put_maps(maps, warnings, watch)?;
        for names in batches {
            self.job.cancel_handle().check()?;
            let encoding = Moment::now();
            let maps = encode(names);
            self.encoding_seconds += encoding.elapsed().as_secs_f64();
            entries.extend(self.put_maps(maps, warnings, watch)?);
        }
        if let Some(bytes) = preview? {
            self.files.push(self.sink.put(PREVIEW, &bytes)?);
        }
        Ok(entries)
    }

    /// Stores encoded maps and returns their entries in the manifest.
    fn put_maps(
        &mut self,
        maps: Vec<Result<EncodedMap>>,
        warnings: &mut Vec<String>,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Vec<serde_json::Value>> {
        let mut entries = vec![];
        for map in maps {
            self.job.cancel_handle().check()?;
            let EncodedMap {
                entry,
                encoded: Encoded { bytes, quantised, warnings: more },
                stopped,
            } = map?;
            let name = entry["name"].as_str().unwrap_or_default().to_string();
            for warning in more {
                // What holds for all maps is said of the first.
                if warnings.iter().any(|known| known.ends_with(&warning)) {
                    continue;
                }
                let warning = format!("{name}: {warning}");
                watch(Event::Warning(&warning))?;
                warnings.push(warning);
            }
            let file = self.sink.put(entry["file"].as_str().unwrap_or_default(), &bytes)?;
            let mut entry = self::entry(entry, &file);
            if let Some(range) = quantised {
                self.quantised.push((name.clone(), range));
            }
            if stopped > 0 {
                entry["stopped_cells"] = json!(stopped);
                let warning = format!(
                    "{name}: {stopped} cells are at the highest or lowest value that the map can \
                     hold; their true values may lie beyond"
                );
                watch(Event::Warning(&warning))?;
                warnings.push(warning);
            }
            entries.push(entry);
            self.files.push(file);
        }
        Ok(entries)
    }

    /// Stores the textures of biomes and returns their entries in the manifest.
    pub(super) fn textures(&mut self) -> Result<Vec<serde_json::Value>> {
        let mut entries = vec![];
        for (n, map) in self.outcome.textures.iter().enumerate() {
            self.job.cancel_handle().check()?;
            let name = texture(n + 1);
            let picture = RgbaImage::from_raw(map.width, map.height, map.rgba.clone());
            let picture = picture.ok_or_else(|| {
                Error::param(format!("{name}: too few bytes for {}x{}", map.width, map.height))
            })?;
            let file = self.sink.put(&name, &encode_picture(picture)?)?;
            entries.push(entry(json!({ "file": name, "biomes": map.biomes }), &file));
            self.files.push(file);
        }
        Ok(entries)
    }

    /// Stores the weights of all biomes and adds their entry to the manifest, if the recipe asks
    /// for them.
    pub(super) fn weights(&mut self, manifest: &mut serde_json::Value) -> Result<()> {
        let (Some(format), Some(all)) = (self.outcome.recipe.weights(), &self.outcome.weights)
        else {
            return Ok(());
        };
        self.job.cancel_handle().check()?;
        let encoding = Moment::now();
        let name = weights(format);
        let format = MapFormat::from_path(Path::new(&name))?;
        let bytes = encode_layers([all.width, all.height], &all.biomes, &all.values, format)?;
        self.encoding_seconds += encoding.elapsed().as_secs_f64();
        let file = self.sink.put(&name, &bytes)?;
        let about = json!({ "file": name, "biomes": all.biomes, "total": 65535 });
        manifest["weights"] = entry(about, &file);
        self.files.push(file);
        Ok(())
    }

    /// Stores the files of rivers, lakes, basins and points, and of splines, and adds them to the
    /// manifest, if the recipe asks for them.
    pub(super) fn vectors(
        &mut self,
        manifest: &mut serde_json::Value,
        warnings: &mut Vec<String>,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        let settings = self.outcome.recipe.water.as_ref().filter(|water| water.has_vectors());
        let (Some(settings), Some(vectors)) = (settings, &self.outcome.vectors) else {
            return Ok(());
        };
        let encoding = Moment::now();
        let map = self.outcome.map("height")?;
        let mut files = vec![];
        for format in &settings.vectors {
            self.job.cancel_handle().check()?;
            files.extend(crate::io::vector::encode(vectors, &map, *format)?);
        }
        files.extend(
            settings
                .splines
                .iter()
                .map(|program| crate::io::splines::encode(vectors, &map, *program)),
        );
        let unnamed = |g: &&Georef| {
            g.epsg.is_none() && g.keys.is_some() && crate::io::crs::system(g).is_none()
        };
        if let Some(georef) = map.georef.as_ref().filter(unnamed) {
            let name = georef.name().unwrap_or_else(|| "which has no name".into());
            let warning = format!(
                "the coordinate system, {name}, has no code, and its text does not follow from the \
                 keys of the GeoTIFF; so files of rivers do not \
                 name it; it is that of the maps"
            );
            watch(Event::Warning(&warning))?;
            warnings.push(warning);
        }
        self.encoding_seconds += encoding.elapsed().as_secs_f64();
        let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
        let stored = self.sink.put_all(files)?;
        manifest["vectors"] = entries(&names, &stored);
        self.files.extend(stored);
        Ok(())
    }

    /// Stores the files of things on the land and adds them to the manifest. Says where the things
    /// of each table stand.
    pub(super) fn scatter(&mut self, manifest: &mut serde_json::Value) -> Result<Vec<Things>> {
        let mut all = vec![];
        let mut entries = vec![];
        for (nth, things) in self.outcome.recipe.scatter.iter().enumerate() {
            let cancel = self.job.cancel_handle();
            cancel.check()?;
            let height = self.outcome.map("height")?;
            let found = self.outcome.things(nth, cancel.flag())?;
            let names = self.outcome.recipe.biome_names();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let origin = self.outcome.window.origin;
            for (name, format) in things.files() {
                let land = points::Ground { map: &height, origin, biomes: &names };
                let bytes = points::encode(&found, &land, things.shape(), format)?;
                let file = self.sink.put(&name, &bytes)?;
                let about = json!({ "name": things.name, "file": name, "things": found.len() });
                entries.push(entry(about, &file));
                self.files.push(file);
            }
            // Only a program needs them later.
            if self.outcome.recipe.output.program.is_some() {
                all.push((things.name.clone(), found));
            }
        }
        if !entries.is_empty() {
            manifest["scatter"] = entries.into();
        }
        Ok(all)
    }

    /// Stores the dungeons and adds their entries to the manifest.
    #[cfg(feature = "dungeon")]
    pub(super) fn dungeons(&mut self, manifest: &mut serde_json::Value) -> Result<()> {
        use crate::dungeon::placed::Entrance;
        use crate::dungeon::rooms::Rooms;
        use crate::io::dungeon::{DungeonFormat, TILESET, encode, tileset};
        use rayon::prelude::*;

        let Some(placing) = &self.outcome.recipe.dungeons else { return Ok(()) };
        let format = DungeonFormat::from_path(Path::new(&format!("x.{}", placing.format)))?;
        let named = |e: &Entrance| format!("dungeon_x{}_y{}.{}", e.x, e.y, placing.format);
        // Where entrances lie is known only now, so files in the way are refused here.
        self.sink.announce(&self.outcome.entrances.iter().map(named).collect::<Vec<_>>())?;
        let mut entries = vec![];
        // In portions, so that not all files lie in memory, and a run can be cancelled in between.
        for entrances in self.outcome.entrances.chunks(256) {
            self.job.cancel_handle().check()?;
            let make = |e: &Entrance| {
                Ok((named(e), encode(&placing.generator.make(e.seed, Rooms::standard())?, format)?))
            };
            let encoded = entrances.par_iter().map(make).collect::<Result<Vec<_>>>()?;
            let stored = self.sink.put_all(encoded)?;
            for (entrance, file) in entrances.iter().zip(&stored) {
                let height_m = self.outcome.scale.to_metres(&[entrance.height])[0];
                let about = json!({
                    "x": entrance.x, "y": entrance.y, "height_m": height_m,
                    "seed": entrance.seed, "file": named(entrance),
                });
                entries.push(entry(about, file));
            }
            self.files.extend(stored);
        }
        manifest["dungeons"] = entries.into();
        if format.needs_tileset() && !self.outcome.entrances.is_empty() {
            self.files.push(self.sink.put(TILESET, &encode_picture(tileset())?)?);
            manifest["tileset"] = TILESET.into();
        }
        Ok(())
    }
}

impl Writer<'_> {
    /// Stores the files for a program, in a folder of its name, and adds them to the manifest.
    pub(super) fn program(
        &mut self,
        engine: Engine,
        things: &[Things],
        manifest: &mut serde_json::Value,
        warnings: &mut Vec<String>,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        self.job.cancel_handle().check()?;
        let encoding = Moment::now();
        let outcome = self.outcome;
        let Output { maps: names, range_m, sea_level_m, .. } = &outcome.recipe.output;
        let height = outcome.map("height")?;
        let others: Vec<&String> = names.iter().filter(|name| *name != "height").collect();
        let maps = others.iter().map(|name| outcome.map(name)).collect::<Result<Vec<_>>>()?;
        let layers: Vec<(&str, &Map)> =
            others.iter().map(|name| name.as_str()).zip(&maps).collect();
        // What the ground is made of, or its biomes.
        let materials: Option<Vec<&[i32]>> =
            materials::NAMES.iter().map(|name| outcome.words(name).ok()).collect();
        let made =
            materials.and_then(|all| Some(materials::textures(all.as_slice().try_into().ok()?)));
        let names = materials::NAMES.map(String::from);
        let textures: Vec<(&[String], &[u8])> = match &made {
            Some(made) => {
                names.chunks(4).zip(made).map(|(names, rgba)| (names, &rgba[..])).collect()
            }
            None => outcome.textures.iter().map(|t| (&t.biomes[..], &t.rgba[..])).collect(),
        };
        let picture = (engine == Engine::Web).then(|| outcome.picture()).transpose()?;
        let land = Land {
            height: &height,
            range_m: *range_m,
            sea_level_m: *sea_level_m,
            textures: &textures,
            water: outcome.vectors.as_ref(),
            layers: &layers,
            origin: outcome.window.origin,
            things,
            picture: picture.as_ref(),
        };
        let (files, more) = engine.export(&outcome.recipe.name, &land)?;
        self.encoding_seconds += encoding.elapsed().as_secs_f64();
        for warning in more {
            let warning = format!("{}: {warning}", engine.name());
            watch(Event::Warning(&warning))?;
            warnings.push(warning);
        }
        let files: Vec<_> = files
            .into_iter()
            .map(|(name, bytes)| (format!("{}/{name}", engine.name()), bytes))
            .collect();
        let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
        // Which files these are is known only now, so those in the way are refused here.
        self.sink.announce(&names)?;
        let stored = self.sink.put_all(files)?;
        manifest["program"] = json!({ "name": engine.name(), "files": entries(&names, &stored) });
        self.files.extend(stored);
        Ok(())
    }
}
