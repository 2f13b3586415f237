"""Runs a recipe on a `thalweg serve` and fetches its files: client.py RECIPE.toml FOLDER [--address
URL] [--token TOKEN]"""

import argparse
import json
import pathlib
import requests

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("recipe", type=pathlib.Path)
arguments.add_argument("folder", type=pathlib.Path)
arguments.add_argument("--address", default="http://127.0.0.1:7373")
arguments.add_argument("--token")
given = arguments.parse_args()

session = requests.Session()
if given.token:
    session.headers["Authorization"] = f"Bearer {given.token}"
answer = session.post(
    f"{given.address}/v1/jobs",
    data=given.recipe.read_bytes(),
    headers={"Content-Type": "application/toml"},
)
if not answer.ok:
    raise SystemExit(answer.json()["detail"])
job = answer.json()
with session.get(f"{given.address}/v1/jobs/{job['id']}/events", stream=True) as events:
    for line in events.iter_lines(decode_unicode=True):
        if line.startswith("data: "):
            told = json.loads(line[6:])
            job = told if "state" in told else job
            print(
                f"{told['fraction']:4.0%} {told['stage']}" if "fraction" in told else job["state"],
                end="\r",
            )
print()
if job["state"] != "succeeded":
    raise SystemExit(job["error"]["detail"] if job["error"] else job["state"])
for file in job["result"]["files"]:
    path = given.folder / file["name"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(session.get(given.address + file["href"]).content)
    print(path, file["bytes"])
