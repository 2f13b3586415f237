//! Makes dungeons by settings that come from outside, and by furniture files.
#![no_main]

use std::path::Path;
use thalweg::api::dungeon::written;
use thalweg::dungeon::rooms::Rooms;
use thalweg::io::dungeon::{DungeonFormat, encode};
use thalweg_fuzz::text;

const FORMATS: [&str; 8] = ["json", "txt", "svg", "png", "tmj", "ldtk", "steps", "x"];

/// A floor of the third chapter, by a furniture file.
fn furnished(file: &str, format: &str) {
    let Ok(rooms) = Rooms::from_toml(file) else { return };
    let Ok(format) = DungeonFormat::from_path(Path::new(&format!("dungeon.{format}"))) else {
        return;
    };
    let settings = serde_json::json!({ "kind": "isaac", "level": 5 });
    let (generator, seed) = thalweg::recipe::dungeon(&settings).expect("settings are right");
    // Where no floor can be made, that is an error, too.
    if let Ok(dungeon) = generator.make(seed, &rooms) {
        encode(&dungeon, format).expect("a dungeon can be written");
    }
}

thalweg_fuzz::target!(512, |data| {
    let Some((format, settings)) = data.split_first() else { return };
    let format = FORMATS[usize::from(*format) % FORMATS.len()];
    if settings.first() != Some(&b'{') {
        return text(settings).map_or((), |file| furnished(file, format));
    }
    // Large ones take long.
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(settings) {
        let many = |key: &str| value[key].as_f64().is_some_and(|count| count.abs() > 100.0);
        if ["room_count", "level"].into_iter().any(many) {
            return;
        }
    }
    if let Err(problem) = written(settings, format) {
        assert!((400..500).contains(&problem.status), "an error of the client: {problem:?}");
    }
});
