//! Windows made in the background: their words, their order, and what ends them.

use crate::common::cpu;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use thalweg::tiles::{PoolOptions, Store, Tiles, WindowPool};
use thalweg::{Device, Error, Job, Recipe, Window, field};

const WORLD: &str = "schema = 2\nseed = 11\nwidth = 64\nheight = 64\nspacing_m = 20\n\
                     endless = true\nlevels = 2\n[[stage]]\nkind = \"noise\"\n\
                     feature_cells = 40\nrelief_m = 600\n[[stage]]\nkind = \"incision\"\n\
                     steps = 6\n[output]\nmaps = [\"height\", \"flow\", \"slope\"]\n";

fn job(text: &str) -> Job {
    Job::new(text.parse::<Recipe>().unwrap()).unwrap().device(Device::Cpu)
}

fn window(x: i64, y: i64, width: u32, height: u32) -> Window {
    Window { origin: [x, y], width, height }
}

fn options(workers: usize) -> PoolOptions {
    let mut options = PoolOptions::default();
    options.workers = workers;
    options.cut = 64.into();
    options
}

/// Several workers that share tiles make the maps that one row of tiles has, with little memory and
/// with much, and no tile twice.
#[test]
fn windows_have_the_words_of_tiles() {
    let windows = [window(0, 0, 65, 65), window(64, 0, 65, 65), window(-9, -40, 40, 33)]
        .into_iter()
        .chain([window(1 << 40, -(1 << 33), 20, 50), window(5, 5, 1, 1)]);
    let asked: Vec<_> = windows
        .flat_map(|window| {
            [(0, "height"), (1, "flow"), (0, "slope")].map(|(level, map)| (level, window, map))
        })
        .collect();
    let mut tiles = Tiles::new(job(WORLD), 64).unwrap();
    let mut expected = vec![];
    for (level, window, map) in &asked {
        let field = field::find(map).unwrap();
        expected.push(tiles.map(*level, *window, field, &mut cpu()).unwrap());
    }
    for (workers, memory) in [(1, 200_000), (3, u64::MAX), (4, 0)] {
        let mut options = options(workers);
        options.memory_bytes = memory;
        let pool = WindowPool::new(job(WORLD), options).unwrap();
        let requests: Vec<_> = asked
            .iter()
            .map(|(level, window, map)| pool.request(*level, *window, map, 0).unwrap())
            .collect();
        for (request, expected) in requests.into_iter().zip(&expected) {
            let window = request.window();
            assert_eq!(request.wait().unwrap().data, expected.data, "{workers}: {window:?}");
        }
        assert_eq!(pool.pending(), 0);
        if memory == u64::MAX {
            assert_eq!(pool.counts(), [tiles.counts()[0], 0]);
        }
    }
}

/// A pool with one worker, which stops after each answer until the test lets it continue, and the
/// numbers of the requests that it answered.
fn halting() -> (WindowPool, Receiver<u64>, Sender<()>) {
    let (said, heard) = channel();
    let (go, gone) = channel();
    let gone = Mutex::new(gone);
    let mut options = options(1);
    options.answered = Some(Arc::new(move |number| {
        said.send(number).unwrap();
        // The pool may end meanwhile.
        let _ = gone.lock().unwrap().recv();
    }));
    (WindowPool::new(job(WORLD), options).unwrap(), heard, go)
}

/// The most urgent comes first, and of equals the one that was asked for first; priorities may
/// change while requests wait.
#[test]
fn the_most_urgent_comes_first() {
    let (pool, heard, go) = halting();
    let ask = |n: i64, priority| pool.request(0, window(n * 40, 0, 8, 8), "height", priority);
    let first = ask(0, 0).unwrap();
    assert_eq!(heard.recv().unwrap(), 0);
    let waiting: Vec<_> = [(1, 5), (2, 9), (3, 5), (4, -1), (5, 7)]
        .into_iter()
        .map(|(n, priority)| ask(n, priority).unwrap())
        .collect();
    waiting[3].set_priority(8);
    let mut order = vec![];
    for _ in &waiting {
        go.send(()).unwrap();
        order.push(heard.recv().unwrap());
    }
    assert_eq!(order, [2, 4, 5, 1, 3]);
    drop(go);
    assert!(first.wait().is_ok());
}

