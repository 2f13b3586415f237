//! The random numbers of dungeons: a named generator, and sampling that is written out here.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;

/// PCG64 (XSL-RR 128/64; M. O'Neill, *PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
/// Number Generation*, 2014), with the state `seed` and the stream of a purpose.
///
/// The ways from its words to numbers are those below and no library's, so that no update of a library can move a room:
/// the same seed gives the same dungeon on every platform and in every later version, unless the changelog says otherwise.
#[derive(Clone, Debug)]
pub struct Random(Pcg64);

/// What random numbers are drawn for; each purpose has a stream of its own, so that more furniture moves no wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Rooms and corridors.
    Layout = 1,
    /// What is in the rooms.
    Content = 2,
    /// Keys and locks.
    Keys = 3,
}

impl Random {
    /// The generator of a purpose under a seed.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        Self(Pcg64::new(seed.into(), purpose as u128))
    }

    /// 64 random bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number from 0 to `n` − 1, each as likely as any other; 0 for n = 0.
    ///
    /// The upper half of a word times `n`, and again where the fraction falls into the part that would favour some numbers
    /// (D. Lemire, *Fast Random Integer Generation in an Interval*, 2019).
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        let unfair = n.wrapping_neg().checked_rem(n).unwrap_or(0);
        loop {
            let product = (self.word() >> 32) * u64::from(n);
            if product as u32 >= unfair {
                return (product >> 32) as u32;
            }
        }
    }

    /// True in `n` of `of` cases.
    #[inline]
    pub fn chance(&mut self, n: u32, of: u32) -> bool {
        self.below(of) < n
    }

    /// A number from 0 to 1, 1 not included: a multiple of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number with mean 0 and deviation 1, normally distributed (G. E. P. Box and M. E. Muller, *A Note on the Generation
    /// of Random Normal Deviates*, 1958; the second one of the pair is not used).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// One of `items`, each as likely.
    ///
    /// # Panics
    /// If there are none.
    #[inline]
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u32) as usize]
    }

    /// The index of one of `weights`, in proportion to them; none where all are 0. Their sum is below 2³².
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

    /// Puts items in random order, from the last place to the first (the shuffle of Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}
