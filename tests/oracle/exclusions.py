"""Public functions that are not compared, with the reason."""

NOT_COMPARED: dict[str, str] = dict.fromkeys(
    ("cond", "while_loop"), "PyTorch compiles each call, for seconds; test_control_flow.py compares programs"
)
