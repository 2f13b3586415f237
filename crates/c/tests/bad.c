/* Bad input of every kind is an error that says what is wrong, and nothing leaks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thalweg.h>

static int failures = 0;

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, \
                    thalweg_last_error()->message); \
            failures++; \
        } \
    } while (0)
#define FAILS(status, call) CHECK((call) == THALWEG_STATUS_##status)

static const char HILLS[] = "schema = 2\nseed = 5\nwidth = 32\nheight = 24\nspacing_m = 20\n"
                            "[[stage]]\nkind = \"noise\"\nrelief_m = 900\n"
                            "[[stage]]\nkind = \"thermal\"\nsteps = 3\n"
                            "[water]\nvectors = [\"geojson\"]\n";
static const char ERODE[] = "schema = 2\n"
                            "[[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"file\"\n"
                            "file = \"no/such/mask.png\"\n"
                            "[[stage]]\nkind = \"droplets\"\nrain = 0.5\n";
static const char STAMP[] = "schema = 2\nwidth = 32\nheight = 32\nspacing_m = 20\n"
                            "[[stage]]\nkind = \"noise\"\nrelief_m = 90\n"
                            "[[stage]]\nkind = \"strokes\"\n"
                            "[[stage.stroke]]\ntool = \"stamp\"\nfile = \"hill.png\"\n"
                            "at_m = [[300, 300]]\nradius_m = 200\namount_m = 20\n";
static const char WORLD[] = "schema = 2\nseed = 5\nwidth = 32\nheight = 32\nspacing_m = 20\n"
                            "endless = true\n[[stage]]\nkind = \"noise\"\nrelief_m = 900\n";

/* Texts of the last error, "" where there is none. */
static const char *said(const char *text) { return text ? text : ""; }
static const char *pointer(void) { return said(thalweg_last_error()->pointer); }
static const char *given(void) { return said(thalweg_last_error()->given); }
static const char *allowed(void) { return said(thalweg_last_error()->allowed); }
static const char *message(void) { return thalweg_last_error()->message; }

static int stop(const ThalwegEvent *event, void *user) {
    CHECK(event->text != NULL);
    *(ThalwegEventKind *)user = event->kind;
    if (event->kind == THALWEG_EVENT_KIND_PROGRESS)
        CHECK(event->stage < event->stages && event->done <= event->passes);
    return event->kind == THALWEG_EVENT_KIND_PROGRESS;
}

static int count(const ThalwegEvent *event, void *user) {
    (void)event;
    ++*(int *)user;
    return 0;
}

static ThalwegRecipe *parse(const char *text) {
    ThalwegRecipe *recipe = NULL;
    CHECK(thalweg_recipe_parse(text, NULL, &recipe) == THALWEG_STATUS_OK);
    return recipe;
}

static void nothing(void) {
    ThalwegLandInfo info;
    ThalwegWindow window = {0, 0, 1, 1, 0, 0};
    float value;
    int32_t word;
    char digest[THALWEG_DIGEST_SIZE];
    CHECK(thalweg_last_error()->status == THALWEG_STATUS_OK);
    CHECK(!strcmp(message(), ""));
    CHECK(strlen(thalweg_version()) > 0);
    CHECK(!strncmp(thalweg_identity(), thalweg_version(), strlen(thalweg_version())));
    thalweg_recipe_free(NULL);
    thalweg_job_free(NULL);
    thalweg_land_free(NULL);
    FAILS(PARAM, thalweg_recipe_parse(NULL, NULL, NULL));
    FAILS(PARAM, thalweg_recipe_example(NULL, NULL));
    FAILS(PARAM, thalweg_recipe_set(NULL, NULL));
    FAILS(PARAM, thalweg_job_new(NULL, NULL, NULL, 0, NULL));
    CHECK(!strcmp(pointer(), "/out"));
    FAILS(PARAM, thalweg_job_supply(NULL, NULL, NULL));
    FAILS(PARAM, thalweg_job_run(NULL, NULL, NULL, NULL));
    FAILS(PARAM, thalweg_job_window(NULL, NULL, NULL, NULL, 0));
    FAILS(PARAM, thalweg_job_window(NULL, "height", &window, &value, 1));
    FAILS(PARAM, thalweg_job_cancel(NULL, 1));
    FAILS(PARAM, thalweg_land_info(NULL, NULL));
    FAILS(PARAM, thalweg_land_info(NULL, &info));
    CHECK(thalweg_land_map_name(NULL, 0) == NULL);
    FAILS(PARAM, thalweg_land_values(NULL, "height", &value, 1));
    FAILS(PARAM, thalweg_land_words(NULL, "height", &word, 1));
    FAILS(PARAM, thalweg_land_digest(NULL, "height", digest, sizeof digest));
    CHECK(thalweg_land_geojson(NULL, "rivers") == NULL);
    CHECK(!strcmp(pointer(), "/land") && !strcmp(given(), "NULL"));
    CHECK(!strcmp(message(), "land is NULL"));
}

