//! The arithmetic: against wide integers, and the twins against each other on the device.

use crate::common::{gpu, rounds, run};
use thalweg::arith::*;
use thalweg::exec::Executor;
use thalweg::plan::{Buffer, Call, Fill, Kernel, Pass, Plan, Uniform};
use thalweg::site::Window;

const NASTY: [i32; 31] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    255,
    256,
    1000,
    4095,
    32767,
    32768,
    -32768,
    -32769,
    65535,
    65536,
    65537,
    -65536,
    0x7fff_f000,
    1 << 20,
    (1 << 20) + 1,
    -(1 << 20),
    12_345_678,
    987_654_321,
    -987_654_321,
    1 << 30,
    -(1 << 30),
    i32::MAX,
    i32::MIN,
    i32::MIN + 1,
];

#[test]
fn products_are_those_of_wide_integers() {
    for a in NASTY {
        for b in NASTY.map(|b| b as u32 % 65537) {
            let exact = a as i64 * b as i64;
            assert_eq!(mul_q16(a, b) as i64, exact >> 16, "{a} {b}");
            assert_eq!(mul_q16_near(a, b) as i64, (exact + 0x8000) >> 16, "{a} {b}");
        }
        for v in NASTY.map(|v| v & 0xfff_ffff) {
            let exact = (a as i64 * v as i64) >> 28;
            assert!((0..=1).contains(&(exact - mul_q28(a, v) as i64)), "{a} {v}");
        }
        assert_eq!(mul_q28(a, 1 << 28), a);
    }
}

#[test]
fn quotients_and_roots_are_exact() {
    let mut numbers: Vec<u32> = NASTY.map(|n| (n as u32) & 0x7fff_ffff).to_vec();
    for k in 1..46340u32 {
        if k % 7 == 0 || k > 46300 {
            numbers.extend([k * k - 1, k * k, k * k + 1]);
        }
    }
    numbers.extend((0..20_000).map(|i| mix(i) & 0x7fff_ffff));
    for &n in &numbers {
        assert_eq!(isqrt(n) as u64, (n as u64).isqrt(), "{n}");
    }
    for &n in &numbers {
        for d in [
            1u32,
            2,
            3,
            7,
            255,
            16384,
            32767,
            46340,
            65535,
            65536,
            1_000_003,
            n.max(1),
            (n / 2).max(1),
            n / 65536 + 1,
            0x7fff_ffff,
        ] {
            if n / d <= 65536 {
                assert_eq!(div_small(n, d), n / d, "{n} / {d}");
            }
        }
    }
    for n in (0..1 << 12)
        .chain((12..24).flat_map(|b| [(1 << b) - 1, 1 << b, (1 << b) + 1]))
        .filter(|n| *n < 1 << 24)
    {
        assert_eq!(log2(n), n.max(1).ilog2(), "{n}");
    }
}

/// Calls `check` for every `stride`-th number of a range, on all cores.
fn each(numbers: std::ops::Range<u64>, stride: u64, check: impl Fn(u64) + Sync) {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for first in 0..cores {
            let (check, numbers) = (&check, numbers.clone());
            scope.spawn(move || {
                let mine = numbers.skip((first * stride) as usize);
                mine.step_by((cores * stride) as usize).for_each(check);
            });
        }
    });
}

/// From one input that is tried to the next. `THALWEG_ROUNDS=255` tries all.
fn stride() -> u64 {
    255 / u64::from(rounds(1)).min(255)
}

