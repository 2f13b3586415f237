/* The C interface of thalweg: terrain with the same bytes on every device. Manual: docs/c.md.
 *
 * All texts are UTF-8 and end in a zero. A function that can fail returns a status, or NULL;
 * thalweg_last_error says why. What a function leaves in `out` is NULL if it fails, and is to be
 * freed with the function `_free` of its type, which takes NULL as well. Every function may be
 * called from any thread at any time, but for `_free`, which is the last call with its handle. */

#ifndef THALWEG_H
#define THALWEG_H

/* Written by cbindgen from crates/c/src. Do not edit. */

#include <stddef.h>
#include <stdint.h>

// Room for a digest in hexadecimal with the zero at its end.
#define THALWEG_DIGEST_SIZE 65

// What a function returns.
typedef enum {
    // It is done.
    THALWEG_STATUS_OK = 0,
    // An argument, or a key or value of a recipe, is not allowed.
    THALWEG_STATUS_PARAM = 1,
    // A file is missing, damaged, or of an unknown kind.
    THALWEG_STATUS_INPUT = 2,
    // Something is too large for the machine, the device or the format.
    THALWEG_STATUS_LIMIT = 3,
    // The graphics device refused, failed or does not exist.
    THALWEG_STATUS_DEVICE = 4,
    // A file could not be written.
    THALWEG_STATUS_OUTPUT = 5,
    // The run was cancelled.
    THALWEG_STATUS_CANCELLED = 6,
    // The library is at fault. The handles can still be freed.
    THALWEG_STATUS_PANIC = 7,
} ThalwegStatus;

// What an event tells.
typedef enum {
    // The run begins. The text is the name of the device.
    THALWEG_EVENT_KIND_STARTED = 0,
    // The text is a sentence for people.
    THALWEG_EVENT_KIND_WARNING = 1,
    // Passes are done. It comes several times a second. The text is the name of the stage.
    THALWEG_EVENT_KIND_PROGRESS = 2,
    // The graphics card failed, and the CPU starts over, for the same bytes.
    THALWEG_EVENT_KIND_RESTARTED = 3,
} ThalwegEventKind;

// A recipe with its inputs and a device.
typedef struct ThalwegJob ThalwegJob;

// The maps that a run has left.
typedef struct ThalwegLand ThalwegLand;

// What to make: a recipe that was read.
typedef struct ThalwegRecipe ThalwegRecipe;

// Why a function of this thread failed. A text is NULL where there is nothing to say.
typedef struct {
    // What the function returned, or THALWEG_STATUS_PARAM where it returned NULL.
    // THALWEG_STATUS_OK: nothing has failed yet.
    ThalwegStatus status;
    // The error as a sentence, never NULL.
    const char *message;
    // Where the value stands in the recipe, as a JSON pointer: "/stage/1/rain". Of an argument,
    // "/" and its name.
    const char *pointer;
    // What was given or is needed, or the adapter that failed.
    const char *given;
    // What is allowed, in words.
    const char *allowed;
    // The file that it is about.
    const char *file;
} ThalwegError;

// Samples row by row from the north-west.
typedef struct {
    // The samples: metres of heights. A sample of heights that is NaN is a cell outside the land.
    const float *values;
    // How many there are: width x height.
    size_t count;
    // Samples in a row.
    uint32_t width;
    // Rows.
    uint32_t height;
    // Metres from a sample to the next. Of heights alone, and only if the recipe has none.
    double spacing_m;
} ThalwegGrid;

// What a run tells on its way. It lasts as long as the call.
typedef struct {
    // What it is.
    ThalwegEventKind kind;
    // What it says, never NULL.
    const char *text;
    // The number of the stage, from 0. A stage that runs on several levels counts on each.
    uint64_t stage;
    // How many stages there are.
    uint64_t stages;
    // Passes of the stage that are done.
    uint64_t done;
    // Passes of the stage.
    uint64_t passes;
} ThalwegEvent;

// Watches a run, on the thread that called thalweg_job_run. 0 continues it; anything else ends it
// with THALWEG_STATUS_CANCELLED. It must return: no exception and no longjmp may leave it.
typedef int (*ThalwegWatch)(const ThalwegEvent *event, void *user);

// A part of a level of a land.
typedef struct {
    // Cells from the origin of the world to the first column. They grow to the east.
    int64_t x;
    // Cells to the first row. They grow to the south.
    int64_t y;
    // Cells in a row.
    uint32_t width;
    // Rows.
    uint32_t height;
    // 0 is the recipe's own cells. Each next level has cells twice as wide.
    int32_t level;
    // Of windows that wait, those of the highest priority are made first.
    int32_t priority;
} ThalwegWindow;

// The size of a land and where it lies.
typedef struct {
    // Cells in a row.
    uint32_t width;
    // Rows.
    uint32_t height;
    // Cells from the origin of the world to the first column.
    int64_t x;
    // Cells to the first row.
    int64_t y;
    // Metres of a cell.
    double spacing_m;
    // Metres of the word 0 of `height`: a height is word / 2^18 * spacing_m + datum_m.
    double datum_m;
    // How many maps it has.
    size_t maps;
} ThalwegLandInfo;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0". The text stays.
const char *thalweg_version(void);

