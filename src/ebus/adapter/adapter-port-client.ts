/**
 * Adapter port client: a lasting connection to an adapter, translated between its bytes and port events.
 */
import type { Clock } from '../../core/clock.ts'
import type { AdapterInfoId } from './adapter-info.ts'
import { limitReceivedByteRate } from './rate-limited-transport.ts'
import { ReconnectingConnection } from './reconnecting-connection-client.ts'
import type { ReconnectingConnectionOptions } from './reconnecting-connection-client.ts'
import type { AdapterPortEvent, AdapterPortOutput, AdapterPortProtocol } from './adapter-port.ts'
import type { ByteConnection } from './transport.ts'

export interface AdapterPortClientOptions extends Omit<ReconnectingConnectionOptions, 'serve'> {
  readonly newProtocol: () => AdapterPortProtocol
  readonly clock: Clock
  readonly onUp: () => void
  readonly onEvent: (event: AdapterPortEvent) => void
}

export class AdapterPortClient extends ReconnectingConnection {
  readonly #options: AdapterPortClientOptions
  #protocol: AdapterPortProtocol | undefined

  constructor(options: AdapterPortClientOptions) {
    super({ ...options, serve: (connection) => this.#serve(connection) })
    this.#options = options
  }

  override get connected(): boolean {
    return this.#protocol !== undefined
  }

  start(address: number): void {
    this.#write(this.#protocol?.start(address))
  }

  cancelStart(): void {
    this.#write(this.#protocol?.cancelStart())
  }

  send(symbol: number): void {
    this.#write(this.#protocol?.send(symbol))
  }

  requestInfo(id: AdapterInfoId): void {
    this.#write(this.#protocol?.requestInfo(id, this.#options.clock.monotonic()))
  }

  tick(): void {
    if (this.#protocol !== undefined) this.#take(this.#protocol.tick(this.#options.clock.monotonic()))
  }

  async #serve(connection: ByteConnection): Promise<boolean> {
    const { clock, newProtocol, onUp } = this.#options
    const protocol = newProtocol()
    let hasReceived = false
    this.#protocol = protocol
    onUp()
    this.#take(protocol.opened(clock.monotonic()))
    for await (const bytes of limitReceivedByteRate(connection.received, clock)) {
      hasReceived = true
      this.#take(protocol.read(bytes, clock.monotonic()))
    }
    this.#protocol = undefined
    return hasReceived
  }

  #take({ events, bytes }: AdapterPortOutput): void {
    // Written first: on a plain adapter these bytes are an address that has 289 µs.
    this.#write(bytes)
    for (const event of events) this.#options.onEvent(event)
  }

  #write(bytes: Uint8Array | undefined): void {
    if (bytes !== undefined && bytes.length > 0) this.write(bytes)
  }
}
