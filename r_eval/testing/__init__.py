"""What every environment must do, as tests that pytest runs over yours.

    from r_eval.testing import EnvironmentContract

    class TestRecipes(EnvironmentContract):
        calls = [("find_dish", {"name": "soup"}), ("dish_details", {"dish_id": "d02"})]
        nothing = [("dish_details", {"dish_id": "d99"})]
        kinds = ["dish"]

        def environment(self):
            return Recipes()

The calls are made in this order in one session, so that one may need what another did. What differs for your
environment on purpose, say by overriding its test.
"""

from r_eval.testing.calling import Call
from r_eval.testing.environments import EnvironmentContract
from r_eval.testing.hostile import HOSTILE
from r_eval.testing.scores import assert_score

__all__ = ["HOSTILE", "Call", "EnvironmentContract", "assert_score"]
