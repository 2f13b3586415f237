//! Contact sheets of variants: the coarse levels of a recipe's land for consecutive seeds, as small
//! pictures.

use super::preview::{cells_of, coarse};
use super::problem::{Answer, Problem};
use super::query;
use crate::io::encode_picture;
use crate::job::{Job, Outcome};
use crate::recipe::{Colour, Recipe};
use crate::render::{sheet, thumbnail};

/// Cells of the longer side of a land: the fewest, the most, and those where nothing is said.
const CELLS: [u32; 3] = [64, 512, 128];
/// Most lands of a sheet.
const COUNT_MAX: u32 = 36;

/// What a client wants to see.
pub struct Variants {
    count: u32,
    cells: u32,
    seed: Option<u64>,
    colour: Option<Colour>,
}

impl Variants {
    /// Checks a request.
    ///
    /// # Errors
    /// What is not allowed.
    pub fn of(asked: &query::Sheet) -> Answer<Self> {
        let cells = cells_of(asked.cells, CELLS)?;
        let count = asked.count.unwrap_or(12);
        if !(1..=COUNT_MAX).contains(&count) {
            return Err(Problem::bad(format!("count = {count}: allowed 1 to {COUNT_MAX}")));
        }
        let colour = asked.colour.as_deref().map(named).transpose()?;
        Ok(Self { count, cells, seed: asked.seed, colour })
    }

    /// The picture, as PNG. `job_of` makes the run of a recipe, and `run` runs it.
    ///
    /// # Errors
    /// What is wrong with the recipe, and those of the runs.
    pub fn draw(
        &self,
        mut recipe: Recipe,
        job_of: impl Fn(Recipe) -> Answer<Job>,
        mut run: impl FnMut(Job) -> Answer<Outcome>,
    ) -> Answer<Vec<u8>> {
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        recipe.output.colour = self.colour.unwrap_or(recipe.output.colour);
        let last = recipe.seed.checked_add(u64::from(self.count) - 1).ok_or_else(|| {
            let (count, largest) = (self.count, u64::MAX);
            Problem::bad(format!("count = {count}: seeds beyond {largest}, the largest"))
        })?;
        let mut pictures = vec![];
        for seed in recipe.seed..=last {
            let recipe = Recipe { seed, ..recipe.clone() };
            let outcome = run(coarse(recipe, &["height"], self.cells, &job_of)?)?;
            pictures.push((seed, thumbnail(outcome.picture()?, self.count as usize)));
        }
        let drawn = match &pictures[..] {
            [(_, picture)] => picture.clone(),
            pictures => sheet(pictures)?,
        };
        Ok(encode_picture(drawn)?)
    }
}

/// The colours of a name.
fn named(name: &str) -> Answer<Colour> {
    let found = Colour::ALL.into_iter().find(|colour| colour.name() == name);
    found.ok_or_else(|| {
        let all = Colour::ALL.into_iter().map(Colour::name);
        crate::Error::from(crate::params::unknown("colour", name, all)).into()
    })
}
