//! The device: its names, which one is taken, and the CPU in place of a card that fails.

use std::ops::Range;
use thalweg::compare::{Comparison, Every};
use thalweg::device::{Opened, automatic};
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::exec::{Control, Executor};
use thalweg::plan::Plan;
use thalweg::{Adapter, AdapterInfo, Device, Error, Event, Job, Outcome, Recipe, Result};

#[test]
fn devices_have_names() {
    let named = |text: &str| text.parse::<Device>().unwrap();
    let adapter = Device::Adapter;
    assert_eq!(
        [named("auto"), named("cpu"), named("gpu")],
        [Device::Auto, Device::Cpu, adapter(Adapter::Best)]
    );
    assert_eq!(
        [named("1"), named("rtx")],
        [adapter(Adapter::Index(1)), adapter(Adapter::Name("rtx".into()))]
    );
    for text in ["auto", "cpu", "gpu", "3", "RTX"] {
        assert_eq!(named(text).to_string(), text);
    }
    assert!("".parse::<Device>().is_err());
}

#[test]
fn auto_leaves_software_out() {
    let info = |kind: &str| {
        let mut info = AdapterInfo::default();
        info.kind = kind.into();
        info
    };
    assert_eq!(automatic(&[info("Cpu")]), None);
    assert_eq!(automatic(&[info("Cpu"), info("DiscreteGpu")]), Some(1));
}

/// A card that fails in one of its pieces of work.
struct Failing {
    cpu: Cpu,
    /// Pieces of work that go well before that.
    good: usize,
    error: fn(String) -> Error,
    /// Whether words cannot be read back.
    unreadable: bool,
}

impl Executor for Failing {
    fn name(&self) -> String {
        "failing".into()
    }
    fn admits(&self, plan: &Plan) -> Result<()> {
        self.cpu.admits(plan)
    }
    fn release(&mut self) {
        self.cpu.release()
    }

    fn clear(&mut self) {
        self.cpu.clear()
    }
    fn begin(&mut self, plan: &Plan) -> Result<()> {
        self.cpu.begin(plan)
    }
    fn run(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
        match self.good.checked_sub(1) {
            None => Err((self.error)("it burns".into())),
            Some(left) => {
                self.good = left;
                self.cpu.run(plan, passes, control)
            }
        }
    }
    fn end(&mut self, plan: &Plan) {
        self.cpu.end(plan);
    }
    fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
        self.cpu.write(name, words)
    }
    fn read(&mut self, name: &str) -> Result<Vec<i32>> {
        if self.unreadable { Err((self.error)("it burns".into())) } else { self.cpu.read(name) }
    }
}

/// A card that errs by one in a word of the height, at the end of one of its pieces of work.
struct Erring(Cpu, usize);

impl Executor for Erring {
    fn name(&self) -> String {
        "erring".into()
    }
    fn admits(&self, plan: &Plan) -> Result<()> {
        self.0.admits(plan)
    }
    fn release(&mut self) {
        self.0.release()
    }

    fn clear(&mut self) {
        self.0.clear()
    }
    fn begin(&mut self, plan: &Plan) -> Result<()> {
        self.0.begin(plan)
    }
    fn run(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
        self.0.run(plan, passes, control)?;
        if self.1 == 0 {
            let mut words = self.0.read("height")?;
            words[7] += 1;
            self.0.write("height", &words)?;
        }
        self.1 = self.1.wrapping_sub(1);
        Ok(())
    }
    fn end(&mut self, plan: &Plan) {
        self.0.end(plan);
    }
    fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
        self.0.write(name, words)
    }
    fn read(&mut self, name: &str) -> Result<Vec<i32>> {
        self.0.read(name)
    }
}

