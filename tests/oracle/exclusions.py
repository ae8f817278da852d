"""Public functions that are not compared, with the reason."""

NOT_COMPARED: dict[str, str] = {}
