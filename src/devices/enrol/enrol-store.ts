/**
 * Enrol store: approved devices and the hashes of their tokens, computed from the log; and the last known tools of each
 * device, which decide nothing.
 *
 * Tokens have 256 random bits, so a plain SHA-256 protects them as well as a slow hash would.
 */
import type { StatementSync } from 'node:sqlite'
import { z } from 'zod'
import { toHex } from '../../core/bytes.ts'
import type { Database, ModuleMigrations } from '../../core/database-store.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import type { LedgerEvent } from '../../ledger/entry.ts'
import { readErasableText, readEntryBodyFields } from '../../ledger/projection-log.ts'
import type { ProjectionLogWriter } from '../../ledger/projection-log.ts'
import type { RememberedDeviceStore } from '../session/fleet.ts'
import type { RememberedDevice, DeviceTransport } from '../session/session.ts'
import { deviceProjection } from './enrolled-device-state.ts'
import type { EnrolledDeviceRecord, DeviceProjectionState } from './enrolled-device-state.ts'
import type { EnrolledDevice } from './enrolment.ts'

export const rememberedDevicesMigrations: ModuleMigrations = {
  module: 'devices',
  steps: ['CREATE TABLE device_memory (device_id TEXT PRIMARY KEY, remembered TEXT NOT NULL) STRICT'],
}

export class EnrolStore {
  readonly #database: Database
  readonly #log: ProjectionLogWriter
  readonly #state: DeviceProjectionState
  readonly #forget: StatementSync
  readonly #unpin: StatementSync
  readonly #remember: StatementSync

  constructor(database: Database, log: ProjectionLogWriter) {
    this.#database = database
    this.#log = log
    this.#state = log.projections.state(deviceProjection)
    // Prepared once, because only the garbage collector frees a statement's memory.
    this.#forget = database.sql.prepare('DELETE FROM device_memory WHERE device_id = ?')
    this.#unpin = database.sql.prepare('DELETE FROM device_pin WHERE device_id = ?')
    this.#remember = database.sql.prepare('INSERT OR REPLACE INTO device_memory VALUES (?, ?)')
  }

  device(deviceId: string): EnrolledDevice | undefined {
    const record = this.#state.devices.get(deviceId)
    return record && this.#withWords(record)
  }

