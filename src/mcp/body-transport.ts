/**
 * Body: a request's bytes, read up to a limit and not one beyond it.
 *
 * Does I/O.
 */
import type { IncomingMessage } from 'node:http'

/** `too-large` as soon as it is known: from the length that was announced, or from what has come so far. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too-large' | 'cut-off'> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve('too-large')
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) {
        request.removeAllListeners('data').pause()
        resolve('too-large')
      } else chunks.push(chunk)
    })
    request.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    )
    request.once('error', () => resolve('cut-off'))
    request.once('close', () => resolve('cut-off'))
  })
}