static void recipes(void) {
    ThalwegRecipe *recipe = (ThalwegRecipe *)&recipe;
    FAILS(PARAM, thalweg_recipe_parse("", NULL, &recipe));
    CHECK(recipe == NULL);
    FAILS(PARAM, thalweg_recipe_parse("schema = 2\n[[stage", NULL, &recipe));
    FAILS(PARAM, thalweg_recipe_parse("{\"schema\": 2,", NULL, &recipe));
    FAILS(PARAM, thalweg_recipe_parse("name = \"\xff\xfe\"", NULL, &recipe));
    CHECK(!strcmp(pointer(), "/text") && strstr(message(), "byte 8 is not UTF-8"));
    FAILS(PARAM, thalweg_recipe_parse(HILLS, "\xff", &recipe));
    CHECK(!strcmp(pointer(), "/folder"));
    FAILS(PARAM, thalweg_recipe_parse("schema = 2\nwidth = 32\nheight = 32\nspacing_m = 20\n"
                                      "[[stage]]\nkind = \"noise\"\nrelief_m = 900\n"
                                      "[[stage]]\nkind = \"droplets\"\nlifetime = 9000\n",
                                      NULL, &recipe));
    CHECK(recipe == NULL);
    CHECK(thalweg_last_error()->status == THALWEG_STATUS_PARAM);
    CHECK(!strcmp(pointer(), "/stage/1/lifetime"));
    CHECK(!strcmp(given(), "9000"));
    CHECK(!strcmp(allowed(), "a whole number, 2 to 8192 (steps)"));
    FAILS(OK, thalweg_recipe_parse(" {\"schema\": 2, \"width\": 8, \"height\": 8, \"spacing_m\": 9,"
                                   "\"stage\": [{\"kind\": \"noise\", \"relief_m\": 9}]}",
                                   NULL, &recipe));
    thalweg_recipe_free(recipe);
    FAILS(PARAM, thalweg_recipe_example("atlantis", &recipe));
    CHECK(strstr(allowed(), "mountains") != NULL);
    FAILS(OK, thalweg_recipe_example("island", &recipe));
    FAILS(PARAM, thalweg_recipe_set(recipe, NULL));
    FAILS(PARAM, thalweg_recipe_set(recipe, "\xc3"));
    FAILS(PARAM, thalweg_recipe_set(recipe, "width"));
    FAILS(PARAM, thalweg_recipe_set(recipe, "width=wide"));
    CHECK(!strcmp(pointer(), "/width") && !strcmp(given(), "wide"));
    FAILS(PARAM, thalweg_recipe_set(recipe, "depth=3"));
    FAILS(PARAM, thalweg_recipe_set(recipe, "droplets.rain=-1"));
    FAILS(PARAM, thalweg_recipe_set(recipe, "snow.rain=1"));
    FAILS(OK, thalweg_recipe_set(recipe, "seed=18446744073709551615"));
    FAILS(OK, thalweg_recipe_set(recipe, "width=0"));
    thalweg_recipe_free(recipe);
}

