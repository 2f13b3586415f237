/* Two runs of one job, windows from two threads, and a cancel from elsewhere. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thalweg.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, \
                    thalweg_last_error()->message); \
            exit(1); \
        } \
    } while (0)

static const char HILLS[] = "schema = 2\nseed = 5\nwidth = 48\nheight = 48\nspacing_m = 20\n"
                            "endless = true\n[[stage]]\nkind = \"noise\"\nrelief_m = 900\n";
static const char LONG[] = "schema = 2\nwidth = 64\nheight = 64\nspacing_m = 20\n"
                           "[[stage]]\nkind = \"noise\"\nrelief_m = 900\n"
                           "[[stage]]\nkind = \"thermal\"\nsteps = 100000\n";

static ThalwegJob *make(const char *text) {
    ThalwegRecipe *recipe = NULL;
    ThalwegJob *job = NULL;
    CHECK(thalweg_recipe_parse(text, NULL, &recipe) == THALWEG_STATUS_OK);
    CHECK(thalweg_job_new(recipe, NULL, "cpu", 1, &job) == THALWEG_STATUS_OK);
    thalweg_recipe_free(recipe);
    return job;
}

static void *run(void *job) {
    ThalwegLand *land = NULL;
    char *digest = (char *)malloc(THALWEG_DIGEST_SIZE);
    CHECK(thalweg_job_run((ThalwegJob *)job, NULL, NULL, &land) == THALWEG_STATUS_OK);
    CHECK(thalweg_land_digest(land, "height", digest, THALWEG_DIGEST_SIZE) == THALWEG_STATUS_OK);
    thalweg_land_free(land);
    return digest;
}

static void *window(void *job) {
    ThalwegWindow asked = {1000, -70, 33, 20, 0, 1};
    float *values = (float *)malloc(33 * 20 * sizeof *values);
    CHECK(thalweg_job_window((ThalwegJob *)job, "height", &asked, values, 33 * 20) ==
          THALWEG_STATUS_OK);
    return values;
}

/* The errors of a thread are its own. */
static void *fail(void *none) {
    (void)none;
    CHECK(thalweg_job_cancel(NULL, 1) == THALWEG_STATUS_PARAM);
    CHECK(!strcmp(thalweg_last_error()->pointer, "/job"));
    return NULL;
}

static volatile int begun = 0;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;

static int tell(const ThalwegEvent *event, void *user) {
    (void)event;
    (void)user;
    pthread_mutex_lock(&turn);
    begun = 1;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&turn);
    return 0;
}

static void *run_long(void *job) {
    ThalwegLand *land = (ThalwegLand *)job;
    CHECK(thalweg_job_run((ThalwegJob *)job, tell, NULL, &land) == THALWEG_STATUS_CANCELLED);
    CHECK(land == NULL);
    return NULL;
}

/* Does the same on two threads and compares what comes of it. */
static void both(void *(*work)(void *), void *job, size_t size) {
    pthread_t threads[2];
    void *made[2] = {NULL, NULL};
    int i;
    for (i = 0; i < 2; i++)
        CHECK(!pthread_create(&threads[i], NULL, work, job));
    for (i = 0; i < 2; i++)
        CHECK(!pthread_join(threads[i], &made[i]));
    CHECK(size == 0 || !memcmp(made[0], made[1], size));
    free(made[0]);
    free(made[1]);
}

int main(void) {
    ThalwegJob *job = make(HILLS);
    pthread_t thread;
    both(run, job, THALWEG_DIGEST_SIZE);
    both(window, job, 33 * 20 * sizeof(float));
    both(fail, NULL, 0);
    CHECK(thalweg_last_error()->status == THALWEG_STATUS_OK);
    thalweg_job_free(job);

    job = make(LONG);
    CHECK(!pthread_create(&thread, NULL, run_long, job));
    pthread_mutex_lock(&turn);
    while (!begun)
        pthread_cond_wait(&woken, &turn);
    pthread_mutex_unlock(&turn);
    CHECK(thalweg_job_cancel(job, 1) == THALWEG_STATUS_OK);
    CHECK(!pthread_join(thread, NULL));
    thalweg_job_free(job);
    return 0;
}
