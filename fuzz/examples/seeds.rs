//! Writes inputs to start from, a folder for each target, and the words of recipes for the
//! dictionaries: `seeds FOLDER-OF-CORPUSES FOLDER-OF-DICTIONARIES`.

use exr::prelude::{
    AnyChannel, AnyChannels, Blocks, Compression, Encoding, FlatSamples, Image, LineOrder, Vec2,
    WritableImage, f16,
};
use std::collections::BTreeSet;
use std::error::Error;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use thalweg::api::recipes::{Form, value};
use thalweg::api::request::Request;
use thalweg::dungeon::rooms::STANDARD;
use thalweg::image::{DynamicImage, GrayImage, ImageFormat, Luma, RgbImage};
use thalweg::io::{MapFormat, encode, encode_colours, encode_numbers, encode_picture, header};
use thalweg::map::Map;
use thalweg::recipe::EXAMPLES;
use thalweg::tiles::{Store, Tile, Tiles};
use thalweg::{Cpu, Device, Event, Job, Memory, Recipe};
use thalweg_fuzz::{KEY, RECIPE, SNAPSHOT, TILE, folder, unsealed};

type Done = Result<(), Box<dyn Error>>;

/// Where inputs go.
struct Seeds(PathBuf);

impl Seeds {
    fn put(&self, target: &str, name: &str, bytes: impl AsRef<[u8]>) -> Done {
        let folder = self.0.join(target);
        std::fs::create_dir_all(&folder)?;
        Ok(std::fs::write(folder.join(format!("seed-{name}")), bytes)?)
    }

    /// A file, behind four bytes for the options.
    fn file(&self, target: &str, name: &str, bytes: &[u8]) -> Done {
        self.put(target, name, [&[0; 4], bytes].concat())?;
        // A spacing, a range and a height for missing values.
        self.put(target, &format!("{name}-filled"), [&[0b10_0011, 0, 0, 0], bytes].concat())
    }
}

fn map(width: u32, height: u32) -> Map {
    let height_at = |i: u32| (i % width) as f32 * 2.5 - (i / width) as f32 + (i * i % 7) as f32;
    let data = (0..width * height).map(height_at).collect();
    Map { width, height, spacing_m: 12.5, data, range_m: None, georef: None }
}

fn maps(seeds: &Seeds) -> Done {
    use MapFormat::{Asc, Exr, Hgt, Npy, Png, R16, R32, Tiff};
    for (width, height) in [(8, 8), (9, 5)] {
        let map = map(width, height);
        let name = format!("{width}x{height}");
        for (target, format) in
            [("png", Png), ("tiff", Tiff), ("exr", Exr), ("npy", Npy), ("asc", Asc)]
        {
            seeds.file(target, &name, &encode(&map, format)?.0)?;
            seeds.file(target, &format!("{name}-c"), &encode_colours(&map, format)?.bytes)?;
        }
        let hgt = encode(&map, Hgt)?.0;
        for place in ["N47E008", "S01W180", "land\0\0\0"] {
            let options = [0b1_0000, width as u8, height as u8, 0];
            let input = [place.as_bytes(), &options, &hgt].concat();
            seeds.put("hgt", &format!("{name}-{place}").replace('\0', ""), input)?;
        }
        for (kind, format) in [(0, R16), (1, R32)] {
            let samples = encode(&map, format)?.0;
            let options = [0b1_0000, width as u8, height as u8, 0];
            seeds.put(
                "raw",
                &format!("{name}-{kind}"),
                [&[kind], &options[..], &samples].concat(),
            )?;
            let header = header(&map, format, Some((-10.0, 90.0))).unwrap_or_default();
            let input = [&[kind | 2, 0, 0, 0, 0], header.as_bytes(), b"\0", &samples].concat();
            seeds.put("raw", &format!("{name}-{kind}-header"), input)?;
        }
    }
    Ok(())
}

