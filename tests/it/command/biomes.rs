//! Biomes in recipes, and `thalweg scatter`.

use super::{Folder, RECIPE, hash, pixels};
use serde_json::Value;
use thalweg::image::{GrayImage, Luma};
use thalweg::io;

/// The weights of two biomes, read by the rules of their formats.
fn layers(bytes: &[u8], format: &str) -> [Vec<u32>; 2] {
    if format == "npy" {
        let head = 10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
        let text = String::from_utf8_lossy(&bytes[10..head]).replace(' ', "");
        assert!(text.contains("'descr':'<u2'") && text.contains("'shape':(2,40,60,)"), "{text}");
        let values: Vec<u32> =
            bytes[head..].chunks(2).map(|v| u16::from_le_bytes([v[0], v[1]]).into()).collect();
        return [values[..60 * 40].to_vec(), values[60 * 40..].to_vec()];
    }
    use exr::prelude::{FlatSamples, ReadChannels, ReadLayers};
    let reader = exr::prelude::read().no_deep_data().largest_resolution_level().all_channels();
    let image = reader
        .first_valid_layer()
        .all_attributes()
        .from_buffered(std::io::Cursor::new(bytes))
        .unwrap();
    let channels = &image.layer_data.channel_data.list;
    assert_eq!(
        channels.iter().map(|c| c.name.to_string()).collect::<Vec<_>>(),
        ["high", "low"],
        "in the order of the alphabet"
    );
    let of = |n: usize| match &channels[n].sample_data {
        FlatSamples::U32(values) => values.clone(),
        other => panic!("{other:?}"),
    };
    [of(1), of(0)]
}

