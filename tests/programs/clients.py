"""Clients of examples/echo: clients.py PORT COUNT. Opens COUNT connections, sends to all before it reads from any, three times."""

import os
import socket
import sys

port, count = int(sys.argv[1]), int(sys.argv[2])
clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
sent = [os.urandom(1000 + i) for i in range(count)]
for _ in range(3):
    for client, data in zip(clients, sent):
        client.sendall(data)
    for client, data in zip(clients, sent):
        client.settimeout(600)
        got = b""
        while len(got) < len(data):
            piece = client.recv(65536)
            if not piece:
                sys.exit("closed early")
            got += piece
        if got != data:
            sys.exit("something else came back")
for client in clients:
    client.close()
