"""`hydra/launcher=ray`: each job of a sweep in a placement group of Ray, which waits in Ray's queue.

Plain Ray: Hydra's own plugin pins a version of 2022, and starts and stops clusters.
"""

import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ray
from omegaconf import DictConfig
from ray import cloudpickle
from ray.exceptions import RayActorError, RayError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.extensions.cluster.ray_agent import NODES_OWN, SHUTDOWN_SECONDS, Agent, Part
from aiayn.extensions.cluster.ray_cluster import SHARED, addresses_of, check_folders, connected, nodes_with
from aiayn.extensions.cluster.schema import RayConfig
from aiayn.launch.ranks import cause_of, read_failures
from aiayn.launch.shares import THREAD_VARIABLES
from aiayn.runs.record import utc_now
from aiayn.sweep.outcomes import Outcome, OutcomeFolder
from aiayn.sweep.scheduled import Job, Starter, end, fail_record, launcher_settings
from aiayn.system import processes
from aiayn.system.orphans import GRACE_SECONDS, STOP_SECONDS
from aiayn.system.signals import passed_on

logger = logging.getLogger("aiayn")

AGENT_SECONDS = 60.0
"""Longest wait for the first answer of a placed job's agents, and for their last one."""

WAITING_SECONDS = 5.0
"""How long a job waits before a line states it."""


@dataclass(frozen=True)
class Shape:
    """The resources of a job."""

    nodes: int
    ranks: int | None
    """Processes on each node that form a group across nodes; None: the job starts its processes itself."""
    cpus: int
    """On each node."""
    gpus: int
    """On each node."""
    threads: int
    """Of each process."""

    @property
    def bundle(self) -> dict[str, int]:
        """The resources on each node, by Ray's names."""
        return {"CPU": self.cpus} | ({"GPU": self.gpus} if self.gpus else {})

    @property
    def text(self) -> str:
        """Such as "2 nodes with 4 CPU, 1 GPU"."""
        each = ", ".join(f"{count} {name}" for name, count in self.bundle.items())
        return f"a node with {each}" if self.nodes == 1 else f"{self.nodes} nodes with {each} each"


def shape_of(config: TrainConfig | None, settings: RayConfig) -> Shape:
    """The resources of a run, or of a job of another command; no GPU for `trainer.accelerator=auto`.

    Raises:
        UserError: the number of devices is not stated.
    """
    if config is None:
        return Shape(1, None, settings.cpus_per_task, 0, settings.cpus_per_task)
    devices, nodes = processes.counted_devices(config.trainer, scheduler="Ray"), processes.num_nodes(config.trainer)
    gpus = devices if config.trainer.get("accelerator") in ("gpu", "cuda") else 0
    ranks = devices if nodes > 1 else None
    return Shape(nodes, ranks, devices * settings.cpus_per_task, gpus, settings.cpus_per_task)


@dataclass
class Attempt:
    """A job in Ray's queue, or on its nodes."""

    job: Job[Shape]
    number: int
    """From 1."""
    group: PlacementGroup
    ready: Any
    """Ray's reference to the group's placement."""
    agents: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    """Ray's references to the exit codes on each node; empty while the job waits."""


def scheduler_of(composed: DictConfig) -> "RayScheduler":
    """The scheduler of a sweep's configuration."""
    settings = launcher_settings(composed, RayConfig)
    name = f"{utc_now().replace(':', '')[:17]}-{os.getpid()}"
    logs = Path(composed.hydra.sweep.dir).expanduser().absolute() / ".ray" / name
    return RayScheduler(settings, logs, Path(composed.paths.cache).expanduser().absolute())


@dataclass(frozen=True)
class RayScheduler:
    """Places jobs by Ray, and places those again that lost a process or a node."""

    settings: RayConfig
    logs: Path
    """The folder of the jobs' output."""
    cache: Path
    """The folder of prepared corpora."""

    def shape_of(self, config: TrainConfig | None) -> Shape:
        """See `Scheduler`."""
        return shape_of(config, self.settings)

    def run(self, starter: Starter, jobs: Sequence[Job[Shape]]) -> None:
        """See `Scheduler`; an interrupt stops the jobs with a checkpoint.

        Raises:
            UserError: there is no cluster, or a node does not see the folder of the runs, or that of the cache.
        """
        assert starter.task.folder is not None
        try:
            self.cache.mkdir(parents=True, exist_ok=True)  # so that nodes can be asked for it
        except OSError as error:
            raise UserError(f"paths.cache={self.cache}: {error.strerror}; name a folder that can be written") from None
        folders = [starter.task.folder.path, Path.cwd(), self.cache]
        with connected(self.settings.address):
            check_folders([str(folder) for folder in folders])
            self.logs.mkdir(parents=True, exist_ok=True)
            logger.info("jobs of Ray: %d; output in %s", len(jobs), self.logs)
            _Sweep(self, starter, starter.task.folder, jobs, [*map(str, folders)]).run()


