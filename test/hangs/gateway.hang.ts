import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { running } from '../pending-waits.ts'

/** Listens, takes a request, says so, and never answers. */
const SILENT = `
  const server = require('node:http').createServer((request) => process.stderr.write('asked for ' + request.url + '\\n'))
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

it('asks a gateway that never answers', async () => {
  const child = spawn(process.execPath, ['-e', SILENT])
  onTestFinished(() => void child.kill('SIGKILL'))
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  running.add({ name: 'the silent gateway', log: () => log })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  expect(await fetch(`http://127.0.0.1:${Number(port)}/mcp`, { method: 'POST' })).toBeDefined()
})
