//! What the tables share: rounds, lines of milliseconds, the laws that an article states, and the
//! number of particles.

use serde::Serialize;
use serde_json::{Value, json};
use thalweg::Result;

/// How often to measure, and where lines go.
pub struct Bench {
    pub rounds: u32,
    /// Whether stdout is kept for JSON.
    pub json: bool,
}

impl Bench {
    /// Prints a line while the bench runs.
    pub fn note(&self, text: impl std::fmt::Display) {
        if self.json { eprintln!("{text}") } else { println!("{text}") }
    }

    /// Times [`Bench::rounds`] runs. Each returns its seconds, how many particles it had, and how
    /// many steps they took.
    pub fn measure(
        &self,
        executor: &str,
        article_ms: f64,
        mut run: impl FnMut() -> Result<(f64, u64, u64)>,
    ) -> Result<Cell> {
        let mut ms = vec![];
        let (mut particles, mut steps) = (0, 0);
        for _ in 0..self.rounds {
            let seconds;
            (seconds, particles, steps) = run()?;
            ms.push(seconds * 1e3);
        }
        let mean_ms = ms.iter().sum::<f64>() / ms.len() as f64;
        let (min_ms, max_ms) =
            ms.iter().fold((f64::MAX, 0f64), |(low, high), &v| (low.min(v), high.max(v)));
        let factor = (particles > 0).then_some(article_ms / mean_ms);
        Ok(Cell {
            executor: executor.into(),
            mean_ms,
            min_ms,
            max_ms,
            particles,
            steps,
            factor,
            parts: vec![],
        })
    }
}

/// Milliseconds of several runs, and the work of one.
#[derive(Clone, Serialize)]
pub struct Cell {
    pub executor: String,
    pub mean_ms: f64,
    min_ms: f64,
    max_ms: f64,
    /// How many particles fell.
    particles: u64,
    /// Steps that they took.
    steps: u64,
    /// The article's milliseconds over ours; `None` where there are no particles.
    factor: Option<f64>,
    /// Milliseconds of the plan and of each kernel, in another run that waits after every pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(&'static str, f64)>,
}

/// A line of a table: a cell for the sequential loop, and one for each executor.
#[derive(Serialize)]
pub struct Line {
    pub sweep: &'static str,
    pub value: u64,
    pub article_ms: f64,
    pub cells: Vec<Cell>,
}

/// A law that an article states, and whether a column of the table obeys it.
#[derive(Serialize)]
pub struct Law {
    pub sweep: &'static str,
    pub law: &'static str,
    pub criterion: &'static str,
    pub executor: String,
    pub figure: f64,
    pub holds: bool,
}

/// A measured table.
pub struct Report {
    pub lines: Vec<Line>,
    pub laws: Vec<Law>,
}

impl Report {
    /// The report as JSON, and the laws as text.
    pub fn print(&self) -> (Value, String) {
        let Self { lines, laws } = self;
        (json!({ "lines": lines, "laws": laws }), laws.iter().map(law_text).collect())
    }
}

/// The name of an executor without its driver.
pub fn short(executor: &str) -> &str {
    executor.split(" (").next().unwrap_or_default()
}

pub fn line_text(line: &Line) -> String {
    let cells = line.cells.iter().map(|c| {
        let Cell { executor, mean_ms, min_ms, max_ms, particles, steps, factor, parts } = c;
        let (executor, millions) = (short(executor), *steps as f64 / 1e6);
        let parts: Vec<_> = parts.iter().map(|(name, ms)| format!("{name} {ms:.2}")).collect();
        let parts =
            if parts.is_empty() { String::new() } else { format!("  [{}]", parts.join(", ")) };
        let factor = factor.map_or("-".into(), |factor| format!("{factor:.1} x"));
        let each = *steps as f64 / (*particles).max(1) as f64;
        format!(
            "    {executor:<24} {mean_ms:>9.2} ms ({min_ms:.2} to {max_ms:.2})  {factor:>8}  \
             {particles} particles, {millions:.2} M steps, {each:.1} each{parts}"
        )
    });
    let head = format!("{} {}: {} ms in the article", line.sweep, line.value, line.article_ms);
    std::iter::once(head).chain(cells).collect::<Vec<_>>().join("\n")
}

fn law_text(law: &Law) -> String {
    let Law { sweep, law, criterion, executor, figure, holds } = law;
    let holds = if *holds { "holds" } else { "does not hold" };
    format!("{sweep}: {law} ({criterion}): {}: {figure:.2}, {holds}\n", short(executor))
}

/// How a stage lets about `count` particles fall on a map of these sides: the side of a home block,
/// and the lives of each particle.
///
/// A stage has one particle for each block of b × b cells, and each particle has a whole number of
/// lives, `least` or more. Among the pairs that come to 95 to 130 % of `count` this picks the one
/// with the fewest lives, because each life costs `lifetime` steps. If there is none, it picks the
/// nearest.
pub fn density(count: u64, sides: [u32; 2], least: u64) -> (u32, u64) {
    let all = (1..=16).flat_map(|b| {
        let homes: u64 = sides.iter().map(|s| s.div_ceil(b) as u64).product();
        let most = (count / homes + 1).max(least);
        [(most - 1).max(least), most].map(|lives| (b, lives, (homes * lives) as f64 / count as f64))
    });
    let off = |c: &(u32, u64, f64)| (c.2 - 1.0).abs();
    let near = all.clone().filter(|c| (0.95..=1.3).contains(&c.2));
    let best = near.min_by(|a, b| a.1.cmp(&b.1).then(off(a).total_cmp(&off(b))));
    let (b, lives, _) =
        best.or_else(|| all.min_by(|a, b| off(a).total_cmp(&off(b)))).unwrap_or((1, 1, 1.0));
    (b, lives)
}