static void jobs(void) {
    ThalwegRecipe *recipe = parse(HILLS), *erode = parse(ERODE), *file = NULL;
    ThalwegJob *job = (ThalwegJob *)&job;
    ThalwegLand *land = (ThalwegLand *)&land;
    float heights[6 * 4];
    ThalwegGrid grid = {heights, 24, 6, 4, 10.0};
    size_t i;
    for (i = 0; i < 24; i++)
        heights[i] = (float)i;
    FAILS(PARAM, thalweg_job_new(NULL, NULL, NULL, 0, &job));
    CHECK(job == NULL && !strcmp(pointer(), "/recipe"));
    FAILS(PARAM, thalweg_job_new(recipe, NULL, "", 0, &job));
    CHECK(!strcmp(pointer(), "/device"));
    FAILS(PARAM, thalweg_job_new(recipe, NULL, "\xff", 0, &job));
    FAILS(PARAM, thalweg_job_new(recipe, &grid, "cpu", 0, &job));
    FAILS(PARAM, thalweg_job_new(erode, NULL, "cpu", 0, &job));
    FAILS(OK, thalweg_recipe_set(recipe, "width=0"));
    FAILS(PARAM, thalweg_job_new(recipe, NULL, "cpu", 0, &job));
    CHECK(!strcmp(pointer(), "/width"));
    FAILS(OK, thalweg_recipe_set(recipe, "width=100000"));
    FAILS(OK, thalweg_job_new(recipe, NULL, "cpu", 0, &job));
    FAILS(LIMIT, thalweg_job_run(job, NULL, NULL, &land));
    CHECK(land == NULL);
    thalweg_job_free(job);
    job = NULL;
    grid.values = NULL;
    FAILS(PARAM, thalweg_job_new(erode, &grid, "cpu", 0, &job));
    grid.values = (const float *)((const char *)heights + 1);
    FAILS(PARAM, thalweg_job_new(erode, &grid, "cpu", 0, &job));
    grid.values = heights;
    grid.count = 23;
    FAILS(PARAM, thalweg_job_new(erode, &grid, "cpu", 0, &job));
    CHECK(!strcmp(pointer(), "/count") && !strcmp(given(), "23") && !strcmp(allowed(), "24"));
    grid.count = 24;
    grid.width = grid.height = 0xffffffff;
    FAILS(PARAM, thalweg_job_new(erode, &grid, "cpu", 0, &job));
    grid.count = (size_t)grid.width * grid.height;
    FAILS(PARAM, thalweg_job_new(erode, &grid, "cpu", 0, &job));
    grid.count = grid.width = grid.height = 0;
    FAILS(PARAM, thalweg_job_new(erode, &grid, "cpu", 0, &job));
    grid.count = 24, grid.width = 6, grid.height = 4;
    grid.spacing_m = -1;
    FAILS(PARAM, thalweg_job_new(erode, &grid, "cpu", 0, &job));
    grid.spacing_m = 10;
    heights[7] = INFINITY;
    FAILS(PARAM, thalweg_job_new(erode, &grid, "cpu", 0, &job));
    heights[7] = 7;
    FAILS(OK, thalweg_recipe_parse(ERODE, "/nowhere", &file));
    FAILS(INPUT, thalweg_job_new(file, &grid, "cpu", 0, &job));
    CHECK(strstr(said(thalweg_last_error()->file), "/nowhere/no/such/mask.png") != NULL);
    CHECK(job == NULL);
    thalweg_recipe_free(file);
    thalweg_recipe_free(erode);
    thalweg_recipe_free(recipe);
}

