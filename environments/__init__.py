"""Environments: a domain's knowledge behind query APIs."""

from r_eval.environments.base import (
    Environment,
    EnvironmentFailure,
    NotFound,
    TemporaryFailure,
    ToolError,
    query_api,
)
from r_eval.environments.observation import Observation

__all__ = [
    "Environment",
    "EnvironmentFailure",
    "NotFound",
    "Observation",
    "TemporaryFailure",
    "ToolError",
    "query_api",
]
