//! `thalweg serve`: this file starts services and speaks HTTP with them by hand, so that tests can
//! also speak it badly.

mod access;
mod faults;
mod jobs;
mod pages;
mod preview;
mod restart;
mod tiles;
mod worlds;

use crate::command::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A land with four levels, two maps and two eroding stages.
const RECIPE: &str = r#"
schema = 2
name = "hills"
seed = 5
width = 160
height = 128
spacing_m = 10
origin = [100, 200]
levels = 2
[[stage]]
kind = "diamond_square"
world_cells = 1024
feature_cells = 64
relief_m = 300
[[stage]]
kind = "droplets"
lifetime = 16
rain = 1
[[stage]]
kind = "thermal"
steps = 4
[output]
maps = ["height", "flow", "erosion"]
format = "tif"
sea_level_m = 60
"#;

/// A recipe that takes minutes.
const LONG: &str = r#"
schema = 2
name = "long"
seed = 1
width = 512
height = 512
spacing_m = 10
[[stage]]
kind = "diamond_square"
relief_m = 300
[[stage]]
kind = "droplets"
lifetime = 256
rain = 100
"#;

/// A service, which is killed at its end.
struct Service {
    process: Child,
    address: SocketAddr,
}

impl Service {
    /// Starts a service with a folder for its state; the words of the line are more arguments.
    fn start(folder: &Folder, line: &str) -> Self {
        Self::start_in(folder, "state", line)
    }

    fn start_in(folder: &Folder, state: &str, line: &str) -> Self {
        Self::spawn(folder, Command::new(env!("CARGO_BIN_EXE_thalweg")), state, line)
    }

    /// The same after a line of the shell, such as `ulimit -f 512`.
    #[cfg(unix)]
    fn start_after(shell: &str, folder: &Folder, line: &str) -> Self {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            &format!("{shell} && exec \"$0\" \"$@\""),
            env!("CARGO_BIN_EXE_thalweg"),
        ]);
        Self::spawn(folder, command, "state", line)
    }

    fn spawn(folder: &Folder, mut command: Command, state: &str, line: &str) -> Self {
        command.current_dir(&folder.0).args(["serve", "--port", "0", "--json", "--state", state]);
        if !line.contains("--device") {
            command.args(["--device", "cpu"]);
        }
        command.args(line.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(
            std::fs::File::options().create(true).append(true).open(folder.0.join("log")).unwrap(),
        );
        let mut process = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let told: Value = serde_json::from_str(&first).unwrap_or_else(|_| {
            let _ = process.wait();
            panic!("{first:?}\n{}", std::fs::read_to_string(folder.0.join("log")).unwrap())
        });
        let url = told["url"].as_str().unwrap();
        Self {
            process,
            address: url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap(),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes and reads all that comes back.
    fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // One that has heard enough may close while this is still talking.
        let _ = stream.write_all(bytes);
        let mut all = vec![];
        let _ = stream.read_to_end(&mut all);
        all
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("host: {}\r\n", self.address);
        }
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let mut stream = self.connect();
        let _ = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(b"\r\n"))
            .and_then(|()| stream.write_all(body));
        stream
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut all = vec![];
        let _ = self.send(method, path, headers, body).read_to_end(&mut all);
        Answer::of(&all)
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    fn post(&self, path: &str, recipe: &str) -> Answer {
        self.ask("POST", path, &[("content-type", "application/toml")], recipe.as_bytes())
    }

    /// Posts a recipe and waits for its end. Returns the job.
    fn job(&self, path: &str, recipe: &str) -> Value {
        let posted = self.post(path, recipe);
        assert!([200, 202].contains(&posted.status), "{posted:?}");
        self.wait(posted.json()["id"].as_str().unwrap())
    }

    /// Waits for the end of a job.
    fn wait(&self, id: &str) -> Value {
        self.until(id, |job| {
            !["queued", "running", "interrupted"].contains(&job["state"].as_str().unwrap())
        })
    }

    /// Waits until a job is so.
    fn until(&self, id: &str, so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let job = self.get(&format!("/v1/jobs/{id}")).json();
            if so(&job) {
                return job;
            }
            assert!(begun.elapsed() < Duration::from_secs(300), "{job}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks it to end, and waits. Returns its exit code.
    #[cfg(unix)]
    fn end(mut self) -> Option<i32> {
        crate::common::signal("TERM", self.process.id());
        self.process.wait().unwrap().code()
    }

    /// Kills it as a power cut would.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a service answers.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn of(all: &[u8]) -> Self {
        let end = all.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(all)));
        let text = String::from_utf8(all[..end].to_vec()).unwrap();
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let head: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()))
            .collect();
        let mut answer = Self { status, head, body: all[end + 4..].to_vec() };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunked(&answer.body);
        }
        answer
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// Asserts that it is a problem with this status, whose detail has all of `words`.
    #[track_caller]
    fn problem(&self, status: u16, words: &[&str]) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["status"], status);
        let detail = problem["detail"].as_str().unwrap();
        words.iter().for_each(|word| assert!(detail.contains(word), "{detail:?} has no {word:?}"));
        problem
    }
}

/// A body that came in chunks.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut all = vec![];
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            break;
        }
        all.extend(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 2 + length + 2..];
    }
    all
}

/// Server-sent events: their kinds, numbers and data.
fn events(text: &str) -> Vec<(String, String, Value)> {
    let event = |block: &str| {
        let field =
            |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(String::from);
        Some((field("event: ")?, field("id: ")?, serde_json::from_str(&field("data: ")?).unwrap()))
    };
    text.split("\n\n").filter_map(event).collect()
}

/// Runs `thalweg` in a folder.
fn thalweg(folder: &Folder, line: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    let ran = command
        .current_dir(&folder.0)
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Little-endian floats.
fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|v| f32::from_le_bytes(*v)).collect()
}
