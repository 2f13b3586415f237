//! Texts that the program has within: recipes to start from, the schema of recipes, completions of
//! shells, pages of the manual.

use super::console::Console;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;
use thalweg::params::unknown;
use thalweg::recipe::{EXAMPLES, title};
use thalweg::{Recipe, Result};

/// List recipes to start from, or print one
#[derive(Args)]
#[command(after_help = "Example: thalweg recipes island > my.toml && thalweg run my.toml -o my")]
pub struct Recipes {
    /// The recipe to print
    name: Option<String>,
}

/// Print the JSON Schema of recipes
#[derive(Args)]
#[command(after_help = "Example: thalweg schema > recipe.schema.json")]
pub struct Schema {}

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "Example: thalweg completions bash > \
                        ~/.local/share/bash-completion/completions/thalweg")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Print a page of the manual
#[derive(Args)]
#[command(after_help = "Example: thalweg man erode | man -l -")]
pub struct Man {
    /// The command that the page is about, such as erode or store list; without it, all of thalweg
    command: Vec<String>,
}

pub fn recipes(console: &Console, a: &Recipes) -> Result<bool> {
    if let Some(name) = &a.name {
        let Some((_, text)) = EXAMPLES.iter().find(|(known, _)| known == name) else {
            return Err(unknown("recipe", name, EXAMPLES.iter().map(|(known, _)| *known)).into());
        };
        return print(console, "recipe", text.as_bytes());
    }
    console.result(
        || {
            EXAMPLES
                .iter()
                .map(|(name, text)| json!({ "name": name, "about": title(text) }))
                .collect()
        },
        || EXAMPLES.iter().map(|(name, text)| format!("{name:<12} {}\n", title(text))).collect(),
    )?;
    Ok(true)
}

pub fn schema(console: &Console) -> Result<bool> {
    let text = serde_json::to_string_pretty(&Recipe::schema())
        .map_err(|e| thalweg::Error::output("standard output", e.into()))?;
    console.pipe(format!("{text}\n").as_bytes())?;
    Ok(true)
}

pub fn completions(console: &Console, a: &Completions) -> Result<bool> {
    let mut text = vec![];
    clap_complete::generate(a.shell, &mut super::Cli::command(), "thalweg", &mut text);
    print(console, "completions", &text)
}

/// Prints a text as it is, or with --json as the value of a key.
fn print(console: &Console, key: &str, text: &[u8]) -> Result<bool> {
    match console.options.json {
        true => console.result(|| json!({ key: String::from_utf8_lossy(text) }), String::new)?,
        false => console.pipe(text)?,
    }
    Ok(true)
}

pub fn man(console: &Console, a: &Man) -> Result<bool> {
    /// Without the commands `help`, which have no pages.
    fn of_pages(command: clap::Command) -> clap::Command {
        command.disable_help_subcommand(true).mut_subcommands(of_pages)
    }
    let mut command = of_pages(super::Cli::command());
    command.build();
    let mut title = command.get_name().to_owned();
    for name in &a.command {
        let Some(found) = command.find_subcommand(name).cloned() else {
            let names = command.get_subcommands().map(clap::Command::get_name);
            return Err(unknown("command", name, names).into());
        };
        title = format!("{title}-{name}");
        command = found.display_name(title.clone()).version(env!("CARGO_PKG_VERSION"));
    }
    let mut page = vec![];
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| thalweg::Error::output("standard output", e))?;
    print(console, "page", &page)
}
