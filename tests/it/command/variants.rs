//! `run --count`: lands of consecutive seeds, each as a run of its own makes it, and a contact
//! sheet of their pictures.

use super::{Folder, RECIPE, picture};
use image::GenericImageView;
use serde_json::{Value, json};

/// The pixels of a gap between pictures, and of the line with a number.
const GAP: u32 = 8;
const HEAD: u32 = 22;

#[test]
fn variants_are_runs_of_their_seeds() {
    let folder = Folder::new("variants");
    folder.file("r.toml", RECIPE);
    let said = folder.thalweg("run r.toml -o all --count 5 --sheet --json").ok();
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    let seeds: Vec<_> = said["lands"].as_array().unwrap().iter().map(|l| &l["seed"]).collect();
    assert_eq!(json!(seeds), json!([5, 6, 7, 8, 9]));
    assert!(said["sheet"]["path"].as_str().unwrap().ends_with("sheet.png"));
    let sheet = picture(&folder.read("all/sheet.png"));
    // Three columns and two rows of pictures of 64 x 48 pixels.
    let [across, down] = [64 + GAP, 48 + HEAD + GAP];
    assert_eq!(sheet.dimensions(), (3 * across + GAP, 2 * down + GAP));
    for (nth, seed) in (5..10).enumerate() {
        folder.thalweg(&format!("run r.toml -o one{seed} --seed {seed}")).ok();
        let [one, of_all] = [format!("one{seed}"), format!("all/seed-{seed}")];
        assert_eq!(folder.list(&one), folder.list(&of_all));
        for name in folder.list(&one) {
            let [a, b] = [&one, &of_all].map(|place| folder.read(&format!("{place}/{name}")));
            assert!(a == b, "{of_all}/{name}");
        }
        let [x, y] = [nth as u32 % 3 * across + GAP, nth as u32 / 3 * down + GAP + HEAD];
        let known = picture(&folder.read(&format!("{one}/preview.png"))).to_rgb8();
        assert!(sheet.crop_imm(x, y, 64, 48).to_rgb8() == known, "seed {seed}");
    }
    // The numbers differ, and the digit 6 has eleven squares of nine pixels, the digit 7 seven.
    let label = |nth: u32| {
        let head = sheet.view(nth % 3 * across + GAP, nth / 3 * down + GAP, 64, HEAD);
        let paper = head.get_pixel(63, 21);
        head.pixels().filter(|(.., pixel)| *pixel != paper).count()
    };
    assert_eq!([label(1), label(2)], [12 * 9, 7 * 9]);
}

/// A sheet alone leaves one file; pictures that are larger than those of a sheet are made smaller.
#[test]
fn a_sheet_alone_is_one_picture() {
    let folder = Folder::new("variants-sheet");
    folder.file("r.toml", RECIPE);
    folder.thalweg("run r.toml -o lands.png --count 2 --sheet --size 640x160").ok();
    let sheet = picture(&folder.read("lands.png"));
    assert_eq!(sheet.dimensions(), (2 * (320 + GAP) + GAP, 80 + HEAD + 2 * GAP));
    assert_eq!(folder.list(""), ["lands.png", "r.toml"]);
    // Numbers that are wider than the pictures have room: 20 digits of four squares.
    let last = u64::MAX - 1;
    folder.thalweg(&format!("run r.toml -o long.png --count 2 --sheet --seed {last}")).ok();
    let sheet = picture(&folder.read("long.png"));
    assert_eq!(sheet.dimensions(), (2 * (20 * 4 * 3 + GAP) + GAP, 48 + HEAD + 2 * GAP));
}

/// What cannot be is refused before any work, and nothing is left.
#[test]
fn wrong_variants_are_refused_at_once() {
    let folder = Folder::new("variants-refused");
    folder.file("r.toml", RECIPE).file("lands.png", "");
    let run = |options: &str| folder.thalweg(&format!("run r.toml {options}"));
    run("-o lands.png --count 2 --sheet").refused(1, &["lands.png", "--force"]);
    run("-o all --count 2 --seed 18446744073709551615")
        .refused(1, &["--count 2", "18446744073709551615", "--seed"]);
    run("-o all --count 1025 --sheet").refused(1, &["1025", "1024"]);
    run("-o all --count 0").refused(2, &["0", "1..=1000000"]);
    run("-o all --sheet").refused(2, &["--count"]);
    run("-o all --count 2 --snapshot s").refused(2, &["--count", "--snapshot"]);
    run("-o nowhere/lands.png --count 2 --sheet").refused(1, &["nowhere"]);
    run("-o lands.jpg --count 2 --sheet").refused(1, &["lands.jpg", "a sheet is a .png"]);
    run("-o new.png --count 2 --sheet --frames 4").refused(1, &["--frames", "-o"]);
    run("-o all --count 2 --engine unity").refused(1, &["unity"]);
    run("-o all --count 2 --size 40000x40000 --set levels=1").refused(1, &["--count"]);
    // The second land's folder has a file.
    std::fs::create_dir_all(folder.0.join("all/seed-6")).unwrap();
    folder.file("all/seed-6/height.png", "");
    run("-o all --count 2").refused(1, &["seed-6", "height.png", "--force"]);
    assert_eq!(folder.list("all"), ["seed-6"]);
    let planned = run("-o all --count 3 --sheet --dry-run").ok();
    let known = ["seed-5", "seed-6", "seed-7", "sheet.png"];
    known.iter().for_each(|name| assert!(planned.stdout.contains(name), "{}", planned.stdout));
    assert_eq!(folder.list("all"), ["seed-6"]);
}
