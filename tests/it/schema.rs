//! The schema of recipes takes what the program takes, but for what it says that it cannot.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use thalweg::arith::mix;
use thalweg::recipe::{EXAMPLES, Input, RELATIONS, Recipe};
use thalweg::{Error, Job};

/// Numbers that are the same every time. `THALWEG_SOAK=CASES` draws others, and that many.
struct Draw {
    seed: u32,
    count: u32,
}

impl Draw {
    fn word(&mut self) -> u32 {
        self.count += 1;
        mix(self.seed ^ mix(self.count))
    }

    fn below(&mut self, n: usize) -> usize {
        self.word() as usize % n.max(1)
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Whether something happens that does so in this many of a hundred cases.
    fn happens(&mut self, percent: u32) -> bool {
        self.word() % 100 < percent
    }

    fn unit(&mut self) -> f64 {
        f64::from(self.word()) / 4_294_967_296.0
    }
}

/// A value that a schema takes, as far as its own keys say it, without `allOf`.
fn drawn(draw: &mut Draw, schema: &Value, root: &Value) -> Value {
    if let Some(place) = schema["$ref"].as_str() {
        return drawn(draw, root.pointer(&place[1..]).unwrap(), root);
    }
    if !schema["const"].is_null() {
        return schema["const"].clone();
    }
    if let Some(all) = schema["enum"].as_array() {
        return draw.one(all).clone();
    }
    if let Some(all) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        // What is usual is near what goes with other settings, and that stands on top.
        let usual = schema["default"].clone();
        if !usual.is_null() && draw.happens(50) {
            return usual;
        }
        let first = all.len() > 1 && all[0]["properties"].is_null() && draw.happens(60);
        let chosen = if first { &all[0] } else { draw.one(all) };
        return drawn(draw, chosen, root);
    }
    let bound = |key: &str| schema[key].as_f64();
    match schema["type"].as_str() {
        Some("boolean") => draw.happens(50).into(),
        Some("string") => {
            let least = schema["minLength"].as_u64().unwrap_or(0);
            match schema["pattern"].as_str() {
                Some(pattern) if pattern.starts_with("^#") => {
                    format!("#{:06x}", draw.word() >> 8).into()
                }
                Some(pattern) if pattern.contains("0*") => draw.word().to_string().into(),
                Some(pattern) if pattern.starts_with("^[A-Z") => draw.word().to_string().into(),
                _ if least == 0 && draw.happens(50) => "".into(),
                _ => (*draw.one(&["forest", "plains", "picture.png", "x"])).into(),
            }
        }
        Some(kind @ ("number" | "integer")) => {
            if draw.happens(50) && schema["default"].is_number() {
                return schema["default"].clone();
            }
            let low = bound("minimum").or(bound("exclusiveMinimum")).unwrap_or(-100.0);
            let high = bound("maximum").unwrap_or(1e4);
            let value = match draw.below(8) {
                0 if bound("exclusiveMinimum").is_none() => low,
                1 => high,
                // Near the lower end, or near 0.
                _ => (low.max(-10.0) + draw.unit() * 10f64.powf(draw.unit() * 4.0 - 1.0))
                    .clamp(low, high),
            };
            match kind {
                "integer" if draw.happens(20) => value.round().into(),
                "integer" if value >= 9e18 => u64::MAX.into(),
                "integer" => (value.round() as i64).into(),
                _ => value.into(),
            }
        }
        Some("array") => {
            let items = &schema["items"];
            let first = schema["prefixItems"].as_array().cloned().unwrap_or_default();
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let most = schema["maxItems"].as_u64().unwrap_or(3).min(least as u64 + 3) as usize;
            let count = least + draw.below(most.max(least) - least + 1);
            let mut list: Vec<Value> = vec![];
            for i in 0..count {
                let value = drawn(draw, first.get(i).unwrap_or(items), root);
                if schema["uniqueItems"] != true || !list.contains(&value) {
                    list.push(value);
                }
            }
            list.into()
        }
        Some("object") => {
            let mut object = Map::new();
            let required: Vec<&str> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            for (key, value) in schema["properties"].as_object().into_iter().flatten() {
                if required.contains(&key.as_str()) || draw.happens(20) {
                    object.insert(key.clone(), drawn(draw, value, root));
                }
            }
            if schema["additionalProperties"].is_object() && draw.happens(30) {
                let name = drawn(draw, &schema["propertyNames"], root);
                object.insert(
                    name.as_str().unwrap().into(),
                    drawn(draw, &schema["additionalProperties"], root),
                );
            }
            object.into()
        }
        _ => json!(0),
    }
}

