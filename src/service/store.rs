//! What outlives the process: the index of jobs and results in SQLite, and their files in folders.
//!
//! ```text
//! index.sqlite      jobs, results, uploads
//! work/ID.ended     how a job has ended, where the index had no room for it
//! work/ID/          a job that is not done: its levels, its last snapshot, the files it writes
//! results/DIGEST/   result.json, files/ (as `thalweg run` writes them), words/, levels/, caches
//! uploads/          files that clients have sent, named by digest
//! worlds/           recipes without an end, named by digest, and tiles/, the store of their tiles
//! ```
//! The index may be lost: results are found again by their folders, and only the history of jobs is
//! gone.

mod results;

use super::problem::{Answer, Problem};
use crate::api::files::is_digest;
use crate::api::request::Request;
use crate::error::{Error, Result};
pub use results::{folder_bytes, on_disk};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The store of a service.
pub struct Store {
    root: PathBuf,
    index: Mutex<Connection>,
    /// Held while a job with a key is entered.
    keys: Mutex<()>,
    /// What a disk that is full has kept out of the index.
    unentered: Mutex<Unentered>,
    /// Results of which it was said within a second that they are wanted.
    touched: moka::sync::Cache<String, ()>,
    /// Held while the service runs, so that no second one works in the same folder.
    _lock: File,
}

/// The version of the tables.
const VERSION: i32 = 1;
const TABLES: &str = "
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, recipe_digest TEXT NOT NULL, state TEXT NOT NULL, \
                      name TEXT NOT NULL,
        request TEXT NOT NULL, submitted_at INTEGER NOT NULL, started_at INTEGER, ended_at \
                      INTEGER, result TEXT, error TEXT,
        idempotency_key TEXT UNIQUE
    );
    CREATE TABLE results (
        digest TEXT PRIMARY KEY, recipe_digest TEXT NOT NULL, bytes INTEGER NOT NULL, used_at \
                      INTEGER NOT NULL
    );
    CREATE TABLE uploads (
        digest TEXT PRIMARY KEY, extension TEXT NOT NULL, bytes INTEGER NOT NULL, used_at INTEGER \
                      NOT NULL
    );";
/// They spare searches of whole tables.
const INDEXES: &str = "
    CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, id);
    CREATE INDEX IF NOT EXISTS jobs_by_result ON jobs (result, id);
    CREATE INDEX IF NOT EXISTS results_by_recipe ON results (recipe_digest);
    CREATE INDEX IF NOT EXISTS results_by_use ON results (used_at);
    CREATE INDEX IF NOT EXISTS uploads_by_use ON uploads (used_at);";

/// A job as the index has it.
#[derive(Clone, Debug)]
pub struct Record {
    pub id: i64,
    pub recipe_digest: String,
    pub state: String,
    pub name: String,
    pub request: Request,
    pub submitted_at: i64,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    pub result: Option<String>,
    pub error: Option<Value>,
}

/// What holds although it could not be entered in the index: it is entered when there is room
/// again.
#[derive(Default)]
struct Unentered {
    /// Jobs, and how they have ended.
    ends: BTreeMap<i64, Ended>,
    /// Results by digest: their recipes' digests, and their bytes.
    results: BTreeMap<String, (String, i64)>,
}

/// How a job has ended.
#[derive(Clone, Serialize, Deserialize)]
struct Ended {
    state: String,
    at: Option<i64>,
    result: Option<String>,
    error: Option<String>,
}

/// Seconds since 1970.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() as i64
}

fn record(row: &Row) -> rusqlite::Result<Record> {
    let json = |column: &str| -> rusqlite::Result<Option<Value>> {
        Ok(row.get::<_, Option<String>>(column)?.and_then(|text| serde_json::from_str(&text).ok()))
    };
    let text: String = row.get("request")?;
    let request = serde_json::from_str(&text).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(e))
    })?;
    Ok(Record {
        id: row.get("id")?,
        recipe_digest: row.get("recipe_digest")?,
        state: row.get("state")?,
        name: row.get("name")?,
        request,
        submitted_at: row.get("submitted_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
        result: row.get("result")?,
        error: json("error")?,
    })
}