/// One request is cancelled, or given back, and the others are answered. A map is taken once. When
/// the pool goes, those that wait end.
#[test]
fn a_request_ends_alone() {
    let (pool, heard, go) = halting();
    let ask = |n: i64| pool.request(0, window(n * 40, 0, 8, 8), "height", 0).unwrap();
    let mut first = ask(0);
    assert_eq!(heard.recv().unwrap(), 0);
    assert!(first.poll().unwrap().is_ok());
    assert!(first.poll().is_none());
    assert!(matches!(first.wait(), Err(Error::Cancelled)));
    let (cancelled, given_back, mut kept) = (ask(1), ask(2), ask(3));
    assert_eq!(pool.pending(), 3);
    assert!(kept.poll().is_none());
    cancelled.cancel();
    assert!(matches!(cancelled.wait(), Err(Error::Cancelled)));
    drop(given_back);
    assert_eq!(pool.pending(), 1);
    go.send(()).unwrap();
    assert_eq!(heard.recv().unwrap(), 3);
    let late = ask(4);
    drop(go);
    assert!(late.wait().is_ok());
    assert!(kept.poll().unwrap().is_ok());

    let (pool, heard, go) = halting();
    let ask = |n: i64| pool.request(0, window(n * 40, 0, 8, 8), "height", 0).unwrap();
    let (first, second) = (ask(0), ask(1));
    assert_eq!(heard.recv().unwrap(), 0);
    drop(go);
    drop(pool);
    assert!(first.wait().is_ok());
    // It was waiting, or in work.
    assert!(second.wait().map_or_else(|e| matches!(e, Error::Cancelled), |_| true));
}

/// Cancelling a request also stops the worker that is making it.
#[test]
fn work_that_nobody_wants_ends() {
    let slow = WORLD.replace("steps = 6", "steps = 4000").replace("levels = 2", "levels = 1");
    let pool = WindowPool::new(job(&slow), options(1)).unwrap();
    let long = pool.request(0, window(0, 0, 300, 300), "height", 0).unwrap();
    while pool.pending() > 0 && long.number() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        long.cancel();
    }
    assert!(matches!(long.wait(), Err(Error::Cancelled)));
    assert_eq!(pool.counts(), [0, 0]);
}

/// Tiles go to a store and come from it.
#[test]
fn pools_share_a_store() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pool-store");
    let _ = std::fs::remove_dir_all(&folder);
    let made = [0, 1].map(|_| {
        let mut options = options(2);
        options.store = Some(Store::open(&folder, None).unwrap());
        let pool = WindowPool::new(job(WORLD), options).unwrap();
        let map = pool.request(0, window(7, 7, 50, 50), "height", 0).unwrap().wait().unwrap();
        (map.data, pool.counts())
    });
    assert_eq!(made[0].0, made[1].0);
    assert!(made[0].1[0] > 0 && made[1].1[0] == 0, "{:?}", [made[0].1, made[1].1]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What cannot be made is refused when it is asked for; what turns out too large is an answer.
#[test]
fn wrong_windows_are_named() {
    let land = WORLD.replace("endless = true\nlevels = 2\n", "");
    let pool = WindowPool::new(job(&land), options(1)).unwrap();
    let refused = |level, window, map: &str, words: &[&str]| {
        let error = pool.request(level, window, map, 0).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "{word}: {error}"));
    };
    refused(0, window(60, 0, 9, 9), "height", &["9 x 9 cells from 60, 0", "within 64 x 64"]);
    refused(0, window(0, 0, 0, 9), "height", &["0 x 9", "1 to"]);
    refused(1, window(0, 0, 9, 9), "height", &["level = 1", "no levels"]);
    refused(0, window(0, 0, 9, 9), "heights", &["heights", "height, flow, slope"]);
    refused(0, window(1 << 61, 0, 9, 9), "height", &["2^60"]);
    // A land that no run makes at once has windows.
    let wide = land
        .replace("width = 64", "width = 40000")
        .replace("incision", "thermal")
        .replace("\"flow\", ", "");
    let pool = WindowPool::new(job(&wide), options(1)).unwrap();
    let map = pool.request(0, window(39_990, 0, 10, 9), "height", 0).unwrap().wait().unwrap();
    assert_eq!(map.data.len(), 90);
    let deep = WORLD.replace("steps = 6", "steps = 8200").replace("levels = 2", "levels = 1");
    let mut wide = options(1);
    wide.cut = 16384.into();
    let pool = WindowPool::new(job(&deep), wide).unwrap();
    let far = pool.request(0, window(0, 0, 9, 9), "height", 0).unwrap();
    let error = far.wait().unwrap_err();
    assert!(matches!(error, Error::Limit(_)), "{error}");
    assert_eq!(pool.pending(), 0);
}
