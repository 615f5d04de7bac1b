/**
 * Enrol store: approved devices, the hashes of their tokens, and what was last known of each.
 *
 *   device_enrolled 1 ── n device_token      1 ── 1 device_memory
 *
 * Tokens are 256 bits of chance, so a plain SHA-256 hides them as well as anything slower would.
 *
 * Does I/O.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Database, Migrations } from '../../core/database-store.ts'
import type { FleetMemory } from '../session/fleet.ts'
import type { Remembered, Transport } from '../session/session.ts'
import type { EnrolledDevice } from './enrolment.ts'

export const devicesMigrations: Migrations = {
  room: 'devices',
  steps: [
    `CREATE TABLE device_enrolled (
       device_id TEXT PRIMARY KEY,
       client_id TEXT NOT NULL,
       state TEXT NOT NULL CHECK (state IN ('approved', 'revoked')),
       name TEXT NOT NULL,
       transport TEXT NOT NULL CHECK (transport IN ('websocket', 'mqtt', 'mqtt-broker')),
       board TEXT NOT NULL,
       firmware TEXT NOT NULL,
       generation INTEGER NOT NULL,
       approved_at_ms INTEGER NOT NULL,
       approved_by TEXT NOT NULL,
       booted_at_ms INTEGER
     ) STRICT;
     CREATE TABLE device_token (
       hash BLOB PRIMARY KEY,
       device_id TEXT NOT NULL REFERENCES device_enrolled ON DELETE CASCADE,
       sequence INTEGER NOT NULL,
       used INTEGER NOT NULL DEFAULT 0
     ) STRICT, WITHOUT ROWID;
     CREATE UNIQUE INDEX device_token_sequence ON device_token (device_id, sequence);
     CREATE TABLE device_memory (
       device_id TEXT PRIMARY KEY REFERENCES device_enrolled ON DELETE CASCADE,
       remembered TEXT NOT NULL
     ) STRICT`,
  ],
}

/** A device that boots again and again without connecting may use any of its last tokens, and no more are kept. */
const TOKENS_PER_DEVICE = 4

export class EnrolStore {
  readonly #database: Database
  /** Asked for everything that happens to a device, so they are compiled once. */
  readonly #device: StatementSync
  readonly #token: StatementSync

  constructor(database: Database) {
    this.#database = database
    this.#device = database.sql.prepare('SELECT * FROM device_enrolled WHERE device_id = ?')
    this.#token = database.sql.prepare('SELECT used FROM device_token WHERE hash = ? AND device_id = ?')
  }

  device(deviceId: string): EnrolledDevice | undefined {
    const row = this.#device.get(deviceId)
    return row === undefined ? undefined : readDevice(row)
  }

  devices(): readonly EnrolledDevice[] {
    return this.#database.sql.prepare('SELECT * FROM device_enrolled ORDER BY device_id').all().map(readDevice)
  }

