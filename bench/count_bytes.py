"""Forwards connections from one Unix-domain socket to another, and counts their bytes.

    count_bytes.py FROM TO

Accepts connections on FROM and forwards them to TO. On SIGTERM, prints the number of bytes sent to TO and the number received
from it.
"""
import asyncio
import os
import signal
import sys

counts = [0, 0]


async def pump(reader, writer, direction):
    while data := await reader.read(1 << 16):
        counts[direction] += len(data)
        writer.write(data)
        await writer.drain()
    writer.close()


async def serve(reader, writer):
    far_reader, far_writer = await asyncio.open_unix_connection(sys.argv[2])
    await asyncio.gather(pump(reader, far_writer, 0), pump(far_reader, writer, 1), return_exceptions=True)


async def main():
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    server = await asyncio.start_unix_server(serve, sys.argv[1])
    os.chmod(sys.argv[1], 0o777)
    await ended.wait()
    server.close()
    print(*counts)


asyncio.run(main())