/// A picture supplies the biomes. Their heights and hardness are blended by the same weights, and
/// `scatter` finds places on them. The weights of every biome can be had to 16 bits (B-2).
/// Holds E1, E19.
/// Holds E20 in part.
#[test]
fn biomes_from_a_picture_become_maps_textures_and_a_list() {
    let folder = Folder::new("biomes");
    let picture = |name: &str, width: u32, level: &dyn Fn(u32) -> u8| {
        let picture = GrayImage::from_fn(width, 40, |x, _| Luma([level(x)]));
        folder.file(name, io::encode_picture(picture).unwrap());
    };
    picture("halves.png", 60, &|x| (x / 30) as u8);
    picture("narrow.png", 50, &|_| 0);
    picture("nine.png", 60, &|x| if x == 7 { 9 } else { 0 });
    let recipe = |file: &str, colour: &str| {
        format!(
            "schema = 2\nseed = 1\nwidth = 60\nheight = 40\nspacing_m = 2\n[[stage]]\n\
             kind = \"diamond_square\"\nrelief_m = 0\n\
             [[stage]]\nkind = \"biomes\"\nfrom = \"image\"\nfile = \"{file}\"\nfrequency = 0.5\n\
             padding_cells = 2\nheights = \"replace\"\n\
             splat = true\nbiome = [{{ name = \"low\", colour = \"#102030\", relief_m = 0 }}, \
             {{ name = \"high\", colour = \"#a0b0c0\", base_m = 8, relief_m = 0, \
             hardness = 0.5 }}]\n\
             [output]\nmaps = [\"height\", \"biome\", \"hardness\", \"biome_colour\"]\n\
             format = \"npy\"\ncolour = \"{colour}\"\n"
        )
    };
    folder.file("r.toml", recipe("halves.png", "biomes"));
    folder.thalweg("run r.toml -o out --device cpu").ok();
    let manifest = folder.json("out/manifest.json");
    let biomes = manifest["biomes"].as_array().unwrap();
    assert_eq!((&biomes[0]["name"], &biomes[1]["colour"]), (&"low".into(), &"#a0b0c0".into()));
    let share = biomes[1]["share"].as_f64().unwrap();
    assert!((share - 0.5).abs() < 0.05, "{share}");
    assert_eq!(biomes.iter().map(|b| b["cells"].as_u64().unwrap()).sum::<u64>(), 60 * 40);
    let texture = &manifest["textures"][0];
    assert_eq!(
        (texture["file"].as_str(), texture["biomes"][1].as_str()),
        (Some("splat_1.png"), Some("high"))
    );
    assert_eq!(texture["blake3"], hash(&folder.read("out/splat_1.png")));
    let read = |name: &str| {
        thalweg::io::read(folder.0.join(name), &io::ReadOptions::default()).unwrap().map.data
    };
    let (height, hardness, colour) =
        (read("out/height.npy"), read("out/hardness.npy"), read("out/biome_colour.npy"));
    assert_eq!(
        (height[0], height[59], colour[0] as u32, colour[59] as u32),
        (0.0, 8.0, 0x102030, 0xa0b0c0)
    );
    for (height, hardness) in height.iter().zip(&hardness) {
        assert!((height / 16.0 - hardness).abs() < 1e-4, "{height} m and {hardness}");
    }

    // The weights of the two biomes, exact to 16 bits, and the heights that follow from them.
    for format in ["npy", "exr"] {
        let listed = recipe("halves.png", "height")
            .replace("splat = true", &format!("weights = \"{format}\""));
        folder.file("listed.toml", listed);
        folder.thalweg(&format!("run listed.toml -o {format} --device cpu")).ok();
        let (entry, name) = (
            &folder.json(&format!("{format}/manifest.json"))["weights"],
            format!("biome_weights.{format}"),
        );
        let bytes = folder.read(&format!("{format}/{name}"));
        assert_eq!(
            (entry["file"].as_str(), &entry["blake3"]),
            (Some(name.as_str()), &hash(&bytes).into())
        );
        assert_eq!(
            (entry["biomes"][1].as_str(), entry["total"].as_u64()),
            (Some("high"), Some(65535))
        );
        let [low, high] = layers(&bytes, format);
        assert_eq!((low.len(), low[0], high[0], low[59], high[59]), (60 * 40, 65535, 0, 0, 65535));
        assert!(high.iter().any(|weight| (20_000..40_000).contains(weight)), "nothing is blended");
        for ((low, high), height) in low.iter().zip(&high).zip(&height) {
            assert_eq!(low + high, 65535);
            assert!(
                (*high as f32 / 65535.0 * 8.0 - height).abs() < 3e-4,
                "{high} of 65535 and {height} m"
            );
        }
    }
    folder.thalweg("verify npy").ok();
    folder.file("npy/biome_weights.npy", "damaged");
    assert!(folder.thalweg("verify npy").stdout.contains("biome_weights.npy"));

    folder.file("narrow.toml", recipe("narrow.png", "height"));
    folder.thalweg("run narrow.toml -o no --device cpu").refused(1, &["50 x 40", "60 x 40"]);
    folder.file("nine.toml", recipe("nine.png", "height"));
    folder
        .thalweg("run nine.toml -o no --device cpu")
        .refused(1, &["9 in column 7, row 0", "whole numbers 0 to 1"]);
    folder.file(
        "plain.toml",
        "schema = 2\nwidth = 9\nheight = 9\nspacing_m = 1\n[[stage]]\nkind = \"diamond_square\"\n\
         [output]\ncolour = \"biomes\"\n",
    );
    folder
        .thalweg("run plain.toml -o no --device cpu")
        .refused(1, &["colour = \"biomes\"", "no stage"]);

    folder.thalweg("scatter r.toml -o a.csv --frequency 0.4 --density low=0 --device cpu").ok();
    let text = String::from_utf8(folder.read("a.csv")).unwrap();
    assert!(
        text.lines().count() > 50 && text.lines().skip(1).all(|line| line.contains(",1,high,1,")),
        "{text}"
    );
    folder.thalweg("scatter r.toml -o a.geojson --method poisson --distance 4 --device cpu").ok();
    let places = folder.json("a.geojson");
    assert_eq!(places["type"], "FeatureCollection");
    // Without a place on Earth they are metres, which readers would take for degrees.
    assert_eq!(places["crs"]["properties"]["name"], io::vector::LOCAL);
    folder.thalweg("scatter r.toml -o a.csv --device cpu").refused(1, &["a.csv", "--force"]);
    folder.thalweg("scatter r.toml -o a.shp --device cpu").refused(1, &["a.shp", ".geojson"]);
    folder
        .thalweg("scatter r.toml -o b.csv --density hihg=1 --device cpu")
        .refused(1, &["did you mean \"high\""]);
    folder
        .thalweg("scatter r.toml -o b.csv --density high=x --device cpu")
        .refused(1, &["high=x", "0 to 1"]);
    for density in ["high=2", "high=nan", "high=-0.5"] {
        folder
            .thalweg(&format!("scatter r.toml -o b.csv --density {density}"))
            .refused(1, &[density, "0 to 1"]);
    }
    folder
        .thalweg("scatter r.toml -o b.csv --density high=1 --density high=0")
        .refused(1, &["high=0", "has a density already"]);
    folder
        .thalweg("scatter plain.toml -o b.csv --density high=1")
        .refused(1, &["colour = \"biomes\""]);
    folder
        .thalweg("scatter r.toml -o b.csv --method poisson --frequency 0.1")
        .refused(1, &["--frequency 0.1", "lattice"]);
    // Options are checked before any work: this recipe has a missing file.
    folder.file("lost.toml", recipe("lost.png", "height"));
    folder
        .thalweg("scatter lost.toml -o b.csv --frequency 7")
        .refused(1, &["frequency = 7", "0.002 to 1"]);
    folder
        .thalweg("scatter lost.toml -o b.csv --distance 5000")
        .refused(1, &["distance = 5000", "0.5 to 4096"]);
    folder.thalweg("scatter lost.toml -o b.csv").refused(1, &["lost.png", "no such file"]);
    // Too many points are refused before the stages run.
    let limit = "scatter big.toml -o b.csv --frequency 1 --size 4096 --device cpu";
    folder.file("big.toml", RECIPE).thalweg(limit).refused(1, &["points: allowed 16777216"]);
    folder
        .thalweg("scatter big.toml -o b.csv --density high=1")
        .refused(1, &["no stage of this recipe makes biomes"]);
    // Options of `run`.
    folder
        .thalweg("scatter r.toml -o b.csv --size 30 --device cpu")
        .refused(1, &["60 x 40 cells, the terrain has 30 x 30"]);
    let line = "scatter r.toml -o c.csv --frequency 0.4 --set biomes.from=noise --set biomes.file= \
                --size 30x20 --device cpu";
    folder.thalweg(line).ok();
    let text = String::from_utf8(folder.read("c.csv")).unwrap();
    let places = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|v| v.parse().unwrap_or(0.0)).collect::<Vec<f64>>());
    let places: Vec<Vec<f64>> = places.collect();
    assert!(
        places.iter().all(|p| (-0.5..29.5).contains(&p[0]) && (-0.5..19.5).contains(&p[1])),
        "{text}"
    );
    // Places reach to the end of the last cell, beyond its sample.
    assert!(places.iter().any(|p| p[0] > 29.0) && places.iter().any(|p| p[1] > 19.0), "{text}");
    folder
        .thalweg("scatter r.toml -o b.csv --frequency 0 --device cpu")
        .refused(1, &["frequency = 0", "0.002 to 1"]);
    folder
        .thalweg("scatter r.toml -o b.csv --method poisson --distance -1 --device cpu")
        .refused(1, &["distance = -1"]);
}