static void layers(void) {
    ThalwegRecipe *recipe = parse(ERODE), *stamp = parse(STAMP);
    ThalwegJob *job = NULL;
    ThalwegLand *land = NULL;
    float heights[6 * 4], shares[6 * 4], values[24];
    ThalwegGrid grid = {heights, 24, 6, 4, 10.0}, mask = {shares, 24, 6, 4, 10.0};
    size_t i;
    for (i = 0; i < 24; i++)
        heights[i] = (float)(i * i), shares[i] = 0.5F;
    heights[5] = NAN;
    FAILS(OK, thalweg_job_new(recipe, &grid, "cpu", 1, &job));
    FAILS(PARAM, thalweg_job_run(job, NULL, NULL, &land));
    CHECK(land == NULL);
    FAILS(PARAM, thalweg_job_supply(job, NULL, &mask));
    FAILS(PARAM, thalweg_job_supply(job, "hardness", NULL));
    FAILS(PARAM, thalweg_job_supply(job, "\xff", &mask));
    FAILS(PARAM, thalweg_job_supply(job, "softness", &mask));
    CHECK(!strcmp(allowed(), "hardness, no/such/mask.png"));
    mask.count = 25;
    FAILS(PARAM, thalweg_job_supply(job, "hardness", &mask));
    mask.count = 20, mask.width = 5;
    FAILS(PARAM, thalweg_job_supply(job, "hardness", &mask));
    CHECK(!strcmp(pointer(), "/stage/0/file"));
    mask.count = 24, mask.width = 6;
    shares[3] = 2;
    FAILS(PARAM, thalweg_job_supply(job, "hardness", &mask));
    shares[3] = NAN;
    FAILS(PARAM, thalweg_job_supply(job, "hardness", &mask));
    shares[3] = 1;
    FAILS(OK, thalweg_job_supply(job, "no/such/mask.png", &mask));
    FAILS(OK, thalweg_job_supply(job, "hardness", &mask));
    FAILS(OK, thalweg_job_run(job, NULL, NULL, &land));
    FAILS(OK, thalweg_land_values(land, "height", values, 24));
    CHECK(isnan(values[5]) && !isnan(values[6]));
    CHECK(thalweg_land_geojson(land, "rivers") == NULL);
    CHECK(!strcmp(pointer(), "/water/vectors"));
    thalweg_land_free(land);
    thalweg_job_free(job);

    FAILS(OK, thalweg_job_new(stamp, NULL, "cpu", 1, &job));
    FAILS(PARAM, thalweg_job_run(job, NULL, NULL, &land));
    FAILS(PARAM, thalweg_job_supply(job, "valley.png", &mask));
    CHECK(!strcmp(allowed(), "hill.png"));
    for (i = 0; i < 24; i++)
        shares[i] = 1;
    FAILS(PARAM, thalweg_job_supply(job, "hill.png", &mask));
    shares[9] = 3;
    FAILS(OK, thalweg_job_supply(job, "hill.png", &mask));
    FAILS(OK, thalweg_job_run(job, NULL, NULL, &land));
    thalweg_land_free(land);
    thalweg_job_free(job);
    thalweg_recipe_free(stamp);
    thalweg_recipe_free(recipe);
}

