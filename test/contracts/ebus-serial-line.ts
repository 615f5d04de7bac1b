/** Serial line: a pseudo-terminal whose far end is a TCP port, so that the serial driver itself is exercised. */
import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'

const BRIDGE = `
import os, pty, select, socket, sys, tty
near, far = pty.openpty()
tty.setraw(near); tty.setraw(far)
link = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print(os.ttyname(far), flush=True)
while True:
    ready, _, _ = select.select([near, link], [], [])
    for side in ready:
        data = os.read(near, 4096) if side is near else link.recv(4096)
        if not data: sys.exit(0)
        if side is near: link.sendall(data)
        else: os.write(near, data)
`

/** Whether this machine can make one; says so loudly when it cannot. */
export function hasSerialLine(): boolean {
  const can = process.platform === 'linux' && spawnSync('python3', ['-c', 'import pty']).status === 0
  if (!can) process.stderr.write('\nNOT RUN: no python3 with pty here, so the serial transport was not tried.\n\n')
  return can
}

export async function serialLine(port: number): Promise<{ readonly path: string; readonly close: () => void }> {
  const bridge: ChildProcess = spawn('python3', ['-c', BRIDGE, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  if (bridge.stdout === null) throw new Error('no output to read the name of the line from')
  const lines = createInterface(bridge.stdout)
  const path = await new Promise<string>((resolve) => lines.once('line', resolve))
  return { path, close: () => void bridge.kill() }
}
