import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { listenLocally } from '../../../test/local-port.ts'
import { downloadImageAndCountBytes, uploadSnapshot } from './screen-image-client.ts'

async function at<Value>(answer: RequestListener, use: (url: string) => Promise<Value>): Promise<Value> {
  const server = createServer(answer)
  const port = await listenLocally(server)
  try {
    return await use(`http://127.0.0.1:${port}/`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('a simulated screen', () => {
  it('shows an image only if it has a content length', async () => {
    expect(
      await at(
        (_, response) => response.writeHead(200, { 'content-length': 3 }).end('abc'),
        downloadImageAndCountBytes,
      ),
    ).toBe(3)
    const unannounced: RequestListener = (_, response) => {
      response.write('a')
      response.end('b')
    }
    expect(await at(unannounced, downloadImageAndCountBytes)).toBeUndefined()
    expect(await at((_, response) => response.writeHead(404).end(), downloadImageAndCountBytes)).toBeUndefined()
    const cut: RequestListener = (_, response) => {
      response.writeHead(200, { 'content-length': 3 }).write('a', () => response.destroy())
    }
    expect(await at(cut, downloadImageAndCountBytes)).toBeUndefined()
    expect(await downloadImageAndCountBytes('no address')).toBeUndefined()
  })

  it('reports whether its snapshot was accepted', async () => {
    const upload = (url: string): Promise<boolean> => uploadSnapshot(url, new Uint8Array([1]))
    expect(await at((request, response) => void request.resume().on('end', () => response.end()), upload)).toBe(true)
    expect(await at((_, response) => response.writeHead(500).end(), upload)).toBe(false)
    expect(await upload('no address')).toBe(false)
  })
})
