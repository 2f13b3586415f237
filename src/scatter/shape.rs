//! What stands for things in files of meshes.

/// A mesh of a few triangles, about as large as the thing it stands for, on the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A conifer, 8 m high.
    Tree,
    /// A bush, 1.5 m high.
    Bush,
    /// A boulder, 1 m high.
    Rock,
    /// A tuft of grass, 0.5 m high.
    Grass,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tree, Self::Bush, Self::Rock, Self::Grass];

    /// Its name in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Bush => "bush",
            Self::Rock => "rock",
            Self::Grass => "grass",
        }
    }

    /// The shape of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }
}
