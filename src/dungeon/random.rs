//! The random numbers of dungeons: a named generator and our own sampling.

use crate::arith;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;

/// PCG64 (XSL-RR 128/64; M. O'Neill, *PCG: A Family of Simple Fast Space-Efficient Statistically
/// Good Algorithms for Random Number Generation*, 2014). The seed is the initial state, and the
/// purpose selects the stream.
///
/// Ranges, shuffles and distributions are implemented here, so an update of a library cannot change
/// a dungeon. The same seed gives the same dungeon on every platform and in every later version,
/// unless the changelog says otherwise.
#[derive(Clone, Debug)]
pub struct Random(Pcg64);

/// What random numbers are used for. Each purpose has its own stream, so adding furniture does not
/// move a wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Rooms and corridors.
    Layout = 1,
    /// The contents of rooms.
    Content = 2,
    /// Keys and locks.
    Keys = 3,
    /// Whether a chapter is replaced by its alternative.
    Chapter = 4,
}

/// The seed of a part of a run, such as a floor. Each number is mixed in, so two parts have nothing
/// in common.
pub(super) fn derived(seed: u64, part: &[u32]) -> u64 {
    part.iter().fold(seed, |seed, number| arith::seed(seed, *number))
}

impl Random {
    /// The generator of a seed and a purpose.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        Self(Pcg64::new(seed.into(), purpose as u128))
    }

    /// 64 random bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniformly distributed whole number from 0 to `n` − 1, or 0 if `n` is 0.
    ///
    /// The upper half of a word is multiplied by `n`. It is drawn again if the fraction falls where
    /// some numbers would be favoured (D. Lemire, *Fast Random Integer Generation in an Interval*,
    /// 2019).
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        // This is 2³² mod `n`.
        let unfair = n.wrapping_neg().checked_rem(n).unwrap_or(0);
        loop {
            let product = (self.word() >> 32) * u64::from(n);
            if product as u32 >= unfair {
                return (product >> 32) as u32;
            }
        }
    }

    /// True with probability `n / of`.
    #[inline]
    pub fn chance(&mut self, n: u32, of: u32) -> bool {
        self.below(of) < n
    }

    /// A uniformly distributed multiple of 2⁻⁵³ from 0 to 1, excluding 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A normally distributed number with mean 0 and deviation 1 (G. E. P. Box and M. E. Muller, *A
    /// Note on the Generation of Random Normal Deviates*, 1958). The second number of each pair is
    /// discarded.
    pub fn normal(&mut self) -> f64 {
        // A unit is below 1, so the logarithm is never that of 0.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// One of `items`, all equally likely.
    ///
    /// # Panics
    /// If `items` is empty.
    #[inline]
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u32) as usize]
    }

    /// A random index, with probabilities in proportion to the weights, or `None` if all weights
    /// are 0. Their sum must be below 2³².
    pub fn weighted(&mut self, weights: impl Iterator<Item = u32> + Clone) -> Option<usize> {
        let mut at = match weights.clone().sum() {
            0 => return None,
            sum => self.below(sum),
        };
        weights.into_iter().position(|weight| match at.checked_sub(weight) {
            None => true,
            Some(rest) => {
                at = rest;
                false
            }
        })
    }

    /// Shuffles items with the Fisher–Yates algorithm, from the last place to the first.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}
