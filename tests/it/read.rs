//! Reading back: parts of buffers and sums are the same on both executors, and a run reads no more
//! than it needs.

use crate::common::{cpu, gpu};
use thalweg::arith::mix;
use thalweg::exec::{Executor, Selection};
use thalweg::{Job, Recipe};

/// Words of all sizes.
fn words(count: usize) -> Vec<i32> {
    (0..count as u32).map(|i| mix(i) as i32).collect()
}

/// The words of a part, one by one.
fn picked(words: &[i32], part: &Selection) -> Vec<i32> {
    let cells =
        part.rows.clone().flat_map(|y| part.columns.clone().map(move |x| y * part.width + x));
    cells
        .flat_map(|cell| {
            part.of.clone().map(move |word| words[part.first + cell * part.each + word])
        })
        .collect()
}

#[test]
fn parts_are_what_they_are_of_all() {
    let Some(mut gpu) = gpu("read::parts_are_what_they_are_of_all", 64, None) else { return };
    let mut cpu = cpu();
    let all = words(2 * 41 * 30 * 4);
    let executors: [&mut dyn Executor; 2] = [&mut cpu, &mut gpu];
    for executor in executors {
        executor.write("height", &all).unwrap();
        assert_eq!(executor.read("height").unwrap(), all);
        for first in [0, 41 * 30 * 4] {
            for each in 1..=4 {
                for of in (0..each).flat_map(|from| (from + 1..=each).map(move |to| from..to)) {
                    for (columns, rows) in [
                        (0..41, 0..30),
                        (0..41, 7..19),
                        (3..40, 0..30),
                        (1..2, 5..6),
                        (11..37, 9..10),
                        (40..41, 0..30),
                    ] {
                        let part =
                            Selection { first, width: 41, each, columns, rows, of: of.clone() };
                        assert_eq!(
                            executor.read_selection("height", &part).unwrap(),
                            picked(&all, &part),
                            "{part:?}"
                        );
                    }
                }
            }
        }
        assert!(
            executor.read_selection("no such", &Selection::all(1)).is_err()
                && executor.sum("no such", true).is_err()
        );
    }
}

/// What is larger than a staging buffer comes in pieces.
#[test]
fn large_parts_come_in_pieces() {
    let Some(mut gpu) = gpu("read::large_parts_come_in_pieces", 64, None) else { return };
    let side = 3001;
    let all = words(side * side * 3);
    gpu.write("height", &all).unwrap();
    for (columns, of) in [(0..side, 1..2), (1..side, 2..3), (0..side, 0..3), (17..side - 9, 0..3)] {
        let part = Selection { first: 0, width: side, each: 3, columns, rows: 1..side, of };
        assert!(gpu.read_selection("height", &part).unwrap() == picked(&all, &part), "{part:?}");
    }
    assert!(gpu.read("height").unwrap() == all);
}

/// Sums have more bits than words.
#[test]
fn sums_are_exact() {
    let Some(mut gpu) = gpu("read::sums_are_exact", 64, None) else { return };
    let mut cpu = cpu();
    for count in [1, 255, 256, 257, 100_003] {
        for all in [words(count), vec![-1; count], vec![0; count]] {
            let unsigned: i64 = all.iter().map(|&word| i64::from(word as u32)).sum();
            let signed: i64 = all.iter().map(|&word| i64::from(word)).sum();
            let executors: [&mut dyn Executor; 2] = [&mut cpu, &mut gpu];
            for executor in executors {
                executor.write("flow", &all).unwrap();
                assert_eq!(executor.sum("flow", false).unwrap(), unsigned, "{count} words");
                assert_eq!(executor.sum("flow", true).unwrap(), signed, "{count} words");
            }
        }
    }
}

/// A run reads the words of its maps once, without the margin, and little else.
#[test]
fn a_run_reads_no_more_than_its_maps() {
    let Some(mut gpu) = gpu("read::a_run_reads_no_more_than_its_maps", 64, None) else { return };
    let text = "schema = 2\nwidth = 200\nheight = 150\nspacing_m = 10\nmargin_cells = \
                40\n[[stage]]\n\
                kind = \"diamond_square\"\nrelief_m = 400\n\
                [[stage]]\nkind = \"droplets\"\nrain = 1\nlifetime = 8\n[output]\n\
                maps = [\"height\", \"flow\", \"erosion\", \"change\", \"slope\"]";
    let recipe = Recipe::from_toml(text, "", "read").unwrap();
    Job::new(recipe).unwrap().run_on(&mut gpu, &mut |_| Ok(())).unwrap();
    // Of `change` two words a cell. Sums of particles over the border are read, too.
    let maps = 200 * 150 * 4 * (1 + 1 + 1 + 2);
    let read = gpu.read_bytes();
    assert!((maps..maps + maps / 20).contains(&read), "{read} bytes for maps of {maps}");
}
