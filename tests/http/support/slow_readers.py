"""Clients that ask for much and take little, in a process of their own, so that whoever measures is not slowed
by them: slow_readers.py PORT CONNECTIONS BYTES_A_SECOND RECEIVE_BUFFER < request

Every connection sends what came on standard input and then reads so many bytes a second. A line of JSON a second says
how many are open, were ended by the server, and how many bytes came; after the first, all have sent. Ends when killed,
or when nobody is left."""
import json
import resource
import socket
import sys
import time


def connect(port, receive_buffer):
    sock = socket.socket()
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.connect(("127.0.0.1", port))
    return sock


def take(sock, n):
    """Bytes read; -1 if the server has ended it."""
    try:
        return len(sock.recv(n)) or -1
    except BlockingIOError:
        return 0
    except OSError:
        return -1


def main():
    port, n, rate, receive_buffer = map(int, sys.argv[1:])
    request = sys.stdin.buffer.read()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    open_ones, ended, taken = [], 0, 0
    for _ in range(n):
        sock = connect(port, receive_buffer)
        sock.sendall(request)
        sock.setblocking(False)
        open_ones.append(sock)
    while True:
        print(json.dumps({"open": len(open_ones), "ended": ended, "taken": taken}), flush=True)
        if not open_ones:
            return
        time.sleep(1)
        left = []
        for sock in open_ones:
            got = take(sock, rate)
            taken += max(got, 0)
            if got >= 0:
                left.append(sock)
            else:
                sock.close()
        ended += len(open_ones) - len(left)
        open_ones = left


main()
