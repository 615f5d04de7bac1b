/**
 * Ledger pin: what this node signed last, kept outside of its data directory, so that a person who can write only there
 * can neither cut the log back to an earlier state nor replace key and history.
 *
 *   { "data": "/var/lib/hearthbus", "vkey": "hearthbus.local/attic+…", "size": 4711, "root": "…" }
 *
 * It is updated after signatures, at most every few seconds, and at a stop; also after signatures that could not be
 * stored in the data directory. Only a start and a stop wait for it. It is never ahead of the log: a tree is on the disk
 * before it is signed.
 *
 * Beside it, one line has the size of the log after the newest group, written in place before the group's callers are
 * answered:
 *
 *   <boot id> <hash of the vkey> <size, 16 digits>
 *
 * It needs no root: what is in the log is authenticated with the node's key. It is not synced. It shows what was cut off
 * after the process was killed. After a restart of the machine it does not count: a disk that loses what it has confirmed would otherwise leave a log that is behind this line.
 *
 * A data directory that is reached through a link has two of these files: one for the path that its owner names, since
 * a link to another directory can be put there, and one for the path where it is, which every link leads to.
 *
 * Reads and writes these files.
 */
import { hash } from 'node:crypto'
import { closeSync, constants, openSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { fromBase64, toBase64 } from '../core/bytes.ts'
import { readBoundedFile } from '../core/bounded-file-store.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { isJsonObject, parseStrictJsonBytes } from '../core/json.ts'
import { readErrorMessage, readSystemErrorCode } from '../core/thrown-error.ts'
import { readFileIfPresent, writeFileAtomically } from './atomic-file-store.ts'
import { parseVerifierKey } from './note-key.ts'
import type { NoteVerifier } from './note-key.ts'
import { HASH_BYTES } from './tree.ts'

export interface LedgerPin {
  /** The node's public key, with the name of its log. */
  readonly vkey: string
  readonly size: number
  readonly root: Uint8Array
  /** The size after the newest group, where it is known to be larger. */
  readonly newestSize?: number
}

/** How many entries the log must have. */
export function leastLogSize({ size, newestSize = 0 }: LedgerPin): number {
  return Math.max(size, newestSize)
}

/** The paths of the pins: one by the path that the owner names, and one by the path without links where that differs. */
export function listPinPaths(folder: string, dataRoot: string): readonly string[] {
  return [...new Set([resolve(dataRoot), resolveRealPath(dataRoot)])].map((path) =>
    join(folder, `${hash('sha256', path).slice(0, NAME_LENGTH)}.json`),
  )
}

const NAME_LENGTH = 32
const MODE = 0o600
const MAX_PIN_BYTES = 65_536
const WRITE_INTERVAL_MS = 5_000
const PATIENCE_MS = 5_000
/** The line of the newest group. Fits into one sector, so that it is never half written. */
const NEWEST_LINE = /^(\S+) ([0-9a-f]{32}) ([0-9]{16})\n/
const MAX_LINE_BYTES = 512
const IMPOSSIBLE_PLACE: ReadonlySet<string | undefined> = new Set(['ENOTDIR', 'EACCES', 'EPERM'])

/** Whether this user cannot have a file there. */
export function isImpossiblePinPlace(error: unknown): boolean {
  return IMPOSSIBLE_PLACE.has(readSystemErrorCode(error))
}

export interface PinnedKey {
  readonly path: string
  /** `undefined` where the file contains no key; no signature is valid then. */
  readonly key: NoteVerifier | undefined
}

/**
 * The key in the first of these files, which is the one that a start compares with. `undefined` where there is none, or
 * where this user may not look.
 */
export function readPinnedKey(paths: readonly string[]): PinnedKey | undefined {
  for (const path of paths) {
    try {
      const key = parseVerifierKey(parsePin(readBoundedFile(path, MAX_PIN_BYTES)).vkey)
      return { path, key: key.ok ? key.value : undefined }
    } catch (error) {
      if (readSystemErrorCode(error) !== 'ENOENT' && !isImpossiblePinPlace(error)) return { path, key: undefined }
    }
  }
  return undefined
}

export class LedgerPinFile {
  /** The file that `pin` was read from, or the first of those that are to be made. */
  path: string
  readonly #paths: readonly string[]
  readonly #dataRoot: string
  #pin: LedgerPin | undefined
  #unreadable: string | undefined
  #next: LedgerPin | undefined
  #timer: NodeJS.Timeout | undefined
  #writtenMs = -Infinity
  #turn: Promise<void> = Promise.resolve()
  #trouble: string | undefined
  /** The open files that take the line of the newest group; none until the pin is written. */
  readonly newestSizeFiles: number[] = []
  #isClosed = false

  private constructor(paths: readonly string[], dataRoot: string) {
    this.#paths = paths
    this.path = paths[0] ?? ''
    // Resolved once, because the directory may be gone later.
    this.#dataRoot = resolveRealPath(dataRoot)
  }

  /** Opens the files in any case; `unreadable` says whether one of them contains no pin. */
  static async open(paths: readonly string[], dataRoot: string): Promise<LedgerPinFile> {
    const file = new LedgerPinFile(paths, dataRoot)
    for (const path of paths) await file.#read(path)
    return file
  }

  async #read(path: string): Promise<void> {
    if (this.#unreadable !== undefined) return
    try {
      const bytes = await readFileIfPresent(path, MAX_PIN_BYTES)
      const stored = bytes && parsePin(bytes)
      const pin = stored && withNewestSize(stored, path)
      // The path that the owner names comes first: another directory behind it has another key, or is behind its pin.
      const isNewer =
        this.#pin === undefined || (pin?.vkey === this.#pin.vkey && leastLogSize(pin) > leastLogSize(this.#pin))
      if (pin === undefined || !isNewer) return
      this.#pin = pin
      this.path = path
    } catch (error) {
      // Where this user cannot have such a file, for example a service without a home folder, there is no pin; the
      // attempt to write one reports that.
      if (isImpossiblePinPlace(error)) return
      this.#unreadable = readErrorMessage(error)
      this.path = path
    }
  }

  /** The pin as it was read or last written; `undefined` if there was none. */
  get pin(): LedgerPin | undefined {
    return this.#pin
  }

  /** Why the file's content is not a pin. */
  get unreadable(): string | undefined {
    return this.#unreadable
  }

  /** Why the pin does not vouch for the newest state; `undefined` while it does. */
  get trouble(): string | undefined {
    const isInside = this.path.startsWith(`${this.#dataRoot}${sep}`)
    return this.#trouble ?? (isInside ? 'it is inside of that directory' : undefined)
  }

  /** Newest sizes are written from now on, where the pin is the one of this log. */
  resume(): void {
    if (this.#pin === undefined) return
    try {
      this.#openNewestSizeFiles(0)
    } catch {
      // The next write of the pin reports it.
      this.#closeNewestSizeFiles()
    }
  }

  /** Writes no more newest sizes until the pin is written again. */
  stopNewestSizes(reason: string): void {
    this.#trouble = reason
    this.#closeNewestSizeFiles()
  }

  close(): void {
    this.#isClosed = true
    this.#closeNewestSizeFiles()
  }

  #closeNewestSizeFiles(): void {
    for (const file of this.newestSizeFiles.splice(0)) closeSync(file)
  }

  /**
   * Forgets the pin, for a person who continues with another history. The file stays until the next signature replaces
   * it.
   */
  forget(): void {
    this.#pin = undefined
  }

  /** Writes the pin soon. A tree that is smaller than the pinned one is ignored. */
  update(pin: LedgerPin): void {
    if (this.#unreadable !== undefined) return
    const known = this.#next ?? this.#pin
    if (known !== undefined && known.size > pin.size) return
    if (known?.size === pin.size && this.#trouble === undefined) return
    this.#next = pin
    if (this.#timer !== undefined) return
    const waitMs = Math.max(0, this.#writtenMs + WRITE_INTERVAL_MS - performance.now())
    this.#timer = setTimeout(() => void this.flush(), waitMs).unref()
  }

  /**
   * Resolves when the newest state is written, or could not be written; does not wait for a disk that does not answer.
   */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#turn = this.#turn.then(() => this.#write())
    let patience: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolveLate) => {
      patience = setTimeout(resolveLate, PATIENCE_MS)
    })
    await Promise.race([this.#turn, late])
    clearTimeout(patience)
  }

  async #write(): Promise<void> {
    const pin = this.#next
    if (pin === undefined) return
    this.#writtenMs = performance.now()
    try {
      await this.#replace(formatPin(pin, this.#dataRoot))
      this.#pin = pin
      if (this.#next === pin) this.#next = undefined
      this.#trouble = undefined
    } catch (error) {
      this.#trouble = readErrorMessage(error)
    }
  }

  async #replace(content: string): Promise<void> {
    for (const path of this.#paths) await writePinFile(path, content)
    // Where there was no pin, a line that is there is older than what its owner did about that.
    this.#openNewestSizeFiles(this.#pin === undefined ? constants.O_TRUNC : 0)
  }

  #openNewestSizeFiles(flag: number): void {
    if (this.newestSizeFiles.length > 0 || this.#isClosed) return
    for (const path of this.#paths)
      this.newestSizeFiles.push(openSync(newestSizePath(path), NEWEST_SIZE_FLAGS | flag, MODE))
  }
}

/** Writes a file beside the pins, and makes their folder where there is none. */
export async function writePinFile(path: string, content: string): Promise<void> {
  try {
    await writeFileAtomically(path, content, MODE)
  } catch (error) {
    if (readSystemErrorCode(error) !== 'ENOENT') throw error
    createPrivateFolder(dirname(path))
    await writeFileAtomically(path, content, MODE)
  }
}

const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
const NEWEST_SIZE_FLAGS = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK

function newestSizePath(pinPath: string): string {
  return pinPath.replace(/json$/, 'newest')
}

/** What of the line is the same for all groups of a log. */
export function formatNewestSizePrefix(vkey: string): string {
  return `${readBootId()} ${hash('sha256', vkey).slice(0, NAME_LENGTH)}`
}

/** The pin with the size in its line, where that is of this log, of this run of the machine, and newer. */
function withNewestSize(pin: LedgerPin, path: string): LedgerPin {
  const found = NEWEST_LINE.exec(readNewestSizeLine(newestSizePath(path)))
  const [, boot, name, digits] = found ?? []
  if (found === null || `${boot} ${name}` !== formatNewestSizePrefix(pin.vkey)) return pin
  return Number(digits) > pin.size ? { ...pin, newestSize: Number(digits) } : pin
}

/** Empty where there is no such file, or it cannot be read. */
function readNewestSizeLine(path: string): string {
  try {
    return readBoundedFile(path, MAX_LINE_BYTES).toString()
  } catch {
    return ''
  }
}

/** The same until the machine is started again; a word in its place where the system has none. */
function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return 'unknown'
  }
}

function formatPin({ vkey, size, root }: LedgerPin, dataRoot: string): string {
  return `${JSON.stringify({ data: dataRoot, vkey, size, root: toBase64(root) }, undefined, 2)}\n`
}

/** Throws on bytes that are not a pin; the message is a clause about "it". */
function parsePin(bytes: Uint8Array): LedgerPin {
  const read = parseStrictJsonBytes(bytes)
  const { vkey, size, root: text } = read.ok && isJsonObject(read.value) ? read.value : {}
  const root = typeof text === 'string' ? fromBase64(text) : undefined
  if (typeof vkey !== 'string' || !Number.isSafeInteger(size) || root?.length !== HASH_BYTES)
    throw new TypeError('it does not hold a key, a size and a root')
  return { vkey, size: Number(size), root }
}

/** The real path; for a directory that does not exist yet, the given path. */
function resolveRealPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}
