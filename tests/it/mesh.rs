//! Meshes: their geometry by brute force, and the bytes of the formats by their specifications.

use std::collections::HashMap;
use thalweg::io::mesh::{Mesh, MeshFormat};
use thalweg::map::Map;

fn land(width: u32, height: u32) -> Map {
    let value = |i: u32| {
        let (x, y) = ((i % width) as f32, (i / width) as f32);
        100.0
            + 8.0 * (x * 0.21).sin() * (y * 0.17).cos()
            + 0.3 * ((x * 12.9 + y * 78.2).sin() * 43758.5).fract()
    };
    Map {
        width,
        height,
        spacing_m: 2.5,
        data: (0..width * height).map(value).collect(),
        range_m: None,
        georef: None,
    }
}

/// Vertices and triangles of an OBJ.
fn parsed(bytes: &[u8]) -> (Vec<[f64; 3]>, Vec<[usize; 3]>) {
    let text = std::str::from_utf8(bytes).unwrap();
    let rows = |head: &str| {
        text.lines()
            .filter_map(move |line| line.strip_prefix(head).map(String::from))
            .collect::<Vec<_>>()
    };
    let three =
        |line: &String| -> Vec<f64> { line.split(' ').map(|v| v.parse().unwrap()).collect() };
    let vertices = rows("v ").iter().map(|line| three(line).try_into().unwrap()).collect();
    let faces = rows("f ")
        .iter()
        .map(|line| <[f64; 3]>::try_from(three(line)).unwrap().map(|i| i as usize - 1))
        .collect();
    (vertices, faces)
}

/// Twice the area of a triangle seen from above, over 0 if it is counter-clockwise there; z grows
/// to the south.
fn area([a, b, c]: [[f64; 3]; 3]) -> f64 {
    (c[0] - a[0]) * (b[2] - a[2]) - (b[0] - a[0]) * (c[2] - a[2])
}

/// All triangles face up and cover the land once; every sample is as near to them as was asked for;
/// fewer are needed for a larger error, and a plane needs two.
/// Holds file F11 in part.
#[test]
fn a_mesh_covers_the_land_within_its_error() {
    let map = land(61, 43);
    let mut last = usize::MAX;
    for error in [None, Some(0.05), Some(0.5), Some(3.0)] {
        let mesh = Mesh::of(&map, error).unwrap();
        let (vertices, faces) = parsed(&mesh.encode(MeshFormat::Obj, "land").unwrap());
        assert_eq!([vertices.len(), faces.len()], mesh.counts());
        let all = || faces.iter().map(|f| f.map(|i| vertices[i]));
        assert!(all().all(|triangle| area(triangle) > 0.0), "{error:?}");
        let whole = 60.0 * 42.0 * 2.5 * 2.5;
        assert!((all().map(area).sum::<f64>() / 2.0 - whole).abs() < 1e-6 * whole, "{error:?}");
        let mut worst: f64 = 0.0;
        for (i, height) in map.data.iter().enumerate() {
            let p = [(i % 61) as f64 * 2.5, 0.0, (i / 61) as f64 * 2.5];
            let over = all().find_map(|[a, b, c]| {
                let parts = [area([p, b, c]), area([a, p, c]), area([a, b, p])];
                let sum = area([a, b, c]);
                let inside = parts.iter().all(|part| *part >= -1e-9 * sum);
                inside.then(|| (parts[0] * a[1] + parts[1] * b[1] + parts[2] * c[1]) / sum)
            });
            worst = worst.max((over.unwrap() - f64::from(*height)).abs());
        }
        assert!(worst <= error.unwrap_or(0.0) + 1e-4, "{error:?}: {worst}");
        assert!(mesh.counts()[1] < last, "{error:?}");
        last = mesh.counts()[1];
    }
    let plane = Map {
        data: (0..61 * 43).map(|i| (i % 61) as f32 * 0.5 - (i / 61) as f32).collect(),
        ..map.clone()
    };
    assert_eq!(Mesh::of(&plane, Some(0.01)).unwrap().counts(), [4, 2]);
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Mesh::of(&map, Some(wrong)).unwrap_err().code(), "param");
    }
    assert!(Mesh::of(&land(1, 9), None).unwrap_err().to_string().contains("1x9"));
}

