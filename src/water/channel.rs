//! How wide, deep and fast a river is, from its discharge.

/// A law of hydraulic geometry downstream: width and depth are powers of the discharge, and the
/// velocity is what is left of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Law {
    /// Width grows with the power 0.5 of the discharge, depth with 0.4 and so velocity with 0.1 (L.
    /// B. Leopold, T. Maddock, *The hydraulic geometry of stream channels and some physiographic
    /// implications*, 1953). The factors differ from region to region.
    #[default]
    LeopoldMaddock,
    /// Width is 7.2 Q^0.5 and depth 0.27 Q^0.3, the means of rivers of all the world (J. A. Moody,
    /// B. M. Troutman, *Characterization of the spatial variability of channel morphology*, 2002).
    MoodyTroutman,
}

impl Law {
    /// All of them, with their names in recipes.
    pub const ALL: [(&'static str, Self); 2] =
        [("leopold-maddock", Self::LeopoldMaddock), ("moody-troutman", Self::MoodyTroutman)];

    /// Width and depth in metres of a river of 1 m³/s, if a recipe does not say. The first law has
    /// no numbers of its own: these are those of small rivers in temperate hills.
    pub const fn usual(self) -> (f64, f64) {
        match self {
            Self::LeopoldMaddock => (5.0, 0.3),
            Self::MoodyTroutman => (7.2, 0.27),
        }
    }

    /// What the width of a discharge in m³/s is that of 1 m³/s times.
    pub fn width(self, discharge: f64) -> f64 {
        discharge.sqrt()
    }

    /// The same of the depth.
    pub fn depth(self, discharge: f64) -> f64 {
        let exponent = match self {
            Self::LeopoldMaddock => 0.4,
            Self::MoodyTroutman => 0.3,
        };
        // Powers of the system differ in the last bit.
        libm::pow(discharge, exponent)
    }
}

/// A river at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Channel {
    /// Discharge in m³/s.
    pub discharge: f64,
    /// Width of the surface in metres.
    pub width_m: f64,
    /// Mean depth in metres.
    pub depth_m: f64,
    /// Mean velocity in m/s: discharge = width × depth × velocity. 0 for a river without width or
    /// depth.
    pub velocity: f64,
}

impl Channel {
    /// The channel of a discharge in m³/s, where a river of 1 m³/s has a width and a depth in
    /// metres.
    pub fn of(law: Law, discharge: f64, width_m: f64, depth_m: f64) -> Self {
        let (width_m, depth_m) = (width_m * law.width(discharge), depth_m * law.depth(discharge));
        let section = width_m * depth_m;
        let velocity = if section > 0.0 { discharge / section } else { 0.0 };
        Self { discharge, width_m, depth_m, velocity }
    }
}
