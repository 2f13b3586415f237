"""A run in a thread of its own. It knows nothing of Blender."""

import threading


class Stopped(Exception):
    """The user has stopped a job."""


class Job:
    """Work that goes on while the window answers.

    Parameters
    ----------
    work : callable
        Called in the thread with one argument, a function to call with a `thalweg.Progress`. What
        it returns is the result.
    """

    def __init__(self, work):
        self._work = work
        self._stop = threading.Event()
        self._result = None
        self._error = None
        #: The last progress that was told, None before the first.
        self.at = None
        # A daemon: Blender may quit while it runs.
        self._thread = threading.Thread(target=self._run, name="thalweg", daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self._result = self._work(self._told)
        except BaseException as error:  # noqa: BLE001 - `result` raises it where it is seen.
            self._error = error

    def _told(self, at):
        self.at = at
        if self._stop.is_set():
            raise Stopped

    def stop(self):
        """Ends the work at the next word of its progress, within a second."""
        self._stop.set()

    @property
    def stopping(self):
        """Whether `stop` was called."""
        return self._stop.is_set()

    @property
    def done(self):
        """Whether `result` returns at once."""
        return not self._thread.is_alive()

    @property
    def fraction(self):
        """The share that is done, 0 to 1."""
        return self.at.fraction if self.at else 0.0

    @property
    def text(self):
        """What it is at, in words."""
        if self.stopping:
            return "stopping"
        return f"{self.at.stage} ({self.at.number} of {self.at.of})" if self.at else "starting"

    def result(self):
        """What the work returned.

        Raises
        ------
        Stopped
            If the user stopped it, even where it was just done.
        Exception
            What the work raised.
        """
        self._thread.join()
        if self.stopping:
            raise Stopped
        if self._error is not None:
            raise self._error
        return self._result