/// A picture of biomes is 8-bit grey or has a palette; any other is refused with its name.
#[test]
fn pictures_of_biomes_are_levels_or_indices() {
    use png::{BitDepth, ColorType};
    let folder = Folder::new("indices");
    let recipe = "schema = 2\nwidth = 11\nheight = 5\nspacing_m = 1\n[[stage]]\n\
                  kind = \"diamond_square\"\nrelief_m = 0\n\
                  [[stage]]\nkind = \"biomes\"\nfrom = \"image\"\nfile = \"p.png\"\n\
                  method = \"full\"\nradius_cells = 1\n\
                  [output]\nmaps = [\"biome\"]\nformat = \"npy\"\npreview = false\n";
    folder.file("r.toml", recipe);
    let index = |i: usize, most: usize| (i * 7 / 3) % most;
    let draw = |color: ColorType, depth: BitDepth, row: &dyn Fn(usize) -> Vec<u8>| {
        let mut bytes = vec![];
        let mut encoder = png::Encoder::new(&mut bytes, 11, 5);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            // All colours are the same, because only the indices count.
            encoder.set_palette(vec![99; if depth == BitDepth::One { 6 } else { 12 }]);
        }
        encoder
            .write_header()
            .unwrap()
            .write_image_data(&(0..5).flat_map(row).collect::<Vec<_>>())
            .unwrap();
        folder.file("p.png", bytes);
    };
    let run = |most: usize| {
        folder.thalweg("run r.toml -o a --device cpu --force").ok();
        let map = io::read(folder.0.join("a/biome.npy"), &io::ReadOptions::default()).unwrap().map;
        let expected: Vec<f32> = (0..55).map(|i| index(i, most) as f32).collect();
        assert_eq!(map.data, expected, "{most}");
    };
    let row = |y: usize, bits: usize, most: usize| -> Vec<u8> {
        let mut row = vec![0u8; (11 * bits).div_ceil(8)];
        (0..11).for_each(|x| {
            row[x * bits / 8] |= (index(y * 11 + x, most) << (8 - bits - x * bits % 8)) as u8
        });
        row
    };
    for (depth, bits, most) in [
        (BitDepth::One, 1, 2),
        (BitDepth::Two, 2, 4),
        (BitDepth::Four, 4, 4),
        (BitDepth::Eight, 8, 4),
    ] {
        draw(ColorType::Indexed, depth, &|y| row(y, bits, most));
        run(most);
    }
    draw(ColorType::Grayscale, BitDepth::Eight, &|y| row(y, 8, 4));
    run(4);
    let refused =
        |words: &[&str]| drop(folder.thalweg("run r.toml -o b --device cpu").refused(1, words));
    draw(ColorType::Grayscale, BitDepth::Sixteen, &|y| {
        row(y, 8, 4).into_iter().flat_map(|v| [v, v]).collect()
    });
    refused(&["p.png", "16 bits", "save it as 8-bit greyscale"]);
    draw(ColorType::Rgb, BitDepth::Eight, &|_| vec![1; 33]);
    refused(&["p.png", "colours", "palette"]);
    draw(ColorType::Indexed, BitDepth::Eight, &|_| vec![3; 11]);
    folder.file(
        "r.toml",
        recipe.replace(
            "radius_cells = 1\n",
            "radius_cells = 1\nbiome = [{ name = \"a\", colour = \"#000000\" }]\n",
        ),
    );
    refused(&["3 in column 0, row 0", "there are 1 biomes"]);
}

