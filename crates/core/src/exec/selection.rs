//! Selections of a buffer's words, which is what is read back: a map without its margin, or one of
//! the words of each cell.

use std::ops::Range;

/// Some words of each cell of a rectangle of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The word of the buffer at which the map begins, where several lie one after another.
    pub first: usize,
    /// Cells of a row of the map.
    pub width: usize,
    /// Words of a cell.
    pub each: usize,
    /// The columns of the rectangle.
    pub columns: Range<usize>,
    /// Its rows.
    pub rows: Range<usize>,
    /// Which of the words of a cell.
    pub of: Range<usize>,
}

impl Selection {
    /// All of a buffer with this number of words.
    pub fn all(words: usize) -> Self {
        Self { first: 0, width: words, each: 1, columns: 0..words, rows: 0..1, of: 0..1 }
    }

    /// How many words it has.
    pub fn words(&self) -> usize {
        self.rows.len() * self.columns.len() * self.of.len()
    }

    /// The first word of its first row, and how many words there are from a row to the next.
    pub fn row(&self) -> (usize, usize) {
        let row = self.width * self.each;
        (self.first + self.rows.start * row + self.columns.start * self.each + self.of.start, row)
    }

    /// The words of the buffer that it is, if they lie side by side.
    pub fn together(&self) -> Option<Range<usize>> {
        let whole_rows = self.columns.len() == self.width || self.rows.len() == 1;
        let lies = self.of.len() == self.each && whole_rows;
        let (first, _) = self.row();
        lies.then(|| first..first + self.words())
    }

    /// Its words out of those of the buffer, row by row.
    pub fn of(&self, words: &[i32]) -> Vec<i32> {
        if let Some(range) = self.together() {
            return words[range].to_vec();
        }
        let (first, wide) = self.row();
        let mut found = Vec::with_capacity(self.words());
        for y in 0..self.rows.len() {
            let row = &words[first + y * wide..];
            if self.of.len() == self.each {
                found.extend_from_slice(&row[..self.columns.len() * self.each]);
            } else {
                let cells = (0..self.columns.len()).map(|x| &row[x * self.each..][..self.of.len()]);
                cells.for_each(|cell| found.extend_from_slice(cell));
            }
        }
        found
    }
}
