//! Dungeons, and the steps in which they are made.

use super::problem::{Answer, Problem};
use crate::dungeon::rooms::Rooms;
use crate::dungeon::{Mark, Step};
use crate::io::dungeon::{DungeonFormat, encode};
use crate::recipe::Recipe;
use serde_json::{Value, json};
use std::path::Path;

/// A dungeon by its settings as JSON, in a format by its extension, or as `steps`: the media type
/// and the bytes.
///
/// # Errors
/// What is wrong with the settings, and a format that there is not.
pub fn written(settings: &[u8], format: &str) -> Answer<(&'static str, Vec<u8>)> {
    let text = std::str::from_utf8(settings)
        .map_err(|_| Problem::bad("not UTF-8 text: a dungeon is JSON"))?;
    let (generator, seed) = crate::recipe::dungeon(&Recipe::value_of_json(text)?)?;
    let rooms = Rooms::standard();
    if format == "steps" {
        let mut steps = vec![];
        generator.make_step_by_step(seed, rooms, &mut |step| steps.extend(told(&step)))?;
        return Ok(("application/json", Value::from(steps).to_string().into_bytes()));
    }
    let name = format!("dungeon.{format}");
    let format = DungeonFormat::from_path(Path::new(&name))?;
    let made = encode(&generator.make(seed, rooms)?, format)?;
    Ok((super::media_type(&name), made))
}

/// A step of making a dungeon, unless it has corridors, which the dungeon has too.
fn told(step: &Step) -> Option<Value> {
    let name = |mark: &Mark| match mark {
        Mark::Faint => json!("faint"),
        Mark::Now => json!("now"),
        Mark::Refused => json!("refused"),
        Mark::Role(role) => json!(role),
        Mark::Corridor => json!("corridor"),
        Mark::Cell => json!("cell"),
        Mark::Triangulation => json!("triangulation"),
        Mark::Tree => json!("tree"),
        Mark::Extra => json!("extra"),
    };
    let boxes: Vec<Value> = step
        .boxes
        .iter()
        .map(|(r, mark)| json!([r.x, r.y, r.width, r.height, name(mark)]))
        .collect();
    let lines: Vec<Value> =
        step.lines.iter().map(|(a, b, mark)| json!([a[0], a[1], b[0], b[1], name(mark)])).collect();
    let corridors = step.boxes.iter().any(|(_, mark)| *mark == Mark::Corridor);
    (!corridors).then(|| json!({ "what": step.what, "boxes": boxes, "lines": lines }))
}
