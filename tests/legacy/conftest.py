"""Moving in from other systems, whose MySQL and Redis are started by tests/support. What runs the program is shared with the tests over HTTP."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "http"), os.path.join(HERE, os.pardir, "facts")]
