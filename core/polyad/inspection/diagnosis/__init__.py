"""What is installed and whether it works: gathering it, testing it, showing it.

    listing.py   what is known of every installed backend and plug-in, also in plain text
    screen.py    the same as tables on a terminal
    doctor.py    versions, the listing, and a self-test of each device
    ops.py       what a kernel's author needs to know of each op
    ops_text.py  the same as text

Users reach it by `polyad.backends` and by the commands.
"""