/// The map of biomes that a run writes can be the picture of biomes of another run, in every
/// format. The map of colours shows their colours.
/// Holds E20 in part.
#[test]
fn maps_of_biomes_can_be_read_back() {
    let folder = Folder::new("argmax");
    let recipe = |from: &str, more: &str, format: &str| {
        format!(
            "schema = 2\nseed = 3\nwidth = 70\nheight = 50\nspacing_m = 1\n[[stage]]\n\
             kind = \"diamond_square\"\nrelief_m = 0\n\
             [[stage]]\nkind = \"biomes\"\nfeature_cells = 20\n{from}{more}[output]\n\
             maps = [\"biome\", \"biome_colour\"]\nformat = \"{format}\"\n"
        )
    };
    folder
        .file("first.toml", recipe("", "frequency = 0.3\npadding_cells = 3\n", "npy"))
        .thalweg("run first.toml -o first --device cpu")
        .ok();
    let words = |run: &str| -> Vec<Value> {
        let manifest = folder.json(&format!("{run}/manifest.json"));
        manifest["maps"].as_array().unwrap().iter().map(|map| map["words_blake3"].clone()).collect()
    };
    for format in ["png", "tif", "exr", "npy"] {
        folder.file("r.toml", recipe("", "frequency = 0.3\npadding_cells = 3\n", format));
        folder.thalweg(&format!("run r.toml -o {format} --device cpu")).ok();
        let from = format!("from = \"image\"\nfile = \"{format}/biome.{format}\"\n");
        // A point in every cell, which affects no other cell.
        folder.file("back.toml", recipe(&from, "method = \"full\"\nradius_cells = 1\n", format));
        folder.thalweg(&format!("run back.toml -o {format}-back --device cpu")).ok();
        assert_eq!(words(&format!("{format}-back"))[0], words("first")[0], "{format}");
    }
    // Viewers show the colours of the biomes, by a palette or directly.
    let number =
        io::read(folder.0.join("first/biome.npy"), &io::ReadOptions::default()).unwrap().map.data;
    let colour = io::read(folder.0.join("first/biome_colour.npy"), &io::ReadOptions::default())
        .unwrap()
        .map
        .data;
    let mut shown =
        png::Decoder::new(std::io::Cursor::new(folder.read("png/biome.png"))).read_info().unwrap();
    let palette = shown.info().palette.clone().unwrap().into_owned();
    assert_eq!(palette[..6], [8, 112, 32, 133, 161, 90]);
    let mut indices = vec![0; 70 * 50];
    shown.next_frame(&mut indices).unwrap();
    assert!(indices.iter().zip(&number).all(|(index, number)| f32::from(*index) == *number));
    let pixels = pixels(folder.read("png/biome_colour.png"));
    assert!(
        pixels
            .chunks(3)
            .zip(&colour)
            .all(|(p, c)| u32::from_be_bytes([0, p[0], p[1], p[2]]) == *c as u32)
    );
    // Raw 16-bit samples hold the numbers, but cannot hold colours.
    folder.file("r.toml", recipe("", "frequency = 0.3\npadding_cells = 3\n", "r16"));
    folder
        .thalweg("run r.toml -o r16 --device cpu")
        .refused(1, &["r16", "biome_colour has 24 bits", "r32"]);
    folder.file(
        "r.toml",
        recipe("", "frequency = 0.3\npadding_cells = 3\n", "r16").replace(", \"biome_colour\"", ""),
    );
    folder.thalweg("run r.toml -o r16 --device cpu").ok();
    let raw: Vec<f32> = folder
        .read("r16/biome.r16")
        .chunks(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]).into())
        .collect();
    assert_eq!(raw, number);
}

