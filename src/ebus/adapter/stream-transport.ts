/**
 * Stream transport: what TCP and serial connections share, since both are Node streams.
 */
import type { Duplex } from 'node:stream'

import type { ByteConnection } from './transport.ts'

/** An adapter that does not read counts as gone. */
const MAX_UNSENT_BYTES = 65_536

export function createStreamConnection(stream: Duplex): ByteConnection {
  let reason = 'the adapter closed the connection'
  stream.on('error', (error) => {
    reason = error.message
  })
  // A serial port that is pulled out closes without being destroyed, and would be waited for endlessly.
  stream.once('close', () => stream.destroy())
  return {
    received: chunks(stream),
    write(bytes) {
      if (stream.destroyed || !stream.writable) return
      if (stream.writableLength <= MAX_UNSENT_BYTES) stream.write(bytes)
      else stream.destroy(new Error('the adapter does not read what is written to it'))
    },
    close() {
      if (!stream.destroyed) reason = 'closed by us'
      stream.destroy()
    },
    endReason: () => reason,
  }
}

async function* chunks(stream: Duplex): AsyncGenerator<Uint8Array> {
  try {
    // Iterating a stream also slows its sender down while nobody takes the data.
    for await (const chunk of stream) yield chunk as Uint8Array
  } catch {
    // The error event has the reason; for the consumer the connection simply ends.
  } finally {
    stream.destroy()
  }
}