fn pictures(seeds: &Seeds) -> Done {
    let grey = GrayImage::from_fn(9, 7, |x, y| Luma([(x * 20 + y) as u8]));
    let coloured: RgbImage = DynamicImage::from(grey.clone()).to_rgb8();
    for (name, picture) in [("grey", DynamicImage::from(grey)), ("rgb", coloured.into())] {
        for (kind, format) in
            [ImageFormat::Bmp, ImageFormat::Jpeg, ImageFormat::WebP].into_iter().enumerate()
        {
            let mut file = Cursor::new(vec![]);
            // WebP has no grey pictures.
            let picture = if kind == 2 { picture.to_rgb8().into() } else { picture.clone() };
            picture.write_to(&mut file, format)?;
            let input = [&[kind as u8], file.get_ref().as_slice()].concat();
            seeds.put("mask", &format!("{name}-{kind}"), input)?;
        }
        let png = encode_picture(picture)?;
        seeds.file("png", name, &png)?;
        seeds.put("mask", &format!("{name}-png"), [&[3], png.as_slice()].concat())?;
    }
    let data = (0..16).map(|i| (i % 3) as f32).collect();
    let numbers = Map { data, ..map(4, 4) };
    let palette = encode_numbers(&numbers, &[[1, 2, 3], [4, 5, 6], [7, 8, 9]], MapFormat::Png)?;
    seeds.file("png", "palette", &palette.bytes)?;
    seeds.put("mask", "palette", [&[7], palette.bytes.as_slice()].concat())?;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    for (kind, name) in [(1, "progressive.jpg"), (2, "lossy.webp")] {
        let bytes = std::fs::read(data.join(name))?;
        seeds.put("mask", name, [&[kind], bytes.as_slice()].concat())?;
    }
    for file in std::fs::read_dir(data.join("tiff"))? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "tif") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            seeds.file("tiff", &name, &std::fs::read(&path)?)?;
        }
    }
    Ok(())
}

fn openexr(seeds: &Seeds) -> Done {
    use Compression::{PIZ, PXR24, RLE, ZIP1, ZIP16};
    for (name, blocks) in [("lines", Blocks::ScanLines), ("tiles", Blocks::Tiles(Vec2(2, 2)))] {
        for compression in [RLE, ZIP1, ZIP16, PIZ, PXR24] {
            let values = || (0..15).map(|i| i as f32);
            let channels = [
                AnyChannel::new("A", FlatSamples::F16(values().map(f16::from_f32).collect())),
                AnyChannel::new("Y", FlatSamples::F32(values().collect())),
                AnyChannel::new("height", FlatSamples::U32((0..15).collect())),
            ];
            let encoding = Encoding { compression, blocks, line_order: LineOrder::Increasing };
            let channels = AnyChannels::sort(channels.into_iter().collect());
            let mut file = Cursor::new(vec![]);
            let image = Image::from_encoded_channels((5, 3), encoding, channels);
            image.write().non_parallel().to_buffered(&mut file)?;
            seeds.file(
                "exr",
                &format!("{name}-{compression}").replace(' ', "-"),
                file.get_ref(),
            )?;
        }
    }
    Ok(())
}

fn numpy(seeds: &Seeds) -> Done {
    let kinds = ["|u1", "|i1", "<u2", ">i2", "<i4", ">u4", "<i8", "<f2", ">f4", "<f8", "|O", "|b1"];
    // Records, whose brackets are nested.
    let records = ["[('a', '<f4')]", "[('a', '<f4', (2,))]"];
    let kinds = kinds.map(|kind| format!("'{kind}'")).into_iter().chain(records.map(String::from));
    for (i, kind) in kinds.enumerate() {
        let fortran = if i % 2 == 0 { "True" } else { "False" };
        let mut text = format!("{{'descr': {kind}, 'fortran_order': {fortran}, 'shape': (3, 4)}}");
        text += &" ".repeat(117 - text.len());
        let long = ((text.len() + 1) as u16).to_le_bytes();
        let head = [b"\x93NUMPY\x01\0", &long[..], text.as_bytes(), b"\n"].concat();
        seeds.file("npy", &format!("kind-{i}"), &[&head[..], &[0x3c; 96]].concat())?;
    }
    Ok(())
}

