//! What crosses between C and Rust: texts, arrays, handles, and errors.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg::{Error, Invalid, Result};

/// What a function returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThalwegStatus {
    /// It is done.
    Ok = 0,
    /// An argument, or a key or value of a recipe, is not allowed.
    Param = 1,
    /// A file is missing, damaged, or of an unknown kind.
    Input = 2,
    /// Something is too large for the machine, the device or the format.
    Limit = 3,
    /// The graphics device refused, failed or does not exist.
    Device = 4,
    /// A file could not be written.
    Output = 5,
    /// The run was cancelled.
    Cancelled = 6,
    /// The library is at fault. The handles can still be freed.
    Panic = 7,
}

/// Why a function of this thread failed. A text is NULL where there is nothing to say.
#[repr(C)]
pub struct ThalwegError {
    /// What the function returned, or THALWEG_STATUS_PARAM where it returned NULL.
    /// THALWEG_STATUS_OK: nothing has failed yet.
    pub status: ThalwegStatus,
    /// The error as a sentence, never NULL.
    pub message: *const c_char,
    /// Where the value stands in the recipe, as a JSON pointer: "/stage/1/rain". Of an argument,
    /// "/" and its name.
    pub pointer: *const c_char,
    /// What was given or is needed, or the adapter that failed.
    pub given: *const c_char,
    /// What is allowed, in words.
    pub allowed: *const c_char,
    /// The file that it is about.
    pub file: *const c_char,
}

/// An error, and the texts to which it points.
struct Kept {
    error: ThalwegError,
    _texts: [Option<CString>; 5],
}

impl Kept {
    fn new(status: ThalwegStatus, texts: [Option<String>; 5]) -> Self {
        let texts = texts.map(|text| text.map(|text| c_text(&text)));
        let [message, pointer, given, allowed, file] =
            texts.each_ref().map(|text| text.as_ref().map_or(ptr::null(), |text| text.as_ptr()));
        let error = ThalwegError { status, message, pointer, given, allowed, file };
        Self { error, _texts: texts }
    }

    fn of(error: &Error) -> Self {
        let message = Some(error.to_string());
        let path = |path: &std::path::Path| Some(path.display().to_string());
        let number = |n: Option<u64>| n.map(|n| n.to_string());
        match error {
            Error::Param(invalid) => {
                let Invalid { pointer, given, allowed, file, .. } = (**invalid).clone();
                let file = file.and_then(|file| path(&file));
                Self::new(ThalwegStatus::Param, [message, pointer, given, allowed, file])
            }
            Error::Input { path: file, .. } => {
                Self::new(ThalwegStatus::Input, [message, None, None, None, path(file)])
            }
            Error::Limit(limit) => {
                let unit = limit.unit.unwrap_or_default();
                let allowed = number(limit.allowed).map(|n| format!("{n} {unit}").trim().into());
                let given = number(limit.needed);
                Self::new(ThalwegStatus::Limit, [message, None, given, allowed, None])
            }
            Error::Device(fault) => {
                let adapter = fault.adapter.clone();
                Self::new(ThalwegStatus::Device, [message, None, adapter, None, None])
            }
            Error::Output { path: file, .. } => {
                Self::new(ThalwegStatus::Output, [message, None, None, None, path(file)])
            }
            Error::Cancelled => {
                Self::new(ThalwegStatus::Cancelled, [message, None, None, None, None])
            }
            // The library's errors may become more.
            _ => Self::new(ThalwegStatus::Panic, [message, None, None, None, None]),
        }
    }
}

static NONE: NoError = NoError(ThalwegError {
    status: ThalwegStatus::Ok,
    message: c"".as_ptr(),
    pointer: ptr::null(),
    given: ptr::null(),
    allowed: ptr::null(),
    file: ptr::null(),
});

/// The error of a thread that has none.
struct NoError(ThalwegError);

// SAFETY: nothing writes to it, and its one text is a constant.
unsafe impl Sync for NoError {}

thread_local!(static LAST: RefCell<Option<Box<Kept>>> = const { RefCell::new(None) });

/// The last error of the calling thread, never NULL. What it points to stays until the next
/// function fails on this thread, or the thread ends. A function that succeeds leaves it.
#[unsafe(no_mangle)]
pub extern "C" fn thalweg_last_error() -> *const ThalwegError {
    let last = LAST.try_with(|last| last.borrow().as_ref().map(|kept| &raw const kept.error));
    last.ok().flatten().unwrap_or(&raw const NONE.0)
}

/// Keeps the error for [`thalweg_last_error`].
fn keep(kept: Kept) -> ThalwegStatus {
    let status = kept.error.status;
    // A thread that ends has no place for it any more.
    let _ = LAST.try_with(|last| last.replace(Some(Box::new(kept))));
    status
}

/// Does the work of a function. Errors and panics become what C understands.
pub fn guard(work: impl FnOnce() -> Result<()>) -> ThalwegStatus {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => ThalwegStatus::Ok,
        Ok(Err(error)) => keep(Kept::of(&error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let message = format!("thalweg is at fault: {text}");
            keep(Kept::new(ThalwegStatus::Panic, [Some(message), None, None, None, None]))
        }
    }
}

/// The same, for functions that return a value: `failed` where they fail.
pub fn or<T>(failed: T, work: impl FnOnce() -> Result<T>) -> T {
    let mut value = failed;
    guard(|| {
        value = work()?;
        Ok(())
    });
    value
}

/// A text of Rust for C, up to the first zero that may be in it.
pub fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// The error of an argument that is null.
pub fn null(name: &str) -> Error {
    let message = format!("{name} is NULL");
    Invalid::of(name, "NULL", "a pointer").saying(message).into()
}