/// A comparison finds an error on any level. It has heights only where the last level was reached.
#[test]
fn an_error_on_any_level_is_told() {
    let recipe: Recipe = "schema = 2\nwidth = 200\nheight = 150\nspacing_m = 10\n\
                          levels = \"auto\"\n[[stage]]\nkind = \"diamond_square\"\n\
                          [[stage]]\nkind = \"incision\"\nsteps = 3\n"
        .parse()
        .unwrap();
    let job = Job::new(recipe).unwrap().device(Device::Cpu);
    let compared = |piece: usize| {
        let mut erring = Erring(crate::common::cpu(), piece);
        let pair: [&mut dyn Executor; 2] = [&mut crate::common::cpu(), &mut erring];
        job.compare_on(pair, Every::Pass, &mut |_| Ok(())).unwrap()
    };
    let passes: usize = compared(usize::MAX).stages.iter().map(|(_, stage)| stage.passes).sum();
    let differs = |found: &Comparison| found.stages.iter().any(|(_, s)| s.difference.is_some());
    assert!(!differs(&compared(passes)));
    let found: Vec<Comparison> = (0..passes).map(compared).filter(differs).collect();
    let whole = found.iter().filter(|found| found.heights.is_some()).count();
    // Passes that write the height anew hide the error of the one before.
    assert!(found.len() > passes / 2, "{} of {passes}", found.len());
    assert!(whole > 0 && whole < found.len(), "{whole} of {}", found.len());
}

