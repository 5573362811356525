"""Time limits that share one timer: each expires by itself, and none takes a cancellation that is not its own."""

from __future__ import annotations

import asyncio

import pytest

from steelyard.session.deadlines import Deadlines


def test_a_limit_ends_what_takes_too_long():
    async def main():
        with Deadlines().limit(0.01):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_what_is_done_in_time_is_left_alone():
    async def main():
        deadlines = Deadlines()
        with deadlines.limit(0.01):
            pass
        await asyncio.sleep(0.03)
        return asyncio.current_task().cancelling()

    assert asyncio.run(main()) == 0


def test_a_shorter_limit_that_starts_later_expires_first():
    async def main():
        deadlines, ended = Deadlines(), []

        async def wait(seconds):
            try:
                with deadlines.limit(seconds):
                    await asyncio.Event().wait()
            except TimeoutError:
                ended.append(seconds)

        await asyncio.gather(*map(wait, (0.2, 0.01, 0.1)))
        return ended

    assert asyncio.run(main()) == [0.01, 0.1, 0.2]


@pytest.mark.parametrize(("outer", "inner", "by"), [(0.01, 5, "outer"), (5, 0.01, "inner")])
def test_of_two_limits_of_one_task_the_one_that_is_due_expires(outer, inner, by):
    async def main():
        deadlines = Deadlines()
        try:
            with deadlines.limit(outer):
                try:
                    with deadlines.limit(inner):
                        await asyncio.Event().wait()
                except TimeoutError:
                    return "inner"
        except TimeoutError:
            return "outer"

    assert asyncio.run(main()) == by


def test_two_limits_of_one_task_that_are_due_at_once_leave_no_cancellation_behind():
    async def main():
        deadlines = Deadlines()
        try:
            with deadlines.limit(0), deadlines.limit(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return asyncio.current_task().cancelling()

    assert asyncio.run(main()) == 0


def test_a_cancellation_from_elsewhere_stays_one():
    async def main():
        deadlines = Deadlines()

        async def work():
            with deadlines.limit(5):
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    assert asyncio.run(main())


def test_an_error_passes_and_takes_its_limit_with_it():
    async def main():
        deadlines = Deadlines()
        with pytest.raises(KeyError), deadlines.limit(0.01):
            raise KeyError("own")
        await asyncio.sleep(0.03)
        return asyncio.current_task().cancelling()

    assert asyncio.run(main()) == 0


def test_an_error_raised_while_a_limit_ends_the_work_is_not_called_a_timeout():
    async def main():
        with Deadlines().limit(0.01):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise KeyError("own") from None

    with pytest.raises(KeyError, match="own"):
        asyncio.run(main())


def test_a_closed_watch_leaves_no_timer_behind():
    async def main():
        deadlines = Deadlines()
        with deadlines.limit(3600):
            pass
        deadlines.close()
        return [handle for handle in asyncio.get_running_loop()._scheduled if not handle.cancelled()]

    assert asyncio.run(main()) == []


def test_a_limit_outside_of_a_task_is_refused():
    async def main():
        caught = []

        def enter():
            try:
                with Deadlines().limit(1):
                    pass
            except RuntimeError as error:
                caught.append(str(error))

        asyncio.get_running_loop().call_soon(enter)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return caught

    assert asyncio.run(main()) == ["a time limit is for a task"]
