//! Makes dungeons by settings that come from outside.
#![no_main]

use thalweg::api::dungeon::written;

const FORMATS: [&str; 8] = ["json", "txt", "svg", "png", "tmj", "ldtk", "steps", "x"];

thalweg_fuzz::target!(512, |data| {
    let Some((format, settings)) = data.split_first() else { return };
    // Large ones take long.
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(settings) {
        let many = |key: &str| value[key].as_f64().is_some_and(|count| count.abs() > 100.0);
        if ["room_count", "level"].into_iter().any(many) {
            return;
        }
    }
    if let Err(problem) = written(settings, FORMATS[usize::from(*format) % FORMATS.len()]) {
        assert!((400..500).contains(&problem.status), "an error of the client: {problem:?}");
    }
});