/// A recipe that the schema may take: most of the time one whose parts fit each other.
fn recipe(draw: &mut Draw, schema: &Value, input: &str) -> Value {
    let mut recipe = drawn(draw, schema, schema);
    let top = recipe.as_object_mut().unwrap();
    let kinds = schema["$defs"]["stage"]["oneOf"].as_array().unwrap();
    let makes = |kind: &&Value| !kind["properties"]["combine"].is_null();
    let makers: Vec<&Value> =
        kinds.iter().filter(|kind| makes(kind) && kind["properties"]["mask"].is_object()).collect();
    let mut stages = vec![];
    if draw.happens(80) {
        for (key, value) in [
            ("width", json!(200 + draw.below(200))),
            ("height", json!(200)),
            ("spacing_m", json!(20)),
        ] {
            top.insert(key.into(), value);
        }
        ["input", "range_m", "nodata_m", "band"].iter().for_each(|key| drop(top.remove(*key)));
        let maker = *draw.one(&makers);
        stages.push(drawn(draw, maker, schema));
        ["combine", "mask"]
            .iter()
            .for_each(|key| drop(stages[0].as_object_mut().unwrap().remove(*key)));
    } else if draw.happens(50) {
        ["width", "height"].iter().for_each(|key| drop(top.remove(*key)));
    }
    for _ in 0..draw.below(4) {
        let kind = draw.one(kinds);
        stages.push(drawn(draw, kind, schema));
    }
    top.insert("stage".into(), stages.into());
    for (key, percent) in [("endless", 90), ("scale", 80), ("dungeons", 60), ("margin_cells", 50)] {
        if draw.happens(percent) {
            top.remove(key);
        }
    }
    if draw.happens(60) {
        top.insert("levels".into(), json!("auto"));
    }
    if top.contains_key("input") {
        top.insert("input".into(), input.into());
    }
    recipe
}

/// What the program says of a recipe. Files that are missing are no fault of it.
fn verdict(value: &Value, folder: &Path) -> Result<(), Error> {
    let recipe = Recipe::from_json(&value.to_string(), folder, "drawn")?;
    let job = match &recipe.input {
        None => return Ok(()),
        Some(Input::Memory) => Job::with_heights(recipe, &super::common::hills(64, 48)),
        Some(Input::File { path, .. }) if path.ends_with("land.npy") => Job::read(recipe),
        Some(Input::File { .. }) => return Ok(()),
    };
    match job {
        Ok(_) | Err(Error::Input { .. }) => Ok(()),
        Err(e) => Err(e),
    }
}

/// The pointer of an error about a value, where it leads neither to one of the recipe nor to a key
/// that a table of it lacks. What is no table at all has no pointer.
fn astray(recipe: &Value, error: &Error) -> Option<String> {
    let Some(pointer) = &error.invalid()?.pointer else {
        return recipe.is_object().then(|| "no pointer".into());
    };
    let table = pointer.rsplit_once('/').and_then(|(table, _)| recipe.pointer(table));
    let leads = recipe.pointer(pointer).is_some() || table.is_some_and(Value::is_object);
    (!leads).then(|| pointer.clone())
}

/// By what relation that a schema cannot say the program refuses a recipe: its name, and words of
/// its errors.
const WORDS: &[(&str, &[&str])] = &[
    (
        "arithmetic",
        &[
            "8000 cells",
            "the lower first",
            "the finest lattice",
            "lives of each particle",
            "rain · lifetime",
            "must differ",
            "allowed is a ",
            "it must not be",
            "stands at least as steep",
            "level grounds stay apart",
            "must not exceed",
            "least side is",
            "pixels",
            "tiles: allowed",
            "radius must be at least",
            "allowed up to the world's",
            "give a radius of",
            "with scale =",
            "at spacing_m",
            "m a cell",
            "two sides of the land",
            "too far from 0 m",
            "either way",
            "one for each of the",
            "a river runs downhill",
            "hold = true keeps the ground",
        ],
    ),
    (
        "names",
        &[
            "no such biome",
            "there are two called",
            "must have as many as row 1",
            "without a stage of kind",
        ],
    ),
    (
        "order",
        &[
            "no stage before this one makes",
            "wind moves loose sediment",
            "differs by level",
            "stands behind stage",
            "changes heights on them",
            "the last one makes",
            "must be a function of place",
        ],
    ),
    (
        "size",
        &[
            "every = ",
            "takes no step here",
            "pieces: allowed",
            "beyond which it shows",
            "points with this method",
            "nodes",
            "levels = ",
            "coarsest level",
            "multiple",
            "powers of two",
            "as large as",
            "samples",
        ],
    ),
];

