import { createServer } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { listenLocally } from '../../test/local-port.ts'
import { createResponsesByPrincipal } from './http-server.ts'

const stops: (() => void)[] = []
afterEach(() => stops.splice(0).forEach((stop) => stop()))

describe('responses by principal', () => {
  it('are destroyed for one principal, also while its request body is still arriving', async () => {
    const openResponses = createResponsesByPrincipal()
    const server = createServer((request, response) => {
      openResponses.enter(request.url ?? '', response)
      response.writeHead(200).flushHeaders()
      if (request.url === '/brief') response.end()
    })
    stops.push(
      () => server.closeAllConnections(),
      () => server.close(),
    )
    const url = `http://127.0.0.1:${await listenLocally(server)}`
    await (await fetch(`${url}/brief`)).text()
    const body = new ReadableStream({ start: (sender) => sender.enqueue(new Uint8Array([123])) })
    const speaking = await fetch(`${url}/gone`, { method: 'POST', body, duplex: 'half' })
    const [listening, spared] = await Promise.all([fetch(`${url}/gone`), fetch(`${url}/spared`)])
    openResponses.destroyAll('/brief')
    openResponses.destroyAll('/gone')
    openResponses.destroyAll('/never')
    await expect(speaking.text()).rejects.toThrow('terminated')
    await expect(listening.text()).rejects.toThrow('terminated')
    const ended = spared.text().then(
      () => 'ended',
      () => 'cut off',
    )
    expect(await Promise.race([ended, fetch(`${url}/brief`).then(() => 'still there')])).toBe('still there')
  })
})