class _Sweep:
    """The jobs of one launch."""

    def __init__(
        self,
        scheduler: RayScheduler,
        starter: Starter,
        folder: OutcomeFolder,
        jobs: Sequence[Job[Shape]],
        shared: Sequence[str],
    ) -> None:
        self._scheduler = scheduler
        self._shared = shared
        self._starter = starter
        self._folder = folder
        self._attempts = [self._queued(job, 1) for job in jobs]
        self._held: list[tuple[Attempt, float]] = []
        """Attempts that lost a process, and when the next one begins at the latest."""
        self._waits = ("", time.monotonic())
        """The queued shapes in words, and the time of their last change."""
        self._last_line = ""

    def run(self) -> None:
        """Run the jobs to their ends."""
        try:
            while self._attempts or self._held:
                for attempt in [*self._attempts]:
                    self._advance(attempt)
                self._queue_again()
                self._say()
                time.sleep(self._scheduler.settings.poll_seconds)
        except KeyboardInterrupt as error:
            self._stop(passed_on(error))
            raise
        finally:
            for attempt in self._attempts:
                _remove(attempt)

    def _queued(self, job: Job[Shape], number: int) -> Attempt:
        strategy = "STRICT_SPREAD" if job.shape.nodes > 1 else "PACK"
        group = placement_group([job.shape.bundle] * job.shape.nodes, strategy=strategy)
        return Attempt(job, number, group, group.ready())

    def _advance(self, attempt: Attempt) -> None:
        """Begin an attempt that has its place, and end one whose processes have ended."""
        if not attempt.results:
            if ray.wait([attempt.ready], timeout=0)[0]:
                self._begin(attempt)
            return
        ended, _ = ray.wait(attempt.results, num_returns=1, timeout=0)
        if ended:
            self._end(attempt)

    def _begin(self, attempt: Attempt) -> None:
        """Start the job's processes on its nodes."""
        shape = attempt.job.shape
        cls = ray.remote(Agent)
        for place in range(shape.nodes):
            strategy = PlacementGroupSchedulingStrategy(attempt.group, placement_group_bundle_index=place)
            options = {"num_cpus": shape.cpus, "num_gpus": shape.gpus, "scheduling_strategy": strategy}
            attempt.agents.append(cls.options(max_concurrency=3, **options).remote())
        try:
            addresses = addresses_of(attempt.group)
            asked = [agent.missing_folders.remote(self._shared) for agent in attempt.agents]
            for address, missing in zip(addresses, ray.get(asked, timeout=AGENT_SECONDS), strict=True):
                if missing:  # a node that has joined since the sweep began
                    self._end_attempt(attempt)
                    self._fail(attempt, f"node {address} has no folder {missing[0]}: {SHARED}", has_output=False)
                    return
            port = ray.get(attempt.agents[0].meeting_point.remote(addresses[0]), timeout=AGENT_SECONDS)
            for place, (agent, address) in enumerate(zip(attempt.agents, addresses, strict=True)):
                part = self._part(attempt, place, f"{addresses[0]}:{port}")
                attempt.results.append(agent.run.remote(part, address))
        except (RayError, KeyError) as error:
            self._retry(attempt, f"no answer of its node ({type(error).__name__})")

    def _part(self, attempt: Attempt, place: int, meeting: str) -> Part:
        job, shape, starter = attempt.job, attempt.job.shape, self._starter
        if attempt.number > 1:  # force=true is for the first attempt
            numbers = tuple(starter.task.number(index) for index in range(job.index + 1))
            starter = replace(starter, task=replace(starter.task, relaunched=numbers))
        name = f"{job.outcome.number + 1}"
        groups: list[dict[str, str]] = [{}]
        logs = [self._scheduler.logs / f"{name}.log"]
        if shape.ranks is not None:
            groups = [_group_variables(shape, place, local, meeting) for local in range(shape.ranks)]
            logs = [self._scheduler.logs / f"{name}-rank{group['RANK']}.log" for group in groups]
        return Part(
            payload=cloudpickle.dumps((starter, job.words, job.index)),
            folder=str(Path.cwd()),
            environment=_environment(shape),
            groups=groups,
            logs=[str(log) for log in logs],
        )

    def _end(self, attempt: Attempt) -> None:
        """Take down an attempt, and decide whether its job has ended."""
        codes, lost = _collected(attempt)
        outcome = self._written(attempt)
        was_killed = lost is not None or outcome.was_killed or any(code < 0 for code in codes)
        if outcome.has_ended and (outcome.failure is None or not was_killed):
            self._end_attempt(attempt)
            if outcome.failure is not None and not outcome.is_shown:
                self._starter.task.print_error(outcome.failure)
                self._folder.write(replace(outcome, is_shown=True))
        elif was_killed:
            self._retry(attempt, lost or outcome.failure or "a process of it was killed")
        else:
            swept = attempt.job.outcome.swept
            cause = None if swept is None else cause_of(read_failures(swept.directory))
            self._end_attempt(attempt)
            self._fail(attempt, f"its processes ended with the codes {codes}" if cause is None else cause.text)

    def _retry(self, attempt: Attempt, reason: str) -> None:
        """Queue a job again that lost a process, unless it has had all its attempts."""
        self._end_attempt(attempt)
        tries = self._scheduler.settings.attempts
        if attempt.number >= tries:
            self._fail(attempt, f"{reason}, in attempt {attempt.number} of {tries}")
            return
        swept = attempt.job.outcome.swept
        name = f"job {attempt.job.outcome.number + 1}" if swept is None else str(swept.directory.path)
        logger.warning("Ray: %s: %s; attempt %d of %d follows", name, reason, attempt.number + 1, tries)
        self._folder.write(attempt.job.outcome)
        self._held.append((attempt, time.monotonic() + GRACE_SECONDS))

    def _queue_again(self) -> None:
        """Queue jobs whose former processes have left the run directory; later ones would find it held."""
        for held in [*self._held]:
            attempt, latest = held
            swept = attempt.job.outcome.swept
            if swept is None or swept.directory.is_free or time.monotonic() > latest:
                self._held.remove(held)
                self._attempts.append(self._queued(attempt.job, attempt.number + 1))

    def _fail(self, attempt: Attempt, reason: str, *, has_output: bool = True) -> None:
        outcome = attempt.job.outcome
        message = f"Ray: {reason}"
        if has_output:
            message += f"; see {self._scheduler.logs}/{outcome.number + 1}*.log"
        if outcome.swept is not None:
            fail_record(outcome.swept.directory, message)
        end(replace(outcome, is_lost=True), message, self._starter.task)

    def _written(self, attempt: Attempt) -> Outcome:
        """The job's outcome as its first process wrote it."""
        number = attempt.job.outcome.number
        return next((each for each in self._folder.read() if each.number == number), attempt.job.outcome)

    def _end_attempt(self, attempt: Attempt) -> None:
        _remove(attempt)
        self._attempts.remove(attempt)

    def _say(self) -> None:
        """Print what waits once it has waited for `WAITING_SECONDS`, and whether the cluster is too small for it."""
        waiting = Counter(each.job.shape for each in self._attempts if not each.results)
        line, now = ", ".join(f"{count} for {shape.text}" for shape, count in waiting.items()), time.monotonic()
        if line != self._waits[0]:
            self._waits = line, now
        if line not in ("", self._last_line) and now - self._waits[1] > WAITING_SECONDS:
            logger.info("Ray: waiting for free nodes: %s", line)
            for shape in waiting:
                if (enough := nodes_with(shape.bundle)) < shape.nodes:
                    logger.warning(
                        "Ray: a job needs %s, and %d of the cluster's nodes suffice: add nodes, or lower "
                        "trainer.devices, trainer.num_nodes or hydra.launcher.cpus_per_task",
                        shape.text,
                        enough,
                    )
            self._last_line = line

    def _stop(self, number: signal.Signals) -> None:
        """Let the running jobs write their checkpoints."""
        running = [attempt for attempt in self._attempts if attempt.results]
        with suppress(RayError):
            for agent in (agent for attempt in running for agent in attempt.agents):
                agent.stop.remote(number)
            results = [result for attempt in running for result in attempt.results]
            if results:
                ray.wait(results, num_returns=len(results), timeout=STOP_SECONDS)


