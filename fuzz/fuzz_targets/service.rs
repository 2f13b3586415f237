//! Asks a service that runs in this process, over a socket: addresses, headers, bodies of parts.
#![no_main]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{LazyLock, mpsc};
use std::time::Duration;
use thalweg::Device;
use thalweg::device::DeviceOptions;
use thalweg::service::{Limits, Options, Origins, run};
use thalweg_fuzz::folder;

/// The longest answer of which all is read.
const ANSWER_MAX: u64 = 1 << 20;

/// The address of a service with little room.
static ADDRESS: LazyLock<SocketAddr> = LazyLock::new(|| {
    let (ready, address) = mpsc::channel();
    std::thread::spawn(move || {
        let state = folder();
        let limits = Limits {
            cells: 1 << 12,
            work: 1e6,
            upload_bytes: 1 << 16,
            disk_bytes: 16 << 20,
            queue: 20,
            connections: 64,
            previews: 1,
            patience: Duration::from_secs(1),
        };
        let options = Options {
            address: ([127, 0, 0, 1], 0).into(),
            state: state.path().into(),
            device: DeviceOptions { device: Device::Cpu, threads: 1, ..Default::default() },
            token: None,
            hosts: vec![],
            origins: Origins::default(),
            limits,
            snapshot_every: Duration::from_secs(1),
        };
        let listens = |address| ready.send(address).expect("the target waits for the address");
        run(options, listens, std::future::pending())
    });
    address.recv().expect("the service starts")
});

/// Sends a request: a line with the method and the address and lines of headers up to an empty one,
/// and a body, whose length is added.
fn ask(data: &[u8]) -> std::io::Result<Vec<u8>> {
    let end = data.windows(2).position(|two| two == b"\n\n").unwrap_or(data.len());
    let (head, body) = (&data[..end], data.get(end + 2..).unwrap_or_default());
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut request = [lines.next().unwrap_or_default(), b" HTTP/1.1\r\n"].concat();
    for line in lines {
        request.extend([line, b"\r\n"].concat());
    }
    let rest =
        format!("host: localhost\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    request.extend(rest.bytes());
    request.extend(body);
    let mut stream = TcpStream::connect(*ADDRESS)?;
    // Longer than an input may take.
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(&request)?;
    let mut answer = vec![];
    let mut piece = [0; 1 << 12];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Ok(answer),
            Ok(count) => answer.extend(&piece[..count]),
            // libFuzzer looks at the clock.
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        // Events come as long as a job runs.
        let endless = answer.windows(17).take(1 << 10).any(|word| word == b"text/event-stream");
        if endless || answer.len() as u64 > ANSWER_MAX {
            return Ok(answer);
        }
    }
}

thalweg_fuzz::target!(512, |data| {
    let answer = match ask(data) {
        Ok(answer) => answer,
        // The service cuts off requests that are not HTTP, sometimes before all was sent. With
        // thousands of connections a second the machine runs out of ports.
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::AddrNotAvailable
            ) =>
        {
            return;
        }
        Err(e) => panic!("no answer: {e}"),
    };
    let head = String::from_utf8_lossy(&answer[..answer.len().min(1 << 12)]);
    let status = head.split(' ').nth(1).and_then(|word| word.parse::<u16>().ok());
    assert!(answer.is_empty() || status.is_some(), "an answer has a status: {head}");
    assert!(![Some(500), Some(502)].contains(&status), "a fault of the service: {head}");
});
