//! Time-lapses of `run` and `erode`.

use super::{Folder, RECIPE, hash, hills, map, npy, pixels};
use serde_json::Value;

/// The pictures of an animation, and their size.
fn film(bytes: Vec<u8>) -> (Vec<Vec<u8>>, (u32, u32)) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let (count, size) = (reader.info().animation_control.unwrap().num_frames, reader.info().size());
    let mut next = || {
        let mut data = vec![0; (size.0 * size.1 * 3) as usize];
        reader.next_frame(&mut data).unwrap();
        data
    };
    ((0..count).map(|_| next()).collect(), size)
}

/// A run writes a time-lapse and its frames, and the maps are those of a run without them.
/// Holds C1 in part.
#[test]
fn run_films_the_erosion() {
    let folder = Folder::new("film");
    let ground = RECIPE.replace("sea_level_m", "colour = \"ground\"\nsea_level_m");
    folder
        .file("r.toml", RECIPE)
        .file("g.toml", ground)
        .thalweg("run r.toml -o plain --device cpu")
        .ok();
    let ran = folder.thalweg("run r.toml -o film --device cpu --frames 7 --json").ok();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let numbers: Vec<String> = (0..7).map(|n| format!("{n:04}.png")).collect();
    assert_eq!(folder.list("film/frames"), numbers);
    assert_eq!(
        folder.list("film"),
        ["flow.png", "frames", "height.png", "manifest.json", "preview.png", "timelapse.apng"]
    );
    assert_eq!(report["files"].as_array().unwrap().len(), 12);
    for file in report["files"].as_array().unwrap() {
        assert_eq!(file["blake3"], hash(&folder.read(file["path"].as_str().unwrap())));
    }
    // Filming does not change the result.
    for name in ["flow.png", "height.png", "preview.png"] {
        assert_eq!(
            folder.read(&format!("film/{name}")),
            folder.read(&format!("plain/{name}")),
            "{name}"
        );
    }
    let (mut watched, plain) =
        (folder.json("film/manifest.json"), folder.json("plain/manifest.json"));
    let said = watched.as_object_mut().unwrap().shift_remove("timelapse").unwrap();
    assert_eq!(
        said,
        serde_json::json!({ "file": "timelapse.apng", "folder": "frames", "frames": 7 })
    );
    assert_eq!(watched, plain);
    let (pictures, size) = film(folder.read("film/timelapse.apng"));
    assert_eq!(size, (64, 48));
    for (picture, name) in pictures.iter().zip(&numbers) {
        assert_eq!(*picture, pixels(folder.read(&format!("film/frames/{name}"))), "{name}");
    }
    assert!(pictures.windows(2).all(|pair| pair[0] != pair[1]));
    // Smaller pictures, with the colours of the ground.
    folder.thalweg("run g.toml -o small --device cpu --frames 2 --frame-size 16").ok();
    let (small, size) = film(folder.read("small/timelapse.apng"));
    assert_eq!((small.len(), size), (2, (16, 12)));
    assert_eq!(folder.read("small/height.png"), folder.read("plain/height.png"));
    assert_ne!(folder.read("small/preview.png"), folder.read("plain/preview.png"));
    assert_eq!(folder.list("small").len(), 6, "maps that only colour the picture are not written");

    // A GIF of at most 256 colours a picture has them all. Its times are hundredths of a second;
    // the last picture stays.
    folder.thalweg("run g.toml -o gif --device cpu --frames 3 --frame-size 16 --film gif").ok();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let bytes = folder.read("gif/timelapse.gif");
    let mut reader = options.read_info(&bytes[..]).unwrap();
    assert_eq!((reader.width(), reader.height(), reader.repeat()), (16, 12, gif::Repeat::Infinite));
    for (n, delay) in [5, 5, 200].into_iter().enumerate() {
        let frame = reader.read_next_frame().unwrap().unwrap();
        let rgb: Vec<u8> =
            frame.buffer.as_chunks::<4>().0.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
        assert_eq!(
            (rgb, frame.delay),
            (pixels(folder.read(&format!("gif/frames/000{n}.png"))), delay),
            "picture {n}"
        );
    }
    assert!(reader.read_next_frame().unwrap().is_none());
    // Another format replaces the file of the first.
    folder.thalweg("run g.toml -o gif --device cpu --frames 3 --frame-size 16 --force").ok();
    assert!(
        folder.list("gif").contains(&"timelapse.apng".into())
            && !folder.list("gif").contains(&"timelapse.gif".into())
    );

    // A film is replaced with --force only.
    folder.thalweg("run r.toml -o film --device cpu --frames 7").refused(1, &["exists", "--force"]);
    folder.thalweg("run r.toml -o film --device cpu --frames 8 --force").ok();
    assert_eq!(folder.list("film/frames").len(), 8);
    // Pictures of a longer film are removed if the manifest lists them, and are an error if not.
    folder.thalweg("run r.toml -o film --device cpu --frames 5 --force").ok();
    assert_eq!(folder.list("film/frames"), numbers[..5]);
    folder.file("film/frames/0005.png", "");
    folder
        .thalweg("run r.toml -o film --device cpu --frames 5 --force")
        .refused(1, &["0005.png", "longer"]);
    let dry = folder.thalweg("run r.toml -o dry --device cpu --frames 9 --dry-run --json").ok();
    let plan: Value = serde_json::from_str(&dry.stdout).unwrap();
    assert_eq!(plan["files"].as_array().unwrap().len(), 4 + 1 + 9);
}