fn relation(error: &Error) -> Option<&'static str> {
    let text = error.to_string();
    let named = WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|word| text.contains(word)))
        .map(|(name, _)| *name);
    named.or_else(|| matches!(error, Error::Limit(_)).then_some("work"))
}

/// A recipe with something else in one place.
fn mutated(draw: &mut Draw, recipe: &Value, words: &[String]) -> Value {
    let junk = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(2.0),
        json!(0.5),
        json!(3),
        json!(1e9),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1.8446744073709552e19),
        json!(""),
        json!("18446744073709551615"),
        json!("18446744073709551616"),
        json!("+007"),
        json!("a\u{7f}"),
        json!([]),
        json!({}),
        json!([1]),
        json!([1, 2.0]),
        json!({ "from": 2, "to": 1.0 }),
        json!({ "from": 1 }),
    ];
    let mut all = vec![];
    crate::common::places(recipe, String::new(), &mut all);
    let mut recipe = recipe.clone();
    let place = draw.one(&all).clone();
    let (parent, key) = place.rsplit_once('/').unwrap_or(("", ""));
    let word = draw.one(words).clone();
    let other = draw.one(&all).clone();
    let other = recipe.pointer(&other).cloned().unwrap();
    match draw.below(9) {
        0 | 1 if !place.is_empty() => match recipe.pointer_mut(parent).unwrap() {
            Value::Object(table) => drop(table.remove(key)),
            Value::Array(list) => drop(list.remove(key.parse().unwrap())),
            _ => unreachable!(),
        },
        2 => match recipe.pointer_mut(&place).unwrap() {
            Value::Object(table) => drop(table.insert(word, draw.one(&junk).clone())),
            Value::Array(list) => list.push(list.first().cloned().unwrap_or(json!(1))),
            at => *at = word.into(),
        },
        3 => *recipe.pointer_mut(&place).unwrap() = other,
        4 => *recipe.pointer_mut(&place).unwrap() = word.into(),
        5 | 6 => {
            let at = recipe.pointer_mut(&place).unwrap();
            match at.as_f64() {
                Some(v) => {
                    *at = json!(draw.one(&[
                        -v,
                        v * 1000.0,
                        v + 0.5,
                        v + 1.0,
                        v - 1.0,
                        v * 2.0,
                        v / 2.0
                    ]))
                }
                None => *at = draw.one(&junk).clone(),
            }
        }
        _ => *recipe.pointer_mut(&place).unwrap() = draw.one(&junk).clone(),
    }
    recipe
}

