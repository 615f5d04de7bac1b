/**
 * Source address selector: finds the bus an address of its own, keeps an eye on it, and asks the one question that
 * takes.
 *
 * Does I/O: through the probe it is given.
 */
import type { Clock } from '../../core/clock.ts'
import type { Result } from '../../core/result.ts'
import type { Telegram } from '../wire/telegram.ts'
import type { EbusSendFault, EbusReply, SourceAddressState } from './ebus-connection.ts'
import type { SourceAddressSearch } from './source-address-search.ts'
import {
  newSourceAddressSearch,
  noteForeignTelegram,
  handleProbeVerdict,
  noteBusSignal,
  noteSignalLoss,
  nextSourceProbe,
  createProbeTelegram,
  toProbeVerdict,
} from './source-address-search.ts'

export interface SourceAddressSelectorOptions {
  readonly source: number | 'auto'
  readonly listenMs: number
  readonly clock: Clock
  readonly probe: (telegram: Telegram) => Promise<Result<EbusReply, EbusSendFault>>
  /** Told whenever the state has changed. */
  readonly onChange: (state: SourceAddressState, address: number | undefined) => void
}

export class SourceAddressSelector {
  readonly #options: SourceAddressSelectorOptions
  readonly #selection: SourceAddressSearch

  constructor(options: SourceAddressSelectorOptions) {
    this.#options = options
    this.#selection = newSourceAddressSearch(options.source, options.listenMs)
  }

  get state(): SourceAddressState {
    return this.#selection.state
  }

  /** The address to speak with; `undefined` as long as none is admitted. */
  get admitted(): number | undefined {
    return this.#selection.state === 'admitted' ? this.#selection.address : undefined
  }

  onSignal(): void {
    noteBusSignal(this.#selection, this.#options.clock.monotonic())
  }

  onSilence(): void {
    this.#watched(() => noteSignalLoss(this.#selection))
  }

  onForeign(telegram: Telegram): void {
    this.#watched(() => noteForeignTelegram(this.#selection, telegram, this.#options.clock.monotonic()))
  }

  /** Call periodically while the bus can be used. */
  tick(): void {
    const candidate = this.#watched(() => nextSourceProbe(this.#selection, this.#options.clock.monotonic()))
    if (candidate !== undefined) void this.#probe(candidate)
  }

  async #probe(candidate: number): Promise<void> {
    for (let next: number | undefined = candidate; next !== undefined;) {
      const probed = await this.#options.probe(createProbeTelegram(next))
      next = this.#watched(() =>
        handleProbeVerdict(this.#selection, toProbeVerdict(probed), this.#options.clock.monotonic()),
      )
    }
  }

  #watched<Value>(change: () => Value): Value {
    const before = this.#selection.state
    const value = change()
    if (this.#selection.state !== before) this.#options.onChange(this.#selection.state, this.admitted)
    return value
  }
}
