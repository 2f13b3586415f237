//! Reads what a GeoTIFF says of its samples: place, keys, GDAL's metadata, missing values.
#![no_main]

use thalweg_fuzz::read;

/// The tags, in ascending order, with the bytes of a value: cells, a point, keys, their numbers and
/// texts, GDAL's metadata and its value for missing samples.
const TAGS: [(u16, u16, usize); 7] = [
    (33550, 12, 8),
    (33922, 12, 8),
    (34735, 3, 2),
    (34736, 12, 8),
    (34737, 2, 1),
    (42112, 2, 1),
    (42113, 2, 1),
];

/// A TIFF of 2x2 samples of 16 bits with the parts of an input as values of its tags.
fn tiff(kind: u8, parts: [&[u8]; 7]) -> Vec<u8> {
    let sample = [1, 2, 3, 0].map(|sample: u16| sample.to_le_bytes()).concat();
    let number = |number: u16| [number.to_le_bytes(), [0; 2]].concat();
    let mut tags: Vec<(u16, u16, usize, Vec<u8>)> = [
        (256, 2),
        (257, 2),
        (258, 16),
        (259, 1),
        (262, 1),
        (273, 8),
        (277, 1),
        (278, 2),
        (279, 8),
        (339, u16::from(kind & 3)),
    ]
    .map(|(tag, value)| (tag, 3, 1, number(value)))
    .into();
    for ((tag, kind, size), part) in TAGS.into_iter().zip(parts) {
        let whole = part.len() / size;
        if whole > 0 {
            tags.push((tag, kind, whole, part[..whole * size].to_vec()));
        }
    }
    // The samples stand behind the head, values that do not fit into a tag behind them, and the
    // list of tags at the end.
    let (mut file, mut list) = ([&b"II*\0\0\0\0\0"[..], &sample].concat(), vec![]);
    for (tag, kind, count, mut value) in tags {
        if value.len() > 4 {
            let place = (file.len() as u32).to_le_bytes();
            file.extend(&value);
            file.extend(vec![0; file.len() % 2]);
            value = place.into();
        }
        value.resize(4, 0);
        list.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        list.extend((count as u32).to_le_bytes());
        list.extend(value);
    }
    let place = (file.len() as u32).to_le_bytes();
    file[4..8].copy_from_slice(&place);
    file.extend((list.len() as u16 / 12).to_le_bytes());
    file.extend(list);
    file.extend([0; 4]);
    file
}

thalweg_fuzz::target!(256, |data| {
    // Four bytes of options, one for the kind of samples, and parts between bytes of 0xff.
    let Some(([first @ .., kind], rest)) = data.split_first_chunk::<5>() else { return };
    let mut parts = rest.splitn(7, |byte| *byte == 0xff);
    let parts = [(); 7].map(|()| parts.next().unwrap_or_default());
    read("land.tif", &[first, &tiff(*kind, parts)[..]].concat());
});
