//! Results and uploads: kept, found and evicted.

use super::super::problem::{Answer, Problem};
use super::{Store, now, sync_folder};
use crate::api::files::{Upload, is_digest};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

impl Store {
    /// The folder of a result. The digest has been checked.
    pub fn result_folder(&self, digest: &str) -> PathBuf {
        self.root.join("results").join(digest)
    }

    /// What a result is: `result.json` of its folder. None if it is not there, or not any more.
    pub fn result(&self, digest: &str) -> Option<Value> {
        let text = is_digest(digest)
            .then(|| std::fs::read(self.result_folder(digest).join("result.json")).ok())??;
        serde_json::from_slice(&text).ok()
    }

    /// The result of a recipe, if it is there.
    pub fn find(&self, recipe_digest: &str) -> Answer<Option<String>> {
        let waits = self
            .unentered()
            .results
            .iter()
            .find(|(_, (recipe, _))| recipe == recipe_digest)
            .map(|(digest, _)| digest.clone());
        if let Some(digest) = waits.filter(|digest| self.result(digest).is_some()) {
            return Ok(Some(digest));
        }
        let text =
            "SELECT digest FROM results WHERE recipe_digest = ?1 ORDER BY used_at DESC LIMIT 1";
        let found: Option<String> =
            self.index_now().query_row(text, [recipe_digest], |row| row.get(0)).optional()?;
        Ok(found.filter(|digest| self.result(digest).is_some()))
    }

    /// Whether it was said within a second that a result is wanted. The second is all that counts.
    pub fn is_touched(&self, digest: &str) -> bool {
        self.touched.contains_key(digest)
    }

    /// A result is wanted, and is the last to be evicted. That it cannot be said is no reason not
    /// to serve it.
    pub fn touch(&self, digest: &str) {
        if self.is_touched(digest) {
            return;
        }
        self.touched.insert(digest.into(), ());
        let text = "UPDATE results SET used_at = ?2 WHERE digest = ?1 AND used_at < ?2";
        if let Err(e) = self.index_now().execute(text, params![digest, now()]) {
            tracing::warn!(digest, reason = %e, "the index does not hear that a result is wanted");
        }
    }

    /// Puts the folder of a job that is done in its place.
    pub fn keep(&self, id: i64, digest: &str, recipe_digest: &str) -> Answer<()> {
        let (from, to) = (self.work_folder(id), self.result_folder(digest));
        if self.result(digest).is_some() {
            // The same bytes from another recipe, or a second try.
            if from.exists() {
                std::fs::remove_dir_all(&from)?;
            }
        } else {
            // A folder that is there has no result.json, so it is not whole.
            let _ = std::fs::remove_dir_all(&to);
            std::fs::rename(&from, &to)?;
            sync_folder(&self.root.join("results"))?;
        }
        let bytes = folder_bytes(&to) as i64;
        match self.enter_result(digest, recipe_digest, bytes) {
            // It is in its place, where it is found again in any case.
            Err(problem) if !problem.is_of_others() => {
                tracing::warn!(
                    digest,
                    detail = problem.detail,
                    "a result waits for room in the index"
                );
                self.unentered().results.insert(digest.into(), (recipe_digest.into(), bytes));
                Ok(())
            }
            done => done,
        }
    }

    pub(super) fn enter_result(&self, digest: &str, recipe_digest: &str, bytes: i64) -> Answer<()> {
        self.index_now().execute(
            "INSERT INTO results VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (digest) DO UPDATE SET recipe_digest = ?2, bytes = ?3, used_at = ?4",
            params![digest, recipe_digest, bytes, now()],
        )?;
        Ok(())
    }

    /// What a result has beside its files has grown: weighs it anew, and makes room.
    pub fn grown(&self, digest: &str, quota: u64) {
        let bytes = folder_bytes(&self.result_folder(digest)) as i64;
        let weighed = self
            .index_now()
            .execute("UPDATE results SET bytes = ?2 WHERE digest = ?1", params![digest, bytes]);
        let done = weighed.map_err(Problem::from).and_then(|_| self.evict(quota, Some(digest)));
        if let Err(problem) = done {
            tracing::warn!(
                digest,
                detail = problem.detail,
                "the index does not hear that a result has grown"
            );
        }
    }

    /// Bytes of results and uploads.
    pub fn bytes(&self) -> Answer<u64> {
        stored_bytes(&self.index_now())
    }

    /// Removes what was wanted longest ago, until `quota` bytes are left. Files that jobs wait for
    /// stay, as does `but`.
    pub fn evict(&self, quota: u64, but: Option<&str>) -> Answer<()> {
        // Some at a time, since others wait for the index; they may enter and evict meanwhile.
        while self.evict_some(quota, but)? {}
        Ok(())
    }