#[test]
fn impossible_films_are_refused_before_the_work() {
    let folder = Folder::new("nofilm");
    let level = RECIPE
        .replace("[[stage]]\nkind = \"droplets\"\nlifetime = 16\nrain = 2\n", "")
        .replace(", \"flow\"", "");
    folder.file("r.toml", RECIPE).file("level.toml", level).file("h.npy", npy(&hills(32, 32)));
    for frames in ["0", "1", "130", "1000000"] {
        let line = format!("run r.toml -o a --device cpu --frames {frames}");
        folder.thalweg(&line).refused(1, &[&format!("frames = {frames}"), "2 to 129"]);
    }
    folder.thalweg("run level.toml -o a --device cpu --frames 3").refused(1, &["nothing to watch"]);
    folder
        .thalweg("run r.toml -o a --frames 3 --frame-size 15")
        .refused(2, &["--frame-size", "16"]);
    folder.thalweg("run r.toml -o a --frame-size 100").refused(2, &["--frames"]);
    folder.thalweg("run r.toml -o a --film gif").refused(2, &["--frames"]);
    folder.thalweg("run r.toml -o a --frames 3 --film mp4").refused(2, &["mp4", "apng", "gif"]);
    folder.thalweg("erode h.npy -o o.npy --spacing 10 --frames 3").refused(1, &["--timelapse"]);
    folder
        .thalweg("erode h.npy -o o.npy --spacing 10 --frames 3 --timelapse t.mp4")
        .refused(1, &["t.mp4", ".apng", ".gif"]);
    folder
        .thalweg("erode h.npy -o o.npy --spacing 10 --timelapse t.apng")
        .refused(2, &["--frames"]);
    folder
        .thalweg("erode h.npy -o o.npy --spacing 10 --frames 9999999 --timelapse t.apng")
        .refused(1, &["9999999", "2 to"]);
    assert_eq!(folder.list(""), ["h.npy", "level.toml", "r.toml"]);
}

/// A time-lapse of `erode` begins with its input.
/// Holds C1 in part.
#[test]
fn erode_films_too() {
    let folder = Folder::new("erodefilm");
    // Heights are multiples of a quarter of a cell, so none is rounded.
    folder.file("h.npy", npy(&map(50, 40, |r, c| 2.5 * ((r * r / 9 + c * 3) % 90) as f32)));
    let line = "erode h.npy -o OUT --device cpu --spacing 10 --margin 5 --set steps=16";
    folder.thalweg(&line.replace("OUT", "plain.npy")).ok();
    folder.thalweg(&format!("{} --frames 4 --timelapse t.apng", line.replace("OUT", "o.npy"))).ok();
    assert_eq!(folder.list(""), ["h.npy", "o.npy", "plain.npy", "t.apng"]);
    assert_eq!(folder.read("o.npy"), folder.read("plain.npy"));
    let (pictures, size) = film(folder.read("t.apng"));
    assert_eq!((pictures.len(), size), (4, (50, 40)));
    folder
        .thalweg(&format!("{} --frames 4 --timelapse t.gif --force", line.replace("OUT", "o.npy")))
        .ok();
    assert!(folder.read("t.gif").starts_with(b"GIF89a"));
    // The first picture is the input, with the colours of its own range.
    folder.thalweg("render h.npy -o h.png --spacing 10").ok();
    assert_eq!(pictures[0], pixels(folder.read("h.png")));
}

