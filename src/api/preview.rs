//! Previews: the coarse levels of a land, told as they are made.

use super::problem::{Answer, Problem};
use super::query;
use crate::error::Error;
use crate::field;
use crate::job::{AfterStage, Event, Job, Outcome, digest};
use crate::map::Map;
use crate::params;
use crate::recipe::{Colour, Recipe};
use crate::stage::biomes;
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Cells of the longer side of a preview: the fewest, the most, and those where nothing is said.
const CELLS: [u32; 3] = [64, 1024, 512];

/// The cells that are asked for: between the fewest and the most, and where nothing is said the
/// last of the three.
pub fn cells_of(asked: Option<u32>, [fewest, most, usual]: [u32; 3]) -> Answer<u32> {
    let cells = asked.unwrap_or(usual);
    if (fewest..=most).contains(&cells) {
        Ok(cells)
    } else {
        Err(Problem::bad(format!("cells = {cells}: allowed {fewest} to {most}")))
    }
}

/// What a client wants to see.
pub struct Wanted {
    /// Most cells of the longer side.
    cells: u32,
    /// The maps.
    fields: Vec<&'static str>,
    /// Whether the land before any stage changes it comes first.
    draft: bool,
}

impl Wanted {
    /// Checks a request.
    ///
    /// # Errors
    /// What is not allowed.
    pub fn of(asked: &query::Preview) -> Answer<Self> {
        let cells = cells_of(asked.cells, CELLS)?;
        let mut fields = vec![];
        let names = asked.fields.as_deref().unwrap_or("height").split(',').map(str::trim);
        for name in names.filter(|name| !name.is_empty()) {
            let all = || field::FIELDS.iter().map(|field| field.name);
            let field = field::find(name)
                .ok_or_else(|| Error::from(params::unknown("map", name, all())))?;
            if !fields.contains(&field.name) {
                fields.push(field.name);
            }
        }
        if fields.is_empty() {
            return Err(Problem::bad("fields: name at least one map, such as height"));
        }
        Ok(Self { cells, fields, draft: asked.draft.unwrap_or(false) })
    }

    /// The run of a preview, of whose maps only those that are sent are made. `job_of` makes the
    /// run of a recipe.
    ///
    /// # Errors
    /// As [`coarse`].
    pub fn job(
        &self,
        mut recipe: Recipe,
        job_of: impl FnOnce(Recipe) -> Answer<Job>,
    ) -> Answer<Job> {
        recipe.output.colour = Colour::Height;
        // A picture would have water, which is looked for on the whole land.
        recipe.output.preview = false;
        coarse(recipe, &self.fields, self.cells, job_of)
    }

    /// Runs a job of [`Wanted::job`] by `run`, and sends what it makes: headers, each with its
    /// maps.
    ///
    /// # Errors
    /// Those of the run, and those of `send`.
    pub fn stream(
        &self,
        job: &Job,
        send: &mut dyn FnMut(&Value, &[&Map]) -> crate::Result<()>,
        run: impl FnOnce(&mut dyn FnMut(Event) -> crate::Result<()>) -> crate::Result<Outcome>,
    ) -> Answer<()> {
        let finest = job.schedule().lands().map(|(level, ..)| level).min().unwrap_or(0);
        let mut levels = Levels { job, wanted: self, finest, send };
        let outcome = run(&mut |event| match event {
            Event::Stage(after) => levels.after(after),
            _ => Ok(()),
        })?;
        let mut maps = BTreeMap::new();
        for name in &self.fields {
            if outcome.names().any(|known| known == *name) {
                maps.insert(*name, outcome.map(name)?);
            }
        }
        levels.send(finest, &maps, Some(outcome.digest("height")?.into()), true)?;
        Ok(())
    }
}