/// 64 random bits by a number: SplitMix64, of G. Steele, D. Lea, C. Flood, *Fast splittable
/// pseudorandom number generators*, 2014.
fn drawn(i: u64) -> u64 {
    let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Roots at both ends of all squares, all logarithms, and all products and quotients of a part of
/// the factors and divisors, against wide integers. With `THALWEG_ROUNDS=255` all inputs are tried,
/// and 10¹⁰ draws of what has too many, in some minutes of a release build.
#[test]
fn arithmetic_is_exact_at_all_ends() {
    each(0..46341, 1, |root| {
        // The numbers that have this root: the first, some between, and the last.
        let squares = root * root..((root + 1) * (root + 1)).min(1 << 31);
        for n in squares.step_by(stride() as usize).chain([(root + 1) * (root + 1) - 1]) {
            assert_eq!(u64::from(isqrt((n as u32).min(i32::MAX as u32))), root, "{n}");
        }
    });
    each(1..1 << 24, 1, |n| assert_eq!(log2(n as u32), (n as u32).ilog2(), "{n}"));
    // Only the low half of a factor is rounded, so all low halves are tried.
    each(0..65537, stride(), |b| {
        for a in 0..65536u64 {
            let exact = a * b;
            assert_eq!(u64::from(mul_q16(a as i32, b as u32) as u32), exact >> 16, "{a} {b}");
            let near = (exact + 0x8000) >> 16;
            assert_eq!(u64::from(mul_q16_near(a as i32, b as u32) as u32), near, "{a} {b}");
        }
    });
    // A quotient that is off by one is off for the first or the last number that has it.
    each(1..1 << 31, stride(), |d| {
        for q in 0..=65536u64.min(i32::MAX as u64 / d) {
            for n in [q * d, (q * d + d - 1).min(i32::MAX as u64)] {
                assert_eq!(u64::from(div_small(n as u32, d as u32)), q, "{n} / {d}");
            }
        }
    });
    each(0..u64::from(rounds(40 << 20)), 1, |i| {
        let (ends, share) = (drawn(2 * i), drawn(2 * i + 1));
        // Of 31 bits, so that their difference has 32; and shares of all sizes.
        let (a, b) = (ends as i32 >> 1, (ends >> 32) as i32 >> 1);
        let f = (share as u32 >> 15).min(65536);
        let exact = a as i64 + (((b as i64 - a as i64) * f as i64 + 0x8000) >> 16);
        assert_eq!(lerp(a, b, f) as i64, exact, "{a} {b} {f}");
        let v = (share >> 32) as i32 & 0xfff_ffff;
        let exact = (a as i64 * v as i64) >> 28;
        assert!((0..=1).contains(&(exact - mul_q28(a, v) as i64)), "{a} {v}");
    });
}

#[test]
fn units_are_unit_vectors_without_a_favourite_axis() {
    for (x, y, want) in [
        (1, 0, [16384, 0]),
        (0, -9, [0, -16384]),
        (4_000_000, 0, [16384, 0]),
        (-3, 4, [-9830, 13107]),
        (6_000_000, 8_000_000, [9830, 13107]),
    ] {
        assert_eq!(unit(x, y), want, "{x} {y}");
    }
    for i in 0..20_000u32 {
        let (a, b) = (mix(i), mix(i ^ 0x5555_0000));
        let shift = a >> 27;
        let (x, y) = ((a as i32) << 4 >> 9 >> (shift % 20), (b as i32) << 4 >> 9 >> (shift % 20));
        if (x, y) == (0, 0) {
            continue;
        }
        let [ux, uy] = unit(x, y);
        let length = (x as f64).hypot(y as f64);
        // Both the scaling (to 15 bits or more) and the quotient cut at most one unit in 2^14 each.
        for (u, v) in [(ux, x), (uy, y)] {
            let off = v as f64 / length * 16384.0 - u as f64;
            assert!(off.abs() < 3.0, "{x} {y}: {u}");
        }
        assert_eq!(unit(-x, y), [-ux, uy]);
        assert_eq!(unit(y, x), [uy, ux]);
    }
}

#[test]
fn folding_mirrors_or_wraps() {
    let mirrored: Vec<i32> = (-4..8).map(|i| fold(i, 3, false)).collect();
    assert_eq!(mirrored, [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
    let wrapped: Vec<i32> = (-4..8).map(|i| fold(i, 3, true)).collect();
    assert_eq!(wrapped, [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]);
}

#[test]
fn the_mixer_is_the_published_one() {
    // lowbias32 of 1, 2 and 0xdeadbeef, computed by hand with wide integers.
    let reference = |n: u32| {
        let mut x = n as u64;
        x ^= x >> 16;
        x = x * 0x7feb352d % (1 << 32);
        x ^= x >> 15;
        x = x * 0x846ca68b % (1 << 32);
        (x ^ (x >> 16)) as u32
    };
    for n in [0, 1, 2, 0xdead_beef, u32::MAX] {
        assert_eq!(mix(n), reference(n));
    }
    assert_eq!(mix(0), 0);
    // SplitMix64 seeded with 1234567 begins with this number (Vigna's reference implementation).
    let [low, high] = key(1_234_567, 0);
    assert_eq!((high as u64) << 32 | low as u64, 6_457_827_717_110_365_317);
}

/// The artefacts that commenters found in simpler hashes: symmetry about the diagonal, and islets
/// that repeat.
#[test]
fn the_hash_has_no_symmetry_and_no_period() {
    let k = key(7, 3);
    let n = 512u32;
    let at = |x: u32, y: u32| (hash(k, x, y) >> 8) as f64 / (1u32 << 24) as f64 - 0.5;
    for origin in [0u32, 1 << 20, 1 << 27, u32::MAX - 2 * n] {
        let correlation = |dx: u32, dy: u32, transpose: bool| {
            let mut sum = 0.0;
            for y in 0..n {
                for x in 0..n {
                    let (a, b) = (origin.wrapping_add(x), origin.wrapping_add(y));
                    let other = if transpose {
                        at(b, a)
                    } else {
                        at(a.wrapping_add(dx), b.wrapping_add(dy))
                    };
                    sum += at(a, b) * other;
                }
            }
            // The variance of a uniform number is 1/12; the diagonal itself counts n of n² when
            // transposed.
            sum / (n * n) as f64 * 12.0
        };
        let bound = 5.0 / n as f64;
        assert!(
            correlation(0, 0, true).abs() < bound + 1.0 / n as f64,
            "symmetric about the diagonal at {origin}"
        );
        for (dx, dy) in [
            (1, 0),
            (0, 1),
            (1, 1),
            (n, 0),
            (0, n),
            (1 << 16, 0),
            (0, 1 << 16),
            (1 << 24, 1 << 24),
            (7, 13),
            (1, u32::MAX),
        ] {
            let c = correlation(dx, dy, false);
            assert!(c.abs() < bound, "({dx}, {dy}) at {origin}: {c}");
        }
    }
    // The check bites on the kind of hash that was complained about.
    let weak = |x: u32, y: u32| {
        ((x ^ y).wrapping_mul(2_971_902_361) >> 8) as f64 / (1u32 << 24) as f64 - 0.5
    };
    let sum: f64 = (0..n).flat_map(|y| (0..n).map(move |x| weak(x, y) * weak(y, x))).sum();
    assert!(sum / (n * n) as f64 * 12.0 > 0.5);
}

/// Both twins of every function over all pairs of nasty numbers.
#[test]
fn the_twins_agree() {
    let Some(mut gpu) = gpu("arith::the_twins_agree", 64, None) else { return };
    const OUT: usize = 16;
    fn both(a: i32, b: i32) -> [i32; OUT] {
        let f = b as u32 % 65537;
        let v = unit_or_zero(a >> 8, b >> 8);
        let d = (b as u32 & 0x7fff_ffff).max(1);
        let n = (a as u32 & 0x7fff_ffff).min(((d as u64) << 16).min(0x7fff_ffff) as u32);
        [
            mul_q16(a, f),
            mul_q16_near(a, f),
            mul_q28(a, b & 0xfff_ffff),
            lerp(a >> 1, b >> 1, f),
            div_small(n, d) as i32,
            isqrt(a as u32 & 0x7fff_ffff) as i32,
            log2(a as u32 & 0xff_ffff) as i32,
            v[0],
            v[1],
            mix(a as u32) as i32,
            hash([a as u32, b as u32], b as u32, a as u32) as i32,
            fold(a >> 12, (b & 1023) + 1, a & 1 == 1),
            value_noise([b as u32, a as u32], a as u32, b as u32, f, a as u32 % 65537),
            a.saturating_add(b),
            a.saturating_sub(b),
            height_within(a),
        ]
    }
    fn unit_or_zero(a: i32, b: i32) -> [i32; 2] {
        if (a, b) == (0, 0) { [0, 0] } else { unit(a, b) }
    }
    static KERNEL: Kernel = Kernel {
        entry: "twins",
        reads: &["pairs"],
        owns: &[("height", OUT)],
        adds: &[],
        cpu: |_: &mut Call| {},
    };
    const SHADER: &str = "
        @group(0) @binding(1) var<storage, read> pairs: array<i32>;
        @group(0) @binding(2) var<storage, read_write> own_height: array<i32>;
        @compute @workgroup_size(WORKGROUP)
        fn twins(invocation: Invocation) {
            let i = index_of(invocation);
            if i >= dispatch.end { return; }
            let a = pairs[2u * i];
            let b = pairs[2u * i + 1u];
            let f = u32(b) % 65537u;
            var v = vec2<i32>(0, 0);
            if (a >> 8u) != 0 || (b >> 8u) != 0 { v = unit(a >> 8u, b >> 8u); }
            let d = max(u32(b) & 0x7fffffffu, 1u);
            let n = min(u32(a) & 0x7fffffffu, select(d << 16u, 0x7fffffffu, d >= 32768u));
            let o = 16u * i;
            own_height[o] = mul_q16(a, f);
            own_height[o + 1u] = mul_q16_near(a, f);
            own_height[o + 2u] = mul_q28(a, b & 0xfffffff);
            own_height[o + 3u] = lerp(a >> 1u, b >> 1u, f);
            own_height[o + 4u] = i32(div_small(n, d));
            own_height[o + 5u] = i32(isqrt(u32(a) & 0x7fffffffu));
            own_height[o + 6u] = i32(log2_floor(u32(a) & 0xffffffu));
            own_height[o + 7u] = v.x;
            own_height[o + 8u] = v.y;
            own_height[o + 9u] = i32(mix_bits(u32(a)));
            own_height[o + 10u] = i32(hash(vec2<u32>(u32(a), u32(b)), u32(b), u32(a)));
            own_height[o + 11u] = fold(a >> 12u, (b & 1023) + 1, (a & 1) == 1);
            own_height[o + 12u] = value_noise(vec2<u32>(u32(b), u32(a)), u32(a), u32(b), f, u32(a) \
                          % 65537u);
            own_height[o + 13u] = add_within(a, b);
            own_height[o + 14u] = sub_within(a, b);
            own_height[o + 15u] = height_within(a);
        }";
    let mut pairs: Vec<[i32; 2]> = NASTY.iter().flat_map(|&a| NASTY.map(|b| [a, b])).collect();
    pairs.extend((0..200_000u32).map(|i| [mix(i) as i32 >> (i % 29), mix(!i) as i32 >> (i % 23)]));
    let buffers = vec![
        Buffer {
            fill: Fill::Word(0x5555_5555),
            ..Buffer::scratch("height", pairs.len() * OUT).kept()
        },
        Buffer::table("pairs", pairs.concat()),
    ];
    let pass = Pass::new(&KERNEL, Uniform::default(), pairs.len(), 1);
    let plan = Plan::new(SHADER, Window::sized(1, 1), buffers, vec![pass]);
    gpu.begin(&plan).unwrap();
    run(&mut gpu, &plan, 0..1);
    for ([a, b], got) in pairs.iter().zip(gpu.read("height").unwrap().chunks(OUT)) {
        assert_eq!(got, both(*a, *b), "({a}, {b})");
    }
}
