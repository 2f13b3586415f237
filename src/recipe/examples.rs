//! Recipes to start from, which the program has within.

macro_rules! recipes {
    ($($name:literal)*) => { &[$(($name,
        include_str!(concat!("../../examples/", $name, ".toml")))),*] };
}

/// The recipes of `examples/`, but for the one that needs a file beside it: names and TOML.
pub const EXAMPLES: &[(&str, &str)] = recipes!(
    "archipelago" "badlands" "biomes" "block-out" "boulders" "canyon" "climate" "coast" "desert" "downs" "dungeons" "fjords" "game-large" "game-medium" "game-small" "island" "mountains" "oasis" "plateaus" "rain-shadow" "ranges" "rivers" "snowballs" "valley" "volcano" "world"
);

/// The first sentence of the comment that a recipe begins with.
pub fn title(text: &str) -> String {
    let comment = text
        .lines()
        .map_while(|line| line.strip_prefix('#'))
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ");
    comment.split_inclusive(". ").next().unwrap_or_default().trim().into()
}
