/**
 * Device class override store: the owner's corrections of wrongly classed devices. Corrections made at the console are
 * in the log and take precedence over the configuration file, which is older or was written by hand.
 */
import type { HomeseerConfig } from '../../config/homeseer.ts'
import type { Database } from '../../core/database-store.ts'
import type { ProjectionLogWriter } from '../../ledger/projection-log.ts'
import { homeseerProjection } from '../homeseer-state.ts'
import type { HomeseerProjectionState } from '../homeseer-state.ts'
import type { DeviceKind } from './device-classification.ts'

export class DeviceClassOverrideStore {
  readonly #database: Database
  readonly #log: ProjectionLogWriter
  readonly #state: HomeseerProjectionState
  readonly #configured: ReadonlyMap<number, DeviceKind>
  #known: { readonly version: number; readonly kinds: ReadonlyMap<number, DeviceKind> }

  constructor(database: Database, log: ProjectionLogWriter, { classes }: Pick<HomeseerConfig, 'classes'>) {
    this.#database = database
    this.#log = log
    this.#state = log.projections.state(homeseerProjection)
    this.#configured = new Map(Object.entries(classes).map(([ref, kind]) => [Number(ref), kind]))
    this.#known = this.#read()
  }

  /** Returns the same map as long as nothing was corrected. */
  get kinds(): ReadonlyMap<number, DeviceKind> {
    if (this.#known.version !== this.#state.classes.version) this.#known = this.#read()
    return this.#known.kinds
  }

  /** Corrects a device's class; `undefined` withdraws the correction, so that the configuration applies again. */
  async correct(ref: number, kind: DeviceKind | undefined, by: string): Promise<void> {
    await this.#database.commit(() => {
      if (kind !== undefined) this.#log.appendIn({ kind: 'class.corrected', ref, class: kind, by })
      else if (this.#state.classes.has(String(ref))) this.#log.appendIn({ kind: 'class.withdrawn', ref, by })
    })
  }

  #read(): { readonly version: number; readonly kinds: ReadonlyMap<number, DeviceKind> } {
    const { classes } = this.#state
    const overrides = [...classes.values()].map(({ ref, kind }) => [ref, kind] as const)
    return { version: classes.version, kinds: new Map([...this.#configured, ...overrides]) }
  }
}