/// The manifest's recipe has every setting of every biome, in one order whatever the order in the
/// recipe.
#[test]
fn a_manifest_spells_out_biomes() {
    let folder = Folder::new("spelled");
    let recipe = "schema = 2\nseed = 3\nname = \"r\"\nwidth = 40\nheight = 30\nspacing_m = 1\n\
                  [[stage]]\nkind = \"diamond_square\"\nrelief_m = 0\n\
                  [[stage]]\nkind = \"biomes\"\nheights = \"replace\"\nchunk_cells = 32\nsplat = \
                                      true\n";
    folder.file("r.toml", recipe).thalweg("run r.toml -o a --device cpu").ok();
    let stage = folder.json("a/manifest.json")["recipe"]["stage"][1].clone();
    let names: Vec<&str> =
        stage["biome"].as_array().unwrap().iter().map(|b| b["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["forest", "plains", "mountains", "desert"]);
    assert_eq!(stage["biome"][2]["amplitudes"], serde_json::json!([1.0, 0.5, 0.25, 0.0625]));
    assert_eq!(
        (&stage["biome"][0]["colour"], &stage["biome"][3]["shape"]),
        (&"#087020".into(), &"dunes".into())
    );
    folder
        .file("r.json", folder.json("a/manifest.json")["recipe"].to_string())
        .thalweg("run r.json -o b --device cpu")
        .ok();
    for name in folder.list("a") {
        assert_eq!(folder.read(&format!("a/{name}")), folder.read(&format!("b/{name}")), "{name}");
    }
    let toml = "biome = [{ rain = 0.5, colour = \"#ABCDEF\", name = \"a\" }]\n";
    let json = r##"{"schema": 2,"seed":3,"name":"r","width":40,"height":30,"spacing_m":1,"stage":[{"kind":"diamond_square","relief_m":0},
        {"kind":"biomes","heights":"replace","chunk_cells":"32","splat":true,"biome":[{"name":"a","rain":0.5,"colour":"#abcdef"}]}]}"##;
    folder.file("one.toml", recipe.to_string() + toml).file("one.json", json);
    folder.thalweg("run one.toml -o c --device cpu").ok();
    folder.thalweg("run one.json -o d --device cpu").ok();
    assert_eq!(folder.read("c/manifest.json"), folder.read("d/manifest.json"));
}

#[test]
fn settings_of_biomes_are_refused_by_name() {
    let folder = Folder::new("biomesettings");
    let head = "schema = 2\nwidth = 40\nheight = 30\nspacing_m = 1\n[[stage]]\n\
                kind = \"diamond_square\"\n[[stage]]\nkind = \"biomes\"\n";
    let refused = |more: &str, words: &[&str]| {
        folder
            .file("r.toml", head.to_string() + more)
            .thalweg("run r.toml -o a --device cpu")
            .refused(1, words);
    };
    let biome =
        |more: &str| format!("biome = [{{ name = \"a\", colour = \"#000000\", {more} }}]\n");
    refused("chunk_cells = 12\n", &["chunk_cells = 12", "16, 8, 32"]);
    folder
        .file("r.toml", head)
        .thalweg("run r.toml -o set --device cpu --set biomes.chunk_cells=8")
        .ok();
    refused(
        "biome = [{ name = \"a\", colour = \"#+12345\" }]\n",
        &["colour = \"#+12345\"", "#087020"],
    );
    refused(&biome("relief_m = nan"), &["relief_m = NaN", "0 to 1000000"]);
    refused(&biome("amplitudes = [1, inf]"), &["amplitudes = [1,inf]", "-1 to 1"]);
    refused("biome = [7]\n", &["biome 1: 7: expected a table"]);
    refused("[stage.biome]\nname = \"a\"\n", &["biome", "write each as [[stage.biome]]"]);
    refused("from = \"climate\"\ntable = [[1]]\n", &["table, row 1, column 1: 1: expected a name"]);
    refused("from = \"climate\"\ntable = [[]]\n", &["table, row 1: 0 names: allowed 1 to 64"]);
    refused(
        "splat = true\n[[stage]]\nkind = \"biomes\"\n",
        &["stage 2, biomes: splat = true", "stage 3"],
    );
    refused(
        "[dungeons]\nkind = \"isaac\"\nbiomes = []\n",
        &["biomes = []", "a list of names of one or more"],
    );
}