def _remove(attempt: Attempt) -> None:
    """Free the place of an attempt; its agents end, and with them the processes that they started."""
    with suppress(RayError):
        for agent in attempt.agents:
            ray.kill(agent)
        remove_placement_group(attempt.group)


def _collected(attempt: Attempt) -> tuple[list[int], str | None]:
    """The exit codes of all processes, and why those of some node are unknown."""
    for agent in attempt.agents if len(attempt.agents) > 1 else ():
        agent.end_soon.remote()
    codes, lost = list[int](), None
    ray.wait(attempt.results, num_returns=len(attempt.results), timeout=SHUTDOWN_SECONDS + AGENT_SECONDS)
    for result in attempt.results:
        try:
            codes += ray.get(result, timeout=0)
        except RayActorError:
            lost = "its process of Ray, or the node, was lost"
        except RayError as error:  # the node does not answer, or the job could not be started there
            lost = str(error).strip().splitlines()[-1]
    return codes, lost


def _group_variables(shape: Shape, place: int, local: int, meeting: str) -> dict[str, str]:
    """The variables of one rank, as torchrun sets them."""
    assert shape.ranks is not None
    address, _, port = meeting.rpartition(":")
    return {
        "RANK": str(place * shape.ranks + local),
        "LOCAL_RANK": str(local),
        "WORLD_SIZE": str(shape.nodes * shape.ranks),
        "LOCAL_WORLD_SIZE": str(shape.ranks),
        "GROUP_RANK": str(place),
        "MASTER_ADDR": address,
        "MASTER_PORT": port,
        "TORCHELASTIC_RUN_ID": meeting,
    }


def _environment(shape: Shape) -> dict[str, str]:
    """The command's environment without variables of its host, its cluster or its process group."""
    left_out = {*NODES_OWN, *processes.GROUP_VARIABLES}
    own = {key: value for key, value in os.environ.items() if not key.startswith("RAY_") and key not in left_out}
    hidden = {} if shape.gpus else {"CUDA_VISIBLE_DEVICES": ""}
    return {**dict.fromkeys(THREAD_VARIABLES, str(shape.threads)), **own, **hidden}
