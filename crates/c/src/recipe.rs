//! Recipes.

use crate::border::{self, ThalwegStatus, locked};
use std::ffi::c_char;
use std::sync::Mutex;
use thalweg::recipe::{EXAMPLES, parted};
use thalweg::{Invalid, Recipe, Result};

/// What to make: a recipe that was read.
pub struct ThalwegRecipe(Mutex<Read>);

/// A recipe, and whether the files that it names may be read.
#[derive(Clone)]
pub(crate) struct Read {
    pub recipe: Recipe,
    pub has_folder: bool,
}

impl ThalwegRecipe {
    fn new(text: &str, folder: Option<&str>, name: &str) -> Result<Self> {
        let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let place = folder.unwrap_or_default();
        let recipe = match start.starts_with('{') {
            true => Recipe::from_json(text, place, name)?,
            false => Recipe::from_toml(text, place, name)?,
        };
        Ok(Self(Mutex::new(Read { recipe, has_folder: folder.is_some() })))
    }

    /// The recipe as it is now.
    pub(crate) fn read(&self) -> Read {
        locked(&self.0).clone()
    }
}

/// Sets one setting of a recipe.
fn set(recipe: &mut Recipe, assignment: &str) -> Result<()> {
    let (key, value) = parted(assignment, "width=512 or droplets.rain=4")?;
    let wrong = |allowed: &str| Err(Invalid::value(key, value, allowed).into());
    match key {
        "width" | "height" => {
            let Ok(cells) = value.parse() else { return wrong("a whole number of cells") };
            if recipe.input.is_some() {
                let message = format!("{key}: a recipe with an input has the input's size");
                return Err(Invalid::from(message).about(key).into());
            }
            let window = &mut recipe.window;
            *(if key == "width" { &mut window.width } else { &mut window.height }) = cells;
        }
        "seed" => match value.parse() {
            Ok(seed) => recipe.seed = seed,
            Err(_) => return wrong("a whole number from 0 to 2^64 - 1"),
        },
        "spacing_m" => match value.parse::<f64>() {
            Ok(metres) => recipe.spacing_m = Some(metres),
            Err(_) => return wrong("a number of metres"),
        },
        _ => recipe.set(assignment)?,
    }
    Ok(())
}

/// Reads a recipe: JSON if it begins with a brace, else TOML. `folder` is that of the files which
/// the recipe names. Without one (NULL) no file is read: heights, layers and pictures have to come
/// from memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_recipe_parse(
    text: *const c_char,
    folder: *const c_char,
    out: *mut *mut ThalwegRecipe,
) -> ThalwegStatus {
    let make = || {
        // SAFETY: the header asks for texts that end in a zero.
        let (text, folder) =
            unsafe { (border::text("text", text)?, border::text_or_null("folder", folder)?) };
        ThalwegRecipe::new(text, folder, "land")
    };
    // SAFETY: the header asks for room for a pointer.
    unsafe { border::put_new(out, make) }
}

/// A recipe that the library has within, by its name: "mountains". An unknown name is an error
/// that lists those that there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_recipe_example(
    name: *const c_char,
    out: *mut *mut ThalwegRecipe,
) -> ThalwegStatus {
    let make = || {
        // SAFETY: the header asks for a text that ends in a zero.
        let name = unsafe { border::text("name", name) }?;
        let names = || EXAMPLES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let found = EXAMPLES.iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| Invalid::value("name", name, names()))?;
        ThalwegRecipe::new(text, None, name)
    };
    // SAFETY: the header asks for room for a pointer.
    unsafe { border::put_new(out, make) }
}

/// Sets "STAGE.KEY=VALUE", such as "droplets.rain=4" or "1.relief_m=900", "output.KEY=VALUE",
/// "water.KEY=VALUE", "width", "height", "seed" or "spacing_m". Settings are checked against each
/// other by thalweg_job_new. If it fails, the recipe stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_recipe_set(
    recipe: *mut ThalwegRecipe,
    assignment: *const c_char,
) -> ThalwegStatus {
    border::guard(|| {
        // SAFETY: the header asks for a handle that was not freed.
        let recipe = unsafe { border::borrowed("recipe", recipe) }?;
        // SAFETY: the header asks for a text that ends in a zero.
        let assignment = unsafe { border::text("assignment", assignment) }?;
        let mut read = locked(&recipe.0);
        let mut changed = read.recipe.clone();
        set(&mut changed, assignment)?;
        read.recipe = changed;
        Ok(())
    })
}

/// Frees a recipe. Jobs that were made from it stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_recipe_free(recipe: *mut ThalwegRecipe) {
    // SAFETY: the header asks for null, or for a handle that was not freed.
    unsafe { border::free(recipe) }
}