/// The run of a recipe down to the finest level of at most `cells` a side, with these maps alone.
/// `job_of` makes the run of a recipe.
///
/// # Errors
/// What is wrong with the recipe, and 413 for a land without a level that is small enough.
pub fn coarse(
    mut recipe: Recipe,
    fields: &[&'static str],
    cells: u32,
    job_of: impl FnOnce(Recipe) -> Answer<Job>,
) -> Answer<Job> {
    recipe.output.maps = fields.iter().map(|name| name.to_string()).collect();
    recipe.output.formats.clear();
    recipe.output.format = "r32".into();
    recipe.output.program = None;
    recipe.water.iter_mut().for_each(|water| water.vectors.clear());
    recipe.scatter.clear();
    for step in recipe.stages.iter_mut().filter(|step| step.stage.name == biomes::STAGE.name) {
        step.settings.set(step.stage.params, "splat", &params::Value::Switch(false))?;
        step.settings.set(step.stage.params, "weights", &params::Value::Word("none".into()))?;
    }
    let job = job_of(recipe)?;
    // A coarser level covers the finer one with a vertex or two more than half.
    let small = |(level, land, _): &(i32, crate::site::Window, _)| {
        (land.width.max(land.height) <= cells + 2).then_some(*level)
    };
    // The lowest number is that of the finest level.
    let Some(level) = job.schedule().lands().filter_map(|land| small(&land)).min() else {
        let (land, _) = job.schedule().land();
        let why = match job.schedule().levels() {
            1 => {
                "the recipe has no levels, so its land is made at once: make it smaller, or put \
                 levels = \"auto\" in it"
            }
            _ => "even its coarsest level is larger: give it more levels",
        };
        return Err(Problem::large(format!(
            "the land has {} x {} cells, and this preview at most {cells} a side; {why}",
            land.width, land.height
        ))
        .at("/width"));
    };
    if job.schedule().levels() > 1 { cut_short(job, fields, level) } else { Ok(job) }
}

/// The job down to a level, with the maps that the level has. The records say which it has not.
fn cut_short(job: Job, fields: &[&'static str], level: i32) -> Answer<Job> {
    let mut recipe = job.recipe().clone();
    recipe.output.maps.retain(|name| lacks(&job, name, level).is_none());
    if recipe.output.maps.is_empty() {
        let why =
            fields.iter().filter_map(|name| Some(format!("{name}: {}", lacks(&job, name, level)?)));
        let what = format!(
            "{}; ask for more cells, or for other fields",
            why.collect::<Vec<_>>().join("; ")
        );
        return Err(
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "param", what).at("/output/maps")
        );
    }
    Ok(job.with_recipe(recipe)?.until_level(level)?)
}

/// Why a level has no such map.
fn lacks(job: &Job, name: &str, level: i32) -> Option<String> {
    field::find(name).and_then(|field| job.recipe().lacks(field, level))
}

/// What a preview sends of each level.
struct Levels<'a> {
    job: &'a Job,
    wanted: &'a Wanted,
    finest: i32,
    send: &'a mut dyn FnMut(&Value, &[&Map]) -> crate::Result<()>,
}

impl Levels<'_> {
    /// Sends the land of a level that is done, and the draft of the finest where it is wanted.
    fn after(&mut self, after: &mut AfterStage) -> crate::Result<()> {
        if self.wanted.draft && after.on_level() == self.finest && after.is_bare() {
            let height = BTreeMap::from([("height", after.map("height")?)]);
            return self.send(self.finest, &height, None, false);
        }
        let Some((level, words)) = after.level().map(|level| (level.level, digest(&level.words)))
        else {
            return Ok(());
        };
        // The land is not done with its finest level.
        if level == self.finest {
            return Ok(());
        }
        let mut maps = BTreeMap::new();
        for name in &self.wanted.fields {
            match after.map(name) {
                Ok(map) => drop(maps.insert(*name, map)),
                // Some maps are those of the finest level: `missing` says why.
                Err(Error::Param(_)) => {}
                Err(e) => return Err(e),
            }
        }
        self.send(level, &maps, Some(words), false)
    }

    /// Sends maps of a level. Without a digest of its heights it is a draft.
    fn send(
        &mut self,
        level: i32,
        maps: &BTreeMap<&str, Map>,
        digest: Option<String>,
        last: bool,
    ) -> crate::Result<()> {
        let fields = &self.wanted.fields;
        let sent: Vec<&str> =
            fields.iter().copied().filter(|name| maps.contains_key(name)).collect();
        let Some(first) = maps.values().next() else { return Ok(()) };
        let land = self.job.schedule().lands().find(|(known, ..)| *known == level);
        let mut head = json!({
            "level": level, "width": first.width, "height": first.height,
            "spacing_m": first.spacing_m, "origin": land.map(|(_, land, _)| land.origin),
            "digest": digest, "fields": sent, "final": last,
        });
        let recipe = self.job.recipe();
        let why = |name: &str| recipe.lacks_on_the_way(field::find(name)?, level, self.finest);
        let missing = fields.iter().filter_map(|name| Some((*name, why(name)?)));
        let missing: BTreeMap<_, _> = missing.collect();
        if !missing.is_empty() {
            head["missing"] = json!(missing);
        }
        if digest.is_none() {
            head["draft"] = true.into();
        }
        (self.send)(&head, &sent.iter().map(|name| &maps[name]).collect::<Vec<_>>())
    }
}
