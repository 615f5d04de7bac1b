import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { startListening } from './listen-server.ts'

const HOST = '127.0.0.1'
const open: Server[] = []

afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

function server(): Server {
  const made = createServer((socket) => socket.end())
  open.push(made)
  return made
}

async function isReached(port: number): Promise<boolean> {
  const socket = connect(port, HOST)
  await once(socket, 'connect')
  return socket.destroy().destroyed
}

describe('listening on a port', () => {
  it('resolves to the port that was assigned', async () => {
    const port = await startListening(server(), { host: HOST, port: 0 })
    expect(await isReached(port)).toBe(true)
  })

  it('rejects with the system error for a port that is in use', async () => {
    const port = await startListening(server(), { host: HOST, port: 0 })
    await expect(startListening(server(), { host: HOST, port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  it('continues after an accept error', async () => {
    const busy = server()
    const port = await startListening(busy, { host: HOST, port: 0 })
    // What Node says when the system has no room for another connection.
    busy.emit('error', Object.assign(new Error('accept ENFILE'), { code: 'ENFILE' }))
    expect(await isReached(port)).toBe(true)
  })
})