/// A run compiles all kernels before its first stage, side by side: drafts of its plans have all of
/// them.
#[cfg(feature = "gpu")]
#[test]
fn kernels_are_compiled_before_the_first_stage() {
    use thalweg::params::Value;
    /// A card that remembers which kernels it had when it was prepared.
    struct Prepared(thalweg::Gpu, Vec<&'static str>);
    impl Executor for Prepared {
        fn name(&self) -> String {
            self.0.name()
        }
        fn admits(&self, plan: &Plan) -> Result<()> {
            self.0.admits(plan)
        }
        fn prepare(&mut self, plans: &mut dyn Iterator<Item = Plan>) -> Result<()> {
            self.0.prepare(plans)?;
            self.1 = self.0.compiled();
            Ok(())
        }
        fn begin(&mut self, plan: &Plan) -> Result<()> {
            self.0.begin(plan)
        }
        fn run(&mut self, plan: &Plan, passes: Range<usize>, control: &mut Control) -> Result<()> {
            self.0.run(plan, passes, control)
        }
        fn end(&mut self, plan: &Plan) {
            self.0.end(plan);
        }
        fn release(&mut self) {
            self.0.release();
        }
        fn clear(&mut self) {
            self.0.clear();
        }
        fn write(&mut self, name: &'static str, words: &[i32]) -> Result<()> {
            self.0.write(name, words)
        }
        fn read(&mut self, name: &str) -> Result<Vec<i32>> {
            self.0.read(name)
        }
        fn sum(&mut self, name: &str, signed: bool) -> Result<i64> {
            self.0.sum(name, signed)
        }
    }
    for (name, text) in thalweg::recipe::EXAMPLES {
        let mut recipe = Recipe::from_toml(text, "examples", name).unwrap();
        if recipe.input.is_some() || recipe.stages.iter().any(|step| step.samples().is_some()) {
            continue;
        }
        (recipe.window.width, recipe.window.height) = (40, 40);
        // How long stages work does not change which kernels run, if nested ones have a turn.
        for step in &mut recipe.stages {
            let turns = step.with.iter().map(|nested| nested.every).max().unwrap_or(1);
            for (key, least) in
                [("steps", Value::Integer(turns.into())), ("rain", Value::Number(0.25))]
            {
                if step.stage.params.iter().any(|param| param.name == key) {
                    step.set(key, &least).unwrap();
                }
            }
        }
        let Some(gpu) =
            crate::common::gpu("device::kernels_are_compiled_before_the_first_stage", 64, None)
        else {
            return;
        };
        let mut gpu = Prepared(gpu, vec![]);
        Job::new(recipe).unwrap().run_on(&mut gpu, &mut |_| Ok(())).unwrap();
        assert!(gpu.1.len() > 2, "{name}");
        assert_eq!(gpu.0.compiled(), gpu.1, "{name}");
    }
}

fn small_job() -> Job {
    let text = "schema = 2\nwidth = 32\nheight = 32\nspacing_m = 10\n[[stage]]\n\
                kind = \"diamond_square\"\n\
                relief_m = 100\n[[stage]]\nkind = \"droplets\"\nlifetime = 8\n";
    let recipe = Recipe::from_toml(text, "", "test").unwrap();
    Job::new(recipe).unwrap().device(Device::Auto).threads(1).frames(3).unwrap()
}

fn opened(good: usize, error: fn(String) -> Error, replaceable: bool) -> Opened {
    let cpu = Cpu::new(1, Order::default()).unwrap();
    Opened { executor: Box::new(Failing { cpu, good, error, unreadable: false }), replaceable }
}

/// What was heard: how many frames since the last restart, and whether there was one.
fn run_failing(
    good: usize,
    error: fn(String) -> Error,
    replaceable: bool,
) -> (Result<Outcome>, usize, bool) {
    let job = small_job();
    let (mut frames, mut restarted) = (0, false);
    let done = job.run_opened(opened(good, error, replaceable), &mut |event| {
        match event {
            Event::Frame(frame) if frame.index == 0 => frames = 1,
            Event::Frame(_) => frames += 1,
            Event::Restarted => restarted = true,
            _ => {}
        }
        Ok(())
    });
    (done, frames, restarted)
}

/// The error of a card that fails while what watches reads a snapshot from it is the card's, and
/// not the watcher's: the CPU takes over where it may.
#[test]
fn the_cpu_takes_over_from_a_card_that_fails_while_a_snapshot_is_read() {
    let job = small_job();
    let good = job.run_on(&mut Cpu::new(1, Order::default()).unwrap(), &mut |_| Ok(())).unwrap();
    for replaceable in [true, false] {
        let cpu = Cpu::new(1, Order::default()).unwrap();
        let failing = Failing { cpu, good: usize::MAX, error: Error::device, unreadable: true };
        let opened = Opened { executor: Box::new(failing), replaceable };
        let (mut snapshots, mut restarted) = (0, false);
        let done = job.run_opened(opened, &mut |event| {
            match event {
                Event::Stage(after) => {
                    after.snapshot()?;
                    snapshots += 1;
                }
                Event::Restarted => restarted = true,
                _ => {}
            }
            Ok(())
        });
        assert_eq!(restarted, replaceable);
        match done {
            Ok(made) => {
                assert!(replaceable && snapshots > 0);
                assert_eq!(made.words("height").unwrap(), good.words("height").unwrap());
            }
            Err(e) => assert!(!replaceable && e.to_string().contains("it burns"), "{e}"),
        }
    }
}

#[test]
fn the_cpu_takes_over_from_a_card_that_fails_where_it_may() {
    let (good, frames, restarted) = run_failing(usize::MAX, Error::device, true);
    let good = good.unwrap();
    assert_eq!((good.device.as_str(), frames, restarted), ("failing", 3, false));
    for error in [Error::device, Error::limit] {
        for pieces in 0..4 {
            let (made, frames, restarted) = run_failing(pieces, error, true);
            let made = made.unwrap();
            assert_eq!((made.device.as_str(), frames, restarted), ("CPU, 1 thread", 3, true));
            assert_eq!(made.words("height").unwrap(), good.words("height").unwrap());
            let (stands, _, restarted) = run_failing(pieces, error, false);
            assert!(stands.unwrap_err().to_string().contains("it burns") && !restarted);
        }
    }
    // The caller's own error ends the run.
    let job = small_job();
    let mut restarted = false;
    let done = job.run_opened(opened(usize::MAX, Error::device, true), &mut |event| match event {
        Event::Stage(_) => Err(Error::limit("enough")),
        Event::Restarted => {
            restarted = true;
            Ok(())
        }
        _ => Ok(()),
    });
    assert!(matches!(done, Err(Error::Limit(_))) && !restarted);
    let (fault, _, restarted) = run_failing(1, Error::param, true);
    assert!(matches!(fault, Err(Error::Param(_))) && !restarted);
}