/// A printer's body is closed: every edge belongs to two triangles, once in each direction, and its
/// volume is that of the land above its base.
/// Holds file F11 in part.
#[test]
fn an_stl_is_a_closed_body() {
    let map = land(23, 17);
    for error in [None, Some(0.4)] {
        let mesh = Mesh::of(&map, error).unwrap();
        let bytes = mesh.encode(MeshFormat::Stl, "land").unwrap();
        let count = u32::from_le_bytes(bytes[80..84].try_into().unwrap()) as usize;
        assert_eq!(bytes.len(), 84 + 50 * count);
        let float = |b: &[u8]| f32::from_le_bytes(b.try_into().unwrap());
        let mut edges: HashMap<[[u32; 3]; 2], i32> = HashMap::new();
        let mut volume = 0.0;
        for face in bytes[84..].chunks(50) {
            let corner = |n: usize| [0, 1, 2].map(|k| float(&face[12 + 12 * n + 4 * k..][..4]));
            let [a, b, c] = [corner(0), corner(1), corner(2)];
            for (from, to) in [(a, b), (b, c), (c, a)] {
                *edges.entry([from, to].map(|p| p.map(f32::to_bits))).or_default() += 1;
            }
            let [a, b, c] = [a, b, c].map(|p| p.map(f64::from));
            let cross =
                [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
            volume += (a[0] * cross[0] + a[1] * cross[1] + a[2] * cross[2]) / 6.0;
        }
        for ([from, to], n) in &edges {
            assert_eq!((*n, edges.get(&[*to, *from])), (1, Some(&1)), "{error:?}");
        }
        let (vertices, faces) = parsed(&mesh.encode(MeshFormat::Obj, "land").unwrap());
        let lowest = vertices.iter().map(|v| v[1]).fold(f64::INFINITY, f64::min);
        let base = lowest - 0.02 * 22.0 * 2.5;
        let column = |f: &[usize; 3]| {
            let [a, b, c] = f.map(|i| vertices[i]);
            area([a, b, c]) / 2.0 * ((a[1] + b[1] + c[1]) / 3.0 - base)
        };
        let expected: f64 = faces.iter().map(column).sum();
        assert!((volume - expected).abs() < 1e-4 * expected, "{error:?}: {volume} {expected}");
    }
}

/// A .glb is as the specification of glTF 2.0 has it: header, chunks of whole words, views within
/// the buffer, bounds of the positions.
/// Holds file F11 in part.
#[test]
fn a_glb_follows_the_specification() {
    let map = land(19, 15);
    let mesh = Mesh::of(&map, Some(0.3)).unwrap();
    let bytes = mesh.encode(MeshFormat::Glb, "a \"land\"").unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&bytes[..4], word(4), word(8)), (&b"glTF"[..], 2, bytes.len()));
    let text = word(12);
    assert_eq!((&bytes[16..20], text % 4), (&b"JSON"[..], 0));
    let json: serde_json::Value = serde_json::from_slice(&bytes[20..20 + text]).unwrap();
    let binary = 20 + text + 8;
    assert_eq!(
        (word(20 + text), &bytes[24 + text..28 + text]),
        (bytes.len() - binary, &b"BIN\0"[..])
    );
    assert_eq!(json["buffers"][0]["byteLength"], bytes.len() - binary);
    assert_eq!(json["nodes"][0]["name"], "a \"land\"");
    let [vertices, triangles] = mesh.counts();
    let view = |n: usize, each: usize, count: usize| {
        let view = &json["bufferViews"][n];
        let (start, length) = (
            view["byteOffset"].as_u64().unwrap() as usize,
            view["byteLength"].as_u64().unwrap() as usize,
        );
        assert_eq!(
            (start % 4, length, json["accessors"][n]["count"].as_u64()),
            (0, each * count, Some(count as u64))
        );
        bytes[binary + start..][..length].as_chunks::<4>().0
    };
    let floats =
        |words: &[[u8; 4]]| words.iter().map(|w| f32::from_le_bytes(*w)).collect::<Vec<_>>();
    let (positions, normals, places) = (
        floats(view(0, 12, vertices)),
        floats(view(1, 12, vertices)),
        floats(view(2, 8, vertices)),
    );
    let indices: Vec<u32> =
        view(3, 4, triangles * 3).iter().map(|w| u32::from_le_bytes(*w)).collect();
    assert!(indices.iter().all(|i| (*i as usize) < vertices));
    for axis in 0..3 {
        let along = || positions.chunks(3).map(|p| f64::from(p[axis]));
        let bounds =
            [along().fold(f64::INFINITY, f64::min), along().fold(f64::NEG_INFINITY, f64::max)];
        let told = ["min", "max"].map(|key| json["accessors"][0][key][axis].as_f64().unwrap());
        assert!(
            (bounds[0] - told[0]).abs() < 1e-4 && (bounds[1] - told[1]).abs() < 1e-4,
            "{bounds:?} {told:?}"
        );
    }
    assert!(
        normals
            .chunks(3)
            .all(|n| (n.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5 && n[1] > 0.0)
    );
    assert!(places.iter().all(|v| (0.0..=1.0).contains(v)) && places.contains(&1.0));
}
