//! thalweg in a page or in Node, without a server. `npm` beside this has the JavaScript that loads
//! it, and `docs/browser.md` is the manual.
//!
//! An instance of the module makes one land at a time. The page writes a question as JSON into
//! [`room`], calls [`ask`], and reads the answer, JSON too, from [`answer`]. Floats go through
//! [`heights`] and [`values`], and files through [`file_room`] and [`file`]. While a question is
//! answered the module calls the functions of [`page`]. Some of them wait: `npm/worker.js` says
//! how.

mod gpu;
mod page;
#[cfg(feature = "files")]
mod results;
mod service;
mod task;

use std::cell::RefCell;

/// What lies between the page and the module.
#[derive(Default)]
struct Desk {
    question: Vec<u8>,
    answer: Vec<u8>,
    heights: Vec<f32>,
    files: Vec<Vec<u8>>,
    beside: Beside,
}

/// What lies beside an answer, which says how much it is.
#[derive(Default)]
struct Beside {
    values: Vec<f32>,
    bytes: Vec<u8>,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

/// Room for a question of this many bytes.
// SAFETY: no other function of this module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    DESK.with_borrow_mut(|desk| {
        desk.question = vec![0; bytes];
        desk.question.as_mut_ptr()
    })
}

/// Room for the heights of a land that is to be eroded, in metres, row by row from the north.
// SAFETY: no other function of this module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn heights(cells: usize) -> *mut f32 {
    DESK.with_borrow_mut(|desk| {
        desk.heights = vec![0.0; cells];
        desk.heights.as_mut_ptr()
    })
}

/// Room for a file of this many bytes that the next question names, in the order of its names.
// SAFETY: no other function of this module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn file_room(bytes: usize) -> *mut u8 {
    DESK.with_borrow_mut(|desk| {
        desk.files.push(vec![0; bytes]);
        desk.files.last_mut().map_or(std::ptr::null_mut(), Vec::as_mut_ptr)
    })
}

/// Answers the question that lies in [`room`]. Returns the length of the answer in bytes.
// SAFETY: no other function of this module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    // Nothing stays borrowed while the work is done, since it calls the page.
    let Desk { question, heights, files, .. } = DESK.take();
    let (answer, beside) = task::answer(&question, &heights, files);
    DESK.with_borrow_mut(|desk| {
        desk.answer = answer.to_string().into_bytes();
        desk.beside = beside;
        desk.answer.len()
    })
}

/// Where the last answer lies.
// SAFETY: no other function of this module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    DESK.with_borrow(|desk| desk.answer.as_ptr())
}

/// Where the values lie that belong to the last answer, which says how many they are.
// SAFETY: no other function of this module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn values() -> *const f32 {
    DESK.with_borrow(|desk| desk.beside.values.as_ptr())
}

/// Where the bytes lie that belong to the last answer, which says how many they are.
// SAFETY: no other function of this module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn file() -> *const u8 {
    DESK.with_borrow(|desk| desk.beside.bytes.as_ptr())
}
