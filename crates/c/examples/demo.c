/* Makes the example "mountains" with 256 x 256 cells and prints the digest of its height. */
#include <stdio.h>
#include <thalweg.h>

int main(void) {
    ThalwegRecipe *recipe = NULL;
    ThalwegJob *job = NULL;
    ThalwegLand *land = NULL;
    char digest[THALWEG_DIGEST_SIZE];
    int made = !thalweg_recipe_example("mountains", &recipe) &&
               !thalweg_recipe_set(recipe, "width=256") &&
               !thalweg_recipe_set(recipe, "height=256") &&
               !thalweg_job_new(recipe, NULL, "cpu", 0, &job) &&
               !thalweg_job_run(job, NULL, NULL, &land) &&
               !thalweg_land_digest(land, "height", digest, sizeof digest);
    if (made)
        puts(digest);
    else
        fprintf(stderr, "%s\n", thalweg_last_error()->message);
    thalweg_land_free(land);
    thalweg_job_free(job);
    thalweg_recipe_free(recipe);
    return !made;
}