impl Store {
    /// Opens the store in a folder, which is made where it is missing.
    ///
    /// # Errors
    /// [`Error::Output`] for a folder that cannot be written or that another service works in.
    pub fn open(root: &Path) -> Result<Self> {
        let wrong = |path: &Path, e: std::io::Error| Error::output(path, e);
        for folder in ["work", "results", "uploads", "worlds"] {
            let folder = root.join(folder);
            std::fs::create_dir_all(&folder).map_err(|e| wrong(&folder, e))?;
        }
        private(root).map_err(|e| wrong(root, e))?;
        let path = root.join("lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| wrong(&path, e))?;
        // The lock lasts as long as its file is open, so it ends with the process.
        if lock.try_lock().is_err() {
            let what =
                "another thalweg serve works in this folder; end it, or give another with --state";
            return Err(wrong(root, std::io::Error::new(std::io::ErrorKind::ResourceBusy, what)));
        }
        let store = Self {
            root: root.into(),
            index: Mutex::new(Self::index(root)?),
            keys: Mutex::default(),
            unentered: Mutex::default(),
            touched: moka::sync::Cache::builder()
                .max_capacity(10_000)
                .time_to_live(Duration::from_secs(1))
                .build(),
            _lock: lock,
        };
        store.find_ends();
        store.find_again()?;
        Ok(store)
    }

    /// Opens the index. One that is damaged is put aside.
    fn index(root: &Path) -> Result<Connection> {
        let path = root.join("index.sqlite");
        let open = || -> rusqlite::Result<Connection> {
            let index = Connection::open(&path)?;
            index.busy_timeout(Duration::from_secs(5))?;
            index.pragma_update(None, "journal_mode", "WAL")?;
            // What is entered is on disk before anyone is told.
            index.pragma_update(None, "synchronous", "FULL")?;
            let version: i32 = index.pragma_query_value(None, "user_version", |row| row.get(0))?;
            // A file that is new has this version.
            if version == 0 {
                index.execute_batch(&format!(
                    "BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"
                ))?;
            }
            // A folder of an earlier build lacks some, and its disk may be too full for them.
            if let Err(e) = index.execute_batch(INDEXES) {
                tracing::warn!(reason = %e, "the index answers more slowly");
            }
            // A damaged file may open all the same.
            let sound: String = index.pragma_query_value(None, "quick_check", |row| row.get(0))?;
            match (version, sound.as_str()) {
                (0 | VERSION, "ok") => Ok(index),
                _ => Err(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
                    Some(format!("version {version}, check: {sound}")),
                )),
            }
        };
        let damaged = |e: &rusqlite::Error| {
            use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
            matches!(e.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
        };
        let output =
            |e: rusqlite::Error| Error::output(&path, std::io::Error::other(e.to_string()));
        match open() {
            Err(e) if damaged(&e) => {
                let aside = root.join(format!("index.sqlite.damaged-{}", now()));
                tracing::warn!(reason = %e, to = %aside.display(), "the index is damaged and put \
                    aside; results are found again");
                std::fs::rename(&path, &aside).map_err(|e| Error::output(&path, e))?;
                // These belong to the damaged index, and must not be taken for those of the new
                // one.
                for rest in ["index.sqlite-wal", "index.sqlite-shm"] {
                    let _ = std::fs::remove_file(root.join(rest));
                }
                open().map_err(output)
            }
            opened => opened.map_err(output),
        }
    }

    /// Enters results and uploads that the index does not know of, and forgets those that are gone.
    fn find_again(&self) -> Result<()> {
        let wrong = |e: rusqlite::Error| {
            Error::output(self.root.join("index.sqlite"), std::io::Error::other(e.to_string()))
        };
        let index = self.index_now();
        let known: Vec<(String, String)> = {
            let mut all = index
                .prepare(
                    "SELECT 'results', digest FROM results UNION SELECT 'uploads', digest || \
                     '.' || extension FROM uploads",
                )
                .map_err(wrong)?;
            let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(wrong)?;
            rows.collect::<rusqlite::Result<_>>().map_err(wrong)?
        };
        for (kind, name) in &known {
            if !self.root.join(kind).join(name).exists() {
                let digest = name.split('.').next().unwrap_or_default();
                index
                    .execute(&format!("DELETE FROM {kind} WHERE digest = ?1"), [digest])
                    .map_err(wrong)?;
            }
        }
        let names = |folder: &str| -> Vec<String> {
            let entries = std::fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        for digest in names("results").iter().filter(|name| is_digest(name)) {
            let meta = self.result(digest).unwrap_or_default();
            // A result says itself of which recipe it is.
            if let Some(recipe) = meta["recipe_digest"].as_str() {
                let size = folder_bytes(&self.result_folder(digest));
                index
                    .execute(
                        "INSERT OR IGNORE INTO results VALUES (?1, ?2, ?3, ?4)",
                        params![digest, recipe, size as i64, now()],
                    )
                    .map_err(wrong)?;
            }
        }
        for name in names("uploads") {
            let (Some((digest, extension)), Ok(meta)) = (
                name.split_once('.').filter(|(digest, _)| is_digest(digest)),
                std::fs::metadata(self.root.join("uploads").join(&name)),
            ) else {
                // What has no digest for a name did not come whole.
                let _ = std::fs::remove_file(self.root.join("uploads").join(&name));
                continue;
            };
            index
                .execute(
                    "INSERT OR IGNORE INTO uploads VALUES (?1, ?2, ?3, ?4)",
                    params![digest, extension, on_disk(meta.len()) as i64, now()],
                )
                .map_err(wrong)?;
        }
        Ok(())
    }

    fn unentered(&self) -> MutexGuard<'_, Unentered> {
        self.unentered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job as it is, whether or not its end is in the index.
    fn as_it_is(&self, record: Record) -> Record {
        match self.unentered().ends.get(&record.id) {
            Some(Ended { state, at, result, error }) => Record {
                state: state.clone(),
                ended_at: *at,
                result: result.clone(),
                error: error.as_deref().and_then(|text| serde_json::from_str(text).ok()),
                ..record
            },
            None => record,
        }
    }

    /// Where it stands how a job has ended, until the index knows.
    fn end_path(&self, id: i64) -> PathBuf {
        self.root.join("work").join(format!("{id}.ended"))
    }

    /// How jobs have ended that the index had no room for.
    fn find_ends(&self) {
        let mut waiting = self.unentered();
        for entry in std::fs::read_dir(self.root.join("work")).into_iter().flatten().flatten() {
            let path = entry.path();
            let id = path
                .file_name()
                .and_then(|name| name.to_str()?.strip_suffix(".ended")?.parse().ok());
            let ended = id.and_then(|_| serde_json::from_slice(&std::fs::read(&path).ok()?).ok());
            waiting.ends.extend(id.zip(ended));
        }
    }

    /// Enters what waits for room.
    fn enter_what_waits(&self) -> Answer<()> {
        // This lock is taken before that of the index, here and everywhere, so no two threads wait
        // in a circle.
        let mut waiting = self.unentered();
        while let Some((id, ended)) = waiting.ends.first_key_value() {
            self.enter_end(*id, ended)?;
            // Only now that the index has it, the file may go.
            let _ = std::fs::remove_file(self.end_path(*id));
            waiting.ends.pop_first();
        }
        while let Some((digest, (recipe, bytes))) = waiting.results.first_key_value() {
            self.enter_result(digest, recipe, *bytes)?;
            waiting.results.pop_first();
        }
        Ok(())
    }

    /// Held between the look for a job with a key and its entry, so that two requests with one key
    /// at the same time are one job.
    pub fn hold_keys(&self) -> MutexGuard<'_, ()> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_now(&self) -> MutexGuard<'_, Connection> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder of all.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a job that is not done.
    pub fn work_folder(&self, id: i64) -> PathBuf {
        self.root.join("work").join(id.to_string())
    }

    /// Enters a job.
    pub fn submit(
        &self,
        recipe_digest: &str,
        name: &str,
        request: &Request,
        key: Option<&str>,
    ) -> Answer<i64> {
        let text = serde_json::to_string(request)?;
        let index = self.index_now();
        index.execute(
            "INSERT INTO jobs (recipe_digest, state, name, request, submitted_at, idempotency_key)
             VALUES (?1, 'queued', ?2, ?3, ?4, ?5)",
            params![recipe_digest, name, text, now(), key],
        )?;
        Ok(index.last_insert_rowid())
    }

    /// Enters a job whose result is there already.
    pub fn submit_done(
        &self,
        recipe_digest: &str,
        name: &str,
        request: &Request,
        result: &str,
        key: Option<&str>,
    ) -> Answer<i64> {
        let text = serde_json::to_string(request)?;
        let index = self.index_now();
        index.execute(
            "INSERT INTO jobs (recipe_digest, state, name, request, submitted_at, started_at, \
             ended_at, result, idempotency_key)
             VALUES (?1, 'succeeded', ?2, ?3, ?4, ?4, ?4, ?5, ?6)",
            params![recipe_digest, name, text, now(), result, key],
        )?;
        Ok(index.last_insert_rowid())
    }

    /// The job that was entered with a key.
    pub fn by_key(&self, key: &str) -> Answer<Option<Record>> {
        let found = self
            .index_now()
            .query_row("SELECT * FROM jobs WHERE idempotency_key = ?1", [key], record)
            .optional()?;
        Ok(found.map(|record| self.as_it_is(record)))
    }

    /// A job.
    pub fn job(&self, id: i64) -> Answer<Option<Record>> {
        let found = self
            .index_now()
            .query_row("SELECT * FROM jobs WHERE id = ?1", [id], record)
            .optional()?;
        Ok(found.map(|record| self.as_it_is(record)))
    }

    /// The newest job that has a result.
    pub fn job_with(&self, result: &str) -> Answer<Option<Record>> {
        let text = "SELECT * FROM jobs WHERE result = ?1 ORDER BY id DESC LIMIT 1";
        let found = self.index_now().query_row(text, [result], record).optional()?;
        match found {
            Some(found) => Ok(Some(found)),
            None => {
                let id = self
                    .unentered()
                    .ends
                    .iter()
                    .find(|(_, end)| end.result.as_deref() == Some(result))
                    .map(|(id, _)| *id);
                id.map_or(Ok(None), |id| self.job(id))
            }
        }
    }

    /// The newest jobs, newest first.
    pub fn jobs(&self, before: i64, most: usize) -> Answer<Vec<Record>> {
        let rows = {
            let index = self.index_now();
            let mut all = index
                .prepare_cached("SELECT * FROM jobs WHERE id < ?1 ORDER BY id DESC LIMIT ?2")?;
            all.query_map(params![before, most as i64], record)?
                .collect::<rusqlite::Result<Vec<_>>>()?
        };
        // Whoever holds both locks took the one of what waits first, so the index is free here.
        Ok(rows.into_iter().map(|record| self.as_it_is(record)).collect())
    }

    /// How many jobs are in a state.
    pub fn count(&self, state: &str) -> Answer<usize> {
        let count: i64 = self.index_now().query_row(
            "SELECT count(*) FROM jobs WHERE state = ?1",
            [state],
            |row| row.get(0),
        )?;
        Ok(count as usize)
    }

    /// The oldest job that waits, which runs from now on.
    pub fn claim(&self) -> Answer<Option<Record>> {
        self.enter_what_waits()?;
        // All is one statement, so that no two devices take the same job.
        let text = "UPDATE jobs SET state = 'running', started_at = ?1 WHERE id = \
                    (SELECT id FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 1) RETURNING *";
        Ok(self.index_now().query_row(text, [now()], record).optional()?)
    }

    /// The end of a job, or its interruption. A job that has ended does not change any more. Where
    /// the disk is full it holds all the same, and is entered later.
    pub fn end(
        &self,
        id: i64,
        state: &str,
        result: Option<&str>,
        error: Option<&Problem>,
    ) -> Answer<()> {
        let error = error.map(serde_json::to_string).transpose()?;
        // A job that is interrupted continues later, so it has no end yet.
        let at = (state != "interrupted").then(now);
        let ended = Ended { state: state.into(), at, result: result.map(String::from), error };
        match self.enter_end(id, &ended) {
            Err(problem) if !problem.is_of_others() => {
                tracing::warn!(
                    id,
                    state,
                    detail = problem.detail,
                    "the end of a job waits for room in the index"
                );
                // Another start of the service would run it again.
                let told =
                    serde_json::to_vec(&ended).map(|text| std::fs::write(self.end_path(id), text));
                if !matches!(told, Ok(Ok(()))) {
                    tracing::warn!(id, "and is lost if the service ends before");
                }
                self.unentered().ends.insert(id, ended);
                Ok(())
            }
            done => done,
        }
    }

    fn enter_end(&self, id: i64, ended: &Ended) -> Answer<()> {
        let Ended { state, at, result, error } = ended;
        self.index_now().execute(
            "UPDATE jobs SET state = :state, ended_at = :ended, result = :result, error = :error
             WHERE id = :id AND state IN ('queued', 'running', 'interrupted')",
            named_params! { ":state": state, ":ended": at, ":result": result, ":error": error,
            ":id": id },
        )?;
        Ok(())
    }

    /// Ends a job that waits. Returns whether it did.
    pub fn cancel_queued(&self, id: i64) -> Answer<bool> {
        let text = "UPDATE jobs SET state = 'cancelled', ended_at = ?2 WHERE id = ?1 AND state IN \
                    ('queued', 'interrupted')";
        Ok(self.index_now().execute(text, params![id, now()])? > 0)
    }

    /// Jobs that a process left in the middle wait again. Returns how many there are.
    pub fn requeue(&self) -> Answer<usize> {
        self.enter_what_waits()?;
        Ok(self.index_now().execute(
            "UPDATE jobs SET state = 'queued' WHERE state IN ('running', 'interrupted')",
            [],
        )?)
    }
}

/// Only the user may look into the folder: recipes and lands are theirs.
#[cfg(unix)]
fn private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// A rename is on disk when its folder is.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}