  devices(): readonly EnrolledDevice[] {
    return [...this.#state.devices.values()]
      .toSorted((left, right) => (left.deviceId < right.deviceId ? -1 : 1))
      .map((record) => this.#withWords(record))
  }

  /**
   * Approves a device. In the same transaction, the tokens of the device that had this address before end, and its
   * tools are forgotten.
   */
  approve(
    device: Omit<EnrolledDevice, 'generation' | 'approvedAtMs' | 'bootedAtMs' | 'state'>,
  ): Promise<EnrolledDevice> {
    const { deviceId, clientId, transport, approvedBy, name, board, firmware } = device
    return this.#database.commit(() => {
      const event = { kind: 'device.approved', device_id: deviceId, client_id: clientId, transport, by: approvedBy }
      this.#log.appendIn(event, {
        name: name.toWellFormed(),
        board: board.toWellFormed(),
        firmware: firmware.toWellFormed(),
      })
      this.#forget.run(deviceId)
      return this.#recorded(deviceId)
    })
  }

  /** Raises the generation and ends every token, together with a change of state if one is given. */
  voidCredentials(deviceId: string, by: string, state?: 'revoked'): Promise<EnrolledDevice | undefined> {
    return this.#database.commit(() => {
      if (!this.#state.devices.has(deviceId)) return undefined
      this.#log.appendIn(this.#about(deviceId, state === 'revoked' ? 'device.revoked' : 'device.rotated', by))
      return this.#recorded(deviceId)
    })
  }

  /** In one transaction: a definition whose device the log does not know any more is a finding of every verification. */
  remove(deviceId: string, by: string): Promise<void> {
    return this.#database.commit(() => {
      if (!this.#state.devices.has(deviceId)) return
      this.#log.appendIn(this.#about(deviceId, 'device.forgotten', by))
      this.#forget.run(deviceId)
      this.#unpin.run(deviceId)
    })
  }

  /** Records a boot and the token issued at it; `false` if the device lost its enrolment since it was looked up. */
  boot(device: EnrolledDevice, tokenHash: Uint8Array | undefined): Promise<boolean> {
    const { deviceId, generation, board, firmware } = device
    return this.#database.commit(() => {
      const known = this.#state.devices.get(deviceId)
      if (known?.state !== 'approved' || known.generation !== generation) return false
      const token = tokenHash === undefined ? {} : { token_hash: toHex(tokenHash) }
      const event = { kind: 'device.booted', device_id: deviceId, generation, ...token }
      this.#log.appendIn(event, { board: board.toWellFormed(), firmware: firmware.toWellFormed() })
      return true
    })
  }

  hasToken(deviceId: string, hash: Uint8Array): 'unused' | 'used' | undefined {
    const wanted = toHex(hash)
    const token = this.#state.devices.get(deviceId)?.tokens.find((issued) => issued.hash === wanted)
    if (token === undefined) return undefined
    return token.isUsed ? 'used' : 'unused'
  }

  /** The first use of a token invalidates the tokens issued before it. */
  useToken(deviceId: string, hash: Uint8Array): Promise<void> {
    return this.#database.commit(() => {
      // Two connections may present one token before the first of them is recorded.
      if (this.hasToken(deviceId, hash) === 'unused')
        this.#log.appendIn({ kind: 'device.token-used', device_id: deviceId, token_hash: toHex(hash) })
    })
  }

  /** Stores what the fleet would forget at a restart. Losing the latest part of it costs a device one listing. */
  memory(onError: (error: unknown) => void): RememberedDeviceStore {
    const select = this.#database.sql.prepare('SELECT remembered FROM device_memory WHERE device_id = ?')
    return {
      recall: () =>
        this.devices()
          .filter(({ state }) => state === 'approved')
          .map(({ deviceId, transport }) => ({
            deviceId,
            remembered: readMemory(select.get(deviceId)?.['remembered'], transport),
          })),
      remember: (deviceId, remembered) => {
        this.#database
          .commit(() => {
            if (this.#state.devices.has(deviceId)) this.#remember.run(deviceId, JSON.stringify(remembered))
          })
          .catch(onError)
      },
    }
  }

  #about(deviceId: string, kind: string, by: string): LedgerEvent {
    return { kind, device: this.#state.labels.get(deviceId)?.slug, device_id: deviceId, by }
  }

  #recorded(deviceId: string): EnrolledDevice {
    const device = this.device(deviceId)
    if (device === undefined) throw new Error('a device was recorded and is not there')
    return device
  }

  #withWords(record: EnrolledDeviceRecord): EnrolledDevice {
    const { approvedSeq, bootedSeq, tokens: _, ...device } = record
    const approved = readEntryBodyFields(this.#log, approvedSeq)
    // The firmware may have changed since the device was approved, so the newest boot is read.
    const newest = readEntryBodyFields(this.#log, bootedSeq) ?? approved
    const name = readErasableText(approved, 'name')
    return { ...device, name, board: readErasableText(newest, 'board'), firmware: readErasableText(newest, 'firmware') }
  }
}

/** Data that cannot be read is dropped, and the device lists its tools again. Another program may have written it. */
function readMemory(text: unknown, transport: DeviceTransport): RememberedDevice {
  const value = typeof text === 'string' ? parseJsonOrUndefined(text) : undefined
  const read = rememberedShape.safeParse(value)
  return { transport, info: undefined, tools: [], ...(read.success ? read.data : {}) }
}

/** More tools than a device may list. */
const MAX_REMEMBERED_TOOLS = 4_096

const rememberedShape = z.object({
  info: z.object({ name: z.string(), version: z.string() }).optional(),
  tools: z
    .array(
      z.object({
        name: z.string().min(1),
        description: z.string(),
        inputSchema: z.custom<JsonObject>((schema) => isJsonObject(schema)),
        userOnly: z.boolean(),
      }),
    )
    .max(MAX_REMEMBERED_TOOLS),
})
