//! Load on `thalweg serve`: `cargo bench --bench service [-- CLIENTS SECONDS]`. Clients fetch
//! tiles, watch jobs, take previews, cancel and hang up, all at once. It prints how long answers
//! took and how much memory the service had, and fails if a byte was wrong.

use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A land with 6 x 6 tiles at its last zoom.
fn recipe(seed: usize, side: usize) -> String {
    format!(
        "schema = 2\nname = \"load\"\nseed = {seed}\nwidth = {side}\nheight = {side}\n\
         spacing_m = 10\nlevels = \"auto\"\n\
         [[stage]]\nkind = \"diamond_square\"\nrelief_m = 900\n[[stage]]\nkind = \"droplets\"\n\
         lifetime = 32\nrain = 0.5\n\
         [output]\nmaps = [\"height\", \"flow\"]\nformat = \"r32\"\n"
    )
}

/// A connection that is kept.
struct Client {
    address: String,
    stream: Option<BufReader<TcpStream>>,
}

struct Answer {
    status: u16,
    body: Vec<u8>,
    /// Until the first byte of the body.
    first: Duration,
}

impl Client {
    fn new(address: &str) -> Self {
        Self { address: address.into(), stream: None }
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<Answer> {
        let begun = Instant::now();
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(Duration::from_secs(120)))?;
                self.stream.insert(BufReader::new(stream))
            }
        };
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/toml\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.get_mut().write_all(text.as_bytes())?;
        let mut head = vec![];
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                self.stream = None;
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            head.push(line);
        }
        let field = |name: &str| {
            head.iter()
                .find_map(|line| line.strip_prefix(name))
                .map(|value| value.trim().to_string())
        };
        let status = head[0].split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let (mut body, mut first) = (vec![], None);
        if field("transfer-encoding:").is_some_and(|coding| coding == "chunked") {
            loop {
                let mut line = String::new();
                stream.read_line(&mut line)?;
                let length =
                    usize::from_str_radix(line.trim_end(), 16).map_err(std::io::Error::other)?;
                let from = body.len();
                body.resize(from + length + 2, 0);
                stream.read_exact(&mut body[from..])?;
                first.get_or_insert_with(|| begun.elapsed());
                body.truncate(from + length);
                if length == 0 {
                    break;
                }
            }
        } else {
            body.resize(
                field("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0),
                0,
            );
            stream.read_exact(&mut body)?;
        }
        Ok(Answer { status, body, first: first.unwrap_or_else(|| begun.elapsed()) })
    }

    fn json(&mut self, method: &str, path: &str, body: &str) -> Value {
        let answer =
            self.ask(method, path, body).unwrap_or_else(|e| panic!("{method} {path}: {e}"));
        serde_json::from_slice(&answer.body).unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }
}

/// How long things took, by name, in milliseconds.
#[derive(Default)]
struct Times(Mutex<HashMap<&'static str, Vec<f64>>>);

impl Times {
    fn add(&self, name: &'static str, took: Duration) {
        self.0.lock().unwrap().entry(name).or_default().push(took.as_secs_f64() * 1e3);
    }
}

struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resident memory of a process, in MiB.
fn memory(id: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0)
        / 1024.0
}