fn places(seeds: &Seeds) -> Done {
    let metadata = concat!(
        r#"<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.1</Item>"#,
        r#"<Item name="OFFSET" sample="0" role="offset">-5</Item>"#,
        r#"<Item name="UNITTYPE" sample="0" role="unittype">ft</Item></GDALMetadata>"#,
    );
    let cells: Vec<u8> = [30f64, 30.0, 0.0].map(f64::to_le_bytes).concat();
    let point: Vec<u8> = [0f64, 0.0, 0.0, 4e5, 5e6, 0.0].map(f64::to_le_bytes).concat();
    let keys = [1u16, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633];
    let keys: Vec<u8> = keys.map(u16::to_le_bytes).concat();
    let text = "GCS Name = NAD83|Datum = North_American_Datum_1983|";
    let parts: [&[u8]; 7] =
        [&cells, &point, &keys, &[], text.as_bytes(), metadata.as_bytes(), b"-9999"];
    for kind in 1..=2 {
        let input = [&[0b10_0000, 0, 0, 0, kind], parts.join(&0xff).as_slice()].concat();
        seeds.put("geotiff", &format!("all-{kind}"), input)?;
    }
    for (i, length) in [64u32, 256, 1024].into_iter().enumerate() {
        let noise = (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8);
        seeds.put("crs", &format!("{i}"), noise.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// A furniture file with an empty room for each role and difficulty.
fn furniture() -> String {
    let map = ".............\n".repeat(7);
    let roles = [
        "start",
        "boss",
        "treasure",
        "shop",
        "sacrifice",
        "library",
        "challenge",
        "secret",
        "super_secret",
    ];
    let levels = ["easy", "medium", "hard"].map(|level| format!("difficulty = \"{level}\""));
    let kinds = roles.iter().map(|role| format!("role = \"{role}\"")).chain(levels);
    let room = |(i, kind): (usize, String)| {
        format!("[[room]]\nname = \"{i}\"\n{kind}\nmap = \"\"\"\n{map}\"\"\"\n")
    };
    let rooms: String = kinds.enumerate().map(room).collect();
    format!(
        "schema = 1\n[[chapter]]\nname = \"a\"\nalternative = \"b\"\n{rooms}weight = 2\n\
         chapters = [\"a\", \"b\"]\ndoors = [\"north\", \"east\", \"south\", \"west\"]\n"
    )
}

/// An example as a land of 16 cells a side, with few steps.
fn shrunk(text: &str) -> String {
    let line = |line: &str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        match key {
            "width" | "height" => format!("{key} = 16\n"),
            "margin_cells" => String::new(),
            "levels" => "levels = 1\n".into(),
            "steps" => "steps = 2\n".into(),
            "uplift_m" | "erodibility" => String::new(),
            "lifetime" => "lifetime = 4\n".into(),
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

fn recipes(seeds: &Seeds) -> Done {
    for (name, text) in EXAMPLES.iter().chain(&[("fuzz", RECIPE)]) {
        let json = text.parse::<Recipe>()?.describe().to_string();
        for target in ["recipe", "request"] {
            seeds.put(target, name, text)?;
            seeds.put(target, &format!("{name}-json"), &json)?;
        }
        seeds.put("run", name, shrunk(text))?;
        seeds.put("upgrade", name, text.replace("schema = 2", "schema = 1"))?;
        seeds.put(
            "upgrade",
            &format!("{name}-json"),
            json.replace("\"schema\":2", "\"schema\":1"),
        )?;
    }
    let eroded = "schema = 2\ninput = \"land.r32\"\nspacing_m = 10\n\
                  [[stage]]\nkind = \"droplets\"\nrain_file = \"land.r32\"\n";
    seeds.put("request", "input", eroded)?;
    let lines = "seed=7\nspacing_m=5\ndroplets.rain=4\n1.relief_m=200\nwater.channel_area_km2=1\n\
                 output.format=png\noutput.formats.flow=exr\nlevels=auto\nmargin_cells=8\n";
    lines.lines().try_for_each(|line| seeds.put("assignment", line, line))?;
    seeds.put("assignment", "all", lines)
}

fn runs(seeds: &Seeds) -> Done {
    let job = || -> Result<Job, Box<dyn Error>> {
        Ok(Job::new(RECIPE.parse()?)?.device(Device::Cpu).threads(1))
    };
    let (mut files, mut snapshots) = (Memory::default(), vec![]);
    job()?.run_into(&mut files, None, &mut |event| {
        if let Event::Stage(after) = event {
            let mut file = vec![];
            after.snapshot()?.write(&mut file)?;
            snapshots.push(file);
        }
        Ok(())
    })?;
    for (i, snapshot) in snapshots.iter().enumerate() {
        seeds.put("snapshot", &i.to_string(), unsealed(SNAPSHOT, snapshot))?;
    }
    seeds.put("manifest", "run", &files.files["manifest.json"])?;
    seeds.put(
        "manifest",
        "short",
        r#"{"schema": 2, "thalweg": "0", "maps": [{"file": "height.tif", "blake3": "00"}],
            "timelapse": {"file": "timelapse.png", "folder": "timelapse", "frames": 3},
            "program": {"name": "unreal", "files": [{"file": "unreal/height.png"}]}}"#,
    )?;
    let folder = folder();
    let mut tiles = Tiles::new(job()?, 16)?.stored_in(Store::open(folder.path(), None)?);
    let mut executor = Cpu::new(1, thalweg::Order::default())?;
    for level in tiles.levels() {
        tiles.piece(Tile { level, slab: 0, x: 0, y: 0 }, &mut executor)?;
    }
    for (i, tile) in Store::open(folder.path(), None)?.list()?.into_iter().enumerate() {
        let path = folder.path().join(&tile.key[..2]).join(format!("{}.tile", &tile.key[2..]));
        let input = unsealed(TILE, &std::fs::read(path)?);
        // The key is in the header, and has the length of the other.
        let at = input.windows(64).position(|word| word == tile.key.as_bytes());
        let at = at.ok_or("a tile has its key")?;
        seeds.put(
            "tile",
            &i.to_string(),
            [&input[..at], KEY.as_bytes(), &input[at + 64..]].concat(),
        )?;
    }
    Ok(())
}

fn asked(seeds: &Seeds) -> Done {
    for (i, query) in [
        "cells=64&fields=height,flow&draft=true",
        "cells=64&count=3&seed=7&colour=ground",
        "name=x&frames=3&frame_size=64&level=1",
        "name=land.tif",
        "format=svg",
    ]
    .into_iter()
    .enumerate()
    {
        seeds.put("query", &i.to_string(), query)?;
    }
    for (i, settings) in [
        r#"{"kind": "isaac", "seed": 7, "level": 3}"#,
        r#"{"kind": "rebirth", "seed": 7, "level": 3}"#,
        r#"{"kind": "tinykeep", "seed": 7, "room_count": 20}"#,
    ]
    .into_iter()
    .enumerate()
    {
        for format in 0..7u8 {
            let input = [&[format], settings.as_bytes()].concat();
            seeds.put("dungeon", &format!("{i}-{format}"), input)?;
        }
    }
    for (i, file) in [furniture().as_str(), STANDARD].into_iter().enumerate() {
        seeds.put("dungeon", &format!("furniture-{i}"), [b"\x04", file.as_bytes()].concat())?;
    }
    let json = RECIPE.parse::<Recipe>()?.describe().to_string();
    let toml = "content-type: application/toml";
    let parts = format!(
        "--x\r\ncontent-disposition: form-data; name=\"recipe\"\r\n\r\n{RECIPE}\r\n--x\r\n\
         content-disposition: form-data; name=\"h.r32\"; filename=\"h.r32\"\r\n\r\n0123456789abcdef\
         \r\n--x--\r\n"
    );
    let form = "content-type: multipart/form-data; boundary=x";
    let sent = value(RECIPE.as_bytes(), Form::Toml).map_err(|problem| problem.detail)?;
    let request = Request::of(sent, vec![], None).map_err(|problem| problem.detail)?;
    let result = format!("GET /v1/results/{}", request.digest(&Job::new(RECIPE.parse()?)?));
    let requests = [
        format!("POST /v1/recipes\n{toml}\n\n{RECIPE}"),
        format!(
            "POST /v1/recipes\ncontent-type: application/json\naccept: application/zip\n\n{json}"
        ),
        format!("POST /v1/recipes\n{form}\n\n{parts}"),
        format!("POST /v1/jobs?frames=2&frame_size=16\n{form}\nidempotency-key: k\n\n{parts}"),
        format!("POST /v1/jobs\n{toml}\n\n{RECIPE}"),
        format!("POST /v1/preview?cells=64&fields=height,flow&draft=true\n{toml}\n\n{RECIPE}"),
        format!("POST /v1/sheet?cells=64&count=2\n{toml}\n\n{RECIPE}"),
        format!(
            "POST /v1/worlds\n{toml}\n\n{}",
            RECIPE.replace("width = 32\nheight = 32", "endless = true")
        ),
        "POST /v1/dungeons?format=svg\n\n{\"kind\": \"isaac\", \"seed\": 7}".into(),
        "POST /v1/inputs?name=h.r32\n\n0123456789abcdef".into(),
        "GET /v1/jobs\n\n".into(),
        "GET /v1/jobs/1\n\n".into(),
        "DELETE /v1/jobs/2\n\n".into(),
        "GET /v1/jobs/1/events\nlast-event-id: 0\n\n".into(),
        "GET /v1/jobs/1/levels/1/height.r32\n\n".into(),
        "HEAD /v1/stages\nif-none-match: *\n\n".into(),
        "GET /v1/presets\n\n".into(),
        "GET /v1/recipe.schema.json\n\n".into(),
        "GET /metrics\nrange: bytes=0-5\n\n".into(),
        "GET /\norigin: http://example.org\n\n".into(),
        "GET /js/editor.js\n\n".into(),
        format!("{result}/\n\n"),
        format!("{result}/manifest.json\nrange: bytes=0-5\n\n"),
        format!("{result}/bundle.zip\n\n"),
        format!("{result}/fields/height.asc\n\n"),
        format!("{result}/tiles/hillshade/0/0/0.png\n\n"),
        format!("{result}/tiles/height/tilejson.json\n\n"),
    ];
    for (i, request) in requests.iter().enumerate() {
        // In this order, so that there is a job before it is asked for.
        seeds.put("service", &format!("{i:02}"), request)?;
    }
    Ok(())
}

/// The words of the schema of recipes, as dictionaries of libFuzzer.
fn dictionaries(folder: &Path) -> Done {
    fn collect(value: &serde_json::Value, words: &mut BTreeSet<String>) {
        use serde_json::Value::{Array, Object, String};
        match value {
            Object(object) => {
                if let Some(Object(keys)) = object.get("properties") {
                    words.extend(keys.keys().cloned());
                }
                for (key, value) in object {
                    match (key.as_str(), value) {
                        ("const", String(word)) => drop(words.insert(word.clone())),
                        ("enum", Array(all)) => {
                            words.extend(all.iter().filter_map(|word| Some(word.as_str()?.into())));
                        }
                        _ => collect(value, words),
                    }
                }
            }
            Array(list) => list.iter().for_each(|value| collect(value, words)),
            _ => {}
        }
    }
    let mut words = BTreeSet::new();
    collect(&Recipe::schema(), &mut words);
    words.extend(
        ["[[stage]]", "[[stage.interleave]]", "[water]", "[output]", " = ", "true", "nan"]
            .map(String::from),
    );
    let plain = |word: &&String| word.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let text: String = words
        .iter()
        .filter(plain)
        .map(|word| format!("\"{}\"\n", word.replace('\\', "\\\\").replace('"', "\\\"")))
        .collect();
    std::fs::create_dir_all(folder)?;
    for target in ["assignment", "recipe", "request", "run", "upgrade"] {
        std::fs::write(folder.join(format!("{target}.dict")), &text)?;
    }
    Ok(())
}

fn main() -> Done {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(corpuses), Some(words)) = (arguments.next(), arguments.next()) else {
        return Err("seeds FOLDER-OF-CORPUSES FOLDER-OF-DICTIONARIES".into());
    };
    let seeds = Seeds(corpuses);
    let all = [maps, pictures, openexr, numpy, places, recipes, runs, asked];
    all.into_iter().try_for_each(|make| make(&seeds))?;
    dictionaries(&words)
}
