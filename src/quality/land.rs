//! The figures that have been measured on real land, and what it has.

use super::Statistics;

/// A figure of [`Statistics`] that tells land from what only looks like it.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name in JSON: that of the field.
    pub name: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// By how much it is multiplied for people, such as 100 for per cent, and the sign that
    /// follows.
    pub shown: (f64, &'static str),
    /// The lowest and the highest of ten squares of real land, in the unit of the field. Of
    /// depressions less is no fault.
    pub real: (f64, f64),
    /// What others have published, and where.
    pub published: &'static str,
    /// Its value.
    pub of: fn(&Statistics) -> Option<f64>,
}

impl Figure {
    /// A value of it for people.
    pub fn shown(&self, value: f64) -> String {
        let (factor, sign) = self.shown;
        let decimals = if sign == "°" { 1 } else { 2 };
        format!("{:.decimals$}{sign}", value * factor)
    }

    /// The range of real land for people.
    pub fn range(&self) -> String {
        let (low, high) = self.real;
        format!("{} to {}", self.shown(low).trim_end_matches(self.shown.1), self.shown(high))
    }

    /// Whether a land's value lies outside the range of real land.
    pub fn is_outside(&self, of: &Statistics) -> bool {
        (self.of)(of).is_some_and(|value| value < self.real.0 || value > self.real.1)
    }
}

const PLAIN: (f64, &str) = (1.0, "");
const SHARE: (f64, &str) = (100.0, " %");

/// The figures of real land, in the order in which they are shown.
///
/// Ranges are those of ten squares of three surveys, by this program: Jacksboro, Tennessee (NED, 84
/// m), Big Tujunga, California, and the Shillong Plateau, Meghalaya (SRTM, 30 m and 50 m), all of
/// the U.S. Geological Survey or NASA and in the public domain. `docs/quality.md` has most values.
/// `axis_share` is without the last, which has been resampled: that shows in its short waves.
pub const FIGURES: [Figure; 18] = [
    Figure {
        name: "junction_angle",
        label: "angle at which rivers meet, median",
        shown: (1.0, "°"),
        real: (65.8, 85.5),
        published: "45° where it is dry to 72° where it is wet (Seybold, Rothman and Kirchner \
                    2017)",
        of: |s| s.network.junction_angle,
    },
    Figure {
        name: "concavity",
        label: "concavity θ, slope against area",
        shown: PLAIN,
        real: (-0.03, 0.51),
        published: "0.3 to 0.6 (Tucker and Whipple 2002)",
        of: |s| s.network.concavity,
    },
    Figure {
        name: "chi_concavity",
        label: "concavity θ, by χ",
        shown: PLAIN,
        real: (0.32, 0.66),
        published: "0.3 to 0.6, as above",
        of: |s| s.network.chi_concavity,
    },
    Figure {
        name: "hack",
        label: "Hack's exponent, length against area",
        shown: PLAIN,
        real: (0.47, 0.57),
        published: "0.5 to 0.6 (Hack 1957; Rigon and others 1996)",
        of: |s| s.network.hack,
    },
    Figure {
        name: "bifurcation_ratio",
        label: "Horton's ratio of numbers, R_B",
        shown: PLAIN,
        real: (3.96, 5.27),
        published: "3 to 5 (Strahler 1957)",
        of: |s| s.network.bifurcation_ratio,
    },
    Figure {
        name: "length_ratio",
        label: "Horton's ratio of lengths, R_L",
        shown: PLAIN,
        real: (1.73, 2.64),
        published: "1.5 to 3.5 (Kirchner 1993)",
        of: |s| s.network.length_ratio,
    },
    Figure {
        name: "area_ratio",
        label: "Horton's ratio of areas, R_A",
        shown: PLAIN,
        real: (3.6, 5.01),
        published: "3 to 6 (Kirchner 1993)",
        of: |s| s.network.area_ratio,
    },
    Figure {
        name: "depressions",
        label: "in depressions, over half a cell deep",
        shown: SHARE,
        real: (0.0, 0.00411),
        published: "",
        of: |s| Some(s.depressions),
    },
    Figure {
        name: "depressions_shallow",
        label: "in depressions, over a twentieth of a cell",
        shown: SHARE,
        real: (0.0, 0.0513),
        published: "",
        of: |s| Some(s.depressions_shallow),
    },
    Figure {
        name: "ridges_and_valleys",
        label: "ridges and valleys (geomorphons)",
        shown: SHARE,
        real: (0.2, 0.351),
        published: "",
        of: |s| s.ridges_and_valleys,
    },
    Figure {
        name: "hurst",
        label: "Hurst's exponent, 2 to 32 cells",
        shown: PLAIN,
        real: (0.57, 0.79),
        published: "",
        of: |s| s.hurst,
    },
    Figure {
        name: "beta",
        label: "β of the spectrum, waves of 8 to 32 cells",
        shown: PLAIN,
        real: (2.92, 4.38),
        published: "",
        of: |s| s.spectrum.beta,
    },
    Figure {
        name: "axis_share",
        label: "waves along axes, 2 to 16 cells",
        shown: PLAIN,
        real: (0.96, 1.02),
        published: "",
        of: |s| Some(s.spectrum.axis_share),
    },
    Figure {
        name: "axis_share_long",
        label: "waves along axes, 16 to 128 cells",
        shown: PLAIN,
        real: (0.63, 1.39),
        published: "",
        of: |s| s.spectrum.axis_share_long,
    },
    Figure {
        name: "diagonal_share_long",
        label: "waves along diagonals, 16 to 128 cells",
        shown: PLAIN,
        real: (0.78, 1.19),
        published: "",
        of: |s| s.spectrum.diagonal_share_long,
    },
    Figure {
        name: "laplacian_skew",
        label: "skewness of the Laplacian",
        shown: PLAIN,
        real: (-0.1, 0.34),
        published: "",
        of: |s| s.laplacian_skew,
    },
    Figure {
        name: "slope_variation",
        label: "slope, deviation over mean",
        shown: PLAIN,
        real: (0.37, 0.76),
        published: "",
        of: |s| s.slope_variation,
    },
    Figure {
        name: "hypsometric_integral",
        label: "hypsometric integral",
        shown: PLAIN,
        real: (0.37, 0.8),
        published: "0.35 to 0.6 in maturity (Strahler 1952)",
        of: |s| Some(s.hypsometric_integral),
    },
];
