"""What every environment must do, whatever stands behind it."""

from __future__ import annotations

import ast
import asyncio
import itertools
import json
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CHARACTERS_A_TOKEN, CallResult, Session
from r_eval.records import Step
from r_eval.testing.calling import UNCUT, Call, check_cut, heard, mistakes, orders, transcript, written
from r_eval.testing.hostile import HOSTILE

if TYPE_CHECKING:
    import pytest

AT_ONCE = 8


class EnvironmentContract:
    """Subclass it in a test file, under a name that begins with `Test`.

    Attributes:
        calls: Calls that give something, at least one of every query API.
        nothing: Calls that find nothing, where there are such.
        kinds: Kinds of which `Environment.records` has some.
        pickles: Whether the environment is promised to survive pickling.
    """

    calls: ClassVar[Sequence[Call]] = ()
    nothing: ClassVar[Sequence[Call]] = ()
    kinds: ClassVar[Sequence[str]] = ()
    pickles: ClassVar[bool] = False

    def environment(self) -> Environment:
        """The environment under test; instead of this method there may be a fixture of the same name."""
        raise NotImplementedError(f"{type(self).__name__} needs a method or fixture `environment`")

    def opened_again(self, environment: Environment) -> Environment:
        """The same environment made anew; override it for one whose class takes arguments."""
        return type(environment)()

    # What a model is told

    def test_the_environment_says_what_it_is(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        assert environment.description.strip(), f"{type(environment).__name__} needs a docstring: a model is told it"
        assert environment.specs(), f"{type(environment).__name__} has no query API: mark methods with @query_api"

    def test_every_api_is_documented_and_its_parameters_are_typed(self, request: pytest.FixtureRequest) -> None:
        for spec in self._made(request).specs().values():
            assert spec.summary.strip(), f"{spec.name} needs a docstring: a model is told its first line"
            untyped = [p.name for p in spec.parameters if p.annotation is Any]
            assert not untyped, f"{spec.name}: no type says what may be given for {', '.join(untyped)}"

    def test_every_api_is_among_the_calls(self, request: pytest.FixtureRequest) -> None:
        missing = self._made(request).specs().keys() - {api for api, _ in self.calls}
        assert not missing, f"`calls` needs a call of {', '.join(sorted(missing))} too"

    def test_the_schema_of_every_api_is_a_json_schema_that_its_calls_fit(self, request: pytest.FixtureRequest) -> None:
        from jsonschema import Draft202012Validator

        specs = self._made(request).specs()
        schemas = {name: json.loads(json.dumps(spec.json_schema(), allow_nan=False)) for name, spec in specs.items()}
        for name, schema in schemas.items():
            Draft202012Validator.check_schema(schema)
            assert schema.get("type") == "object", f"{name}: the schema of the arguments is not of an object"
            assert list(schema["properties"]) == [p.name for p in specs[name].parameters], f"{name}: other parameters"
        for api, arguments in self.calls:
            Draft202012Validator(schemas[api]).validate(arguments)

    def test_every_stub_is_python_and_every_action_is_a_line(self, request: pytest.FixtureRequest) -> None:
        for spec in self._made(request).specs().values():
            (function,) = ast.parse(spec.stub()).body
            assert isinstance(function, ast.FunctionDef), f"{spec.name}: the stub is no function"
            names = [p.arg for p in (*function.args.args, *function.args.kwonlyargs)]
            assert [function.name, *names] == [spec.name, *(p.name for p in spec.parameters)], f"{spec.name}: {names}"
            assert spec.action().startswith(f"{spec.name}("), f"{spec.name}: its action line is {spec.action()!r}"
            assert len(spec.action().splitlines()) == 1, f"{spec.name}: the first sentence of its docstring has lines"

    # What calls give

    def test_a_call_gives_plain_data_and_its_text(self, request: pytest.FixtureRequest) -> None:
        for call, result in zip(self.calls, heard(self._made(request), self.calls), strict=True):
            assert result.error is None, f"{written(call)} gives no answer: {result.observation}"
            assert json.loads(json.dumps(result.value, allow_nan=False)) == result.value, f"{written(call)}: no data"
            assert result.observation.strip(), f"{written(call)} shows nothing"
            result.observation.encode("utf-8")

    def test_a_call_gives_the_same_again_in_another_session(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        calls = (*self.calls, *self.nothing)
        first = heard(environment, calls)
        assert heard(environment, calls) == first, "the same calls give other results in a second session"

    def test_an_environment_that_is_made_anew_gives_the_same(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        others = [self.opened_again(environment)]
        if self.pickles:
            others.append(pickle.loads(pickle.dumps(environment)))
        for other in others:
            assert other.version == environment.version, "made anew, it has another version: no run could be resumed"
            assert heard(other, self.calls) == heard(environment, self.calls), "made anew, it gives other results"
            other.close()

    def test_what_is_not_there_is_an_observation(self, request: pytest.FixtureRequest) -> None:
        for call, result in zip(self.nothing, heard(self._made(request), self.nothing), strict=True):
            empty = result.error is None and result.value in (None, "", [], {})
            assert result.error == "not_found" or empty, f"{written(call)} finds something: {result.observation}"
            assert result.observation.strip(), f"{written(call)}: a model is not told that nothing was found"

    def test_a_program_gets_what_calls_give(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        expected = [result.value for result in heard(environment, self.calls)]
        lines = [f"found_{i} = {api}(**given[{i}])" for i, (api, _) in enumerate(self.calls)]
        shown = [f"found_{i}" for i in range(len(self.calls))]

        async def run() -> Any:
            with Sandbox(workers=1) as sandbox:
                session = Session(environment, sandbox)
                try:
                    given = [arguments for _, arguments in self.calls]
                    return await session.run_program("\n".join([*lines, "answer = 1"]), {"given": given}, shown)
                finally:
                    session.close()

        result = asyncio.run(run())
        assert result.error is None, f"a program that makes the calls fails: {result.error}"
        assert result.extra == expected, "a program gets other values than a call gives"

    # Sessions

    def test_sessions_do_not_see_each_other(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        there, back = list(self.calls), list(reversed(self.calls))
        alone = heard(environment, there), heard(environment, back)

        async def interleaved() -> tuple[list[CallResult], list[CallResult]]:
            with Sandbox(workers=1) as sandbox:
                one, two = Session(environment, sandbox, tokens=UNCUT), Session(environment, sandbox, tokens=UNCUT)
                found: tuple[list[CallResult], list[CallResult]] = ([], [])
                for this, that in zip(there, back, strict=True):
                    found[0].append(await one.call(*this))
                    found[1].append(await two.call(*that))
                one.close()
                two.close()
            return found

        assert asyncio.run(interleaved()) == alone, "what one session does changes what another is told"

    def test_many_sessions_at_once_hear_what_one_alone_hears(self, request: pytest.FixtureRequest) -> None:
        environment, calls_of = self._made(request), orders(self.calls, AT_ONCE)
        alone = [heard(environment, calls) for calls in calls_of]

        async def together() -> list[list[CallResult]]:
            return await asyncio.gather(*(transcript(environment, calls) for calls in calls_of))

        assert asyncio.run(together()) == alone, "sessions on one event loop disturb each other"
        with ThreadPoolExecutor(AT_ONCE) as threads:
            found = list(threads.map(lambda calls: heard(environment, calls), calls_of))
        assert found == alone, "sessions in several threads disturb each other"

    def test_a_closed_session_leaves_the_others_alone(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)

        async def before_and_after() -> tuple[list[CallResult], list[CallResult]]:
            with Sandbox(workers=1) as sandbox:
                session = Session(environment, sandbox, tokens=UNCUT)
                first = await transcript(environment, self.calls)
                second = [await session.call(*call) for call in self.calls]
                session.close()
            return first, second

        first, second = asyncio.run(before_and_after())
        assert first == second, "the end of one session changes what another is told"

    # What a model gets wrong

    def test_an_unknown_api_is_an_observation_that_names_a_known_one(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        specs = environment.specs()
        for api, arguments in self.calls:
            wrong = next(name for n in itertools.count(1) if (name := api + "x" * n) not in specs)
            (result,) = heard(environment, [(wrong, arguments)])
            assert result.error == "unknown_api", f"{wrong} is called: {result.observation}"
            assert repr(wrong) in result.observation, f"{wrong}: the observation does not say what was wrong"
            assert any(f"Did you mean {name}?" in result.observation for name in specs), f"{wrong}: nothing is proposed"

    def test_wrong_arguments_are_observations_that_say_which(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        specs = environment.specs()
        for api, arguments in self.calls:
            for wrong, said in mistakes(specs[api], arguments):
                (result,) = heard(environment, [(api, wrong)])
                about = f"{written((api, wrong))}: {result.observation}"
                assert result.error == "bad_arguments", f"{about} (should be refused)"
                assert all(text in result.observation for text in (api, *said)), f"{about} (should hold {said})"

    def test_hostile_text_is_an_observation(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        calls = []
        for api, spec in environment.specs().items():
            good = next((arguments for name, arguments in self.calls if name == api), {})
            for name in (p.name for p in spec.parameters):
                calls += [(api, {**good, name: text}) for text in HOSTILE]
        before = heard(environment, self.calls)
        for call, result in zip(calls, heard(environment, calls, 1_000), strict=True):
            longest = 1_000 * CHARACTERS_A_TOKEN + 100
            assert len(result.observation) < longest, f"{written(call)}: {len(result.observation)} characters"
        assert heard(environment, self.calls) == before, "after hostile calls, the same calls give something else"

    # What is kept

    def test_long_observations_are_cut_where_something_ends_and_say_so(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        whole = heard(environment, self.calls)
        for part in (2, 3):
            for i, full in enumerate(result.observation for result in whole):
                tokens = max(1, len(full) // part // CHARACTERS_A_TOKEN)
                shown = heard(environment, self.calls[: i + 1], tokens)[-1].observation
                if len(full) <= tokens * CHARACTERS_A_TOKEN:
                    assert shown == full, f"{written(self.calls[i])} is cut though it is short enough"
                else:
                    check_cut(written(self.calls[i]), full, shown, tokens * CHARACTERS_A_TOKEN)

    def test_every_call_is_logged(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        calls: list[Call] = [*self.calls, *self.nothing, ("no such api", {}), (self.calls[0][0], {"no such": 1})]
        steps: list[Step] = []
        results = heard(environment, calls, record=steps.append)
        assert [(step.kind, step.api, step.arguments) for step in steps] == [("call", *call) for call in calls]
        assert [(step.observation, step.error) for step in steps] == [(r.observation, r.error) for r in results]
        assert all(step.seconds > 0 for step in steps), "a call took no time"
        assert [Step.model_validate_json(step.model_dump_json()) for step in steps] == steps

    def test_the_version_names_the_knowledge(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        version = environment.version
        assert isinstance(version, str), f"the version is {version!r}, not a text"
        assert version.strip(), "the version is empty"
        heard(environment, self.calls)
        assert environment.version == version, "the version is another after some calls"
        assert environment.open().version == version, "a session has another version"

    def test_records_come_in_a_fixed_order(self, request: pytest.FixtureRequest) -> None:
        environment = self._made(request)
        again = self.opened_again(environment)
        for kind in self.kinds:
            records = environment.records(kind)
            assert records, f"there are no records of the kind {kind}"
            assert json.loads(json.dumps(records, allow_nan=False)) == records, f"{kind}: records that are no data"
            assert records == environment.records(kind), f"{kind}: asked twice, other records"
            assert records == again.records(kind), f"{kind}: made anew, other records"
        again.close()

    def test_an_unknown_kind_of_record_is_a_key_error(self, request: pytest.FixtureRequest) -> None:
        try:
            found = self._made(request).records("no such kind")
        except KeyError:
            return
        raise AssertionError(f"records of a kind that is not there should raise KeyError, and are {found!r:.80}")

    def _made(self, request: pytest.FixtureRequest) -> Environment:
        import pytest

        try:
            made: Environment = request.getfixturevalue("environment")
        except pytest.FixtureLookupError as error:
            if error.argname != "environment":
                raise
            made = self.environment()
            request.addfinalizer(made.close)
        assert self.calls, f"{type(self).__name__} needs some `calls` that give something"
        return made