static void lands(void) {
    ThalwegRecipe *recipe = parse(HILLS);
    ThalwegJob *job = NULL;
    ThalwegLand *land = (ThalwegLand *)&land;
    ThalwegLandInfo info;
    ThalwegEventKind last = THALWEG_EVENT_KIND_RESTARTED;
    float values[32 * 24 + 1];
    int32_t words[32 * 24];
    char digest[THALWEG_DIGEST_SIZE];
    const char *rivers;
    int events = 0;
    FAILS(OK, thalweg_job_new(recipe, NULL, "cpu", 1, &job));
    thalweg_recipe_free(recipe);
    FAILS(PARAM, thalweg_job_run(job, NULL, NULL, NULL));
    FAILS(CANCELLED, thalweg_job_run(job, stop, &last, &land));
    CHECK(land == NULL && last == THALWEG_EVENT_KIND_PROGRESS);
    CHECK(thalweg_last_error()->status == THALWEG_STATUS_CANCELLED && !*pointer());
    FAILS(OK, thalweg_job_cancel(job, 1));
    FAILS(CANCELLED, thalweg_job_run(job, NULL, NULL, &land));
    FAILS(OK, thalweg_job_cancel(job, 0));
    FAILS(OK, thalweg_job_run(job, count, &events, &land));
    CHECK(events > 2);
    thalweg_job_free(job);
    FAILS(PARAM, thalweg_land_info(land, NULL));
    FAILS(OK, thalweg_land_info(land, &info));
    CHECK(info.width == 32 && info.height == 24 && info.spacing_m == 20 && info.maps >= 1);
    CHECK(thalweg_land_map_name(land, 0) != NULL);
    CHECK(thalweg_land_map_name(land, info.maps) == NULL);
    CHECK(thalweg_land_map_name(land, (size_t)-1) == NULL);
    CHECK(!strcmp(pointer(), "/index"));
    FAILS(PARAM, thalweg_land_values(land, NULL, values, 32 * 24));
    FAILS(PARAM, thalweg_land_values(land, "\xff", values, 32 * 24));
    FAILS(PARAM, thalweg_land_values(land, "hight", values, 32 * 24));
    CHECK(strstr(message(), "height") != NULL);
    FAILS(PARAM, thalweg_land_values(land, "height", NULL, 32 * 24));
    FAILS(PARAM, thalweg_land_values(land, "height", (float *)((char *)values + 2), 32 * 24));
    FAILS(PARAM, thalweg_land_values(land, "height", values, 32 * 24 - 1));
    FAILS(PARAM, thalweg_land_values(land, "height", values, 32 * 24 + 1));
    FAILS(OK, thalweg_land_values(land, "height", values, 32 * 24));
    FAILS(PARAM, thalweg_land_words(land, NULL, words, 32 * 24));
    FAILS(PARAM, thalweg_land_words(land, "hight", words, 32 * 24));
    FAILS(PARAM, thalweg_land_words(land, "height", NULL, 32 * 24));
    FAILS(PARAM, thalweg_land_words(land, "height", words, 0));
    FAILS(OK, thalweg_land_words(land, "height", words, 32 * 24));
    CHECK(values[40] == (float)(words[40] / 262144.0 * info.spacing_m + info.datum_m));
    FAILS(PARAM, thalweg_land_digest(land, NULL, digest, sizeof digest));
    FAILS(PARAM, thalweg_land_digest(land, "hight", digest, sizeof digest));
    FAILS(PARAM, thalweg_land_digest(land, "height", NULL, sizeof digest));
    FAILS(PARAM, thalweg_land_digest(land, "height", digest, sizeof digest - 1));
    CHECK(!strcmp(pointer(), "/size"));
    FAILS(OK, thalweg_land_digest(land, "height", digest, sizeof digest));
    CHECK(strlen(digest) == 64);
    CHECK(thalweg_land_geojson(land, NULL) == NULL);
    CHECK(thalweg_land_geojson(land, "seas") == NULL);
    CHECK(!strcmp(allowed(), "rivers, lakes, basins, water_points"));
    rivers = thalweg_land_geojson(land, "rivers");
    CHECK(rivers != NULL && strstr(rivers, "FeatureCollection") != NULL);
    CHECK(rivers == thalweg_land_geojson(land, "rivers"));
    CHECK(thalweg_land_geojson(land, "water_points") != NULL);
    thalweg_land_free(land);
}

static void windows(void) {
    ThalwegRecipe *recipe = parse(WORLD);
    ThalwegJob *job = NULL;
    ThalwegWindow window = {1000000, -64, 9, 7, 0, 0};
    ThalwegWindow beside = {1000001, -64, 9, 7, 0, 0};
    float values[9 * 7], others[9 * 7];
    FAILS(OK, thalweg_job_new(recipe, NULL, "cpu", 1, &job));
    thalweg_recipe_free(recipe);
    FAILS(PARAM, thalweg_job_window(job, NULL, &window, values, 63));
    FAILS(PARAM, thalweg_job_window(job, "height", NULL, values, 63));
    FAILS(PARAM, thalweg_job_window(job, "height", &window, NULL, 63));
    FAILS(PARAM, thalweg_job_window(job, "height", &window, values, 62));
    FAILS(PARAM, thalweg_job_window(job, "hight", &window, values, 63));
    window.level = 9;
    FAILS(PARAM, thalweg_job_window(job, "height", &window, values, 63));
    window.level = 0, window.x = INT64_MIN;
    FAILS(PARAM, thalweg_job_window(job, "height", &window, values, 63));
    window.x = 1000000, window.width = 0;
    FAILS(PARAM, thalweg_job_window(job, "height", &window, values, 0));
    window.width = 9;
    FAILS(OK, thalweg_job_window(job, "height", &window, values, 63));
    FAILS(OK, thalweg_job_window(job, "height", &beside, others, 63));
    CHECK(values[1] == others[0] && values[0] != others[0]);
    FAILS(OK, thalweg_job_cancel(job, 1));
    FAILS(CANCELLED, thalweg_job_window(job, "height", &window, values, 63));
    thalweg_job_free(job);
}

int main(void) {
    nothing();
    recipes();
    jobs();
    layers();
    lands();
    windows();
    return failures > 0;
}