    /// Removes at most [`BATCH`], and returns whether there may be more to remove.
    fn evict_some(&self, quota: u64, but: Option<&str>) -> Answer<bool> {
        let index = self.index_now();
        let mut excess = stored_bytes(&index)?.saturating_sub(quota);
        if excess == 0 {
            return Ok(false);
        }
        let awaited = awaited(&index)?;
        let mut found = vec![];
        {
            let mut all = index.prepare_cached(
                "SELECT 'results', digest, '', bytes, used_at FROM results WHERE digest IS NOT ?1
                 UNION ALL
                 SELECT 'uploads', digest, extension, bytes, used_at FROM uploads
                 ORDER BY used_at",
            )?;
            let mut rows = all.query([but])?;
            while excess > 0
                && found.len() < BATCH
                && let Some(row) = rows.next()?
            {
                let (kind, digest): (String, String) = (row.get(0)?, row.get(1)?);
                if kind == "results" || !awaited.contains(&digest) {
                    excess = excess.saturating_sub(row.get::<_, i64>(3)? as u64);
                    found.push((kind, digest, row.get::<_, String>(2)?));
                }
            }
        }
        for (kind, digest, extension) in &found {
            // First the files: on a full disk the index has no room either, until they are gone.
            if kind == "results" {
                let _ = std::fs::remove_dir_all(self.result_folder(digest));
            } else {
                let name = format!("{digest}.{extension}");
                let _ = std::fs::remove_file(self.root.join("uploads").join(name));
            }
            index.execute(&format!("DELETE FROM {kind} WHERE digest = ?1"), [digest])?;
            tracing::info!(kind, digest, "evicted");
        }
        Ok(excess > 0 && !found.is_empty())
    }

    /// Enters a file that was sent: it is moved to its place.
    pub fn keep_upload(&self, from: &Path, digest: &str, extension: &str) -> Answer<()> {
        let bytes = on_disk(std::fs::metadata(from)?.len()) as i64;
        if self.upload(digest)?.is_none() {
            std::fs::rename(from, self.root.join("uploads").join(format!("{digest}.{extension}")))?;
        } else {
            std::fs::remove_file(from)?;
        }
        let entered = self.index_now().execute(
            "INSERT INTO uploads VALUES (?1, ?2, ?3, ?4) ON CONFLICT (digest) DO UPDATE SET \
             used_at = ?4",
            params![digest, extension, bytes, now()],
        );
        if let Err(e) = entered {
            // One that is known stays; one that is not would lie there for nothing.
            if self.upload(digest)?.is_none() {
                let _ = std::fs::remove_file(
                    self.root.join("uploads").join(format!("{digest}.{extension}")),
                );
            }
            return Err(e.into());
        }
        Ok(())
    }

    /// Finds files that were sent.
    pub fn files(&self) -> impl Fn(&str) -> Answer<Option<Upload>> + '_ {
        |digest| self.upload(digest)
    }

    /// A file that was sent.
    pub fn upload(&self, digest: &str) -> Answer<Option<Upload>> {
        let index = self.index_now();
        let text = "SELECT extension FROM uploads WHERE digest = ?1";
        let extension: Option<String> =
            index.query_row(text, [digest], |row| row.get(0)).optional()?;
        // Others may hold the index, which is no reason to miss a file that is here.
        let _ = index
            .execute("UPDATE uploads SET used_at = ?2 WHERE digest = ?1", params![digest, now()]);
        drop(index);
        let path = extension
            .map(|extension| self.root.join("uploads").join(format!("{digest}.{extension}")));
        Ok(path.filter(|path| path.exists()).map(Upload::at))
    }
}

/// Most results and uploads that are removed while others wait.
const BATCH: usize = 16;

/// Bytes of results and uploads.
fn stored_bytes(index: &Connection) -> Answer<u64> {
    let text = "SELECT (SELECT coalesce(sum(bytes), 0) FROM results)
                + (SELECT coalesce(sum(bytes), 0) FROM uploads)";
    let bytes: i64 = index.query_row(text, [], |row| row.get(0))?;
    Ok(bytes as u64)
}

/// The digests of files that jobs wait for.
fn awaited(index: &Connection) -> Answer<HashSet<String>> {
    /// The part of a request that is read.
    #[derive(Default, Deserialize)]
    struct Sent {
        #[serde(default)]
        files: Vec<(String, String)>,
    }
    let mut waiting = index.prepare_cached(
        "SELECT request FROM jobs WHERE state IN ('queued', 'running', 'interrupted')",
    )?;
    let mut rows = waiting.query([])?;
    let mut digests = HashSet::new();
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str().unwrap_or_default();
        // A job whose request is damaged fails, and waits for no file.
        let sent: Sent = serde_json::from_str(text).unwrap_or_default();
        digests.extend(sent.files.into_iter().map(|(_, digest)| digest));
    }
    Ok(digests)
}

/// What a file of some bytes takes of a disk, which gives whole blocks. Else a quota would let in
/// hundreds of millions of files with a few bytes each.
pub fn on_disk(bytes: u64) -> u64 {
    /// The block of most file systems, bytes.
    const BLOCK: u64 = 4096;
    bytes.max(1).next_multiple_of(BLOCK)
}

/// What all files in a folder take of the disk, bytes.
pub fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => folder_bytes(&entry.path()),
        Ok(meta) => on_disk(meta.len()),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
