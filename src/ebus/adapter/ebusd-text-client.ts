/**
 * ebusd text client: a reconnecting connection that carries lines of limited length.
 */
import { toUtf8 } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import { paceBytes } from './paced-transport.ts'
import type { ReconnectingConnectionOptions } from './reconnecting-connection-client.ts'
import { ReconnectingConnection } from './reconnecting-connection-client.ts'
import type { ByteConnection } from './transport.ts'

export interface EbusdTextClientOptions extends Omit<ReconnectingConnectionOptions, 'serve'> {
  readonly clock: Clock
  readonly onUp: () => void
  readonly onLine: (line: string) => void
}

const MAX_LINE = 65_536

export class EbusdTextClient {
  readonly #options: EbusdTextClientOptions
  readonly #connection: ReconnectingConnection

  constructor(options: EbusdTextClientOptions) {
    this.#options = options
    this.#connection = new ReconnectingConnection({ ...options, serve: (connection) => this.#serve(connection) })
  }

  get connected(): boolean {
    return this.#connection.connected
  }

  get refusal(): string | undefined {
    return this.#connection.refusal
  }

  get reconnects(): number {
    return this.#connection.reconnects
  }

  write(line: string): void {
    this.#connection.write(toUtf8(`${line}\n`))
  }

  drop(): void {
    this.#connection.drop()
  }

  async close(): Promise<void> {
    await this.#connection.close()
  }

  async #serve(connection: ByteConnection): Promise<boolean> {
    let unread = ''
    let heard = false
    this.#options.onUp()
    for await (const bytes of paceBytes(connection.received, this.#options.clock)) {
      heard = true
      unread += Buffer.from(bytes).toString('latin1')
      const lines = unread.split('\n')
      unread = lines.pop() ?? ''
      if (unread.length > MAX_LINE) connection.close()
      for (const line of lines) this.#options.onLine(line.replace(/\r$/, ''))
    }
    return heard
  }
}
