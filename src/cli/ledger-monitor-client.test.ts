import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHttpPublishedFileReader } from './ledger-monitor-client.ts'

let server: Server
let isCutOff: Promise<unknown>

beforeEach(async () => {
  const cutOff = Promise.withResolvers<unknown>()
  isCutOff = cutOff.promise
  server = createServer((request, response) => {
    if (request.url === '/log/checkpoint') return response.end('a checkpoint')
    if (request.url !== '/log/tile/0/000') return response.writeHead(404).end()
    response.on('close', () => cutOff.resolve(undefined))
    // Without an end: whatever the reader takes is followed by more.
    const send = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(1_048_576)));
    }
    response.on('drain', send)
    return send()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

it('the ledger monitor reads a published file, detects a missing one, and aborts an endless one', async () => {
  const read = createHttpPublishedFileReader(`http://127.0.0.1:${(server.address() as AddressInfo).port}/log`)
  expect(Buffer.from((await read('checkpoint')) ?? []).toString()).toBe('a checkpoint')
  expect(await read('tile/0/001')).toBeUndefined()
  await expect(read('tile/0/000')).rejects.toThrow('larger than a published file can be')
  await isCutOff
})
