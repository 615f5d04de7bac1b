/**
 * ebusd text client: a reconnecting connection that carries lines of limited length.
 */
import { toUtf8 } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import { limitReceivedByteRate } from './rate-limited-transport.ts'
import type { ReconnectingConnectionOptions } from './reconnecting-connection-client.ts'
import { ReconnectingConnection } from './reconnecting-connection-client.ts'
import type { ByteConnection } from './transport.ts'

export interface EbusdLineConnectionOptions extends Omit<ReconnectingConnectionOptions, 'serve'> {
  readonly clock: Clock
  readonly onUp: () => void
  readonly onLine: (line: string) => void
}

const MAX_LINE = 65_536

export class EbusdLineConnection extends ReconnectingConnection {
  constructor(options: EbusdLineConnectionOptions) {
    super({ ...options, serve: (connection) => serveLines(connection, options) })
  }

  writeLine(line: string): void {
    this.write(toUtf8(`${line}\n`))
  }
}

async function serveLines(
  connection: ByteConnection,
  { clock, onUp, onLine }: EbusdLineConnectionOptions,
): Promise<boolean> {
  let unread = ''
  let hasReceived = false
  onUp()
  for await (const bytes of limitReceivedByteRate(connection.received, clock)) {
    hasReceived = true
    unread += Buffer.from(bytes).toString('latin1')
    const lines = unread.split('\n')
    unread = lines.pop() ?? ''
    if (unread.length > MAX_LINE) connection.close()
    for (const line of lines) onLine(line.replace(/\r$/, ''))
  }
  return hasReceived
}