  /** Whoever was at this address before: its tokens end, and what it could do is forgotten, in the same transaction. */
  approve(device: Omit<EnrolledDevice, 'generation'>): Promise<EnrolledDevice> {
    return this.#database.commit((sql) => {
      const row = sql
        .prepare(
          `INSERT INTO device_enrolled VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, NULL)
           ON CONFLICT (device_id) DO UPDATE SET client_id = excluded.client_id, state = excluded.state,
             name = excluded.name, transport = excluded.transport, board = excluded.board,
             firmware = excluded.firmware, generation = generation + 1,
             approved_at_ms = excluded.approved_at_ms, approved_by = excluded.approved_by, booted_at_ms = NULL
           RETURNING *`,
        )
        .get(
          device.deviceId,
          device.clientId,
          device.state,
          device.name,
          device.transport,
          device.board,
          device.firmware,
          device.approvedAtMs,
          device.approvedBy,
        )
      if (row === undefined) throw new Error('an insert returned no row')
      sql.prepare('DELETE FROM device_token WHERE device_id = ?').run(device.deviceId)
      sql.prepare('DELETE FROM device_memory WHERE device_id = ?').run(device.deviceId)
      return readDevice(row)
    })
  }

  /** Raises the generation and ends every token, together with the change of state if there is one. */
  voidCredentials(deviceId: string, state?: EnrolledDevice['state']): Promise<EnrolledDevice | undefined> {
    return this.#database.commit((sql) => {
      const row = sql
        .prepare(
          `UPDATE device_enrolled SET generation = generation + 1, state = coalesce(?, state)
           WHERE device_id = ? RETURNING *`,
        )
        .get(state ?? null, deviceId)
      sql.prepare('DELETE FROM device_token WHERE device_id = ?').run(deviceId)
      return row === undefined ? undefined : readDevice(row)
    })
  }

  remove(deviceId: string): Promise<void> {
    return this.#database.commit((sql) => {
      sql.prepare('DELETE FROM device_enrolled WHERE device_id = ?').run(deviceId)
    })
  }

  /** Notes a boot and the token handed out at it; `false` if the device lost its place since it was looked up. */
  boot(device: EnrolledDevice, atMs: number, tokenHash: Uint8Array | undefined): Promise<boolean> {
    const { deviceId, generation, board, firmware } = device
    return this.#database.commit((sql) => {
      const { changes } = sql
        .prepare(
          `UPDATE device_enrolled SET board = ?, firmware = ?, booted_at_ms = ?
           WHERE device_id = ? AND generation = ? AND state = 'approved'`,
        )
        .run(board, firmware, atMs, deviceId, generation)
      if (Number(changes) === 1 && tokenHash !== undefined) addToken(sql, deviceId, tokenHash)
      return Number(changes) === 1
    })
  }

  hasToken(deviceId: string, hash: Uint8Array): 'unused' | 'used' | undefined {
    const row = this.#token.get(hash, deviceId)
    if (row === undefined) return undefined
    return row['used'] === 1 ? 'used' : 'unused'
  }

  /** The first use of a token ends the ones before it. */
  useToken(deviceId: string, hash: Uint8Array): Promise<void> {
    return this.#database.commit((sql) => {
      sql.prepare('UPDATE device_token SET used = 1 WHERE hash = ? AND device_id = ?').run(hash, deviceId)
      sql
        .prepare(
          `DELETE FROM device_token WHERE device_id = ?1 AND sequence <
             (SELECT sequence FROM device_token WHERE hash = ?2)`,
        )
        .run(deviceId, hash)
    })
  }

  /** What the fleet forgets when the program ends. Losing the last of it costs a device one listing. */
  memory(onError: (error: unknown) => void): FleetMemory {
    return {
      recall: () =>
        this.#database.sql
          .prepare(
            `SELECT device_id, transport, remembered FROM device_enrolled LEFT JOIN device_memory USING (device_id)
             WHERE state = 'approved' ORDER BY device_id`,
          )
          .all()
          .map((row) => ({
            deviceId: String(row['device_id']),
            remembered: readMemory(row['remembered'], String(row['transport']) as Transport),
          })),
      remember: (deviceId, remembered) => {
        this.#database
          .commit((sql) => {
            sql
              .prepare(
                `INSERT INTO device_memory SELECT ?1, ?2 WHERE EXISTS
                   (SELECT 1 FROM device_enrolled WHERE device_id = ?1)
                 ON CONFLICT (device_id) DO UPDATE SET remembered = excluded.remembered`,
              )
              .run(deviceId, JSON.stringify(remembered))
          })
          .catch(onError)
      },
    }
  }
}

function addToken(sql: DatabaseSync, deviceId: string, hash: Uint8Array): void {
  sql
    .prepare(
      `INSERT INTO device_token (hash, device_id, sequence)
       SELECT ?1, ?2, coalesce(max(sequence), 0) + 1 FROM device_token WHERE device_id = ?2`,
    )
    .run(hash, deviceId)
  // The one in use is kept even if it is old: the device may not have stored a newer one.
  sql
    .prepare(
      `DELETE FROM device_token WHERE device_id = ?1 AND used = 0 AND sequence <=
         (SELECT max(sequence) FROM device_token WHERE device_id = ?1) - ?2`,
    )
    .run(deviceId, TOKENS_PER_DEVICE)
}

function readDevice(row: Readonly<Record<string, unknown>>): EnrolledDevice {
  const bootedAtMs = row['booted_at_ms']
  return {
    deviceId: String(row['device_id']),
    clientId: String(row['client_id']),
    state: row['state'] === 'approved' ? 'approved' : 'revoked',
    name: String(row['name']),
    transport: String(row['transport']) as Transport,
    board: String(row['board']),
    firmware: String(row['firmware']),
    generation: Number(row['generation']),
    approvedAtMs: Number(row['approved_at_ms']),
    approvedBy: String(row['approved_by']),
    bootedAtMs: bootedAtMs === null ? undefined : Number(bootedAtMs),
  }
}

function readMemory(text: unknown, transport: Transport): Remembered {
  if (typeof text !== 'string') return { transport, info: undefined, tools: [] }
  const { info, tools } = JSON.parse(text) as Remembered
  return { transport, info, tools }
}