// What decides the bytes of a land beside its recipe and its inputs: the version and a digest.
// Two libraries with equal texts make equal lands. The text stays.
const char *thalweg_identity(void);

// The last error of the calling thread, never NULL. What it points to stays until the next
// function fails on this thread, or the thread ends. A function that succeeds leaves it.
const ThalwegError *thalweg_last_error(void);

// Reads a recipe: JSON if it begins with a brace, else TOML. `folder` is that of the files which
// the recipe names. Without one (NULL) no file is read: heights, layers and pictures have to come
// from memory.
ThalwegStatus thalweg_recipe_parse(const char *text, const char *folder, ThalwegRecipe **out);

// A recipe that the library has within, by its name: "mountains". An unknown name is an error
// that lists those that there are.
ThalwegStatus thalweg_recipe_example(const char *name, ThalwegRecipe **out);

// Sets "STAGE.KEY=VALUE", such as "droplets.rain=4" or "1.relief_m=900", "output.KEY=VALUE",
// "water.KEY=VALUE", "width", "height", "seed" or "spacing_m". Settings are checked against each
// other by thalweg_job_new. If it fails, the recipe stays as it was.
ThalwegStatus thalweg_recipe_set(ThalwegRecipe *recipe, const char *assignment);

// Frees a recipe. Jobs that were made from it stay.
void thalweg_recipe_free(ThalwegRecipe *recipe);

// A job of a recipe as it is now. `heights` takes the place of the recipe's input; NULL: the
// recipe makes its heights or names their file. `device` is "cpu", "auto", "gpu", the number of an
// adapter or a part of its name; NULL is "auto". `threads` are those of the CPU; 0: one a core.
ThalwegStatus thalweg_job_new(const ThalwegRecipe *recipe,
                              const ThalwegGrid *heights,
                              const char *device,
                              uint32_t threads,
                              ThalwegJob **out);

// Gives a job samples from memory: a layer of the size of the land with values from 0 to 1,
// numbers of biomes, or a picture of any size. `name` is the file that the recipe names, the `map`
// of a layer, or the kind of another stage. It is copied, and is for runs that begin later.
ThalwegStatus thalweg_job_supply(ThalwegJob *job, const char *name, const ThalwegGrid *grid);

// Runs a job and waits for its land. `watch` may be NULL; `user` is handed to it as it is.
ThalwegStatus thalweg_job_run(const ThalwegJob *job,
                              ThalwegWatch watch,
                              void *user,
                              ThalwegLand **out);

// Makes a map of a window of a level of the land and waits for it: what the run of the whole land
// has there, at the cost of the window. A land that is `endless` has windows everywhere. `values`
// has room for `count` values: width x height, row by row from the north-west. The job keeps
// workers and tiles for later windows. Several threads may wait for windows of one job.
ThalwegStatus thalweg_job_window(const ThalwegJob *job,
                                 const char *map,
                                 const ThalwegWindow *window,
                                 float *values,
                                 size_t count);

// Cancels the runs and windows of a job, from any thread: they end within about a second. Later
// ones end at once. `cancelled` = 0 lets them begin again, when those that were cancelled have
// ended.
ThalwegStatus thalweg_job_cancel(ThalwegJob *job, int cancelled);

// Frees a job, and ends its workers. Its lands stay.
void thalweg_job_free(ThalwegJob *job);

// The size of a land, its place, and how many maps it has.
ThalwegStatus thalweg_land_info(const ThalwegLand *land, ThalwegLandInfo *out);

// The name of a map, by its number from 0. The land owns it. NULL if there is no such map.
const char *thalweg_land_map_name(const ThalwegLand *land, size_t index);

// The values of a map in its unit, which of `height` is the metre, row by row from the north-west.
// `values` has room for `count` of them: width x height. Cells outside the land become NaN.
ThalwegStatus thalweg_land_values(const ThalwegLand *land,
                                  const char *map,
                                  float *values,
                                  size_t count);

// The exact words of a map, which are equal on every device. `words` has room for `count` of
// them: width x height.
ThalwegStatus thalweg_land_words(const ThalwegLand *land,
                                 const char *map,
                                 int32_t *words,
                                 size_t count);

// The digest of the words of a map, in hexadecimal with a zero at its end. `digest` has room for
// `size` bytes: THALWEG_DIGEST_SIZE or more.
ThalwegStatus thalweg_land_digest(const ThalwegLand *land,
                                  const char *map,
                                  char *digest,
                                  size_t size);

// A layer of the land's water as GeoJSON: "rivers", "lakes", "basins" or "water_points". The
// recipe has to ask for it: water.vectors = ["geojson"]. The land owns the text. NULL on error.
const char *thalweg_land_geojson(const ThalwegLand *land, const char *layer);

// Frees a land with its texts.
void thalweg_land_free(ThalwegLand *land);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* THALWEG_H */