/// Waves are an animation without an end: all pictures are shown equally long, a period in all, and
/// those of a time are the same however many there are. A sheet has the four stages.
/// Holds B6 in part.
#[test]
fn render_animates_waves() {
    let folder = Folder::new("waves");
    folder.file("h.npy", npy(&map(12, 9, |_, c| c as f32 * 10.0 - 45.0)));
    let render = |name: &str, options: &str| {
        let line = format!(
            "render h.npy -o {name} --spacing 10 --sea-level 0 --shore-length 50 --pixels 2 \
             --waves {options}"
        );
        folder.thalweg(&line).ok();
        folder.read(name)
    };
    let (six, size) = film(render("six.apng", "--frames 6"));
    let (three, _) = film(render("three.png", "--frames 3"));
    // A side that is all sea is wider by the shore's length.
    assert_eq!(size, (2 * 11 + 1 + 10, 2 * 8 + 1));
    assert_eq!([&six[0], &six[2], &six[4]], [&three[0], &three[1], &three[2]]);
    assert!((1..6).all(|n| six[n] != six[n - 1]));
    assert_eq!(six[0], pixels(render("still.png", "")));
    let mut reader =
        png::Decoder::new(std::io::Cursor::new(folder.read("six.apng"))).read_info().unwrap();
    assert_eq!(reader.info().animation_control.unwrap().num_plays, 0, "without an end");
    for _ in 0..6 {
        reader.next_frame(&mut vec![0; six[0].len()]).unwrap();
        let control = reader.info().frame_control.unwrap();
        assert_eq!(
            u32::from(control.delay_num) * 48,
            25 * u32::from(control.delay_den),
            "a sixth of 25/8 s"
        );
    }
    let sheet = super::picture(&render("sheet.png", "sheet")).to_rgb8();
    assert_eq!(sheet.dimensions(), (2 * size.0 + 4, 2 * size.1 + 4));
    for (n, stage) in (0..).zip(["shapes", "direction", "sinusoid", "waves"]) {
        let panel = super::picture(&render(&format!("{stage}.png"), stage)).to_rgb8();
        let [left, top] = [n % 2 * (size.0 + 4), n / 2 * (size.1 + 4)];
        assert!(
            panel
                .enumerate_pixels()
                .all(|(x, y, pixel)| sheet.get_pixel(left + x, top + y) == pixel),
            "{stage}"
        );
    }
    // Lakes and rivers are drawn below the waves: the land has them, and the sea is as it was.
    let still = super::picture(&render("dry.png", "")).to_rgb8();
    folder.file(
        "d.npy",
        npy(&map(
            12,
            9,
            |r, c| if (7..10).contains(&c) && (3..6).contains(&r) { 2.0 } else { 0.0 },
        )),
    );
    folder.file("w.npy", npy(&map(12, 9, |r, c| if c >= 5 && r == 1 { 5.0 } else { 0.0 })));
    let wet = super::picture(&render("wet.png", "waves --water d.npy --rivers w.npy")).to_rgb8();
    let changed =
        |x: u32, y: u32| wet.get_pixel(10 + 2 * x, 2 * y) != still.get_pixel(10 + 2 * x, 2 * y);
    assert!((3..6).all(|y| (7..10).all(|x| changed(x, y))), "the lake");
    assert!((5..12).all(|x| changed(x, 1)), "the river");
    assert!((0..5).all(|x| (0..9).all(|y| !changed(x, y))), "the sea");
    for (options, code, parts) in [
        ("--waves --frames 1", 1, ["--frames 1", "2 to 1000"]),
        ("--waves --pixels 17", 1, ["--pixels 17", "1 to 16"]),
        ("--waves --shore-length 0", 1, ["--shore-length 0", "0.001"]),
        ("--waves tides", 2, ["tides", "sheet"]),
    ] {
        folder
            .thalweg(&format!("render h.npy -o x.png --sea-level 0 --spacing 10 {options}"))
            .refused(code, &parts);
    }
    folder.thalweg("render h.npy -o x.png --spacing 10 --waves").refused(2, &["--sea-level"]);
    folder
        .thalweg("render h.npy -o x.apng --spacing 10 --sea-level 0 --waves")
        .refused(1, &["x.apng", ".png"]);
    assert!(!folder.list("").iter().any(|name| name.starts_with('x')));
}