/// The schema and the program say the same of thousands of recipes, drawn from the schema and
/// changed in one place: P4. Where the program refuses what the schema takes, it is for one of the
/// few reasons that the schema's description lists.
#[test]
fn the_schema_takes_what_the_program_takes() {
    let soak: Option<u32> = std::env::var("THALWEG_SOAK").ok().map(|cases| cases.parse().unwrap());
    let seed = soak.map_or(1, |_| std::process::id());
    let mut draw = Draw { seed, count: 0 };
    let schema = Recipe::schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let folder = std::env::temp_dir().join(format!("thalweg-schema-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let land =
        thalweg::io::encode(&super::common::hills(64, 48), thalweg::io::MapFormat::Npy).unwrap().0;
    std::fs::write(folder.join("land.npy"), land).unwrap();
    // [taken by both, refused by both]
    let (mut agreed, mut beyond) = ([0u32; 2], BTreeMap::<&str, u32>::new());
    let mut faults: Vec<(String, String)> = vec![];
    let mut hold = |value: &Value| {
        let said = verdict(value, &folder);
        if let Some(pointer) = said.as_ref().err().and_then(|e| astray(value, e)) {
            let why = said.as_ref().unwrap_err();
            faults.push((format!("{pointer} leads nowhere: {why}"), value.to_string()));
        }
        match (validator.is_valid(value), said) {
            (true, Ok(())) => agreed[0] += 1,
            (false, Err(_)) => agreed[1] += 1,
            (false, Ok(())) => {
                let why: Vec<_> = validator
                    .iter_errors(value)
                    .map(|e| format!("{} {}", e.instance_path(), e.schema_path()))
                    .collect();
                faults.push((
                    format!("the program takes what the schema refuses: {why:?}"),
                    value.to_string(),
                ));
            }
            (true, Err(e)) => match relation(&e) {
                Some(name) => *beyond.entry(name).or_default() += 1,
                None => faults.push((
                    format!("the schema takes what the program refuses: {e}"),
                    value.to_string(),
                )),
            },
        }
        validator.is_valid(value)
    };
    let mut good: Vec<Value> = vec![];
    for (name, text) in EXAMPLES {
        let recipe = Recipe::from_toml(text, "", name).unwrap();
        let written: Value = toml::from_str(text).unwrap();
        for value in [recipe.describe(), written] {
            hold(&value);
            good.push(value);
        }
    }
    let cases = soak.unwrap_or(3000);
    for _ in 0..cases {
        let value = recipe(&mut draw, &schema, "land.npy");
        if hold(&value) {
            good.push(value);
        }
    }
    let mut words: Vec<String> = vec!["other".into()];
    let mut keys = vec![];
    crate::common::places(&json!(good), String::new(), &mut keys);
    for key in keys
        .iter()
        .filter_map(|place| place.rsplit('/').next())
        .filter(|key| key.parse::<usize>().is_err())
    {
        if !words.iter().any(|word| word == key) {
            words.push(key.into());
        }
    }
    let values = good.iter().flat_map(|value| {
        let mut all = vec![];
        crate::common::places(value, String::new(), &mut all);
        all.into_iter()
            .filter_map(|place| value.pointer(&place)?.as_str().map(String::from))
            .collect::<Vec<_>>()
    });
    for word in values.collect::<Vec<_>>() {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    for _ in 0..cases {
        let base = draw.one(&good).clone();
        hold(&mutated(&mut draw, &base, &words));
    }
    let kinds: std::collections::BTreeSet<String> =
        faults.iter().map(|(what, _)| what.chars().take(300).collect()).collect();
    let shown: Vec<_> = kinds.iter().take(60).collect();
    let first = faults.first().map(|(_, recipe)| recipe);
    println!(
        "taken by both and refused by both: {agreed:?}; refused by the program alone: {beyond:?}"
    );
    assert!(
        faults.is_empty(),
        "{} faults of {} kinds: {shown:#?}\nthe first: {first:?}",
        faults.len(),
        kinds.len()
    );
    assert!(agreed.iter().all(|count| *count > cases / 10), "{agreed:?}");
    let listed: Vec<&str> = WORDS.iter().map(|(name, _)| *name).chain(["work"]).collect();
    assert_eq!(listed, RELATIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let description = schema["description"].as_str().unwrap();
    for (name, text) in RELATIONS {
        assert!(description.contains(&format!("{name} ({text})")), "{name}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The schema has no stage between steps that cannot run there: P4.
#[test]
fn nested_stages_of_the_schema_are_those_that_nest() {
    let schema = Recipe::schema();
    let kinds = |place: &str| -> Vec<String> {
        let all = schema["$defs"][place]["oneOf"].as_array().unwrap();
        all.iter()
            .map(|kind| kind["properties"]["kind"]["const"].as_str().unwrap().to_string())
            .collect()
    };
    let nests = thalweg::stage::STAGES
        .iter()
        .filter(|stage| stage.can_interleave)
        .map(|stage| stage.name.to_string());
    assert_eq!(kinds("nested"), nests.collect::<Vec<_>>());
    assert_eq!(kinds("nested"), ["thermal", "coastal", "blur"]);
    assert_eq!(kinds("stage").len(), thalweg::stage::STAGES.len());
}
