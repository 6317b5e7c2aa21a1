"""Export and import by the program. What runs the program is shared with the tests over HTTP."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "http"))
