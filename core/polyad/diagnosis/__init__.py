"""What is installed and whether it works: gathering it, testing it, showing it. Users reach it by `polyad.backends`.

listing.py   what is known of every installed backend and plug-in
doctor.py    versions, the listing, and a self-test of each device
screen.py    both as text, and as tables on a terminal
"""
