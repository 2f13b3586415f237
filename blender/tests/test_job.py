"""Jobs in threads, without Blender."""

import threading
from types import SimpleNamespace

import pytest

from addon.job import Job, Stopped

AT = SimpleNamespace(stage="incision", number=2, of=3, fraction=0.5)


def test_a_job_tells_its_progress_and_returns_its_result():
    told, go = threading.Event(), threading.Event()

    def work(progress):
        progress(AT)
        told.set()
        assert go.wait(10)
        return 42

    job = Job(work)
    assert told.wait(10)
    assert not job.done
    assert (job.fraction, job.text) == (0.5, "incision (2 of 3)")
    go.set()
    assert job.result() == 42 and job.done


def test_a_job_that_is_stopped_ends_at_its_next_word():
    begun = threading.Event()

    def work(progress):
        begun.set()
        while True:
            progress(AT)

    job = Job(work)
    assert begun.wait(10)
    job.stop()
    assert job.text == "stopping"
    job._thread.join(10)
    assert job.done
    with pytest.raises(Stopped):
        job.result()

    # Also if it was done before it could be told.
    job = Job(lambda progress: 1)
    job.stop()
    with pytest.raises(Stopped):
        job.result()


def test_a_job_raises_what_its_work_raised():
    def work(progress):
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="^as it is$"):
        Job(work).result()
