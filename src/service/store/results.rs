//! Results and uploads: kept, found and evicted.

use super::super::problem::{Answer, Problem};
use super::{Store, now, sync_folder};
use crate::api::files::{Upload, is_digest};
use rusqlite::{OptionalExtension, params};
use serde_json::Value;
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
        let text = "SELECT (SELECT coalesce(sum(bytes), 0) FROM results) + (SELECT \
                    coalesce(sum(bytes), 0) FROM uploads)";
        let bytes: i64 = self.index_now().query_row(text, [], |row| row.get(0))?;
        Ok(bytes as u64)
    }

    /// Removes what was wanted longest ago, until `quota` bytes are left. Files that jobs wait for
    /// stay, as does `but`.
    pub fn evict(&self, quota: u64, but: Option<&str>) -> Answer<()> {
        // Summed anew each time: other threads enter and evict meanwhile.
        while self.bytes()? > quota {
            let index = self.index_now();
            // Requests have the digests of their files in their text.
            let oldest: Option<(String, String, String)> = index
                .query_row(
                    "SELECT kind, digest, extension FROM (
                        SELECT 'results' AS kind, digest, '' AS extension, used_at FROM results \
                     WHERE digest IS NOT ?1
                        UNION ALL
                        SELECT 'uploads', digest, extension, used_at FROM uploads WHERE NOT EXISTS (
                            SELECT 1 FROM jobs WHERE state IN ('queued', 'running', 'interrupted')
                            AND instr(request, uploads.digest) > 0)
                     ) ORDER BY used_at LIMIT 1",
                    [but],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                )
                .optional()?;
            let Some((kind, digest, extension)) = oldest else { return Ok(()) };
            // First the files: on a full disk the index has no room either, until they are gone.
            if kind == "results" {
                let _ = std::fs::remove_dir_all(self.result_folder(&digest));
            } else {
                let _ = std::fs::remove_file(
                    self.root.join("uploads").join(format!("{digest}.{extension}")),
                );
            }
            index.execute(&format!("DELETE FROM {kind} WHERE digest = ?1"), [&digest])?;
            drop(index);
            tracing::info!(kind, digest, "evicted");
        }
        Ok(())
    }

    /// Enters a file that was sent: it is moved to its place.
    pub fn keep_upload(&self, from: &Path, digest: &str, extension: &str) -> Answer<()> {
        let bytes = std::fs::metadata(from)?.len() as i64;
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

/// Bytes of all files in a folder.
pub fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => folder_bytes(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
