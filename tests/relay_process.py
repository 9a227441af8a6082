"""A way to a server that can be cut: `python -m tests.relay_process ADDRESS PORT TO_PORT` passes bytes on.

A server of a store that loses its data when it ends is not one that was killed and comes back. This process
stands before it, and is killed instead: clients see what they would see.
"""

import asyncio
import sys
from contextlib import suppress


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while content := await reader.read(65_536):
            writer.write(content)
            await writer.drain()
    writer.close()


async def _main(address: str, port: int, to_port: int) -> None:
    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", to_port)
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    server = await asyncio.start_server(passed_on, address, port, reuse_address=True)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201  # read by who starts it
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