fn main() {
    let numbers: Vec<usize> =
        std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (clients, seconds) =
        (numbers.first().copied().unwrap_or(200), numbers.get(1).copied().unwrap_or(60));
    let state = std::env::temp_dir().join(format!("thalweg-load-{}", std::process::id()));
    let mut child = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["serve", "--port", "0", "--json", "--disk", "256", "--state"])
        .arg(&state)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the service starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output"))
        .read_line(&mut line)
        .expect("its address");
    let told: Value = serde_json::from_str(&line).expect("its address");
    let address = told["url"]
        .as_str()
        .expect("its address")
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_string();
    let service = Service(child);

    // One land whose tiles all fetch.
    let mut first = Client::new(&address);
    let id =
        first.json("POST", "/v1/jobs", &recipe(1, 1500))["id"].as_str().expect("a job").to_string();
    let href = loop {
        let job = first.json("GET", &format!("/v1/jobs/{id}"), "");
        if let Some(href) = job["result"]["href"].as_str() {
            break href.to_string();
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let tile = |n: usize| {
        let layer = ["height", "hillshade", "colours", "flow"][n % 4];
        format!("{href}tiles/{layer}/3/{}/{}.png", n / 4 % 6, n / 24 % 6)
    };
    // Each is made once, and its bytes are kept to be compared.
    let tiles: Vec<(String, blake3::Hash)> = (0..144)
        .map(|n| {
            let answer = first.ask("GET", &tile(n), "").expect("a tile");
            assert_eq!(answer.status, 200, "{}", tile(n));
            (tile(n), blake3::hash(&answer.body))
        })
        .collect();

    let (times, end, wrong, seeds) = (
        Arc::new(Times::default()),
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(100)),
    );
    let (tiles, known) = (Arc::new(tiles), Arc::new(Mutex::new(HashMap::<usize, String>::new())));
    let begun = Instant::now();
    let threads: Vec<_> = (0..clients)
        .map(|n| {
            let (times, end, wrong, seeds) =
                (times.clone(), end.clone(), wrong.clone(), seeds.clone());
            let (tiles, known, address) = (tiles.clone(), known.clone(), address.clone());
            std::thread::spawn(move || {
                let mut client = Client::new(&address);
                let mut turn = n;
                while !end.load(Ordering::Relaxed) {
                    turn = turn
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let pick = turn >> 33;
                    let asked = Instant::now();
                    let ran: std::io::Result<()> = match n % 20 {
                        // A job, watched to its end; the same few lands again and again, so that
                        // some are from the store.
                        0 => (|| {
                            let seed = 100 + pick % 8;
                            let job = client.json("POST", "/v1/jobs", &recipe(seed, 96));
                            let Some(id) = job["id"].as_str() else { return Ok(()) };
                            let events = client.ask("GET", &format!("/v1/jobs/{id}/events"), "")?;
                            times.add("a job of 96 x 96 cells, to its end", asked.elapsed());
                            let text = String::from_utf8_lossy(&events.body).into_owned();
                            let last: Value = text
                                .rsplit("data: ")
                                .next()
                                .and_then(|data| serde_json::from_str(data.trim()).ok())
                                .unwrap_or_default();
                            let digest =
                                last["result"]["digest"].as_str().unwrap_or_default().to_string();
                            let mut known = known.lock().unwrap();
                            if digest.is_empty()
                                || *known.entry(seed).or_insert(digest.clone()) != digest
                            {
                                wrong.fetch_add(1, Ordering::Relaxed);
                            }
                            Ok(())
                        })(),
                        // A job that is cancelled.
                        1 => (|| {
                            let seed = seeds.fetch_add(1, Ordering::Relaxed) + 1000;
                            let job = client.json("POST", "/v1/jobs", &recipe(seed, 512));
                            let Some(id) = job["id"].as_str() else { return Ok(()) };
                            std::thread::sleep(Duration::from_millis((pick % 300) as u64));
                            let asked = Instant::now();
                            client.ask("DELETE", &format!("/v1/jobs/{id}"), "")?;
                            times.add("a cancel", asked.elapsed());
                            Ok(())
                        })(),
                        // A preview, or one that is left after its head.
                        2 if pick % 2 == 0 => client
                            .ask("POST", "/v1/preview?cells=128", &recipe(pick % 100, 512))
                            .map(|answer| {
                                times.add("a preview's first level, under load", answer.first);
                            }),
                        2 => (|| {
                            let mut stream = TcpStream::connect(&address)?;
                            let body = recipe(pick % 100, 1024);
                            let head = format!(
                                "POST /v1/preview HTTP/1.1\r\nhost: localhost\r\n\
                                 content-length: {}\r\n\r\n{body}",
                                body.len()
                            );
                            stream.write_all(head.as_bytes())?;
                            stream.read_exact(&mut [0; 64])
                        })(),
                        _ => {
                            let (path, digest) = &tiles[pick % tiles.len()];
                            client.ask("GET", path, "").map(|answer| {
                                times.add("a tile that was made before", asked.elapsed());
                                if answer.status != 200 || blake3::hash(&answer.body) != *digest {
                                    wrong.fetch_add(1, Ordering::Relaxed);
                                }
                                // As a person who pans.
                                std::thread::sleep(Duration::from_millis(100));
                            })
                        }
                    };
                    if ran.is_err() {
                        client = Client::new(&address);
                        times.add("a connection that broke", asked.elapsed());
                    }
                }
            })
        })
        .collect();
    let mut samples = vec![];
    while begun.elapsed() < Duration::from_secs(seconds as u64) {
        std::thread::sleep(Duration::from_secs(1));
        samples.push(memory(service.0.id()));
    }
    end.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("a client"));
    println!(
        "{clients} clients, {seconds} s\n\n| what | times | median ms | p99 ms | longest ms |\n\
         |---|---|---|---|---|"
    );
    let mut times: Vec<_> = std::mem::take(&mut *times.0.lock().unwrap()).into_iter().collect();
    times.sort_by_key(|(name, _)| *name);
    for (name, mut all) in times {
        all.sort_by(f64::total_cmp);
        let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize];
        println!("| {name} | {} | {:.1} | {:.1} | {:.1} |", all.len(), at(0.5), at(0.99), at(1.0));
    }
    let part =
        |from: usize, to: usize| samples[from..to].iter().sum::<f64>() / (to - from).max(1) as f64;
    let third = samples.len() / 3;
    println!(
        "\nmemory {:.0} MiB in the first third, {:.0} in the second, {:.0} in the last",
        part(0, third),
        part(third, 2 * third),
        part(2 * third, samples.len())
    );
    let wrong = wrong.load(Ordering::Relaxed);
    println!("{wrong} answers were wrong");
    drop(service);
    let _ = std::fs::remove_dir_all(&state);
    assert_eq!(wrong, 0);
}