/// A text from C.
///
/// # Safety
/// It is null, or it ends in a zero and nothing changes it while `'a` lasts.
pub unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str> {
    // SAFETY: as this function asks.
    unsafe { text_or_null(name, text) }?.ok_or_else(|| null(name))
}

/// A text from C that may be missing.
///
/// # Safety
/// As [`text`].
pub unsafe fn text_or_null<'a>(name: &str, text: *const c_char) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null, so it ends in a zero.
    let text = unsafe { CStr::from_ptr(text) };
    let wrong = |at: std::str::Utf8Error| {
        let (given, allowed) = (text.to_string_lossy(), "text in UTF-8");
        let message = format!("{name}: byte {} is not UTF-8", at.valid_up_to());
        Invalid::of(name, given, allowed).saying(message).into()
    };
    text.to_str().map(Some).map_err(wrong)
}

/// What a handle or a structure of C is.
///
/// # Safety
/// It is null, or it points to a `T` to which nothing writes while `'a` lasts.
pub unsafe fn borrowed<'a, T>(name: &str, pointer: *const T) -> Result<&'a T> {
    // SAFETY: as this function asks.
    unsafe { borrowed_or_null(name, pointer) }?.ok_or_else(|| null(name))
}

/// The same, where it may be missing.
///
/// # Safety
/// As [`borrowed`].
pub unsafe fn borrowed_or_null<'a, T>(name: &str, pointer: *const T) -> Result<Option<&'a T>> {
    check_aligned(name, pointer)?;
    // SAFETY: it is null, or it points to a T, as this function asks.
    Ok(unsafe { pointer.as_ref() })
}

/// Refuses what no `T` can lie at.
fn check_aligned<T>(name: &str, pointer: *const T) -> Result<()> {
    if pointer.is_aligned() {
        return Ok(());
    }
    let allowed = format!("an address that is a multiple of {}", align_of::<T>());
    Err(Invalid::value(name, format!("{pointer:p}"), allowed).into())
}

/// Refuses an array of another length than the land needs.
fn check_count<T>(name: &str, count: usize, wanted: u64) -> Result<()> {
    let cells = isize::MAX as usize / size_of::<T>();
    if count as u64 == wanted && count <= cells {
        return Ok(());
    }
    let message = format!("{name}: count = {count}: allowed {wanted}, one for each cell");
    Err(Invalid::of("count", count, wanted.to_string()).saying(message).into())
}

/// The values of an array of C that has to have `wanted` of them.
///
/// # Safety
/// It is null, or it points to `count` values to which nothing writes while `'a` lasts.
pub unsafe fn values<'a, T>(
    name: &str,
    values: *const T,
    count: usize,
    wanted: u64,
) -> Result<&'a [T]> {
    if values.is_null() {
        return Err(null(name));
    }
    check_aligned(name, values)?;
    check_count::<T>(name, count, wanted)?;
    // SAFETY: not null, aligned, and of `count` values, as this function asks; not over isize::MAX.
    Ok(unsafe { std::slice::from_raw_parts(values, count) })
}

/// Room of the caller for `wanted` numbers. They are 0 at first.
///
/// # Safety
/// It is null, or it points to room for `count` numbers that nothing else uses while `'a` lasts.
pub unsafe fn room<'a, T: Number>(
    name: &str,
    room: *mut T,
    count: usize,
    wanted: u64,
) -> Result<&'a mut [T]> {
    if room.is_null() {
        return Err(null(name));
    }
    check_aligned(name, room)?;
    check_count::<T>(name, count, wanted)?;
    // SAFETY: not null, aligned, room for `count`; zeros are numbers, so all are initialised after.
    unsafe { ptr::write_bytes(room, 0, count) };
    // SAFETY: the same, initialised now; the size is not over isize::MAX.
    Ok(unsafe { std::slice::from_raw_parts_mut(room, count) })
}

/// What may be all zeros.
pub trait Number: Copy {}
impl Number for f32 {}
impl Number for i32 {}

/// Puts a value where the caller wants it.
///
/// # Safety
/// It is null, or it points to room for a `T`.
pub unsafe fn put<T>(name: &str, at: *mut T, value: T) -> Result<()> {
    if at.is_null() {
        return Err(null(name));
    }
    check_aligned(name, at)?;
    // SAFETY: not null, aligned, and room for a T, as this function asks.
    unsafe { at.write(value) };
    Ok(())
}

/// Makes a handle and puts it where the caller wants it: null there if it cannot be made.
///
/// # Safety
/// It is null, or it points to room for a pointer.
pub unsafe fn put_new<T>(at: *mut *mut T, make: impl FnOnce() -> Result<T>) -> ThalwegStatus {
    guard(|| {
        // SAFETY: as this function asks.
        unsafe { put("out", at, ptr::null_mut()) }?;
        let made = Box::into_raw(Box::new(make()?));
        // SAFETY: as this function asks.
        unsafe { put("out", at, made) }
    })
}

/// Frees a handle. Null is none.
///
/// # Safety
/// It is null, or it comes from [`put_new`] and was not freed.
pub unsafe fn free<T>(handle: *mut T) {
    guard(|| {
        if !handle.is_null() {
            // SAFETY: it is a box that `put_new` gave away, and nobody has it any more.
            drop(unsafe { Box::from_raw(handle) });
        }
        Ok(())
    });
}

/// What lies behind a mutex. A panic while it was locked has left it whole: what changes there is
/// put there in one go.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
