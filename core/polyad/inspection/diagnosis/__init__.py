"""What is installed and whether it works: gathering it, testing it, showing it.

    listing.py   what is known of every installed backend and plug-in, also in plain text
    screen.py    the same as tables on a terminal
    doctor.py    versions, the listing, and a self-test of each device
    ops.py       what a kernel's author needs to know of each op
    ops_address.py  where each op is declared and computed, and why
    ops_call.py  a call of an op that serves as an example
    ops_text.py  ops as text

Users reach it by `polyad.backends` and by the commands.
"""
