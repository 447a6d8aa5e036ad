"""What all answers are: values that do not change."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


AnAnswer = TypeVar("AnAnswer", bound=Answer)
